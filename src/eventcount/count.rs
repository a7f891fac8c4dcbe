//! The eventcount of Reed and Kanodia: a count that only grows, and threads that wait for a value.

use super::bounded::{self, count};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{
    atomic::{AtomicU64, Ordering},
    const_outside_models,
};
use crate::wait_table::{Global, Home, Key};
use core::{fmt, marker::PhantomData, ptr};
use std::time::{Duration, Instant};

/// Above the count: closed.
const CLOSED: u64 = 1 << 63;

/// A count that only grows; threads wait until it has reached a value.
///
/// 8 bytes. [`advance`](Self::advance) is one atomic addition and a peek at one slot; it wakes exactly the threads whose
/// value has been reached. What a thread did before it advanced is visible to threads that see the new count.
///
/// A closed count is one on which nobody waits: [`close`](Self::close) lets every waiter return, with a value below the
/// one it waited for. It can still be read and advanced.
///
/// ```
/// use layby::eventcount::EventCount;
///
/// let written = EventCount::new();
/// std::thread::scope(|s| {
///     s.spawn(|| assert!(written.wait_at_least(2) >= 2));
///     written.advance();
///     written.advance();
/// });
///
/// written.close();
/// assert_eq!(written.wait_at_least(5), 2, "closed before it got there");
/// ```
pub struct EventCount<H: Home = Global> {
    /// The count, and [`CLOSED`].
    state: AtomicU64,
    home: PhantomData<fn() -> H>,
}

impl EventCount {
    /// The largest value of any count: an advance beyond it panics.
    pub const MAX: u64 = bounded::MAX;

    const_outside_models! {
        /// A count of 0.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<H: Home> EventCount<H> {
    const_outside_models! {
        /// A count of 0 whose waiters wait in a table of their own.
        pub fn new_in() -> Self {
            Self { state: AtomicU64::new(0), home: PhantomData }
        }
    }

    /// The count.
    #[inline]
    pub fn read(&self) -> u64 {
        count(self.load())
    }

    /// Whether [`close`](Self::close) has been called.
    pub fn is_closed(&self) -> bool {
        self.load() & CLOSED != 0
    }

    #[inline]
    fn load(&self) -> u64 {
        // Ordering: acquire; matches the additions. What was done before the count was advanced is visible.
        self.state.load(Ordering::Acquire)
    }

    /// Adds 1, wakes those who wait for the new value, and returns it.
    ///
    /// # Panics
    /// If the count is [`MAX`](EventCount::MAX) already.
    #[inline]
    pub fn advance(&self) -> u64 {
        self.advance_by(1)
    }

    /// Adds `n`, wakes those whose value has been reached, and returns the new value.
    ///
    /// Costs a peek at one slot for each value, but never more than one at each slot of the table.
    ///
    /// # Panics
    /// If the count would exceed [`MAX`](EventCount::MAX); it is then unchanged.
    #[inline]
    pub fn advance_by(&self, n: u64) -> u64 {
        let this = ptr::from_ref(self);
        let before = count(bounded::add(&self.state, n));
        let now = before + n;
        // From here on `self` may be gone (E4).
        H::table().wake_tickets_seqcst(this, before + 1..=now);
        now
    }

    /// Closes the count: every waiter returns, and every later one at once. Costs a peek at each slot of the table.
    pub fn close(&self) {
        let this = ptr::from_ref(self);
        // Ordering: SeqCst; see `wake_tickets_seqcst`. Release, for threads that see the count closed.
        self.state.fetch_or(CLOSED, Ordering::SeqCst);
        H::table().wake_tickets_seqcst(this, 0..=u64::MAX);
    }

    /// Waits until the count is at least `value`, or closed, and returns the count.
    ///
    /// A result below `value` means that the count was closed before it got there.
    #[inline]
    pub fn wait_at_least(&self, value: u64) -> u64 {
        self.outcome(value)
            .or_else(|| self.wait_for(value, Deadline::NEVER))
            .expect("a wait without a deadline ends when its condition holds")
    }

    /// Like [`wait_at_least`](Self::wait_at_least), but waits for at most `timeout`: `None` if it passed and the count was
    /// still below `value`, and open. A timeout too long for the clock means forever.
    ///
    /// ```
    /// use layby::eventcount::EventCount;
    /// use std::time::Duration;
    ///
    /// let count = EventCount::new();
    /// count.advance_by(3);
    /// assert_eq!(count.wait_at_least_timeout(2, Duration::ZERO), Some(3));
    /// assert_eq!(count.wait_at_least_timeout(4, Duration::from_millis(1)), None);
    /// ```
    pub fn wait_at_least_timeout(&self, value: u64, timeout: Duration) -> Option<u64> {
        self.wait_for(value, Deadline::after(timeout))
    }

    /// Like [`wait_at_least_timeout`](Self::wait_at_least_timeout), but gives up at `deadline`.
    pub fn wait_at_least_deadline(&self, value: u64, deadline: Instant) -> Option<u64> {
        self.wait_for(value, Deadline::at(deadline))
    }

    fn wait_for(&self, value: u64, deadline: Deadline) -> Option<u64> {
        let mut outcome = None;
        let is_over = || {
            outcome = self.outcome(value);
            outcome.is_some()
        };
        H::table().wait_until_at(Key::ticket(self, value), deadline, is_over, SpinFirst::Briefly);
        outcome
    }

    /// The count, if a wait for `value` is over.
    #[inline]
    fn outcome(&self, value: u64) -> Option<u64> {
        let state = self.load();
        (count(state) >= value || state & CLOSED != 0).then_some(count(state))
    }
}

impl<H: Home> Default for EventCount<H> {
    fn default() -> Self {
        Self::new_in()
    }
}

impl<H: Home> fmt::Debug for EventCount<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventCount").field("count", &self.read()).field("closed", &self.is_closed()).finish()
    }
}
