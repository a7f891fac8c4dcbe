//! The TWA semaphore over the wait table (the paper's listing 5), with timeouts.

use super::{OwnedPermit, Permit};
use crate::deadline::Deadline;
use crate::sync::const_outside_models;
use crate::ticket_queue::{MAX_PERMITS, TicketQueue, Word};
use crate::wait_table::{Global, Home};
use core::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A counting semaphore: first come first served, 16 bytes, with timeouts.
///
/// Every take draws a ticket, every post grants one, and tickets are granted in the order in which they were drawn. A
/// thread that waits sleeps, except shortly before its turn; a post wakes the one thread whose turn it is, however many
/// wait, and makes the next ready. A take that times out leaves the line without holding up those behind it and without
/// losing a permit.
///
/// What a thread did before a post is visible to the thread whose take got that permit.
///
/// ```
/// use layby::sema::Semaphore;
/// use std::time::Duration;
///
/// static CONNECTIONS: Semaphore = Semaphore::new(2);
///
/// let first = CONNECTIONS.acquire();
/// let second = CONNECTIONS.acquire();
/// assert!(CONNECTIONS.acquire_timeout(Duration::from_millis(1)).is_none());
/// drop(first);
/// assert!(CONNECTIONS.try_acquire().is_some());
/// # drop(second);
/// ```
///
/// # Many at once
///
/// [`take_many`](Self::take_many) waits in line like everybody else: while it waits for its last permit, the permits that
/// come go to it, and those behind it wait although there might be enough for them. That is what first come first served
/// means; a taker of many is never starved by takers of few.
///
/// # Permits that come after the taker is gone
///
/// A semaphore that is shared by other means than safe borrows, and freed by a thread as soon as it has got its permit,
/// needs [`post_conservatively`](Self::post_conservatively).
pub struct Semaphore<H: Home = Global> {
    line: TicketQueue<H>,
}

impl Semaphore {
    const_outside_models! {
        /// A semaphore with `permits` permits, whose waiters wait in the global table.
        ///
        /// # Panics
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        pub fn new(permits: u64) -> Self {
            Self::new_in(permits)
        }
    }
}

impl<H: Home> Semaphore<H> {
    /// The most permits that a semaphore can hold.
    pub const MAX_PERMITS: u64 = MAX_PERMITS;

    const_outside_models! {
        /// A semaphore with `permits` permits, whose waiters wait in a table of your own.
        ///
        /// # Panics
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        pub fn new_in(permits: u64) -> Self {
            Self { line: TicketQueue::new(checked(permits)) }
        }
    }

    /// Takes a permit, and waits for it if need be.
    ///
    /// # Panics
    /// As [`take_many`](Self::take_many). On targets with 64-bit atomics that many single takes cannot happen, and it is not
    /// checked.
    #[inline]
    pub fn take(&self) {
        self.line.take(1);
    }

    /// Takes a permit if there is one that nobody waits for.
    #[inline]
    pub fn try_take(&self) -> bool {
        self.line.try_take(1).is_some()
    }

    /// Takes a permit, and waits for it for `timeout` at the longest; `false` if there was none in time. A timeout too long
    /// for the clock means for ever.
    pub fn take_timeout(&self, timeout: Duration) -> bool {
        self.take_many_timeout(1, timeout)
    }

    /// Takes a permit, and waits for it until `deadline` at the latest; `false` if there was none in time.
    pub fn take_deadline(&self, deadline: Instant) -> bool {
        self.take_many_deadline(1, deadline)
    }

    /// Takes `n` permits at once, and waits for them if need be. Taking none succeeds at once.
    ///
    /// # Panics
    /// If `n`, with what is waited for already, is more than [`MAX_PERMITS`](Self::MAX_PERMITS). What a take that has timed
    /// out waited for counts until those in line behind it have been served.
    pub fn take_many(&self, n: u64) {
        if let Some(n) = some_permits(n) {
            self.line.take(n);
        }
    }

    /// Takes `n` permits at once if there are as many that nobody waits for. Taking none succeeds.
    pub fn try_take_many(&self, n: u64) -> bool {
        n <= Self::MAX_PERMITS && some_permits(n).is_none_or(|n| self.line.try_take(n).is_some())
    }

    /// Takes `n` permits at once, and waits for them for `timeout` at the longest. If they did not all come in time, those
    /// that did go to whoever is next in line.
    ///
    /// # Panics
    /// If `n`, with what is waited for already, is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn take_many_timeout(&self, n: u64, timeout: Duration) -> bool {
        // No clock is read for a permit that is there.
        self.try_take_many(n) || self.take_many_until(n, Deadline::after(timeout))
    }

    /// As [`take_many_timeout`](Self::take_many_timeout), until `deadline` at the latest.
    ///
    /// # Panics
    /// If `n`, with what is waited for already, is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn take_many_deadline(&self, n: u64, deadline: Instant) -> bool {
        self.try_take_many(n) || self.take_many_until(n, Deadline::at(deadline))
    }

    fn take_many_until(&self, n: u64, deadline: Deadline) -> bool {
        some_permits(n).is_none_or(|n| self.line.take_until(n, deadline).is_some())
    }

    /// Puts a permit in.
    ///
    /// # Panics
    /// If the semaphore holds [`MAX_PERMITS`](Self::MAX_PERMITS). On targets with 64-bit atomics that many single posts
    /// cannot happen, and it is not checked.
    #[inline]
    pub fn post(&self) {
        self.line.post();
    }

    /// Puts `n` permits in.
    ///
    /// # Panics
    /// If the semaphore would then hold more than [`MAX_PERMITS`](Self::MAX_PERMITS); nothing has been put in.
    pub fn post_many(&self, n: u64) {
        if let Some(n) = some_permits(n) {
            self.line.post_many(n);
        }
    }

    /// Puts a permit in, and does not touch the semaphore after that: whoever gets the permit may free it at once, while
    /// this call returns. The paper's SemaPostConservative.
    ///
    /// Safe code never needs it, since a borrow keeps the semaphore alive while [`post`](Self::post) runs. It is for
    /// primitives that share a semaphore by raw pointers, and costs a few nanoseconds more.
    ///
    /// If the memory becomes another semaphore while this call returns, takes of that one must not time out: this call may
    /// mistake a ticket that was abandoned there for one of the semaphore that is gone, and let somebody go too early.
    #[inline]
    pub fn post_conservatively(&self) {
        self.line.post_conservatively();
    }

    /// How many permits can be taken without waiting, at this moment.
    pub fn available(&self) -> u64 {
        u64::try_from(self.line.surplus()).unwrap_or(0)
    }

    /// How many permits are waited for, at this moment. Exact when nobody is just coming, giving up or being let go.
    #[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
    pub fn waiters(&self) -> u64 {
        u64::from(self.line.waited_for())
    }

    /// Takes a permit that is put back when the guard is dropped.
    pub fn acquire(&self) -> Permit<'_, H> {
        self.take();
        Permit::new(self, 1)
    }

    /// As [`acquire`](Self::acquire), if there is a permit that nobody waits for.
    pub fn try_acquire(&self) -> Option<Permit<'_, H>> {
        self.try_take().then(|| Permit::new(self, 1))
    }

    /// As [`acquire`](Self::acquire), for `timeout` at the longest.
    pub fn acquire_timeout(&self, timeout: Duration) -> Option<Permit<'_, H>> {
        self.take_timeout(timeout).then(|| Permit::new(self, 1))
    }

    /// As [`acquire`](Self::acquire), until `deadline` at the latest.
    pub fn acquire_deadline(&self, deadline: Instant) -> Option<Permit<'_, H>> {
        self.take_deadline(deadline).then(|| Permit::new(self, 1))
    }

    /// Takes `n` permits that are put back when the guard is dropped.
    ///
    /// # Panics
    /// If `n`, with what is waited for already, is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn acquire_many(&self, n: u64) -> Permit<'_, H> {
        self.take_many(n);
        Permit::new(self, n)
    }

    /// As [`acquire_many`](Self::acquire_many), if there are as many permits that nobody waits for.
    pub fn try_acquire_many(&self, n: u64) -> Option<Permit<'_, H>> {
        self.try_take_many(n).then(|| Permit::new(self, n))
    }

    /// As [`acquire_many`](Self::acquire_many), for `timeout` at the longest.
    ///
    /// # Panics
    /// If `n`, with what is waited for already, is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn acquire_many_timeout(&self, n: u64, timeout: Duration) -> Option<Permit<'_, H>> {
        self.take_many_timeout(n, timeout).then(|| Permit::new(self, n))
    }

    /// Takes a permit that keeps the semaphore alive and is put back when the guard is dropped.
    pub fn acquire_owned(self: &Arc<Self>) -> OwnedPermit<H> {
        self.take();
        OwnedPermit::new(Arc::clone(self), 1)
    }

    /// As [`acquire_owned`](Self::acquire_owned), if there is a permit that nobody waits for.
    pub fn try_acquire_owned(self: &Arc<Self>) -> Option<OwnedPermit<H>> {
        self.try_take().then(|| OwnedPermit::new(Arc::clone(self), 1))
    }

    /// As [`acquire_owned`](Self::acquire_owned), for `timeout` at the longest.
    pub fn acquire_owned_timeout(self: &Arc<Self>, timeout: Duration) -> Option<OwnedPermit<H>> {
        self.take_timeout(timeout).then(|| OwnedPermit::new(Arc::clone(self), 1))
    }
}

/// `permits` as the line counts them.
const fn checked(permits: u64) -> Word {
    assert!(permits <= MAX_PERMITS, "layby: more permits than a semaphore can hold");
    permits as Word
}

/// `n` as the line counts it, unless it is 0, for which there is nothing to do.
fn some_permits(n: u64) -> Option<Word> {
    (n != 0).then(|| checked(n))
}

impl<H: Home> fmt::Debug for Semaphore<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("available", &self.available()).field("waiters", &self.waiters()).finish()
    }
}
