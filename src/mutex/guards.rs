//! The words behind lock_api's types: nothing but the plumbing of guards.

#![allow(unsafe_code)]

use super::{RawFairMutex, RawMutex, Ticket};
use crate::error::Stopped;
use crate::wait_table::{Home, Limit};
use lock_api::GuardSend;
use std::time::{Duration, Instant};

/// A mutex for throughput: a thread that comes while it is free takes it.
///
/// Threads that wait are served in turn all the same: after 1 ms, and 0.2 ms and a hold of the lock for each that waited before,
/// and the time that the operating system takes to run them. 4 bytes beside the data.
///
/// ```
/// use layby::mutex::Mutex;
///
/// static TOTAL: Mutex<u64> = Mutex::new(0);
/// std::thread::scope(|s| {
///     for n in 1..=4 {
///         s.spawn(move || *TOTAL.lock() += n);
///     }
/// });
/// assert_eq!(*TOTAL.lock(), 10);
/// ```
///
/// | its methods, from [lock_api](lock_api::Mutex) | |
/// |---|---|
/// | [`new`](lock_api::Mutex::new), [`into_inner`](lock_api::Mutex::into_inner), [`get_mut`](lock_api::Mutex::get_mut) | `new` is `const` |
/// | [`lock`](lock_api::Mutex::lock), [`try_lock`](lock_api::Mutex::try_lock) | a [`MutexGuard`], or maybe one |
/// | [`try_lock_for`](lock_api::Mutex::try_lock_for), [`try_lock_until`](lock_api::Mutex::try_lock_until) | with a timeout, or a deadline |
/// | [`lock_arc`](lock_api::Mutex::lock_arc), `try_lock_arc`, `…_for`, `…_until` | an [`ArcMutexGuard`], which borrows nothing |
/// | [`is_locked`](lock_api::Mutex::is_locked), [`data_ptr`](lock_api::Mutex::data_ptr) | |
/// | [`MutexGuard::map`](lock_api::MutexGuard::map), `try_map` | a [`MappedMutexGuard`], of a part |
/// | [`MutexGuard::unlocked`](lock_api::MutexGuard::unlocked) | without the lock for the length of a closure |
/// | [`MutexGuard::unlock_fair`](lock_api::MutexGuard::unlock_fair), `unlocked_fair`, [`bump`](lock_api::MutexGuard::bump) | the lock goes to a thread that waits, if one does, before all who come later, the caller included |
///
/// A fair unlock is for threads: a task that waits is woken, but may be [overtaken](super::LockAsync). Where all unlocks are to
/// be fair take a [`FairMutex`].
///
/// For waiters in a table of their own there is [`MutexIn`].
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
/// A [`Mutex`] whose waiters wait in the table of `H`.
///
/// It is not a parameter of [`Mutex`] with a default, which `Mutex::new(0)` could not infer.
///
/// ```
/// use layby::mutex::MutexIn;
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
/// static TOTAL: MutexIn<u64, Private> = MutexIn::new(0);
/// *TOTAL.lock() += 1;
/// ```
pub type MutexIn<T, H> = lock_api::Mutex<RawMutex<H>, T>;
/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
/// The guard of a part of what a [`Mutex`] protects.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;
/// The guard of a [`Mutex`] that owns an `Arc` of it.
pub type ArcMutexGuard<T> = lock_api::ArcMutexGuard<RawMutex, T>;

/// A mutex for order: first come, first served. 16 bytes beside the data.
///
/// ```
/// use layby::mutex::FairMutex;
/// use std::sync::Arc;
///
/// let log = Arc::new(FairMutex::new(vec![]));
/// let guard = log.lock_arc();
/// assert!(log.try_lock().is_none());
/// drop(guard);
/// log.lock().push("served");
/// ```
///
/// It has the methods of [`Mutex`], and those of a lock that is always unlocked fairly:
/// [`MutexGuard::bump`](lock_api::MutexGuard::bump) lets the next in line have it and waits for one's own turn again;
/// [`unlock_fair`](lock_api::MutexGuard::unlock_fair) is a plain unlock. For waiters in a table of their own there is
/// [`FairMutexIn`].
pub type FairMutex<T> = lock_api::Mutex<RawFairMutex, T>;
/// A [`FairMutex`] whose waiters wait in the table of `H`; see [`MutexIn`].
pub type FairMutexIn<T, H> = lock_api::Mutex<RawFairMutex<H>, T>;
/// The guard of a [`FairMutex`]: carries the ticket.
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawFairMutex, T>;
/// The guard of a part of what a [`FairMutex`] protects.
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawFairMutex, T>;
/// The guard of a [`FairMutex`] that owns an `Arc` of it.
pub type ArcFairMutexGuard<T> = lock_api::ArcMutexGuard<RawFairMutex, T>;

/// Locking with a [`Limit`], for [`Mutex`] and [`FairMutex`]: lock_api's own methods know time only.
///
/// ```
/// use layby::{Cancel, Stopped, mutex::{LockWithin, Mutex}};
///
/// static SHUTDOWN: Cancel = Cancel::new();
/// let log = Mutex::new(vec![]);
/// log.lock_within(&SHUTDOWN)?.push("written");
///
/// let held = log.lock();
/// std::thread::scope(|s| {
///     let waiter = s.spawn(|| log.lock_within(&SHUTDOWN).map(drop));
///     SHUTDOWN.cancel();
///     assert_eq!(waiter.join().unwrap(), Err(Stopped::Cancelled));
/// });
/// # drop(held);
/// # Ok::<(), Stopped>(())
/// ```
pub trait LockWithin {
    /// The lock's guard.
    type Guard<'a>
    where
        Self: 'a;

    /// Locks, or gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached; nothing is locked then.
    fn lock_within<'l>(&self, limit: impl Into<Limit<'l>>) -> Result<Self::Guard<'_>, Stopped>;
}

impl<H: Home, T: ?Sized> LockWithin for lock_api::Mutex<RawMutex<H>, T> {
    type Guard<'a>
        = lock_api::MutexGuard<'a, RawMutex<H>, T>
    where
        Self: 'a;

    fn lock_within<'l>(&self, limit: impl Into<Limit<'l>>) -> Result<Self::Guard<'_>, Stopped> {
        // SAFETY: it is locked, and not unlocked but by the guard.
        unsafe {
            self.raw().acquire_within(limit)?;
            Ok(self.make_guard_unchecked(GuardSend::new()))
        }
    }
}

impl<H: Home, T: ?Sized> LockWithin for lock_api::Mutex<RawFairMutex<H>, T> {
    type Guard<'a>
        = lock_api::MutexGuard<'a, RawFairMutex<H>, T>
    where
        Self: 'a;

    fn lock_within<'l>(&self, limit: impl Into<Limit<'l>>) -> Result<Self::Guard<'_>, Stopped> {
        // SAFETY: it is locked with this ticket, and not unlocked but by the guard.
        unsafe {
            let ticket = self.raw().acquire_within(limit)?;
            Ok(self.make_guard_unchecked(ticket))
        }
    }
}

// SAFETY:
// - at most one thread is between a successful acquire and its release: it alone has set LOCKED;
// - acquiring has acquire semantics, releasing has release semantics;
// - what unwinds, because the waker of a task does, has not locked, or has unlocked; and a mutex can be moved or dropped at any
//   time at which nobody is inside a call.
unsafe impl<H: Home> lock_api::RawMutex for RawMutex<H> {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a static")]
    const INIT: Self = Self::new_in();

    type Guard = GuardSend;

    #[inline]
    fn lock(&self) -> GuardSend {
        self.acquire();
        GuardSend::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<GuardSend> {
        self.try_acquire().then(GuardSend::new)
    }

    #[inline]
    unsafe fn unlock(&self, _guard: GuardSend) {
        // SAFETY: the caller's promise.
        unsafe { self.release() };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_acquired()
    }
}

// SAFETY: as for `RawMutex`; a call that returns nothing has not locked.
unsafe impl<H: Home> lock_api::RawMutexTimed for RawMutex<H> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> Option<GuardSend> {
        self.acquire_timeout(timeout).then(GuardSend::new)
    }

    #[inline]
    fn try_lock_until(&self, deadline: Instant) -> Option<GuardSend> {
        self.acquire_deadline(deadline).then(GuardSend::new)
    }
}

// SAFETY:
// - at most one thread holds the ticket that is granted;
// - acquiring has acquire semantics, releasing has release semantics;
// - what unwinds, because the waker of a task does, has left the line, or has unlocked; and a mutex can be moved or dropped at any
//   time at which nobody is inside a call, whatever tasks have been forgotten.
unsafe impl<H: Home> lock_api::RawMutex for RawFairMutex<H> {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a static")]
    const INIT: Self = Self::new_in();

    type Guard = Ticket;

    #[inline]
    fn lock(&self) -> Ticket {
        self.acquire()
    }

    #[inline]
    fn try_lock(&self) -> Option<Ticket> {
        self.try_acquire()
    }

    #[inline]
    unsafe fn unlock(&self, ticket: Ticket) {
        // SAFETY: the caller's promise.
        unsafe { self.release(ticket) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_acquired()
    }
}

// SAFETY: as for `RawMutex`; a call that returns nothing has not locked.
unsafe impl<H: Home> lock_api::RawMutexTimed for RawFairMutex<H> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> Option<Ticket> {
        self.acquire_timeout(timeout)
    }

    #[inline]
    fn try_lock_until(&self, deadline: Instant) -> Option<Ticket> {
        self.acquire_deadline(deadline)
    }
}

// SAFETY: as for `RawMutex`.
unsafe impl<H: Home> lock_api::RawMutexFair for RawMutex<H> {
    #[inline]
    unsafe fn unlock_fair(&self, _guard: GuardSend) {
        // SAFETY: the caller's promise.
        unsafe { self.release_fair() };
    }
}

// SAFETY: as for `RawMutex`; every release is fair.
unsafe impl<H: Home> lock_api::RawMutexFair for RawFairMutex<H> {
    #[inline]
    unsafe fn unlock_fair(&self, ticket: Ticket) {
        // SAFETY: the caller's promise.
        unsafe { self.release(ticket) };
    }
}
