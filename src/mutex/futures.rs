//! Locks and condition variables for tasks: lock_api's types know threads only.

#![allow(unsafe_code)]
#![allow(clippy::await_holding_lock, reason = "a wait takes the guard along, and drops it when it is published")]

use super::{RawCondvar, RawFairMutex, RawMutex};
use crate::wait_table::{AtHome, Global, Home, Key, Moment, Purpose, Waiting, global};
use core::{
    fmt,
    future::Future,
    marker::PhantomData,
    mem::{self, ManuallyDrop},
    ops::{Deref, DerefMut},
    panic::Location,
};
use lock_api::{GuardSend, MutexGuard};
use std::sync::Arc;

/// Locking from tasks, for [`Mutex`](super::Mutex) and [`FairMutex`](super::FairMutex): beside threads that lock as ever, and on any
/// executor.
///
/// Of a [`FairMutex`](super::FairMutex) tasks and threads stand in one line. The future may be dropped at any time: it loses its place,
/// and a lock that it had been given goes to the next. One that is kept and not polled is another matter: a fair lock that was
/// given to it stays with it.
///
/// A [`Mutex`](super::Mutex) is kept for nobody who waits in a task: the task may be overtaken any number of times.
///
/// A poll that has just locked may have to call the wakers of others who wait in the same place of the table, the lock held. So a
/// waker must not wait for that lock, nor for one under which another thread waits for it; those of executors do not.
///
/// A guard that is held across an `.await` keeps all others out until the task goes on. If there is no `.await` while the lock is
/// held, the plain [`lock`](lock_api::Mutex::lock) is the better one, in tasks too. Not so, on the same executor, of a lock that other
/// tasks hold across an `.await`, nor of a [`FairMutex`](super::FairMutex) that other tasks wait for by these functions: the thread that
/// it blocks may be the one that should poll the task whose turn it is. (Clippy's `await_holding_lock` warns of all of lock_api's
/// guards, of whatever lock.)
///
/// ```
/// use layby::mutex::{FairMutex, LockAsync};
///
/// static LOG: FairMutex<Vec<String>> = FairMutex::new(Vec::new());
///
/// async fn log(line: &str) {
///     LOG.lock_async().await.push(line.to_owned());
/// }
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let held = LOG.lock();
/// # let mut future = std::pin::pin!(log("served"));
/// # assert!(future.as_mut().poll(&mut context).is_pending());
/// # drop(held);
/// # assert!(future.as_mut().poll(&mut context).is_ready());
/// # assert_eq!(*LOG.lock(), ["served"]);
/// ```
pub trait LockAsync {
    /// The lock's guard.
    type Guard<'a>
    where
        Self: 'a;

    /// The guard that owns an `Arc` of the lock.
    type OwnedGuard;

    /// Locks.
    fn lock_async(&self) -> impl Future<Output = Self::Guard<'_>>;

    /// Locks; the guard keeps the lock alive instead of borrowing it.
    fn lock_arc_async(self: &Arc<Self>) -> impl Future<Output = Self::OwnedGuard> + use<Self>;
}

impl<H: Home, T: ?Sized> LockAsync for lock_api::Mutex<RawMutex<H>, T> {
    type Guard<'a>
        = MutexGuard<'a, RawMutex<H>, T>
    where
        Self: 'a;
    type OwnedGuard = OwnedMutexGuard<RawMutex<H>, T>;

    #[track_caller]
    fn lock_async(&self) -> impl Future<Output = Self::Guard<'_>> {
        let location = Location::caller();
        async move {
            // SAFETY: it is locked, and not unlocked but by the guard.
            unsafe {
                self.raw().acquire_async().made_at(location).await;
                self.make_guard_unchecked(GuardSend::new())
            }
        }
    }

    #[track_caller]
    fn lock_arc_async(self: &Arc<Self>) -> impl Future<Output = Self::OwnedGuard> + use<H, T> {
        let (this, location) = (Arc::clone(self), Location::caller());
        async move {
            // SAFETY: as above.
            unsafe {
                this.raw().acquire_async().made_at(location).await;
                OwnedMutexGuard::new(this, GuardSend::new())
            }
        }
    }
}

impl<H: Home, T: ?Sized> LockAsync for lock_api::Mutex<RawFairMutex<H>, T> {
    type Guard<'a>
        = MutexGuard<'a, RawFairMutex<H>, T>
    where
        Self: 'a;
    type OwnedGuard = OwnedMutexGuard<RawFairMutex<H>, T>;

    #[track_caller]
    fn lock_async(&self) -> impl Future<Output = Self::Guard<'_>> {
        let location = Location::caller();
        async move {
            // SAFETY: it is locked with this ticket, and not unlocked but by the guard.
            unsafe {
                let ticket = self.raw().acquire_async().made_at(location).await;
                self.make_guard_unchecked(ticket)
            }
        }
    }

    #[track_caller]
    fn lock_arc_async(self: &Arc<Self>) -> impl Future<Output = Self::OwnedGuard> + use<H, T> {
        let (this, location) = (Arc::clone(self), Location::caller());
        async move {
            // SAFETY: as above.
            unsafe {
                let ticket = this.raw().acquire_async().made_at(location).await;
                OwnedMutexGuard::new(this, ticket)
            }
        }
    }
}

/// A guard that owns an `Arc` of its lock: see [`LockAsync::lock_arc_async`]. (lock_api makes its own such guards only of locks that
/// a thread has waited for.)
///
/// It is shared by threads if its data may be, and not otherwise:
///
/// ```compile_fail,E0277
/// use layby::mutex::{OwnedMutexGuard, RawMutex};
/// fn assert_sync<T: Sync>() {}
/// assert_sync::<OwnedMutexGuard<RawMutex, std::cell::Cell<u8>>>();
/// ```
#[must_use = "the lock is unlocked when this is dropped"]
pub struct OwnedMutexGuard<R: lock_api::RawMutex, T: ?Sized> {
    mutex: Arc<lock_api::Mutex<R, T>>,
    state: ManuallyDrop<R::Guard>,
    /// It can be sent and shared as a `T` can.
    data: PhantomData<T>,
}

impl<R: lock_api::RawMutex, T: ?Sized> OwnedMutexGuard<R, T> {
    /// # Safety
    /// The mutex is locked with this state, and nobody else unlocks it.
    unsafe fn new(mutex: Arc<lock_api::Mutex<R, T>>, state: R::Guard) -> Self {
        Self { mutex, state: ManuallyDrop::new(state), data: PhantomData }
    }

    /// The lock.
    #[must_use]
    pub fn mutex(guard: &Self) -> &Arc<lock_api::Mutex<R, T>> {
        &guard.mutex
    }
}

impl<R: lock_api::RawMutex, T: ?Sized> Deref for OwnedMutexGuard<R, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is ours.
        unsafe { &*self.mutex.data_ptr() }
    }
}

impl<R: lock_api::RawMutex, T: ?Sized> DerefMut for OwnedMutexGuard<R, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is ours.
        unsafe { &mut *self.mutex.data_ptr() }
    }
}

impl<R: lock_api::RawMutex, T: ?Sized> Drop for OwnedMutexGuard<R, T> {
    fn drop(&mut self) {
        // SAFETY: the lock is ours, with this state, which is not used again.
        unsafe { self.mutex.force_unlock(ManuallyDrop::take(&mut self.state)) };
    }
}

impl<R: lock_api::RawMutex, T: ?Sized + fmt::Display> fmt::Display for OwnedMutexGuard<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<R: lock_api::RawMutex, T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Waiting from tasks, for [`Condvar`](super::Condvar) and [`FairCondvar`](super::FairCondvar).
///
/// A wait takes the guard, unlocks when it is first polled, and returns a guard when it has been notified and has locked again. Dropped
/// before that it leaves the mutex unlocked; a `notify_one` that had chosen it goes to the next. Threads that wait
/// are chosen before tasks.
///
/// ```
/// use layby::mutex::{Condvar, CondvarAsync, LockAsync, Mutex};
///
/// async fn pop(queue: &Mutex<Vec<u32>>, not_empty: &Condvar) -> u32 {
///     let mut queue = not_empty.wait_while_async(queue.lock_async().await, |queue| queue.is_empty()).await;
///     queue.pop().unwrap()
/// }
/// # let (queue, not_empty) = (Mutex::new(vec![]), Condvar::new());
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let mut future = std::pin::pin!(pop(&queue, &not_empty));
/// # assert!(future.as_mut().poll(&mut context).is_pending());
/// queue.lock().push(7);
/// not_empty.notify_one();
/// # assert_eq!(future.as_mut().poll(&mut context), std::task::Poll::Ready(7));
/// ```
pub trait CondvarAsync {
    /// The mutexes' word.
    type RawMutex: lock_api::RawMutex;

    /// Unlocks, waits for a notification, and locks again. May end early: check the condition again.
    fn wait_async<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, Self::RawMutex, T>,
    ) -> impl Future<Output = MutexGuard<'a, Self::RawMutex, T>>;

    /// Waits while `condition` holds.
    fn wait_while_async<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, Self::RawMutex, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> impl Future<Output = MutexGuard<'a, Self::RawMutex, T>>;
}

/// For either word.
macro_rules! condvar_async {
    ($word:ident) => {
        impl<H: Home> CondvarAsync for lock_api::Condvar<RawCondvar<$word<H>>> {
            type RawMutex = $word<H>;

            async fn wait_async<'a, T: ?Sized>(
                &self,
                guard: MutexGuard<'a, $word<H>, T>,
            ) -> MutexGuard<'a, $word<H>, T> {
                let (mutex, key) = (MutexGuard::mutex(&guard), self.raw().key());
                Waiting::new(AtHome::<Global>::NEW, key, true, Notification { guard: Some(guard) }).await;
                let if_dropped = PassOn(key);
                let guard = mutex.lock_async().await;
                mem::forget(if_dropped);
                guard
            }

            async fn wait_while_async<'a, T: ?Sized>(
                &self,
                mut guard: MutexGuard<'a, $word<H>, T>,
                mut condition: impl FnMut(&mut T) -> bool,
            ) -> MutexGuard<'a, $word<H>, T> {
                while condition(&mut *guard) {
                    guard = self.wait_async(guard).await;
                }
                guard
            }
        }
    };
}

condvar_async!(RawMutex);
condvar_async!(RawFairMutex);

/// What a task waits for at a condition variable, and the guard until it is published: so nobody who locks after it can overlook
/// it.
struct Notification<'a, R: lock_api::RawMutex, T: ?Sized> {
    guard: Option<MutexGuard<'a, R, T>>,
}

impl<R: lock_api::RawMutex, T: ?Sized> Purpose for Notification<'_, R, T> {
    type Output = ();

    fn attempt(&mut self, moment: Moment, _: Option<Key>) -> Option<()> {
        if moment == Moment::Published {
            drop(self.guard.take());
        }
        (moment == Moment::Woken).then_some(())
    }
}

/// A notification that was used up by a wait that is dropped before it has locked again.
struct PassOn(Key);

impl Drop for PassOn {
    fn drop(&mut self) {
        global().wake_one(self.0);
    }
}
