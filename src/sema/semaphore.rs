//! The TWA semaphore over the wait table (the paper's listing 5), with timeouts.

use super::{OwnedPermit, Permit};
use crate::deadline::Deadline;
use crate::sync::const_outside_models;
use crate::ticket_queue::{MAX_PERMITS, TicketQueue, Word, word_of};
use crate::wait_table::{Global, Home};
use core::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A counting semaphore: first come, first served, 16 bytes, with timeouts.
///
/// Every take draws a ticket, every post grants one, and tickets are granted in the order in which they were drawn. A
/// waiting thread sleeps, except shortly before its turn; a post wakes the one thread whose turn it is, however many are
/// waiting, and makes the next one ready. A take that times out leaves the queue without holding up those behind it and
/// without losing a permit.
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
/// [`take_many`](Self::take_many) waits in line like everybody else: while it waits for its last permit, all permits that
/// come go to it, and those behind it wait even if there would be enough for them. That is what first come, first served
/// means: a taker of many is never starved by takers of few.
///
/// # Freeing the semaphore
///
/// A semaphore that is shared by raw pointers, and freed by a thread as soon as it has got its permit, needs
/// [`post_conservatively`](Self::post_conservatively).
pub struct Semaphore<H: Home = Global> {
    queue: TicketQueue<H>,
}

impl Semaphore {
    const_outside_models! {
        /// Creates a semaphore with `permits` permits, whose waiters wait in the global table.
        ///
        /// # Panics
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        pub fn new(permits: u64) -> Self {
            Self::new_in(permits)
        }
    }
}

impl<H: Home> Semaphore<H> {
    /// The largest number of permits that a semaphore can hold.
    pub const MAX_PERMITS: u64 = MAX_PERMITS;

    const_outside_models! {
        /// Creates a semaphore with `permits` permits, whose waiters wait in the table of `H`.
        ///
        /// # Panics
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        pub fn new_in(permits: u64) -> Self {
            Self { queue: TicketQueue::new(word_of(permits)) }
        }
    }

    /// Takes a permit, waiting for one if necessary.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many). On targets with 64-bit atomics that many single takes cannot happen, and this is
    /// not checked.
    #[inline]
    pub fn take(&self) {
        self.queue.take(1);
    }

    /// Takes a permit if there is one that nobody is waiting for.
    #[inline]
    pub fn try_take(&self) -> bool {
        self.queue.try_take(1).is_some()
    }

    /// Like [`take`](Self::take), but waits for at most `timeout`: `false` if there was no permit in time. A timeout too long
    /// for the clock means forever.
    pub fn take_timeout(&self, timeout: Duration) -> bool {
        self.take_many_timeout(1, timeout)
    }

    /// Like [`take`](Self::take), but waits until `deadline`: `false` if there was no permit in time.
    pub fn take_deadline(&self, deadline: Instant) -> bool {
        self.take_many_deadline(1, deadline)
    }

    /// Takes `n` permits together, waiting for them if necessary. Taking none always succeeds.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS). Those of a take
    /// that has timed out count until everybody in line behind it has been served.
    pub fn take_many(&self, n: u64) {
        if let Some(n) = some_permits(n) {
            self.queue.take(n);
        }
    }

    /// Takes `n` permits together if there are that many that nobody is waiting for. Taking none always succeeds.
    pub fn try_take_many(&self, n: u64) -> bool {
        n <= Self::MAX_PERMITS && some_permits(n).is_none_or(|n| self.queue.try_take(n).is_some())
    }

    /// Like [`take_many`](Self::take_many), but waits for at most `timeout`: `false` if the permits did not all come in
    /// time. Those that did go to the next in line.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn take_many_timeout(&self, n: u64, timeout: Duration) -> bool {
        // The clock is not read if the permits are there.
        self.try_take_many(n) || self.take_many_until(n, Deadline::after(timeout))
    }

    /// Like [`take_many_timeout`](Self::take_many_timeout), but waits until `deadline`.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn take_many_deadline(&self, n: u64, deadline: Instant) -> bool {
        self.try_take_many(n) || self.take_many_until(n, Deadline::at(deadline))
    }

    fn take_many_until(&self, n: u64, deadline: Deadline) -> bool {
        some_permits(n).is_none_or(|n| self.queue.take_until(n, deadline).is_some())
    }

    /// Adds a permit, and wakes the thread that it goes to.
    ///
    /// # Panics
    /// If the semaphore holds [`MAX_PERMITS`](Self::MAX_PERMITS). On targets with 64-bit atomics that many single posts
    /// cannot happen, and this is not checked.
    #[inline]
    pub fn post(&self) {
        self.queue.post();
    }

    /// Adds `n` permits, and wakes the threads that they go to.
    ///
    /// # Panics
    /// If the semaphore would then hold more than [`MAX_PERMITS`](Self::MAX_PERMITS); in that case none are added.
    pub fn post_many(&self, n: u64) {
        if let Some(n) = some_permits(n) {
            self.queue.post_many(n);
        }
    }

    /// Like [`post`](Self::post), but does not touch the semaphore once the permit is added: the thread that gets the permit
    /// may free the semaphore at once, before this call has returned. The paper's SemaPostConservative.
    ///
    /// Safe code never needs it, since a borrow keeps the semaphore alive while [`post`](Self::post) runs. It is for
    /// primitives that share a semaphore by raw pointers, and costs a few nanoseconds more.
    ///
    /// If the memory becomes another semaphore before this call has returned, takes of that one must not time out: this call
    /// may mistake a ticket that was abandoned there for one of the semaphore that is gone, and let a thread go too early.
    #[inline]
    pub fn post_conservatively(&self) {
        self.queue.post_conservatively();
    }

    /// The number of permits that can be taken without waiting, at this moment.
    pub fn available(&self) -> u64 {
        u64::try_from(self.queue.surplus()).unwrap_or(0)
    }

    /// The number of permits that are waited for, at this moment. It is exact unless a thread is just joining or leaving the
    /// queue.
    #[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
    pub fn waiters(&self) -> u64 {
        u64::from(self.queue.waited_for())
    }

    /// Takes a permit that is put back when the guard is dropped, waiting for one if necessary.
    pub fn acquire(&self) -> Permit<'_, H> {
        self.take();
        Permit::new(self, 1)
    }

    /// Like [`acquire`](Self::acquire), but only if there is a permit that nobody is waiting for.
    pub fn try_acquire(&self) -> Option<Permit<'_, H>> {
        self.try_take().then(|| Permit::new(self, 1))
    }

    /// Like [`acquire`](Self::acquire), but waits for at most `timeout`.
    pub fn acquire_timeout(&self, timeout: Duration) -> Option<Permit<'_, H>> {
        self.take_timeout(timeout).then(|| Permit::new(self, 1))
    }

    /// Like [`acquire`](Self::acquire), but waits until `deadline`.
    pub fn acquire_deadline(&self, deadline: Instant) -> Option<Permit<'_, H>> {
        self.take_deadline(deadline).then(|| Permit::new(self, 1))
    }

    /// Takes `n` permits that are put back when the guard is dropped, waiting for them if necessary.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn acquire_many(&self, n: u64) -> Permit<'_, H> {
        self.take_many(n);
        Permit::new(self, n)
    }

    /// Like [`acquire_many`](Self::acquire_many), but only if there are that many permits that nobody is waiting for.
    pub fn try_acquire_many(&self, n: u64) -> Option<Permit<'_, H>> {
        self.try_take_many(n).then(|| Permit::new(self, n))
    }

    /// Like [`acquire_many`](Self::acquire_many), but waits for at most `timeout`.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    pub fn acquire_many_timeout(&self, n: u64, timeout: Duration) -> Option<Permit<'_, H>> {
        self.take_many_timeout(n, timeout).then(|| Permit::new(self, n))
    }

    /// Like [`acquire`](Self::acquire), but the guard keeps the semaphore alive instead of borrowing it.
    pub fn acquire_owned(self: &Arc<Self>) -> OwnedPermit<H> {
        self.take();
        OwnedPermit::new(Arc::clone(self), 1)
    }

    /// Like [`acquire_owned`](Self::acquire_owned), but only if there is a permit that nobody is waiting for.
    pub fn try_acquire_owned(self: &Arc<Self>) -> Option<OwnedPermit<H>> {
        self.try_take().then(|| OwnedPermit::new(Arc::clone(self), 1))
    }

    /// Like [`acquire_owned`](Self::acquire_owned), but waits for at most `timeout`.
    pub fn acquire_owned_timeout(self: &Arc<Self>, timeout: Duration) -> Option<OwnedPermit<H>> {
        self.take_timeout(timeout).then(|| OwnedPermit::new(Arc::clone(self), 1))
    }
}

/// `n` as the queue counts it, unless it is 0: then there is nothing to do.
fn some_permits(n: u64) -> Option<Word> {
    (n != 0).then(|| word_of(n))
}

impl<H: Home> fmt::Debug for Semaphore<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("available", &self.available()).field("waiters", &self.waiters()).finish()
    }
}
