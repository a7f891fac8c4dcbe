//! One conformance suite over every backend that this platform can build: the contract of `layby::sys::Backend`, bullet
//! by bullet. It sees the kernel's and the scheduler's truth; it proves nothing by passing.

#![cfg(not(layby_model))]
#![allow(unsafe_code, reason = "the test of foreign sleepers speaks to parking_lot_core")]

mod common;

use common::{Rally, Tally, end_of_time, eventually, leaked_on, scaled, watchdog};
use layby::{
    paper::Broadcast,
    sys::{AtomicU32, Backend, Park},
};
use std::{
    ptr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Waits as the contract tells callers to: again and again, until the word has changed.
fn wait_for_change<B: Broadcast>(word: &AtomicU32, from: u32, deadline: Option<Instant>) {
    while word.load(Ordering::Acquire) == from {
        B::wait(word, from, deadline);
    }
}

fn change_and_wake<B: Broadcast>(word: &AtomicU32, to: u32) {
    word.store(to, Ordering::Release);
    B::wake(word);
}

fn no_lost_wake_up<B: Broadcast>() {
    let (ping, pong) = (AtomicU32::new(0), AtomicU32::new(0));
    let rounds = scaled(2000) as u32;
    thread::scope(|s| {
        s.spawn(|| {
            for round in 0..rounds {
                wait_for_change::<B>(&ping, round, None);
                change_and_wake::<B>(&pong, round + 1);
            }
        });
        for round in 0..rounds {
            change_and_wake::<B>(&ping, round + 1);
            wait_for_change::<B>(&pong, round, None);
        }
    });
}

fn a_wake_up_reaches_its_own_word<B: Broadcast>() {
    let words: [AtomicU32; 4] = Default::default();
    let returned = Tally::new();
    thread::scope(|s| {
        for word in &words {
            s.spawn(|| {
                wait_for_change::<B>(word, 0, None);
                returned.add();
            });
        }
        for (already, word) in words.iter().enumerate() {
            assert_eq!(returned.get(), already, "a word changed that nobody changed");
            change_and_wake::<B>(word, 1);
            returned.reaches(already + 1);
        }
    });
}

fn a_wake_up_of_all_reaches_all<B: Broadcast>() {
    let word = AtomicU32::new(0);
    let awake = Tally::new();
    let sleepers = 4;
    thread::scope(|s| {
        for _ in 0..sleepers {
            s.spawn(|| {
                awake.add();
                wait_for_change::<B>(&word, 0, None);
            });
        }
        awake.reaches(sleepers);
        // Time for all to fall asleep: whoever has not will see the change.
        thread::sleep(Duration::from_millis(20));
        word.store(1, Ordering::Release);
        B::wake_all(&word);
    });
}

fn no_false_sleep<B: Broadcast>() {
    let word = AtomicU32::new(1);
    B::wait(&word, 0, None);
    B::wait(&word, 2, Some(end_of_time()));
}

fn late_is_not_early<B: Broadcast>() {
    let word = AtomicU32::new(0);
    B::wait(&word, 0, Some(Instant::now()));
    for millis in [0, 1, 3, 20] {
        let deadline = Instant::now() + Duration::from_millis(millis);
        // Early is allowed, so again and again; that the last one returns at all is what is tested.
        while Instant::now() < deadline {
            B::wait(&word, 0, Some(deadline));
        }
    }
}

/// The kernel must understand the whole deadline: woken too early, a thread does not sleep in the time that is left, but
/// asks again and again.
fn a_deadline_is_awaited_asleep<B: Broadcast>() {
    let word = AtomicU32::new(0);
    let deadline = Instant::now() + Duration::from_millis(50);
    let mut calls = 0;
    while Instant::now() < deadline {
        calls += 1;
        B::wait(&word, 0, Some(deadline));
    }
    assert!(calls < 20, "a wait until a deadline returned {calls} times");
}

fn the_end_of_time_is_awaited_asleep<B: Broadcast>() {
    let word = AtomicU32::new(0);
    let calls = Tally::new();
    thread::scope(|s| {
        s.spawn(|| {
            while word.load(Ordering::Acquire) == 0 {
                calls.add();
                B::wait(&word, 0, Some(end_of_time()));
            }
        });
        calls.reaches(1);
        // Time for a wait that returns at once, as for a deadline that the kernel does not understand, to show itself.
        thread::sleep(Duration::from_millis(20));
        change_and_wake::<B>(&word, 1);
    });
    assert!(calls.get() < 20, "a wait until the end of time returned {} times", calls.get());
}

fn the_address_is_only_a_name<B: Broadcast>() {
    B::wake(ptr::null());
    B::wake(ptr::without_provenance(size_of::<u32>()));
    let word = Box::new(AtomicU32::new(0));
    let stale: *const AtomicU32 = &*word;
    drop(word);
    B::wake(stale);
    B::wake_all(stale);

    // A sleeper that gets somebody else's wake-up looks at its own word and sleeps on.
    let word = AtomicU32::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            wait_for_change::<B>(&word, 0, None);
            assert_eq!(word.load(Ordering::Relaxed), 1);
            done.store(true, Ordering::Relaxed);
        });
        for _ in 0..scaled(100) {
            B::wake(&word);
            thread::yield_now();
        }
        assert!(!done.load(Ordering::Relaxed));
        change_and_wake::<B>(&word, 1);
    });
}

fn the_wait_table_works_on_it<B: Broadcast>() {
    let table = leaked_on::<B>(2);
    assert!(format!("{table:?}").contains(B::NAME));
    Rally::run(table, scaled(100));
    assert!(!table.wait_until_timeout(table, Duration::from_millis(2), || false));
}

macro_rules! conformance {
    ($($(#[$when:meta])* $name:ident: $backend:ident;)+) => { $(
        $(#[$when])*
        mod $name {
            use super::*;
            use layby::sys::$backend;

            conformance! { @tests $backend:
                no_lost_wake_up a_wake_up_reaches_its_own_word a_wake_up_of_all_reaches_all no_false_sleep late_is_not_early
                a_deadline_is_awaited_asleep
                the_end_of_time_is_awaited_asleep the_address_is_only_a_name the_wait_table_works_on_it
            }
        }
    )+ };
    (@tests $backend:ident: $($test:ident)+) => { $(
        #[test]
        fn $test() {
            let _watchdog = watchdog();
            super::$test::<$backend>();
        }
    )+ };
}

conformance! {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    futex: Futex;
    #[cfg(windows)]
    wait_on_address: WaitOnAddress;
    park: Park;
    spin: Spin;
}

/// `Park` shares its sleepers' table with every other user of `parking_lot_core` in the process.
#[test]
fn park_leaves_foreign_sleepers_alone() {
    use parking_lot_core::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, ParkResult, park, unpark_all};
    let _watchdog = watchdog();
    let word = AtomicU32::new(0);
    let asleep = AtomicBool::new(false);
    thread::scope(|s| {
        let foreigner = s.spawn(|| {
            let before_sleep = || asleep.store(true, Ordering::SeqCst);
            // SAFETY: the address is ours while we sleep, and the closures neither panic nor call parking_lot_core.
            unsafe { park(ptr::from_ref(&word).addr(), || true, before_sleep, |_, _| {}, DEFAULT_PARK_TOKEN, None) }
        });
        eventually(|| asleep.load(Ordering::SeqCst));
        Park::wake(&word);
        // SAFETY: the address is ours. Exactly the foreigner is still asleep.
        assert_eq!(unsafe { unpark_all(ptr::from_ref(&word).addr(), DEFAULT_UNPARK_TOKEN) }, 1);
        assert_eq!(foreigner.join().unwrap(), ParkResult::Unparked(DEFAULT_UNPARK_TOKEN));
    });
}
