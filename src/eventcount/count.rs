//! The eventcount of Reed and Kanodia: a count that only grows, and threads that wait for a value.

use super::bounded::{self, count};
use crate::error::{Closed, Stopped, WaitError};
use crate::spin_policy::SpinFirst;
use crate::sync::{
    atomic::{AtomicU64, Ordering},
    const_outside_models,
};
use crate::wait_table::{Global, Home, Invariant, Key, Limit, table_of};
use core::{fmt, marker::PhantomData, ptr};
use std::time::{Duration, Instant};

/// Above the count: closed.
const CLOSED: u64 = 1 << 63;

/// A count that only grows; threads wait until it has reached a value.
///
/// 8 bytes. [`advance`](Self::advance) is one atomic addition and a peek at one slot; it wakes exactly the threads whose
/// value has been reached. What a thread did before it advanced is visible to threads that see the new count.
///
/// Threads that advance different counts at the same time should have them on different cache lines: eight of them, side by side,
/// fit on one, which then moves from CPU to CPU with every advance. A `#[repr(align(128))]` around each does it, and it pays to
/// [advance by several](Self::advance_by) at once. A thread that follows a count keeps what [`wait_at_least`](Self::wait_at_least) returned,
/// which may be more than was asked for: until it is used up, there is no need to look again. [`layby::pipeline`](crate::pipeline)
/// has all of this built in, and counts with one writer that need no atomic addition.
///
/// A closed count is one on which nobody waits: [`close`](Self::close) lets every waiter return, with an error if its value
/// has not been reached. It can still be read and advanced.
///
/// ```
/// use layby::{Closed, eventcount::EventCount};
///
/// let written = EventCount::new();
/// std::thread::scope(|s| {
///     s.spawn(|| assert_eq!(written.wait_at_least(2), Ok(2)));
///     written.advance();
///     written.advance();
/// });
///
/// written.close();
/// assert_eq!(written.wait_at_least(2), Ok(2));
/// assert_eq!(written.wait_at_least(5), Err(Closed));
/// assert_eq!(written.read(), 2, "how far it got");
/// ```
pub struct EventCount<H: Home = Global> {
    /// The count, and [`CLOSED`].
    state: AtomicU64,
    home: Invariant<H>,
}

impl EventCount {
    /// The largest value of any count, 2^62 - 1: an advance beyond it panics.
    #[allow(clippy::unnecessary_cast, reason = "of a bare name rustdoc shows the name")]
    pub const MAX: u64 = bounded::MAX as u64;

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
    #[must_use]
    pub fn read(&self) -> u64 {
        count(self.load())
    }

    /// Whether [`close`](Self::close) has been called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.load() & CLOSED != 0
    }

    #[inline]
    fn load(&self) -> u64 {
        // Ordering: acquire; matches the additions. What was done before the count was advanced is visible.
        bounded::settled(|| self.state.load(Ordering::Acquire))
    }

    /// Adds 1, wakes those who wait for the new value, and returns it.
    ///
    /// # Panics
    /// If the count is [`MAX`](EventCount::MAX) already.
    #[inline]
    #[track_caller]
    #[doc(alias = "signal")]
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
    #[track_caller]
    pub fn advance_by(&self, n: u64) -> u64 {
        let this = ptr::from_ref(self);
        let before = count(bounded::add(&self.state, n));
        let now = before + n;
        // From here on `self` may be gone (E4).
        table_of::<H>().wake_keys_seqcst(|value| Key::ticket_of_primitive(this, value), before + 1..=now);
        now
    }

    /// Closes the count: every waiter returns, and every later one at once. Costs a peek at each slot of the table.
    pub fn close(&self) {
        let this = ptr::from_ref(self);
        // Ordering: SeqCst; see `wake_keys_seqcst`. Release, for threads that see the count closed.
        self.state.fetch_or(CLOSED, Ordering::SeqCst);
        table_of::<H>().wake_keys_seqcst(|value| Key::ticket_of_primitive(this, value), 0..=u64::MAX);
    }

    /// Waits until the count is at least `value`, and returns the count, which may be larger.
    ///
    /// # Errors
    /// If the count was closed before it got there.
    #[inline]
    #[doc(alias = "await_at_least")]
    pub fn wait_at_least(&self, value: u64) -> Result<u64, Closed> {
        self.outcome(value)
            .or_else(|| self.wait_for(value, &Limit::NONE).ok())
            .expect("a wait without a limit ends when its condition holds")
    }

    /// Like [`wait_at_least`](Self::wait_at_least), but waits for at most `timeout` ([how late it may
    /// be](crate::wait_table#deadlines)). A timeout too long for the clock means forever.
    ///
    /// # Errors
    /// If the time passed, or the count was closed, before it got there.
    ///
    /// ```
    /// use layby::{WaitError, eventcount::EventCount};
    /// use std::time::Duration;
    ///
    /// let count = EventCount::new();
    /// count.advance_by(3);
    /// assert_eq!(count.wait_at_least_timeout(2, Duration::ZERO), Ok(3));
    /// assert_eq!(count.wait_at_least_timeout(4, Duration::from_millis(1)), Err(WaitError::TimedOut));
    /// ```
    pub fn wait_at_least_timeout(&self, value: u64, timeout: Duration) -> Result<u64, WaitError> {
        self.wait_at_least_within(value, timeout)
    }

    /// Like [`wait_at_least_timeout`](Self::wait_at_least_timeout), but gives up at `deadline`.
    ///
    /// # Errors
    /// If the deadline passed, or the count was closed, before it got there.
    pub fn wait_at_least_deadline(&self, value: u64, deadline: Instant) -> Result<u64, WaitError> {
        self.wait_at_least_within(value, deadline)
    }

    /// Like [`wait_at_least`](Self::wait_at_least), but gives up when `limit` is reached: a deadline, a timeout, a
    /// [`Cancel`](crate::Cancel), or several of them.
    ///
    /// # Errors
    /// If the limit was reached, or the count was closed, before it got there.
    ///
    /// ```
    /// use layby::{Cancel, WaitError, eventcount::EventCount};
    ///
    /// let (count, cancel) = (EventCount::new(), Cancel::new());
    /// std::thread::scope(|s| {
    ///     let waiter = s.spawn(|| count.wait_at_least_within(1, &cancel));
    ///     cancel.cancel();
    ///     assert_eq!(waiter.join().unwrap(), Err(WaitError::Cancelled));
    /// });
    /// ```
    pub fn wait_at_least_within<'a>(&self, value: u64, limit: impl Into<Limit<'a>>) -> Result<u64, WaitError> {
        Ok(self.wait_for(value, &limit.into())??)
    }

    /// How the wait ended, unless by its limit.
    fn wait_for(&self, value: u64, limit: &Limit<'_>) -> Result<Result<u64, Closed>, Stopped> {
        let mut outcome = None;
        let is_over = || {
            outcome = self.outcome(value);
            outcome.is_some()
        };
        table_of::<H>().wait_until_at(self.key_of(value), limit, is_over, SpinFirst::Briefly)?;
        Ok(outcome.expect("the wait is over"))
    }

    /// What those who wait for `value` wait on.
    pub(super) fn key_of(&self, value: u64) -> Key {
        Key::ticket_of_primitive(self, value)
    }

    /// How a wait for `value` ends, if it is over.
    #[inline]
    pub(super) fn outcome(&self, value: u64) -> Option<Result<u64, Closed>> {
        let state = self.load();
        if count(state) >= value { Some(Ok(count(state))) } else { (state & CLOSED != 0).then_some(Err(Closed)) }
    }
}

/// For the default home alone, so that it can be inferred.
impl Default for EventCount {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Home> fmt::Debug for EventCount<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventCount").field("count", &self.read()).field("closed", &self.is_closed()).finish()
    }
}
