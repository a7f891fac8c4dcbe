//! Promise 3 (README) for many who are woken together: one system call for all of them.
//!
//! The process has a few crowds, and two keys may share one (`src/wait_table/crowd.rs`). So these tests have a process of their
//! own, and run one at a time.

#![cfg(not(layby_model))]
#![allow(unsafe_code, reason = "a backend of its own")]

mod common;

use common::{counting_backend, eventually, leaked_on, watchdog};
use layby::{
    WaitTable,
    paper::Broadcast,
    sys::{AtomicU32, Backend, Native},
    wait_table::Activity,
};
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn all_asleep<B: Backend>(table: &WaitTable<B>, sleepers: usize) {
    let asleep = || table.waiters().iter().filter(|waiter| waiter.activity() == Activity::Asleep).count();
    eventually(|| asleep() == sleepers);
}

/// Many that wait on one address are woken one by one the first time, and by one call from then on.
#[test]
fn one_for_a_crowd() {
    counting_backend!(Crowded);
    let (_watchdog, _alone) = (watchdog(), alone());
    let table = leaked_on::<Crowded>(1);
    let (round, sleepers) = (AtomicUsize::new(0), 40);
    thread::scope(|s| {
        for _ in 0..sleepers {
            s.spawn(|| {
                for next in 1..=3 {
                    table.wait_until(table, || round.load(Ordering::Relaxed) >= next);
                }
            });
        }
        let wakes_of_next_round = || {
            all_asleep(table, sleepers);
            let before = Crowded::wakes().get();
            round.fetch_add(1, Ordering::Relaxed);
            assert_eq!(table.wake_all(table), sleepers);
            Crowded::wakes().get() - before
        };
        assert_eq!(wakes_of_next_round(), sleepers);
        assert_eq!(wakes_of_next_round(), 1);
        assert_eq!(wakes_of_next_round(), 1);
    });
}

/// A backend that tells whether many were woken by one call.
struct Together;

static TOGETHER: AtomicBool = AtomicBool::new(false);

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for Together {
    const NAME: &'static str = "together";
    const WAKE_ALL: Option<fn(*const AtomicU32)> = Some(|word| {
        TOGETHER.store(true, Ordering::Relaxed);
        <Native as Broadcast>::wake_all(word);
    });

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        Native::wait(word, expected, deadline);
    }

    fn wake(word: *const AtomicU32) {
        Native::wake(word);
    }
}

/// Those whom a wake of one may choose do not sleep in a crowd, however many they are: it would wake them all.
#[test]
fn one_for_the_one_of_many() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let table = leaked_on::<Together>(1);
    let (done, sleepers) = (AtomicBool::new(false), 40);
    thread::scope(|s| {
        for _ in 0..sleepers {
            s.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    table.wait_if(table, || !done.load(Ordering::Relaxed));
                }
            });
        }
        all_asleep(table, sleepers);
        table.wake_all(table);
        all_asleep(table, sleepers);
        assert_eq!(table.wake_one(table), 1);
        done.store(true, Ordering::Relaxed);
        table.wake_all(table);
    });
    assert!(!TOGETHER.load(Ordering::Relaxed));
}

/// A crowd of which few are left is none: they sleep, and are woken, each by itself.
#[test]
fn a_crowd_that_has_shrunk_is_given_up() {
    counting_backend!(Shrunk);
    let (_watchdog, _alone) = (watchdog(), alone());
    let table = leaked_on::<Shrunk>(1);
    let round = AtomicUsize::new(0);
    thread::scope(|s| {
        for nth in 0..40 {
            let round = &round;
            s.spawn(move || {
                for next in 1..=if nth < 2 { 3 } else { 1 } {
                    table.wait_until(table, || round.load(Ordering::Relaxed) >= next);
                }
            });
        }
        for (sleepers, calls) in [(40, 40), (2, 1), (2, 2)] {
            all_asleep(table, sleepers);
            let before = Shrunk::wakes().get();
            round.fetch_add(1, Ordering::Relaxed);
            assert_eq!(table.wake_all(table), sleepers);
            assert_eq!(Shrunk::wakes().get() - before, calls);
        }
    });
}
