//! What a condition variable owes to any mutex of lock_api: it publishes the waiter before it unlocks, locks again
//! before it returns, and tells a timeout from a wake-up. On a mutex of the test's own, which says when it is unlocked.

#![allow(unsafe_code, reason = "a mutex of one's own for lock_api")]

use crate::common::{Tally, end_of_time, process::running, watchdog};
use layby::mutex::{CondvarWake, RawCondvar, RawMutex};
use lock_api::{GuardSend, RawMutexTimed};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

type Mutex<T> = lock_api::Mutex<Telling, T>;
type Condvar = lock_api::Condvar<RawCondvar<Telling>>;

thread_local! {
    /// What the thread does before it locks.
    static BEFORE_IT_LOCKS: Cell<fn()> = const { Cell::new(|| ()) };
    /// What the thread does when it has unlocked.
    static WHEN_UNLOCKED: Cell<fn()> = const { Cell::new(|| ()) };
}

/// A mutex whose locking and unlocking are events.
struct Telling(RawMutex);

// SAFETY: all is done by `RawMutex`; what is called before and after does not concern it.
unsafe impl lock_api::RawMutex for Telling {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a static")]
    const INIT: Self = Self(RawMutex::INIT);
    type Guard = GuardSend;

    fn lock(&self) -> GuardSend {
        BEFORE_IT_LOCKS.get()();
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

/// Whoever counts itself with the mutex locked is published when the mutex can be locked again.
#[test]
fn wakes_say_how_many_they_woke() {
    const WAITERS: usize = 4;
    let _watchdog = watchdog();
    let (open, changed, waiting) = (Mutex::new(0), Condvar::new(), Tally::new());
    let wait_for = |gate| {
        let mut open = open.lock();
        waiting.add();
        changed.wait_while(&mut open, |open| *open < gate);
    };
    assert_eq!((changed.wake_one(), changed.wake_all()), (0, 0), "nobody waits");
    thread::scope(|s| {
        let first = s.spawn(|| wait_for(1));
        waiting.reaches(1);
        *open.lock() = 1;
        assert_eq!(changed.wake_one(), 1);
        first.join().unwrap();
        for _ in 0..WAITERS {
            s.spawn(|| wait_for(2));
        }
        waiting.reaches(1 + WAITERS);
        *open.lock() = 2;
        assert_eq!(changed.wake_all(), WAITERS);
    });
    assert_eq!((changed.wake_one(), changed.wake_all()), (0, 0), "all are gone");
}

/// What lock_api asks of a condition variable whose waits may end early.
#[test]
fn notifications_say_nothing() {
    let _watchdog = watchdog();
    static CHANGED: Condvar = Condvar::new();
    for notify in [|| assert!(!CHANGED.notify_one()), || assert_eq!(CHANGED.notify_all(), 0)] {
        let mutex = Mutex::new(());
        let mut guard = mutex.lock();
        WHEN_UNLOCKED.set(notify);
        CHANGED.wait(&mut guard);
        WHEN_UNLOCKED.set(|| ());
    }
}

/// A mutex whose `unlock` panics has unlocked: it is locked again before the panic goes on, with the guard still in use.
#[test]
fn an_unlock_that_panics_leaves_the_mutex_locked() {
    let _watchdog = watchdog();
    let (mutex, changed) = (Mutex::new(7), Condvar::new());
    let mut guard = mutex.lock();
    WHEN_UNLOCKED.set(|| {
        WHEN_UNLOCKED.set(|| ());
        panic!("in unlock");
    });
    let waited = catch_unwind(AssertUnwindSafe(|| changed.wait(&mut guard)));
    assert!(waited.is_err());
    assert!(mutex.try_lock().is_none(), "a second guard beside the first");
    assert_eq!(*guard, 7);
    drop(guard);
    assert!(mutex.try_lock().is_some(), "left locked");
}

/// A mutex that cannot be locked again: the caller's guard would guard nothing. In a process of its own.
#[cfg_attr(miri, ignore = "starts a process")]
#[test]
fn a_lock_that_panics_aborts() {
    const IN_THE_CHILD: &str = "LAYBY_TEST_LOCK_PANICS";
    if std::env::var_os(IN_THE_CHILD).is_some() {
        let (mutex, changed) = (Mutex::new(()), Condvar::new());
        let mut guard = mutex.lock();
        BEFORE_IT_LOCKS.set(|| panic!("in lock"));
        let waited = catch_unwind(AssertUnwindSafe(|| changed.wait_for(&mut guard, Duration::from_millis(1))));
        println!("it went on: {waited:?}");
        std::mem::forget(guard);
        return;
    }
    let child = running("condvar::a_lock_that_panics_aborts", IN_THE_CHILD, "1").output().expect("this program again");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(said.contains("running 1 test"), "{child:?}");
    assert!(!child.status.success() && !said.contains("it went on"), "{child:?}");
}
