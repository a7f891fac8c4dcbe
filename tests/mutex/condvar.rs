//! What a condition variable owes to any mutex of lock_api: it publishes the waiter before it unlocks, locks again
//! before it returns, and tells a timeout from a wake-up. On a mutex of the test's own, which says when it is unlocked.

#![allow(unsafe_code, reason = "a mutex of one's own for lock_api")]

use crate::common::{Tally, end_of_time, watchdog};
use layby::mutex::{RawCondvar, RawMutex};
use lock_api::{GuardSend, RawMutexTimed};
use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

type Mutex<T> = lock_api::Mutex<Telling, T>;
type Condvar = lock_api::Condvar<RawCondvar<Telling>>;

thread_local! {
    /// What the thread does when it has unlocked.
    static WHEN_UNLOCKED: Cell<fn()> = const { Cell::new(|| ()) };
}

/// A mutex whose unlocking is an event.
struct Telling(RawMutex);

// SAFETY: all is done by `RawMutex`; what is called after unlocking does not concern it.
unsafe impl lock_api::RawMutex for Telling {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a static")]
    const INIT: Self = Self(RawMutex::INIT);
    type Guard = GuardSend;

    fn lock(&self) -> GuardSend {
        self.0.lock()
    }

    fn try_lock(&self) -> Option<GuardSend> {
        self.0.try_lock()
    }

    unsafe fn unlock(&self, guard: GuardSend) {
        // SAFETY: the caller's promise.
        unsafe { self.0.unlock(guard) };
        WHEN_UNLOCKED.get()();
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl RawMutexTimed for Telling {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> Option<GuardSend> {
        self.0.try_lock_for(timeout)
    }

    fn try_lock_until(&self, deadline: Instant) -> Option<GuardSend> {
        self.0.try_lock_until(deadline)
    }
}

/// The notification comes in the very moment in which the mutex is unlocked; who waits must be there for it.
#[test]
fn a_notification_right_after_the_unlock_is_not_lost() {
    let _watchdog = watchdog();
    static CHANGED: Condvar = Condvar::new();
    let one = || _ = CHANGED.notify_one();
    let all = || _ = CHANGED.notify_all();
    for notify in [one as fn(), all] {
        let mutex = Mutex::new(());
        let mut guard = mutex.lock();
        WHEN_UNLOCKED.set(notify);
        CHANGED.wait(&mut guard);
        WHEN_UNLOCKED.set(|| ());
        assert!(mutex.is_locked(), "a wait returns with the mutex locked");
    }
}

#[test]
fn a_timeout_is_one_and_a_notification_is_not() {
    let _watchdog = watchdog();
    static CHANGED: Condvar = Condvar::new();
    let mutex = Mutex::new(());
    let mut guard = mutex.lock();
    let soon = Instant::now() + Duration::from_millis(5);
    while !CHANGED.wait_until(&mut guard, soon).timed_out() {}
    assert!(Instant::now() >= soon, "a timeout before its time");
    let start = Instant::now();
    assert!(CHANGED.wait_while_for(&mut guard, |()| true, Duration::from_millis(5)).timed_out());
    assert!(start.elapsed() >= Duration::from_millis(5), "a timeout before its time");
    WHEN_UNLOCKED.set(|| _ = CHANGED.notify_one());
    assert!(!CHANGED.wait_until(&mut guard, end_of_time()).timed_out(), "a notification is no timeout");
    WHEN_UNLOCKED.set(|| ());
}

/// Two condition variables side by side: who waits longer, but for the other one, is not the one.
#[test]
fn a_notification_is_for_its_own_condvar() {
    let _watchdog = watchdog();
    let (open, changed, waiting) = (Mutex::new([false; 2]), [const { Condvar::new() }; 2], Tally::new());
    thread::scope(|s| {
        let waiters = [0, 1].map(|n| {
            let (open, changed, waiting) = (&open, &changed, &waiting);
            let waiter = s.spawn(move || {
                let mut open = open.lock();
                waiting.add();
                changed[n].wait_while(&mut open, |open| !open[n]);
            });
            // In this order: it unlocks the mutex only by waiting.
            waiting.reaches(n + 1);
            drop(open.lock());
            waiter
        });
        for (n, waiter) in waiters.into_iter().enumerate().rev() {
            open.lock()[n] = true;
            changed[n].notify_one();
            waiter.join().unwrap();
        }
    });
}

#[test]
fn notify_all_reaches_all_who_wait() {
    const WAITERS: usize = 4;
    let _watchdog = watchdog();
    let (open, changed, waiting) = (Mutex::new(false), Condvar::new(), Tally::new());
    thread::scope(|s| {
        for _ in 0..WAITERS {
            s.spawn(|| {
                let mut open = open.lock();
                waiting.add();
                changed.wait_while(&mut open, |open| !*open);
            });
        }
        // Each counts itself with the mutex locked, and unlocks it only by waiting.
        waiting.reaches(WAITERS);
        *open.lock() = true;
        changed.notify_all();
    });
}
