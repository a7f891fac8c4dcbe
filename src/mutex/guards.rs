//! The words behind lock_api's types: nothing but the plumbing of guards.

#![allow(unsafe_code)]

use super::{RawFairMutex, RawMutex, Ticket};
use crate::wait_table::Home;
use lock_api::GuardSend;
use std::time::{Duration, Instant};

/// A mutex for throughput: a thread that comes while it is free takes it.
///
/// Of the threads that have been overtaken for a millisecond, one at a time is served next. 4 bytes beside the data.
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
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
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
pub type FairMutex<T> = lock_api::Mutex<RawFairMutex, T>;
/// The guard of a [`FairMutex`]: carries the ticket.
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawFairMutex, T>;
/// The guard of a part of what a [`FairMutex`] protects.
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawFairMutex, T>;
/// The guard of a [`FairMutex`] that owns an `Arc` of it.
pub type ArcFairMutexGuard<T> = lock_api::ArcMutexGuard<RawFairMutex, T>;

// SAFETY:
// - at most one thread is between a successful acquire and its release: it alone has set LOCKED;
// - acquiring has acquire semantics, releasing has release semantics;
// - nothing here unwinds, and a mutex can be moved or dropped at any time at which nobody is inside a call.
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
        self.release();
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
// - nothing here unwinds while a ticket is held, and a mutex can be moved or dropped at any time at which nobody is
//   inside a call.
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
        self.release(ticket);
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

// SAFETY: as for `RawMutex`; every release is fair.
unsafe impl<H: Home> lock_api::RawMutexFair for RawFairMutex<H> {
    #[inline]
    unsafe fn unlock_fair(&self, ticket: Ticket) {
        self.release(ticket);
    }
}
