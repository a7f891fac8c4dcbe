//! Takes of tasks: futures, in one line with the threads.
//!
//! | | one | several |
//! |---|---|---|
//! | bare | `take_async` | `take_many_async` |
//! | a guard | `acquire_async` | `acquire_many_async` |
//! | a guard that owns an `Arc` | `acquire_owned_async` | `acquire_many_owned_async` |

use super::{OwnedPermit, Permit, Semaphore};
use crate::ticket_queue::{Word, word_of};
use crate::wait_table::{AtHome, Global, Home, Key, Moment, Purpose, Waiting};
use core::fmt;
use std::sync::Arc;

/// The future of [`Semaphore::take_async`] and [`take_many_async`](Semaphore::take_many_async).
pub type TakeAsync<'a, H = Global> = Waiting<AtHome<H>, Taking<'a, H>>;
/// The future of [`Semaphore::acquire_async`] and [`acquire_many_async`](Semaphore::acquire_many_async).
pub type AcquireAsync<'a, H = Global> = Waiting<AtHome<H>, Acquiring<'a, H>>;
/// The future of [`Semaphore::acquire_owned_async`] and [`acquire_many_owned_async`](Semaphore::acquire_many_owned_async).
pub type AcquireOwnedAsync<H = Global> = Waiting<AtHome<H>, AcquiringOwned<H>>;

impl<H: Home> Semaphore<H> {
    /// Takes a permit from a task: [`take`](Self::take) as a future, on any executor. See [`acquire_async`](Self::acquire_async).
    #[track_caller]
    pub fn take_async(&self) -> TakeAsync<'_, H> {
        self.take_many_async(1)
    }

    /// Takes `n` permits together from a task: [`take_many`](Self::take_many) as a future. See
    /// [`acquire_many_async`](Self::acquire_many_async).
    ///
    /// # Panics
    /// Like [`acquire_many_async`](Self::acquire_many_async).
    #[track_caller]
    pub fn take_many_async(&self, n: u64) -> TakeAsync<'_, H> {
        Waiting::new(AtHome::NEW, self.queue.key(), false, Taking(Permits::of(self, n)))
    }

    /// Takes a permit from a task; it is put back when the guard is dropped. [`acquire`](Self::acquire) as a future: on any
    /// executor, in one line with all other tasks and with threads, in whatever form they wait.
    ///
    /// The future joins the line when it is first polled. It allocates nothing, except that the first tasks of a table, and very
    /// many of them, make the table grow.
    ///
    /// # Cancel safety
    /// It may be dropped at any time, and then is a take that timed out: it loses its place in line, holds up nobody behind it,
    /// and a permit that it had been given already goes to the next. To poll it no more and keep it is another matter: a permit
    /// that it is given stays with it, as with any lock that serves in order, and those behind it wait.
    ///
    /// A poll that has just got its permit may have to call the wakers of others who wait in the same place of the table: a waker must not
    /// wait for a permit.
    ///
    /// A deadline is the executor's business: its timeout drops the future. What else should end the wait is
    /// raced against it in the same way; a [`Cancel`](crate::Cancel) is a [`Location`](crate::Location) that a task can
    /// [wait](crate::wait_until_async) on.
    ///
    /// ```
    /// use layby::sema::Semaphore;
    ///
    /// static CONNECTIONS: Semaphore = Semaphore::new(1);
    ///
    /// async fn query() {
    ///     let _connection = CONNECTIONS.acquire_async().await;
    ///     // …
    /// }
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let held = CONNECTIONS.acquire();
    /// # let mut future = std::pin::pin!(query());
    /// # assert!(future.as_mut().poll(&mut context).is_pending());
    /// # assert!(CONNECTIONS.try_acquire().is_none());
    /// # drop(held);
    /// # assert!(CONNECTIONS.try_acquire().is_none(), "it is the task's");
    /// # assert!(future.as_mut().poll(&mut context).is_ready());
    /// # assert_eq!(CONNECTIONS.available(), 1);
    /// ```
    #[track_caller]
    pub fn acquire_async(&self) -> AcquireAsync<'_, H> {
        self.acquire_many_async(1)
    }

    /// Takes `n` permits together from a task; they are put back when the guard is dropped. [`acquire_many`](Self::acquire_many) as a
    /// future; otherwise like [`acquire_async`](Self::acquire_async). If it is dropped, permits that it had been given already go to the next in
    /// line.
    ///
    /// # Panics
    /// If `n` is more than [`MAX_PERMITS`](Self::MAX_PERMITS). The future panics when it is first polled if `n` and the permits
    /// already waited for are together more than that.
    #[track_caller]
    pub fn acquire_many_async(&self, n: u64) -> AcquireAsync<'_, H> {
        Waiting::new(AtHome::NEW, self.queue.key(), false, Acquiring(Permits::of(self, n)))
    }

    /// Like [`acquire_async`](Self::acquire_async), but the future and its guard keep the semaphore alive instead of borrowing
    /// it: for tasks that are spawned.
    ///
    /// ```
    /// use layby::sema::Semaphore;
    /// use std::sync::Arc;
    ///
    /// fn job(limit: &Arc<Semaphore>) -> impl Future<Output = ()> + Send + 'static {
    ///     let permit = limit.acquire_owned_async();
    ///     async move {
    ///         let _permit = permit.await;
    ///         // …
    ///     }
    /// }
    /// # let limit = Arc::new(Semaphore::new(1));
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # assert!(std::pin::pin!(job(&limit)).poll(&mut context).is_ready());
    /// ```
    #[track_caller]
    pub fn acquire_owned_async(self: &Arc<Self>) -> AcquireOwnedAsync<H> {
        self.acquire_many_owned_async(1)
    }

    /// Like [`acquire_many_async`](Self::acquire_many_async), but the future and its guard keep the semaphore alive instead of
    /// borrowing it.
    ///
    /// # Panics
    /// Like [`acquire_many_async`](Self::acquire_many_async).
    #[track_caller]
    pub fn acquire_many_owned_async(self: &Arc<Self>, n: u64) -> AcquireOwnedAsync<H> {
        let _ = word_of(n);
        let purpose = AcquiringOwned { semaphore: Some(Arc::clone(self)), n };
        Waiting::new(AtHome::NEW, self.queue.key(), false, purpose)
    }
}

/// So many permits of a semaphore, for a task.
struct Permits<'a, H: Home> {
    semaphore: &'a Semaphore<H>,
    n: u64,
}

impl<'a, H: Home> Permits<'a, H> {
    #[track_caller]
    fn of(semaphore: &'a Semaphore<H>, n: u64) -> Self {
        let _ = word_of(n);
        Self { semaphore, n }
    }

    /// As the queue counts them: they were few enough when this was made.
    #[inline(always)]
    #[allow(clippy::unnecessary_cast, reason = "a word is 32 bits wide on some targets")]
    fn words(&self) -> Word {
        self.n as Word
    }

    /// Whether it has them now. To have none it need not wait.
    #[inline(always)]
    fn attempt(&self, last: Option<Key>) -> bool {
        self.n == 0 || self.semaphore.queue.attempt(self.words(), last).is_some()
    }

    #[inline]
    fn key(&self, last: Option<Key>) -> Key {
        self.semaphore.queue.key_of_task(self.words(), last)
    }

    fn abandon(&self, last: Key) {
        self.semaphore.queue.abandon(self.words(), last);
    }

    fn give_back(&self) {
        self.semaphore.put_back(self.n);
    }
}

/// What [`TakeAsync`] waits for.
pub struct Taking<'a, H: Home>(Permits<'a, H>);

/// What [`AcquireAsync`] waits for.
pub struct Acquiring<'a, H: Home>(Permits<'a, H>);

/// What [`AcquireOwnedAsync`] waits for.
pub struct AcquiringOwned<H: Home> {
    /// Until the guard has it.
    semaphore: Option<Arc<Semaphore<H>>>,
    n: u64,
}

impl<H: Home> AcquiringOwned<H> {
    fn permits(&self) -> Permits<'_, H> {
        let semaphore = self.semaphore.as_ref().expect("it is not asked again when it has succeeded");
        Permits { semaphore, n: self.n }
    }
}

impl<H: Home> Purpose for Taking<'_, H> {
    type Output = ();

    #[inline(always)]
    fn attempt(&mut self, _: Moment, last: Option<Key>) -> Option<()> {
        self.0.attempt(last).then_some(())
    }

    #[inline]
    fn key(&mut self, _: Key, last: Option<Key>) -> Key {
        self.0.key(last)
    }

    fn abandon(&mut self, last: Key) {
        self.0.abandon(last);
    }

    fn give_back(&mut self, (): ()) {
        self.0.give_back();
    }
}

impl<'a, H: Home> Purpose for Acquiring<'a, H> {
    type Output = Permit<'a, H>;

    #[inline(always)]
    fn attempt(&mut self, _: Moment, last: Option<Key>) -> Option<Permit<'a, H>> {
        self.0.attempt(last).then(|| Permit::new(self.0.semaphore, self.0.n))
    }

    #[inline]
    fn key(&mut self, _: Key, last: Option<Key>) -> Key {
        self.0.key(last)
    }

    fn abandon(&mut self, last: Key) {
        self.0.abandon(last);
    }
}

impl<H: Home> Purpose for AcquiringOwned<H> {
    type Output = OwnedPermit<H>;

    #[inline(always)]
    fn attempt(&mut self, _: Moment, last: Option<Key>) -> Option<OwnedPermit<H>> {
        let has_them = self.permits().attempt(last);
        self.semaphore.take_if(|_| has_them).map(|semaphore| OwnedPermit::new(semaphore, self.n))
    }

    #[inline]
    fn key(&mut self, _: Key, last: Option<Key>) -> Key {
        self.permits().key(last)
    }

    fn abandon(&mut self, last: Key) {
        self.permits().abandon(last);
    }
}

impl<H: Home> fmt::Debug for Taking<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taking").field("permits", &self.0.n).finish_non_exhaustive()
    }
}

impl<H: Home> fmt::Debug for Acquiring<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquiring").field("permits", &self.0.n).finish_non_exhaustive()
    }
}

impl<H: Home> fmt::Debug for AcquiringOwned<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcquiringOwned").field("permits", &self.n).finish_non_exhaustive()
    }
}
