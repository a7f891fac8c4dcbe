//! The waiter of a barging mutex that has been overtaken for long enough: the next release is for it alone.
//! Alone in its process: it knows by its backend's calls when the waiter sleeps.

#![cfg(not(any(layby_loom, layby_shuttle)))]

mod common;

use common::{counting_backend, watchdog};
use layby::mutex::RawMutex;
use layby::wait_table::{Home, Slots, WaitTable};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

counting_backend!(Counting);

struct OfOurOwn;

impl Home for OfOurOwn {
    type Backend = Counting;

    fn table() -> &'static WaitTable<Counting> {
        static SLOTS: Slots<64> = Slots::new();
        static TABLE: WaitTable<Counting> = WaitTable::from_slots(&SLOTS);
        &TABLE
    }
}

/// Longer than a waiter lets itself be overtaken.
const LONG_ENOUGH: Duration = Duration::from_millis(3);

/// Has a waiter sleep, wakes it too late, and barges in before it: now it starves. `false` if the waiter was faster.
fn a_starving_waiter_is_served_next(mutex: &RawMutex<OfOurOwn>) -> bool {
    let (served, slept) = (AtomicBool::new(false), Counting::waits().get());
    let is_served = || served.load(Ordering::SeqCst);
    mutex.acquire();
    thread::scope(|s| {
        s.spawn(|| {
            mutex.acquire();
            served.store(true, Ordering::SeqCst);
            mutex.release();
        });
        Counting::waits().reaches(slept + 1);
        thread::sleep(LONG_ENOUGH);
        mutex.release();
        if !mutex.try_acquire() || is_served() {
            mutex.acquire();
            mutex.release();
            return false;
        }
        // Overtaken: it sleeps again, and says that it starves before it does.
        Counting::waits().reaches(slept + 2);
        mutex.release();
        while !mutex.try_acquire() {
            thread::yield_now();
        }
        assert!(is_served(), "the starving one was overtaken");
        mutex.release();
        true
    })
}

#[test]
fn the_starving_one_is_not_overtaken() {
    let _watchdog = watchdog();
    let mutex = RawMutex::new_in();
    common::eventually(|| a_starving_waiter_is_served_next(&mutex));
}
