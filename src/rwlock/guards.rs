//! The words behind lock_api's types: nothing but the plumbing of guards.

#![allow(unsafe_code)]

use super::RawRwLock;
use crate::error::Stopped;
use crate::wait_table::{Home, Limit};
use core::mem;
use lock_api::GuardSend;
use std::time::{Duration, Instant};

/// A reader-writer lock: first come, first served; readers that stand next to each other in line enter together. 16 bytes beside
/// the data.
///
/// ```
/// use layby::rwlock::{RwLock, RwLockWriteGuard};
///
/// let routes = RwLock::new(vec!["/"]);
/// let (one, another) = (routes.read(), routes.read());
/// assert_eq!(one.len() + another.len(), 2);
/// assert!(routes.try_write().is_none());
/// drop((one, another));
///
/// let mut writing = routes.write();
/// writing.push("/health");
/// let reading = RwLockWriteGuard::downgrade(writing); // nobody has written in between
/// assert_eq!(reading.len(), 2);
/// ```
///
/// Its methods are [lock_api's](lock_api::RwLock); the [module](super) has a table of them, and says what happens to a thread that
/// reads while it reads. For waiters in a table of their own there is [`RwLockIn`].
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
/// A [`RwLock`] whose waiters wait in the table of `H`.
///
/// ```
/// use layby::rwlock::RwLockIn;
/// use layby::wait_table::{Home, Slots, WaitTable};
///
/// struct Private;
/// impl Home for Private {
///     type Backend = layby::sys::Native;
///     const TABLE: &'static WaitTable = {
///         static SLOTS: Slots<64> = Slots::new();
///         static TABLE: WaitTable = WaitTable::from_slots(&SLOTS);
///         &TABLE
///     };
/// }
///
/// static ROUTES: RwLockIn<Vec<&str>, Private> = RwLockIn::new(Vec::new());
/// ROUTES.write().push("/");
/// ```
pub type RwLockIn<T, H> = lock_api::RwLock<RawRwLock<H>, T>;
/// The guard of a reader.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// The guard of a writer.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;
/// A reader's guard of a part of what a [`RwLock`] protects.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;
/// A writer's guard of a part of what a [`RwLock`] protects.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;
/// The guard of a reader that owns an `Arc` of the lock.
pub type ArcRwLockReadGuard<T> = lock_api::ArcRwLockReadGuard<RawRwLock, T>;
/// The guard of a writer that owns an `Arc` of the lock.
pub type ArcRwLockWriteGuard<T> = lock_api::ArcRwLockWriteGuard<RawRwLock, T>;

/// Locking with a [`Limit`]: lock_api's own methods know time only.
///
/// ```
/// use layby::{Cancel, Stopped, rwlock::{RwLock, RwLockWithin}};
///
/// static SHUTDOWN: Cancel = Cancel::new();
/// let routes = RwLock::new(vec![]);
/// routes.write_within(&SHUTDOWN)?.push("/");
///
/// let reading = routes.read();
/// std::thread::scope(|s| {
///     let writer = s.spawn(|| routes.write_within(&SHUTDOWN).map(drop));
///     SHUTDOWN.cancel();
///     assert_eq!(writer.join().unwrap(), Err(Stopped::Cancelled));
/// });
/// assert!(routes.try_read().is_some(), "the writer is not in line any more");
/// # drop(reading);
/// # Ok::<(), Stopped>(())
/// ```
pub trait RwLockWithin {
    /// The guard of a reader.
    type ReadGuard<'a>
    where
        Self: 'a;

    /// The guard of a writer.
    type WriteGuard<'a>
    where
        Self: 'a;

    /// Locks for reading, or gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached; nothing is locked then.
    fn read_within<'l>(&self, limit: impl Into<Limit<'l>>) -> Result<Self::ReadGuard<'_>, Stopped>;

    /// Locks for writing, or gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached; nothing is locked then.
    fn write_within<'l>(&self, limit: impl Into<Limit<'l>>) -> Result<Self::WriteGuard<'_>, Stopped>;
}

impl<H: Home, T: ?Sized> RwLockWithin for lock_api::RwLock<RawRwLock<H>, T> {
    type ReadGuard<'a>
        = lock_api::RwLockReadGuard<'a, RawRwLock<H>, T>
    where
        Self: 'a;

    type WriteGuard<'a>
        = lock_api::RwLockWriteGuard<'a, RawRwLock<H>, T>
    where
        Self: 'a;

    fn read_within<'l>(&self, limit: impl Into<Limit<'l>>) -> Result<Self::ReadGuard<'_>, Stopped> {
        // SAFETY: it is locked for reading, and not unlocked but by the guard.
        unsafe {
            self.raw().acquire_read_within(limit)?;
            Ok(self.make_read_guard_unchecked(GuardSend::new()))
        }
    }

    fn write_within<'l>(&self, limit: impl Into<Limit<'l>>) -> Result<Self::WriteGuard<'_>, Stopped> {
        // SAFETY: it is locked for writing, and not unlocked but by the guard.
        unsafe {
            self.raw().acquire_write_within(limit)?;
            Ok(self.make_write_guard_unchecked(GuardSend::new()))
        }
    }
}

/// A reader that goes on as a writer.
pub trait TryUpgrade: Sized {
    /// The guard of a writer.
    type WriteGuard;

    /// Goes on as a writer, if nobody else is inside or in line.
    ///
    /// # Errors
    /// The guard, if somebody is. To wait, drop it, `write`, and look again at what the decision to write rests on: others may have
    /// written in between.
    ///
    /// ```
    /// use layby::rwlock::{RwLock, RwLockReadGuard, TryUpgrade};
    ///
    /// let cache = RwLock::new(None);
    /// let looking = cache.read();
    /// if looking.is_none() {
    ///     let mut writing = RwLockReadGuard::try_upgrade(looking).unwrap_or_else(|looking| {
    ///         drop(looking);
    ///         cache.write()
    ///     });
    ///     writing.get_or_insert(42);
    /// }
    /// assert_eq!(*cache.read(), Some(42));
    /// ```
    fn try_upgrade(guard: Self) -> Result<Self::WriteGuard, Self>;
}

impl<'a, H: Home, T: ?Sized> TryUpgrade for lock_api::RwLockReadGuard<'a, RawRwLock<H>, T> {
    type WriteGuard = lock_api::RwLockWriteGuard<'a, RawRwLock<H>, T>;

    fn try_upgrade(guard: Self) -> Result<Self::WriteGuard, Self> {
        let lock = Self::rwlock(&guard);
        // SAFETY: the guard reads, and if it is a writer's lock now, the guard is forgotten, and does not unlock.
        unsafe {
            if !lock.raw().try_upgrade() {
                return Err(guard);
            }
            mem::forget(guard);
            Ok(lock.make_write_guard_unchecked(GuardSend::new()))
        }
    }
}

// SAFETY:
// - a writer is inside alone, and readers without a writer: X1 and X2 of `raw`;
// - acquiring has acquire semantics, releasing has release semantics;
// - what unwinds, because the waker of a task does, has left the line, or has unlocked; and a lock can be moved or dropped at any
//   time at which nobody is inside a call, whatever tasks have been forgotten.
unsafe impl<H: Home> lock_api::RawRwLock for RawRwLock<H> {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a static")]
    const INIT: Self = Self::new_in();

    type SharedGuard = GuardSend;
    type ExclusiveGuard = GuardSend;

    #[inline]
    fn lock_shared(&self) -> GuardSend {
        self.acquire_read();
        GuardSend::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardSend> {
        self.try_acquire_read().then(GuardSend::new)
    }

    #[inline]
    unsafe fn unlock_shared(&self, _guard: GuardSend) {
        // SAFETY: the caller's promise.
        unsafe { self.release_read() };
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardSend {
        self.acquire_write();
        GuardSend::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardSend> {
        self.try_acquire_write().then(GuardSend::new)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _guard: GuardSend) {
        // SAFETY: the caller's promise.
        unsafe { self.release_write() };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_acquired()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.is_acquired_for_writing()
    }
}

// SAFETY: as above; a call that returns nothing has not locked.
unsafe impl<H: Home> lock_api::RawRwLockTimed for RawRwLock<H> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardSend> {
        self.acquire_read_timeout(timeout).then(GuardSend::new)
    }

    #[inline]
    fn try_lock_shared_until(&self, deadline: Instant) -> Option<GuardSend> {
        self.acquire_read_deadline(deadline).then(GuardSend::new)
    }

    #[inline]
    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardSend> {
        self.acquire_write_timeout(timeout).then(GuardSend::new)
    }

    #[inline]
    fn try_lock_exclusive_until(&self, deadline: Instant) -> Option<GuardSend> {
        self.acquire_write_deadline(deadline).then(GuardSend::new)
    }
}

// SAFETY: as above; all permits but the reader's one are given back.
unsafe impl<H: Home> lock_api::RawRwLockDowngrade for RawRwLock<H> {
    #[inline]
    unsafe fn downgrade(&self, guard: GuardSend) -> GuardSend {
        // SAFETY: the caller's promise.
        unsafe { self.downgrade() };
        guard
    }
}

// SAFETY: as above; every release is fair.
unsafe impl<H: Home> lock_api::RawRwLockFair for RawRwLock<H> {
    #[inline]
    unsafe fn unlock_shared_fair(&self, _guard: GuardSend) {
        // SAFETY: the caller's promise.
        unsafe { self.release_read() };
    }

    #[inline]
    unsafe fn unlock_exclusive_fair(&self, _guard: GuardSend) {
        // SAFETY: the caller's promise.
        unsafe { self.release_write() };
    }
}
