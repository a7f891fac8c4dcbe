//! A fixed number of permits that can be closed: an orderly shutdown.
//!
//! # How it closes
//!
//! `close` marks the pool and then posts as many permits as the pool has, or more: so everybody in line is admitted, in order, by
//! the ticket queue's own protocol, threads and tasks, with or without a limit. Whoever is admitted looks at the mark, and if the
//! pool is closed puts the permits back and says so. Nothing else is needed: no waiter has a second thing to wait for.
//!
//! - **C1.** Who is admitted by one of those permits sees the mark: it was set before the post that granted them.
//! - **C2.** Permits are conserved: those of the pool and those of `close` are there, or held, or about to be put back. So
//!   all are back when there are as many as both together, and that is what `shutdown` takes.
//! - **C3.** Even if all who stand in line want more than `close` has posted, they are served: each puts back what it gets.
//!
//! # Behind a shutdown
//!
//! A shutdown stands in line for all permits, and who stands behind it is admitted when they are back. Wrong, if that one has a
//! permit itself:
//!
//! ```text
//! has a permit, wants another          shuts down
//! closed? no
//!                                      close; draw all tickets; wait for the permit
//! draw a ticket, wait                  (forever, both)
//! ```
//!
//! - **C4.** Who draws its tickets behind those of a shutdown sees the mark then: it was set before they were drawn. So who
//!   would have to wait looks at the mark once more, and if the pool is closed gives its tickets up.

use super::{Permit, Semaphore};
use crate::error::{Closed, Stopped, WaitError};
use crate::sync::{
    atomic::{AtomicU32, Ordering},
    const_outside_models,
};
use crate::ticket_queue::{NARROW, word_of};
use crate::wait_table::{AtHome, Global, Home, Key, Limit, Moment, Purpose, Waiting};
use core::{fmt, future::Future, mem, panic::Location};

const OPEN: u32 = 0;
const CLOSED: u32 = 1;

/// What `close` posts, unless the pool has more: enough for many who wait, and so little that many can shut it down at a time.
/// Arbitrary.
const SURPLUS: u64 = if NARROW { 1 << 16 } else { 1 << 44 };

/// A fixed number of permits, first come first served, that can be closed: then everybody who waits is told, threads and
/// tasks, and so is everybody who comes.
///
/// A [`Semaphore`] with two words more. It has fewer forms: permits are lent as guards that borrow it, and cannot be added; for a
/// timeout there is [`acquire_within`](Pool::acquire_within). A task that is spawned owns an `Arc<Pool>`, and acquires from that.
///
/// ```
/// use layby::{Closed, sema::Pool};
///
/// let workers = Pool::new(1);
/// std::thread::scope(|s| {
///     let busy = workers.acquire()?;
///     let waiter = s.spawn(|| workers.acquire().map(drop));
///     workers.close();
///     assert_eq!(waiter.join().unwrap(), Err(Closed), "it is told at once");
///     assert_eq!(workers.try_acquire().unwrap_err(), Closed);
///     drop(busy);
///     workers.shutdown(); // all permits are back
///     Ok::<(), Closed>(())
/// })?;
/// # Ok::<(), Closed>(())
/// ```
pub struct Pool<H: Home = Global> {
    semaphore: Semaphore<H>,
    size: u32,
    state: AtomicU32,
}

impl Pool {
    const_outside_models! {
        /// A pool of `size` permits, whose waiters wait in the global table. One of 0 permits has nothing to give: whoever asks
        /// it for one panics, as all do who ask for more than `size`.
        ///
        /// # Panics
        /// If it is more than 2^24, on targets without 64-bit atomics.
        #[track_caller]
        pub fn new(size: u32) -> Self {
            Self::new_in(size)
        }
    }
}

impl<H: Home> Pool<H> {
    const_outside_models! {
        /// A pool of `size` permits, whose waiters wait in the table of `H`.
        ///
        /// # Panics
        /// Like [`new`](Pool::new).
        #[track_caller]
        pub fn new_in(size: u32) -> Self {
            assert!(!NARROW || size <= 1 << 24, "layby: a pool of more than 2^24 permits");
            Self { semaphore: Semaphore::new_in(size as u64), size, state: AtomicU32::new(OPEN) }
        }
    }

    /// Takes a permit, waiting for one if necessary.
    ///
    /// # Errors
    /// If the pool is closed, or is closed before there is one.
    pub fn acquire(&self) -> Result<Permit<'_, H>, Closed> {
        self.acquire_many(1)
    }

    /// Takes `n` permits together, waiting for them if necessary.
    ///
    /// # Errors
    /// If the pool is closed, or is closed before they are there.
    ///
    /// # Panics
    /// If the pool does not have that many: it would wait forever.
    #[track_caller]
    pub fn acquire_many(&self, n: u32) -> Result<Permit<'_, H>, Closed> {
        // Without a limit nothing else ends it.
        self.acquire_many_within(n, Limit::NONE).map_err(|_| Closed)
    }

    /// Takes a permit if there is one that nobody is waiting for.
    ///
    /// # Errors
    /// If the pool is closed.
    pub fn try_acquire(&self) -> Result<Option<Permit<'_, H>>, Closed> {
        self.check(1)?;
        self.semaphore.try_acquire().map(|permit| self.admit(permit)).transpose()
    }

    /// Like [`acquire`](Self::acquire), but gives up when `limit` is reached: a deadline, a timeout, a
    /// [`Cancel`](crate::Cancel), or several of them.
    ///
    /// # Errors
    /// If the limit is reached, or the pool is closed, before there is one.
    pub fn acquire_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<Permit<'_, H>, WaitError> {
        self.acquire_many_within(1, limit)
    }

    /// Like [`acquire_many`](Self::acquire_many), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// If the limit is reached, or the pool is closed, before they are there.
    ///
    /// # Panics
    /// Like [`acquire_many`](Self::acquire_many).
    #[track_caller]
    pub fn acquire_many_within<'a>(&self, n: u32, limit: impl Into<Limit<'a>>) -> Result<Permit<'_, H>, WaitError> {
        self.check(n)?;
        if !self.semaphore.try_take_many(n.into()) {
            // C4
            let check = || Ok::<_, WaitError>(self.check(n)?);
            self.semaphore.queue.take_checked(word_of(n.into()), &limit.into(), check)?;
        }
        Ok(self.admit(Permit::new(&self.semaphore, n.into()))?)
    }

    /// Takes a permit from a task: [`acquire`](Self::acquire) as a future. It may be dropped at any time: see
    /// [`Semaphore::acquire_async`].
    #[track_caller]
    pub fn acquire_async(&self) -> AcquirePoolAsync<'_, H> {
        self.acquire_many_async(1)
    }

    /// Takes `n` permits together from a task: [`acquire_many`](Self::acquire_many) as a future.
    ///
    /// # Panics
    /// Like [`acquire_many`](Self::acquire_many).
    #[track_caller]
    pub fn acquire_many_async(&self, n: u32) -> AcquirePoolAsync<'_, H> {
        self.check_size(n);
        Waiting::new(AtHome::NEW, self.semaphore.queue.key(), false, AcquiringFromPool { pool: self, n })
    }

    /// Closes the pool: all who wait return with [`Closed`], in the order of the line, and so do all who come. Permits that
    /// are held stay valid. Returns whether this call closed it.
    pub fn close(&self) -> bool {
        // Ordering: relaxed; the post releases it to those whom it admits (C1).
        let is_first = self.state.swap(CLOSED, Ordering::Relaxed) == OPEN;
        if is_first {
            self.semaphore.put_back(self.surplus());
        }
        is_first
    }

    /// Whether it has been closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) == CLOSED
    }

    /// Closes the pool, unless it is closed, and waits until all of its permits are back. One that was [forgotten](Permit::forget)
    /// never is.
    ///
    /// # Panics
    /// If a hundred thousand do so at a time; on targets without 64-bit atomics a thousand, or a dozen if there are 2^24 permits.
    pub fn shutdown(&self) {
        let ended = self.shutdown_within(Limit::NONE);
        debug_assert_eq!(ended, Ok(()), "a wait without a limit ends when all are back");
    }

    /// Like [`shutdown`](Self::shutdown), but gives up when `limit` is reached. The pool is closed all the same.
    ///
    /// # Errors
    /// How the limit was reached.
    pub fn shutdown_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<(), Stopped> {
        self.close();
        self.semaphore.acquire_many_within(self.all(), limit).map(drop)
    }

    /// [`shutdown`](Self::shutdown) from a task.
    #[track_caller]
    pub fn shutdown_async(&self) -> impl Future<Output = ()> {
        let location = Location::caller();
        async move {
            self.close();
            drop(self.semaphore.acquire_many_async(self.all()).made_at(location).await);
        }
    }

    /// How many permits it has, there or lent.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How many permits can be taken without waiting, at this moment.
    #[must_use]
    pub fn available(&self) -> u64 {
        if self.is_closed() { 0 } else { self.semaphore.available().min(self.size.into()) }
    }

    /// How many permits are waited for, at this moment.
    #[must_use]
    pub fn waiters(&self) -> u64 {
        self.semaphore.waiters()
    }

    /// All that there are when it is closed (C2).
    fn all(&self) -> u64 {
        self.surplus() + u64::from(self.size)
    }

    fn surplus(&self) -> u64 {
        SURPLUS.max(self.size.into())
    }

    #[track_caller]
    fn check_size(&self, n: u32) {
        let size = self.size;
        assert!(n <= size, "layby: taking {n} permits of a pool that has {size}");
    }

    #[track_caller]
    fn check(&self, n: u32) -> Result<(), Closed> {
        self.check_size(n);
        if self.is_closed() { Err(Closed) } else { Ok(()) }
    }

    /// A permit, if the pool is not closed; it is put back otherwise.
    fn admit<'a>(&self, permit: Permit<'a, H>) -> Result<Permit<'a, H>, Closed> {
        if self.is_closed() { Err(Closed) } else { Ok(permit) }
    }
}

/// The future of [`Pool::acquire_async`] and [`acquire_many_async`](Pool::acquire_many_async).
pub type AcquirePoolAsync<'a, H = Global> = Waiting<AtHome<H>, AcquiringFromPool<'a, H>>;

/// What [`AcquirePoolAsync`] waits for.
pub struct AcquiringFromPool<'a, H: Home> {
    pool: &'a Pool<H>,
    n: u32,
}

impl<'a, H: Home> Purpose for AcquiringFromPool<'a, H> {
    type Output = Result<Permit<'a, H>, Closed>;

    fn attempt(&mut self, _: Moment, last: Option<Key>) -> Option<Result<Permit<'a, H>, Closed>> {
        if last.is_none() && self.pool.is_closed() {
            return Some(Err(Closed));
        }
        let n = u64::from(self.n);
        if n == 0 || self.pool.semaphore.queue.attempt(word_of(n), last).is_some() {
            return Some(self.pool.admit(Permit::new(&self.pool.semaphore, n)));
        }
        // C4
        let last = last.filter(|_| self.pool.is_closed())?;
        self.abandon(last);
        Some(Err(Closed))
    }

    fn key(&mut self, _: Key, last: Option<Key>) -> Key {
        self.pool.semaphore.queue.key_of_task(word_of(self.n.into()), last)
    }

    /// Once: a waker that this calls may unwind, and then it is polled or dropped again.
    fn abandon(&mut self, last: Key) {
        let n = mem::take(&mut self.n);
        if n != 0 {
            self.pool.semaphore.queue.abandon(word_of(n.into()), last);
        }
    }
}

impl<H: Home> fmt::Debug for AcquiringFromPool<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcquiringFromPool").field("permits", &self.n).finish_non_exhaustive()
    }
}

impl<H: Home> fmt::Debug for Pool<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("size", &self.size)
            .field("available", &self.available())
            .field("waiters", &self.waiters())
            .field("closed", &self.is_closed())
            .finish()
    }
}
