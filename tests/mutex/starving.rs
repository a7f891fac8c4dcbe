//! The waiter of a barging mutex that has been overtaken for long enough: the next release is for it alone.
//! It knows by its backend's calls when the waiter sleeps, so its tests run one at a time.

use crate::common::{counting_backend, eventually, home, scaled, watchdog};
use layby::mutex::RawMutex;
use layby::wait_table::Home;
use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::thread;
use std::time::{Duration, Instant};

counting_backend!(Counting);

home!(OfOurOwn, Counting, 64);

/// One test at a time: they share the backend's count.
static ALONE: Mutex<()> = Mutex::new(());

/// Longer than a waiter lets itself be overtaken.
const LONG_ENOUGH: Duration = Duration::from_millis(3);

/// Has a waiter sleep, and wakes it too late, with the mutex locked: now it starves. Then runs `meanwhile`, with the
/// mutex still locked. `false` if the waiter gave up before; the mutex is then unlocked.
fn with_a_starving(waiter: impl FnOnce() + Send, mutex: &RawMutex<OfOurOwn>, meanwhile: impl FnOnce()) -> bool {
    let slept = Counting::waits().get();
    mutex.acquire();
    thread::scope(|s| {
        let waiter = s.spawn(waiter);
        eventually(|| Counting::waits().get() > slept || waiter.is_finished());
        thread::sleep(LONG_ENOUGH);
        // It looks for nothing, and says that it starves before it sleeps again.
        OfOurOwn::table().wake_one(mutex);
        eventually(|| Counting::waits().get() > slept + 1 || waiter.is_finished());
        let starves = !waiter.is_finished();
        if starves {
            meanwhile()
        } else {
            mutex.release()
        }
        starves
    })
}

#[test]
fn the_starving_one_is_not_overtaken() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::new_in();
    for _ in 0..scaled(50) {
        let served = AtomicBool::new(false);
        let lock = || {
            mutex.acquire();
            served.store(true, Ordering::SeqCst);
            mutex.release();
        };
        let starves = with_a_starving(lock, mutex, || {
            mutex.release();
            eventually(|| mutex.try_acquire());
            let in_time = served.load(Ordering::SeqCst);
            mutex.release();
            assert!(in_time, "the starving one was overtaken");
        });
        assert!(starves);
    }
}

/// The lock is not kept for a starving one that has given up.
#[test]
fn a_starving_one_that_gives_up_leaves_no_mark() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::new_in();
    eventually(|| {
        let gave_up = AtomicBool::new(false);
        let lock_in_time = || match mutex.acquire_timeout(10 * LONG_ENOUGH) {
            true => mutex.release(),
            false => gave_up.store(true, Ordering::SeqCst),
        };
        with_a_starving(lock_in_time, mutex, || {
            eventually(|| gave_up.load(Ordering::SeqCst));
            mutex.release();
            assert!(mutex.try_acquire(), "it is marked for one who has left");
            mutex.release();
        })
    });
}

/// Wakes the waiter that has slept longest without need, with the mutex locked: it looks, and sleeps again. Nobody, if all
/// starve.
fn wake_for_nothing(mutex: &RawMutex<OfOurOwn>) {
    let slept = Counting::waits().get();
    if OfOurOwn::table().wake_one(mutex) > 0 {
        Counting::waits().reaches(slept + 1);
    }
}

/// Its patience is for all its wake-ups together, and not for each: it has none left after two that came too soon.
#[test]
fn patience_is_not_restored_by_a_wake_up() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::new_in();
    for _ in 0..scaled(50) {
        let served = AtomicBool::new(false);
        let slept = Counting::waits().get();
        mutex.acquire();
        thread::scope(|s| {
            s.spawn(|| {
                mutex.acquire();
                served.store(true, Ordering::SeqCst);
                mutex.release();
            });
            Counting::waits().reaches(slept + 1);
            for _ in 0..2 {
                let soon = Instant::now() + LONG_ENOUGH / 5;
                eventually(|| Instant::now() >= soon);
                wake_for_nothing(mutex);
            }
            mutex.release();
            eventually(|| mutex.try_acquire());
            let in_time = served.load(Ordering::SeqCst);
            mutex.release();
            assert!(in_time, "it was overtaken");
        });
    }
}

/// Two have lost their patience: the first is the starving one, and is served first.
#[test]
fn there_is_one_starving_one_at_a_time() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::new_in();
    for _ in 0..scaled(50) {
        let served = AtomicUsize::new(0);
        mutex.acquire();
        thread::scope(|s| {
            for nth in 0..2 {
                let (served, slept) = (&served, Counting::waits().get());
                s.spawn(move || {
                    mutex.acquire();
                    let before = served.fetch_add(1, Ordering::SeqCst);
                    mutex.release();
                    assert_eq!(before, nth, "the starving one was overtaken");
                });
                Counting::waits().reaches(slept + 1);
                thread::sleep(LONG_ENOUGH);
                wake_for_nothing(mutex);
            }
            mutex.release();
        });
    }
}
