//! The sequencer of Reed and Kanodia: who comes first.

use super::bounded;
use crate::sync::{
    atomic::{AtomicU64, Ordering},
    const_outside_models,
};
use core::fmt;

/// A source of consecutive tickets: 0, 1, 2 and so on, each given out once.
///
/// 8 bytes. With an [`EventCount`](super::EventCount) it orders threads: draw a ticket, wait until the count has
/// reached it, do one's work, advance.
///
/// All who draw write one word, whose cache line moves from CPU to CPU with every draw. A thread that draws often should draw [several
/// tickets](Self::tickets) at once, and keep the sequencer on another line than the count: `#[repr(align(128))]` around each.
///
/// ```
/// use layby::eventcount::{EventCount, Sequencer};
///
/// let (tickets, served) = (Sequencer::new(), EventCount::new());
/// std::thread::scope(|s| {
///     for _ in 0..4 {
///         s.spawn(|| {
///             let mine = tickets.ticket();
///             served.wait_at_least(mine).unwrap(); // nobody closes it
///             // One at a time, in the order of the tickets.
///             served.advance();
///         });
///     }
/// });
/// assert_eq!(served.read(), 4);
/// ```
pub struct Sequencer {
    next: AtomicU64,
}

impl Sequencer {
    const_outside_models! {
        /// A sequencer whose first ticket is 0.
        pub fn new() -> Self {
            Self { next: AtomicU64::new(0) }
        }
    }

    /// Draws a ticket.
    ///
    /// # Panics
    /// If all are given out, 2^62 - 1 of them.
    #[inline]
    #[track_caller]
    #[must_use = "whoever waits for this ticket's turn waits for its holder"]
    pub fn ticket(&self) -> u64 {
        self.tickets(1)
    }

    /// Draws `n` consecutive tickets; returns the first.
    ///
    /// # Panics
    /// If so many are not left; none is drawn then.
    #[inline]
    #[track_caller]
    #[must_use = "whoever waits for these tickets' turns waits for their holder"]
    pub fn tickets(&self, n: u64) -> u64 {
        bounded::add(&self.next, n)
    }

    /// Draws `n` consecutive tickets if all of them are below `limit`; returns the first.
    ///
    /// For those who must not draw what they cannot use: a ticket is a promise, and cannot be given back.
    ///
    /// ```
    /// use layby::eventcount::Sequencer;
    ///
    /// let tickets = Sequencer::new();
    /// assert_eq!(tickets.tickets_below(3, 4), Some(0));
    /// assert_eq!(tickets.tickets_below(3, 4), None);
    /// assert_eq!(tickets.tickets_below(1, 4), Some(3));
    /// ```
    #[must_use = "whoever waits for these tickets' turns waits for their holder"]
    pub fn tickets_below(&self, n: u64, limit: u64) -> Option<u64> {
        bounded::add_if(&self.next, n, |after| after <= limit)
    }

    /// The ticket that would be drawn next: out of date when it returns, if others draw.
    #[must_use]
    pub fn peek(&self) -> u64 {
        // Ordering: acquire; matches the draws.
        self.next.load(Ordering::Acquire)
    }
}

impl Default for Sequencer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Sequencer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequencer").field("next", &self.peek()).finish()
    }
}
