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
//! How all are woken is in `relay.rs`.
//!
//! The waiter is published before it unlocks, so a thread that locks the mutex after it finds it on the chain. The wrong
//! order, to unlock and then publish, lets a notifier in between find nobody.

#![allow(unsafe_code)]

use super::{RawFairMutex, RawMutex, relay::Relay};
use crate::deadline::Deadline;
use crate::error::Stopped;
use crate::wait_table::{Key, Limit};
use core::{fmt, marker::PhantomData, mem, ptr};
use lock_api::RawMutexTimed;
use std::time::{Duration, Instant};

/// A condition variable for [`Mutex`](super::Mutex). See [`RawCondvar`] for what is promised.
///
/// | its methods, from [lock_api](lock_api::Condvar) | |
/// |---|---|
/// | [`new`](lock_api::Condvar::new) | `const` |
/// | [`wait`](lock_api::Condvar::wait), [`wait_while`](lock_api::Condvar::wait_while) | may return early; until a condition is false |
/// | [`wait_for`](lock_api::Condvar::wait_for), [`wait_until`](lock_api::Condvar::wait_until) | with a timeout, or a deadline |
/// | [`wait_while_for`](lock_api::Condvar::wait_while_for), [`wait_while_until`](lock_api::Condvar::wait_while_until) | both |
/// | [`notify_one`](lock_api::Condvar::notify_one), [`notify_all`](lock_api::Condvar::notify_all) | return `false` and `0`, [whoever was woken](RawCondvar) |
/// | [`wake_one`](CondvarWake::wake_one), [`wake_all`](CondvarWake::wake_all) | the same, and return how many they woke: of [`CondvarWake`] |
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
/// A panic of the mutex's `unlock` leaves the wait with the mutex locked again; one of its `lock` aborts the process, as lock_api
/// asks.
///
/// Waits may end early, so nobody can say exactly how many threads a notification let go; lock_api asks that `notify_one` return
/// `false` then and `notify_all` 0, whoever was woken. [`CondvarWake`] has the same two calls, which return how many they woke at
/// least: code that uses parking_lot's results is ported to these. `notify_one` wakes the thread that has waited longest.
pub struct RawCondvar<R> {
    relay: Relay,
    mutex: PhantomData<fn(&R)>,
}

/// Notifications that return whom they woke, for [`Condvar`] and [`FairCondvar`]: lock_api's own must not, where waits may
/// [end early](RawCondvar).
///
/// The number is of threads and tasks that waited, and whose wait this call has ended: none of them returns with a timeout. A task
/// that is dropped before it is polled passes the notification on to the next. It is no more than the call let go, and
/// can be less: whom another thread wakes, or has in its hands, at that moment is not counted. So a number above 0 says that
/// somebody goes on; 0 says that most likely nobody waited.
///
/// ```
/// use layby::mutex::{Condvar, CondvarWake, Mutex};
///
/// let (jobs, added) = (Mutex::new(vec![]), Condvar::new());
/// jobs.lock().push("index");
/// if added.wake_one() == 0 {
///     // Most likely no worker is idle: start another.
/// }
/// ```
pub trait CondvarWake {
    /// Wakes one, the thread that has waited longest, or if none waits a task, like
    /// [`notify_one`](lock_api::Condvar::notify_one). Returns how many it woke: more than one only if another thread changed
    /// the same chain at the same time.
    fn wake_one(&self) -> usize;

    /// Wakes all who wait, like [`notify_all`](lock_api::Condvar::notify_all), though perhaps one after the other. Returns how many
    /// that were.
    fn wake_all(&self) -> usize;
}

impl<R: lock_api::RawMutex> CondvarWake for lock_api::Condvar<RawCondvar<R>> {
    #[inline]
    fn wake_one(&self) -> usize {
        self.raw().relay.notify_one()
    }

    #[inline]
    fn wake_all(&self) -> usize {
        self.raw().relay.notify_all()
    }
}

impl<R> RawCondvar<R> {
    pub(super) fn key(&self) -> Key {
        self.relay.key()
    }
}

impl<R: lock_api::RawMutex> RawCondvar<R> {
    /// Publishes the caller, unlocks, waits, and locks again.
    ///
    /// # Safety
    /// As [`lock_api::RawCondvar::wait`].
    unsafe fn wait_at(&self, mutex: &R, guard: &mut R::Guard, limit: &Limit<'_>) -> Result<(), Stopped> {
        let mut relock = Relock { mutex, guard, unlocked: false };
        // SAFETY: the caller holds `mutex` with this guard.
        self.relay.wait(limit, || unsafe { relock.unlock() })
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
            // Before the call: one that unwinds has used up the state all the same, and has unlocked.
            self.unlocked = true;
            // SAFETY: the caller's promise. The state that is moved out here is replaced when `self` is dropped, on return
            // and on unwinding alike.
            unsafe { self.mutex.unlock(ptr::read(self.guard)) };
        }
    }
}

impl<R: lock_api::RawMutex> Drop for Relock<'_, R> {
    fn drop(&mut self) {
        if self.unlocked {
            let abort = AbortOnUnwind;
            let state = self.mutex.lock();
            mem::forget(abort);
            // SAFETY: a valid place for a write, and the old state has been moved out of it.
            unsafe { ptr::write(self.guard, state) };
        }
    }
}

/// A mutex that cannot be locked again leaves the caller with a guard of nothing: lock_api asks for an abort.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

// SAFETY:
// - the caller is published before the mutex is unlocked, so any notification after that finds it;
// - the mutex is locked again, and the guard's state replaced, on return and on unwinding alike.
unsafe impl<R: lock_api::RawMutex> lock_api::RawCondvar for RawCondvar<R> {
    const INIT: Self = Self { relay: Relay::new(), mutex: PhantomData };

    type RawMutex = R;

    unsafe fn wait(&self, mutex: &R, guard: &mut R::Guard) {
        // SAFETY: the caller's promise.
        let _ = unsafe { self.wait_at(mutex, guard, &Limit::NONE) };
    }

    #[inline]
    fn notify_one(&self) -> bool {
        self.relay.notify_one();
        false
    }

    #[inline]
    fn notify_all(&self) -> usize {
        self.relay.notify_all();
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
        let woken = unsafe { self.wait_at(mutex, guard, &Limit::from(*deadline)) };
        woken.is_err()
    }
}

impl<R> fmt::Debug for RawCondvar<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawCondvar").finish_non_exhaustive()
    }
}
