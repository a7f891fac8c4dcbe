//! The TWA semaphore over the wait table (the paper's listing 5), with timeouts.

use crate::error::Stopped;
use crate::sync::const_outside_models;
use crate::ticket_queue::{MAX_PERMITS, TicketQueue, Word, word_of};
use crate::wait_table::{Global, Home, Limit};
use core::fmt;
use std::time::{Duration, Instant};

/// A counting semaphore: first come, first served, 16 bytes, with timeouts.
///
/// Every take draws a ticket, every post grants one, and tickets are granted in the order in which they were drawn. A
/// waiting thread sleeps, except shortly before its turn; a post wakes the one thread whose turn it is, however many are
/// waiting, and makes the next one ready. A take that times out leaves the queue without holding up those behind it and
/// without losing a permit.
///
/// Tasks stand in the same line: [`acquire_async`](Self::acquire_async) and its forms are futures, for any executor.
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
    pub(super) queue: TicketQueue<H>,
}

// Not for every `H`: `Semaphore::MAX_PERMITS` would have to name one, though it is the same for all.
impl Semaphore {
    /// The largest number of permits that [`new`](Self::new) and [`post_many`](Self::post_many) fill a semaphore to, and that
    /// can be taken at once, whatever its home: 2^61 - 1, or 2^29 - 1 on targets without 64-bit atomics. Single posts on
    /// targets with them may go beyond it.
    ///
    /// ```
    /// use layby::sema::Semaphore;
    ///
    /// # #[cfg(target_has_atomic = "64")]
    /// assert_eq!(Semaphore::MAX_PERMITS, (1 << 61) - 1);
    /// # #[cfg(not(target_has_atomic = "64"))]
    /// # assert_eq!(Semaphore::MAX_PERMITS, (1 << 29) - 1);
    /// ```
    #[allow(clippy::unnecessary_cast, reason = "of a bare name rustdoc shows the name")]
    pub const MAX_PERMITS: u64 = MAX_PERMITS as u64;

    const_outside_models! {
        /// Creates a semaphore with `permits` permits, whose waiters wait in the global table.
        ///
        /// # Panics
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        #[track_caller]
        pub fn new(permits: u64) -> Self {
            Self::new_in(permits)
        }
    }
}

impl<H: Home> Semaphore<H> {
    const_outside_models! {
        /// Creates a semaphore with `permits` permits, whose waiters wait in the table of `H`.
        ///
        /// # Panics
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        #[track_caller]
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
    #[track_caller]
    #[doc(alias("wait", "down", "acquire", "P"))]
    pub fn take(&self) {
        self.queue.take(1);
    }

    /// Takes a permit if there is one that nobody is waiting for.
    #[inline]
    #[must_use = "says whether a permit was taken"]
    #[doc(alias("trywait", "try_acquire"))]
    pub fn try_take(&self) -> bool {
        self.queue.try_take(1).is_some()
    }

    /// Like [`take`](Self::take), but waits for at most `timeout` ([how late it may be](crate::wait_table#deadlines)): `false` if
    /// there was no permit in time. A timeout too long for the clock means forever.
    #[track_caller]
    #[must_use = "says whether a permit was taken"]
    #[doc(alias("timedwait", "try_acquire_for"))]
    pub fn take_timeout(&self, timeout: Duration) -> bool {
        self.take_many_timeout(1, timeout)
    }

    /// Like [`take`](Self::take), but waits until `deadline` ([how late](crate::wait_table#deadlines)): `false` if there was no
    /// permit in time.
    #[track_caller]
    #[must_use = "says whether a permit was taken"]
    #[doc(alias("timedwait", "try_acquire_until"))]
    pub fn take_deadline(&self, deadline: Instant) -> bool {
        self.take_many_deadline(1, deadline)
    }

    /// Takes `n` permits together, waiting for them if necessary. Taking none always succeeds.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS). Those of a take
    /// that has timed out count until everybody in line behind it has been served.
    #[track_caller]
    pub fn take_many(&self, n: u64) {
        if let Some(n) = some_permits(n) {
            self.queue.take(n);
        }
    }

    /// Takes `n` permits together if there are that many that nobody is waiting for. Taking none always succeeds.
    #[must_use = "says whether the permits were taken"]
    pub fn try_take_many(&self, n: u64) -> bool {
        n <= MAX_PERMITS && some_permits(n).is_none_or(|n| self.queue.try_take(n).is_some())
    }

    /// Like [`take_many`](Self::take_many), but waits for at most `timeout`: `false` if the permits did not all come in
    /// time. Those that did go to the next in line.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    #[must_use = "says whether the permits were taken"]
    pub fn take_many_timeout(&self, n: u64, timeout: Duration) -> bool {
        self.take_many_within(n, timeout).is_ok()
    }

    /// Like [`take_many_timeout`](Self::take_many_timeout), but waits until `deadline`.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    #[must_use = "says whether the permits were taken"]
    pub fn take_many_deadline(&self, n: u64, deadline: Instant) -> bool {
        self.take_many_within(n, deadline).is_ok()
    }

    /// Like [`take`](Self::take), but gives up when `limit` is reached: a deadline, a timeout, a
    /// [`Cancel`](crate::Cancel), or several of them. Until then it keeps its place in line.
    ///
    /// # Errors
    /// How the limit was reached. No permit was taken then.
    ///
    /// ```
    /// use layby::{Cancel, Stopped, sema::Semaphore};
    ///
    /// static SHUTDOWN: Cancel = Cancel::new();
    /// let jobs = Semaphore::new(1);
    /// std::thread::scope(|s| {
    ///     let worker = s.spawn(|| {
    ///         let mut done = 0;
    ///         while jobs.take_within(&SHUTDOWN).is_ok() {
    ///             done += 1;
    ///         }
    ///         done
    ///     });
    ///     while jobs.available() == 1 {}
    ///     SHUTDOWN.cancel();
    ///     assert_eq!(worker.join().unwrap(), 1);
    /// });
    /// ```
    #[track_caller]
    pub fn take_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<(), Stopped> {
        self.take_many_within(1, limit)
    }

    /// Like [`take_many`](Self::take_many), but gives up when `limit` is reached. Permits that came until then go to the next
    /// in line.
    ///
    /// # Errors
    /// How the limit was reached. No permit was taken then.
    ///
    /// # Panics
    /// If `n` and the permits already waited for are together more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn take_many_within<'a>(&self, n: u64, limit: impl Into<Limit<'a>>) -> Result<(), Stopped> {
        if self.try_take_many(n) {
            return Ok(());
        }
        // Not before: of a timeout it reads the clock.
        let limit = limit.into();
        let Some(n) = some_permits(n) else { return Ok(()) };
        self.queue.take_within(n, &limit).map(drop)
    }

    /// Takes as many of `n` permits as are there and not waited for, without waiting; returns how many.
    ///
    /// ```
    /// use layby::sema::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// assert_eq!(semaphore.take_up_to(2), 2);
    /// assert_eq!(semaphore.take_up_to(2), 1);
    /// assert_eq!(semaphore.take_up_to(2), 0);
    /// ```
    #[must_use = "says how many permits were taken"]
    #[doc(alias = "forget_permits")]
    pub fn take_up_to(&self, n: u64) -> u64 {
        loop {
            let n = n.min(self.available());
            if self.try_take_many(n) {
                return n;
            }
        }
    }

    /// Takes all permits that are there and not waited for; returns how many.
    ///
    /// ```
    /// use layby::sema::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// assert_eq!((semaphore.drain(), semaphore.available()), (3, 0));
    /// ```
    #[must_use = "says how many permits were taken"]
    #[doc(alias("drain_permits", "take_all"))]
    pub fn drain(&self) -> u64 {
        self.take_up_to(MAX_PERMITS)
    }

    /// Makes it `n` permits fewer, without waiting: takes those that are there, and then the next to be posted, after those
    /// that others wait for already. Until they have come, they count among [`waiters`](Self::waiters).
    ///
    /// For a limit that is lowered while permits are out:
    ///
    /// ```
    /// use layby::sema::Semaphore;
    ///
    /// let limit = Semaphore::new(2);
    /// let (one, another) = (limit.acquire(), limit.acquire());
    /// limit.reduce(1);
    /// drop(one);
    /// assert_eq!(limit.available(), 0);
    /// drop(another);
    /// assert_eq!(limit.available(), 1);
    /// ```
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    #[doc(alias("reduce_permits", "forget_permits"))]
    pub fn reduce(&self, n: u64) {
        if let Some(n) = some_permits(n) {
            self.queue.claim(n);
        }
    }

    /// Adds a permit, and wakes the thread that it goes to.
    ///
    /// # Panics
    /// If the semaphore holds [`MAX_PERMITS`](Self::MAX_PERMITS), on targets without 64-bit atomics. With them this is not
    /// checked: there is room above the limit for more single posts than can happen, and their permits can be taken like
    /// any others.
    #[inline]
    #[track_caller]
    #[doc(alias("release", "signal", "up", "V", "add_permits"))]
    pub fn post(&self) {
        self.queue.post();
    }

    /// Adds `n` permits, and wakes the threads that they go to.
    ///
    /// # Panics
    /// If the semaphore would then hold more than [`MAX_PERMITS`](Self::MAX_PERMITS); in that case none are added.
    #[track_caller]
    #[doc(alias("release", "add_permits"))]
    pub fn post_many(&self, n: u64) {
        if let Some(n) = some_permits(n) {
            self.queue.post_many(n);
        }
    }

    /// Like [`post`](Self::post), but adds nothing and returns `false` if the semaphore holds
    /// [`MAX_PERMITS`](Self::MAX_PERMITS) already.
    #[must_use = "says whether the permit was added"]
    pub fn try_post(&self) -> bool {
        self.try_post_many(1)
    }

    /// Like [`post_many`](Self::post_many), but adds nothing and returns `false` if the semaphore would then hold more than
    /// [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[must_use = "says whether the permits were added"]
    pub fn try_post_many(&self, n: u64) -> bool {
        n <= MAX_PERMITS && some_permits(n).is_none_or(|n| self.queue.try_post_many(n))
    }

    /// Adds `n` permits, or as many of them as those who wait take at once and the semaphore holds without exceeding `limit`;
    /// returns how many. The test and the addition are one step: with a limit of 1 it is a binary semaphore, and with a clock
    /// it is a token bucket. With a limit of 0 it adds nothing, whoever waits. (A timed take that gives up while this runs may have been given its permit by then. It puts it back,
    /// on top of the limit, like anybody who posts.)
    ///
    /// ```
    /// use layby::sema::Semaphore;
    ///
    /// let tokens = Semaphore::new(1);
    /// assert_eq!(tokens.post_up_to(5, 3), 2);
    /// assert_eq!(tokens.available(), 3);
    /// assert_eq!(tokens.post_up_to(5, 3), 0);
    /// ```
    #[doc(alias = "try_release")]
    #[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
    pub fn post_up_to(&self, n: u64, limit: u64) -> u64 {
        let [n, limit] = [n, limit].map(|count| word_of(count.min(MAX_PERMITS)));
        u64::from(self.queue.post_up_to(n, limit))
    }

    /// Like [`post`](Self::post), but does not touch the semaphore once the permit is added: the thread that gets the permit
    /// may free the semaphore at once, before this call has returned. The paper's SemaPostConservative.
    ///
    /// Safe code never needs it, since a borrow keeps the semaphore alive while [`post`](Self::post) runs. It is for
    /// primitives that share a semaphore by raw pointers, and costs a few nanoseconds more.
    ///
    /// If the memory becomes another semaphore before this call has returned, that one's waiters may be woken early, which they
    /// do not notice.
    #[inline]
    #[track_caller]
    pub fn post_conservatively(&self) {
        self.queue.post_conservatively();
    }

    /// What a guard does on drop: adds `n` permits, or as many of them as fit.
    #[inline]
    pub(super) fn put_back(&self, n: u64) {
        if let Some(n) = some_permits(n.min(MAX_PERMITS)) {
            self.queue.put_back(n);
        }
    }

    /// The number of permits that can be taken without waiting, at this moment; [`MAX_PERMITS`](Self::MAX_PERMITS) if there
    /// are more than can be taken at once.
    #[must_use]
    #[doc(alias = "available_permits")]
    pub fn available(&self) -> u64 {
        u64::try_from(self.queue.surplus()).unwrap_or(0).min(MAX_PERMITS)
    }

    /// The number of permits that are waited for, at this moment. It is exact unless a thread is just joining or leaving the
    /// queue.
    #[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
    #[must_use]
    pub fn waiters(&self) -> u64 {
        u64::from(self.queue.waited_for())
    }
}

/// `n` as the queue counts it, unless it is 0: then there is nothing to do.
#[track_caller]
#[inline]
fn some_permits(n: u64) -> Option<Word> {
    if n == 0 { None } else { Some(word_of(n)) }
}

impl<H: Home> fmt::Debug for Semaphore<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("available", &self.available()).field("waiters", &self.waiters()).finish()
    }
}
