//! The eventcount of Reed and Kanodia: a count that only grows, and threads that wait for a value.

use super::bounded::{self, count};
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
/// 8 bytes. [`advance`](Self::advance) is one atomic addition and a look at one slot; it wakes exactly the threads whose
/// value has been reached. What a thread did before it advanced is visible to those who see the new count.
///
/// A closed count is one on which nobody waits: [`close`](Self::close) lets every waiter return, with a value below the
/// one it waited for. It can still be read and advanced.
///
/// ```
/// use layby::eventcount::EventCount;
///
/// let written = EventCount::new();
/// std::thread::scope(|s| {
///     s.spawn(|| assert!(written.await_at_least(2) >= 2));
///     written.advance();
///     written.advance();
/// });
///
/// written.close();
/// assert_eq!(written.await_at_least(5), 2, "closed before it got there");
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
    /// Costs a look at one slot for each value, but never more than one at each slot of the table.
    ///
    /// # Panics
    /// If the count would exceed [`MAX`](EventCount::MAX); it is then unchanged.
    #[inline]
    pub fn advance_by(&self, n: u64) -> u64 {
        let this = ptr::from_ref(self);
        let before = count(bounded::add(&self.state, n));
        let now = before + n;
        // From here on `self` may be gone (E4).
        let first = before + 1;
        H::table().wake_tickets_seqcst(this, first..=now);
        now
    }

    /// Closes the count: every waiter returns, and every later one at once. Costs a look at each slot of the table.
    pub fn close(&self) {
        let this = ptr::from_ref(self);
        // Ordering: SeqCst; see `wake_tickets_seqcst`. Release, for those who see the count closed.
        self.state.fetch_or(CLOSED, Ordering::SeqCst);
        let last = u64::MAX;
        H::table().wake_tickets_seqcst(this, 0..=last);
    }

    /// Waits until the count is at least `value`, or closed, and returns the count.
    ///
    /// A result below `value` means that the count was closed before it got there.
    #[inline]
    pub fn await_at_least(&self, value: u64) -> u64 {
        self.outcome(value).unwrap_or_else(|| {
            self.await_by(value, |key, over| {
                H::table().wait_until(key, over);
                true
            })
            .expect("a wait without a deadline ends when its condition holds")
        })
    }

    /// As [`await_at_least`](Self::await_at_least), for `timeout` at the longest: `None` if it passed and the count was
    /// still below `value`, and open. A timeout too long for the clock means for ever.
    ///
    /// ```
    /// use layby::eventcount::EventCount;
    /// use std::time::Duration;
    ///
    /// let count = EventCount::new();
    /// count.advance_by(3);
    /// assert_eq!(count.await_timeout(2, Duration::ZERO), Some(3));
    /// assert_eq!(count.await_timeout(4, Duration::from_millis(1)), None);
    /// ```
    pub fn await_timeout(&self, value: u64, timeout: Duration) -> Option<u64> {
        self.await_by(value, |key, over| H::table().wait_until_timeout(key, timeout, over))
    }

    /// As [`await_timeout`](Self::await_timeout), until `deadline` at the latest.
    pub fn await_deadline(&self, value: u64, deadline: Instant) -> Option<u64> {
        self.await_by(value, |key, over| H::table().wait_until_deadline(key, deadline, over))
    }

    fn await_by(&self, value: u64, wait: impl FnOnce(Key, &mut dyn FnMut() -> bool) -> bool) -> Option<u64> {
        let mut outcome = None;
        wait(Key::ticket(self, value), &mut || {
            outcome = self.outcome(value);
            outcome.is_some()
        });
        outcome
    }

    /// The count, if a wait for `value` is over.
    #[inline]
    fn outcome(&self, value: u64) -> Option<u64> {
        let state = self.load();
        let closed = state & CLOSED != 0;
        (count(state) >= value || closed).then_some(count(state))
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
