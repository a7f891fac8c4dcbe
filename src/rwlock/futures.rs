//! The lock for tasks: lock_api's types know threads only.

#![allow(unsafe_code)]

use super::RawRwLock;
use crate::wait_table::Home;
use core::{future::Future, panic::Location};
use lock_api::{ArcRwLockReadGuard, ArcRwLockWriteGuard, GuardSend, RwLockReadGuard, RwLockWriteGuard};
use std::sync::Arc;

/// Locking from tasks: in one line with threads, and on any executor.
///
/// The future joins the line when it is first polled. It may be dropped at any time: it loses its place, holds up nobody behind it,
/// and a lock that it had been given goes to the next. One that is kept and not polled is another matter: the lock that was given to
/// it stays with it, and so do those who wait behind it.
///
/// A guard that is held across an `.await` keeps writers out, or everybody, until the task goes on. If there is no `.await` while the
/// lock is held, in any task, the plain [`read`](lock_api::RwLock::read) and [`write`](lock_api::RwLock::write) are the better ones, in
/// tasks too. But do not mix the two forms on one executor: the thread that the plain one blocks may be the one that should poll the
/// task whose turn it is.
///
/// ```
/// use layby::rwlock::{RwLock, RwLockAsync};
///
/// static ROUTES: RwLock<Vec<String>> = RwLock::new(Vec::new());
///
/// async fn add(route: &str) -> usize {
///     ROUTES.write_async().await.push(route.to_owned());
///     ROUTES.read_async().await.len()
/// }
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let reading = ROUTES.read();
/// # let mut future = std::pin::pin!(add("/health"));
/// # assert!(future.as_mut().poll(&mut context).is_pending());
/// # assert!(ROUTES.try_read().is_none(), "it would overtake the task");
/// # drop(reading);
/// # assert_eq!(future.as_mut().poll(&mut context), std::task::Poll::Ready(1));
/// ```
pub trait RwLockAsync {
    /// The guard of a reader.
    type ReadGuard<'a>
    where
        Self: 'a;

    /// The guard of a writer.
    type WriteGuard<'a>
    where
        Self: 'a;

    /// The guard of a reader that owns an `Arc` of the lock.
    type ArcReadGuard;

    /// The guard of a writer that owns an `Arc` of the lock.
    type ArcWriteGuard;

    /// Locks for reading.
    fn read_async(&self) -> impl Future<Output = Self::ReadGuard<'_>>;

    /// Locks for writing.
    fn write_async(&self) -> impl Future<Output = Self::WriteGuard<'_>>;

    /// Locks for reading; the guard keeps the lock alive instead of borrowing it.
    fn read_arc_async(self: &Arc<Self>) -> impl Future<Output = Self::ArcReadGuard> + use<Self>;

    /// Locks for writing; the guard keeps the lock alive instead of borrowing it.
    fn write_arc_async(self: &Arc<Self>) -> impl Future<Output = Self::ArcWriteGuard> + use<Self>;
}

impl<H: Home, T: ?Sized> RwLockAsync for lock_api::RwLock<RawRwLock<H>, T> {
    type ReadGuard<'a>
        = RwLockReadGuard<'a, RawRwLock<H>, T>
    where
        Self: 'a;
    type WriteGuard<'a>
        = RwLockWriteGuard<'a, RawRwLock<H>, T>
    where
        Self: 'a;
    type ArcReadGuard = ArcRwLockReadGuard<RawRwLock<H>, T>;
    type ArcWriteGuard = ArcRwLockWriteGuard<RawRwLock<H>, T>;

    #[track_caller]
    fn read_async(&self) -> impl Future<Output = Self::ReadGuard<'_>> {
        let location = Location::caller();
        async move {
            // SAFETY: it is locked for reading, and not unlocked but by the guard.
            unsafe {
                self.raw().acquire_read_async().made_at(location).await;
                self.make_read_guard_unchecked(GuardSend::new())
            }
        }
    }

    #[track_caller]
    fn write_async(&self) -> impl Future<Output = Self::WriteGuard<'_>> {
        let location = Location::caller();
        async move {
            // SAFETY: it is locked for writing, and not unlocked but by the guard.
            unsafe {
                self.raw().acquire_write_async().made_at(location).await;
                self.make_write_guard_unchecked(GuardSend::new())
            }
        }
    }

    #[track_caller]
    fn read_arc_async(self: &Arc<Self>) -> impl Future<Output = Self::ArcReadGuard> + use<H, T> {
        let (lock, location) = (Arc::clone(self), Location::caller());
        async move {
            // SAFETY: as above.
            unsafe {
                lock.raw().acquire_read_async().made_at(location).await;
                lock.make_arc_read_guard_unchecked(GuardSend::new())
            }
        }
    }

    #[track_caller]
    fn write_arc_async(self: &Arc<Self>) -> impl Future<Output = Self::ArcWriteGuard> + use<H, T> {
        let (lock, location) = (Arc::clone(self), Location::caller());
        async move {
            // SAFETY: as above.
            unsafe {
                lock.raw().acquire_write_async().made_at(location).await;
                lock.make_arc_write_guard_unchecked(GuardSend::new())
            }
        }
    }
}
