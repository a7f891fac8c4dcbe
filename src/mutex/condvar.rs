//! A condition variable for any mutex of lock_api: an address to wait on.
//!
//! ```text
//! waiter                               notifier
//! publish at the condvar's address     lock, change what it protects, unlock
//! fence A                              fence B
//! unlock the mutex, sleep              anybody there? wake one, or all
//! lock the mutex
//! ```
//!
//! The waiter is published before it unlocks, so a thread that locks the mutex after it finds it on the chain. The wrong
//! order, to unlock and then publish, lets a notifier in between find nobody.

#![allow(unsafe_code)]

use super::{RawFairMutex, RawMutex};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::wait_table::{Key, WaitOutcome, global};
use core::{fmt, marker::PhantomData, ptr};
use lock_api::RawMutexTimed;
use std::time::{Duration, Instant};

/// A condition variable for [`Mutex`](super::Mutex). See [`RawCondvar`] for what is promised.
///
/// ```
/// use layby::mutex::{Condvar, Mutex};
/// use std::time::Duration;
///
/// let (open, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         *open.lock() = true;
///         changed.notify_all();
///     });
///     let mut open = open.lock();
///     let waited = changed.wait_while_for(&mut open, |open| !*open, Duration::from_secs(60));
///     assert!(!waited.timed_out());
/// });
/// ```
pub type Condvar = lock_api::Condvar<RawCondvar<RawMutex>>;
/// A condition variable for [`FairMutex`](super::FairMutex). See [`RawCondvar`] for what is promised.
pub type FairCondvar = lock_api::Condvar<RawCondvar<RawFairMutex>>;

/// A condition variable for mutexes of type `R`, one or several.
///
/// Waits may end early. Notifications therefore return `false` and `0`, as lock_api asks. `notify_one` wakes the thread
/// that has waited longest.
pub struct RawCondvar<R> {
    /// Makes the address this condvar's own: things of no size may share theirs.
    _place: u8,
    mutex: PhantomData<fn(&R)>,
}

impl<R> RawCondvar<R> {
    fn key(&self) -> Key {
        ptr::from_ref(self).into()
    }
}

impl<R: lock_api::RawMutex> RawCondvar<R> {
    /// Publishes the caller, unlocks, waits, and locks again.
    ///
    /// # Safety
    /// As [`lock_api::RawCondvar::wait`].
    unsafe fn wait_at(&self, mutex: &R, guard: &mut R::Guard, deadline: Deadline) -> WaitOutcome {
        let mut relock = Relock { mutex, guard, unlocked: false };
        global().wait_if_at(self.key(), deadline, SpinFirst::Briefly, || {
            // SAFETY: the caller holds `mutex` with this guard.
            unsafe { relock.unlock() };
            true
        })
    }
}

/// Locks when dropped, if it was unlocked, and replaces the state of the guard that was used up by unlocking.
struct Relock<'a, R: lock_api::RawMutex> {
    mutex: &'a R,
    guard: &'a mut R::Guard,
    unlocked: bool,
}

impl<R: lock_api::RawMutex> Relock<'_, R> {
    /// Unlocks, once.
    ///
    /// # Safety
    /// The caller holds the mutex with this guard.
    unsafe fn unlock(&mut self) {
        if !self.unlocked {
            // SAFETY: the caller's promise. The state that is moved out here is replaced when `self` is dropped, on return
            // and on unwinding alike.
            unsafe { self.mutex.unlock(ptr::read(self.guard)) };
            self.unlocked = true;
        }
    }
}

impl<R: lock_api::RawMutex> Drop for Relock<'_, R> {
    fn drop(&mut self) {
        if self.unlocked {
            // SAFETY: a valid place for a write, and the old state has been moved out of it.
            unsafe { ptr::write(self.guard, self.mutex.lock()) };
        }
    }
}

// SAFETY:
// - the caller is published before the mutex is unlocked, so any notification after that finds it;
// - the mutex is locked again, and the guard's state replaced, on return and on unwinding alike.
unsafe impl<R: lock_api::RawMutex> lock_api::RawCondvar for RawCondvar<R> {
    const INIT: Self = Self { _place: 0, mutex: PhantomData };

    type RawMutex = R;

    unsafe fn wait(&self, mutex: &R, guard: &mut R::Guard) {
        // SAFETY: the caller's promise.
        unsafe { self.wait_at(mutex, guard, Deadline::NEVER) };
    }

    #[inline]
    fn notify_one(&self) -> bool {
        global().wake_one(self.key());
        false
    }

    #[inline]
    fn notify_all(&self) -> usize {
        global().wake_all(self.key());
        0
    }
}

// SAFETY: as above; a wake-up that was used up is never reported as a timeout.
unsafe impl<R> lock_api::RawCondvarTimed for RawCondvar<R>
where
    R: RawMutexTimed<Duration = Duration, Instant = Instant>,
{
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Deadline::after(*timeout).instant()
    }

    unsafe fn wait_until(&self, mutex: &R, guard: &mut R::Guard, deadline: &Instant) -> bool {
        // SAFETY: the caller's promise.
        let outcome = unsafe { self.wait_at(mutex, guard, Deadline::at(*deadline)) };
        outcome == WaitOutcome::TimedOut
    }
}

impl<R> fmt::Debug for RawCondvar<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawCondvar").finish_non_exhaustive()
    }
}
