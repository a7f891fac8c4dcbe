//! Promises 2 and 3 (README): a system call only for a sleeper, and no access to an element after its gate is set.

#![allow(unsafe_code, reason = "a backend of its own")]

use crate::common::{Tally, counting_backend, eventually, leaked_on, watchdog};
use layby::{
    WaitOutcome,
    sys::{AtomicU32, Backend, Spin},
};
use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

#[test]
fn none_when_nobody_waits() {
    counting_backend!(Idle);
    let table = leaked_on::<Idle>(1);
    for _ in 0..100 {
        assert_eq!(table.wake_all(table) + table.wake_all_seqcst(table) + table.wake_one(table), 0);
    }
    assert_eq!((Idle::waits().get(), Idle::wakes().get()), (0, 0));
}

#[test]
fn none_for_a_condition_that_holds() {
    counting_backend!(Content);
    let table = leaked_on::<Content>(1);
    table.wait_until(table, || true);
    table.wait_if(table, || false);
    // Holds only when evaluated again, after publishing.
    let evaluations = Tally::new();
    table.wait_until(table, || {
        evaluations.add();
        evaluations.get() == 2
    });
    assert_eq!((Content::waits().get(), Content::wakes().get()), (0, 0));
}

#[test]
fn none_for_a_waiter_that_is_notified_before_it_sleeps() {
    counting_backend!(Awake);
    let table = leaked_on::<Awake>(1);
    table.wait_if(table, || table.wake_all(table) == 1);
    table.wait_if(table, || table.wake_one(table) == 1);
    table.location_wait(table);
    assert_eq!(table.wake_all(table), 1);
    table.location_wait(table);
    let armed = table.arm(table);
    assert_eq!(table.wake_all_seqcst(table), 1);
    armed.wait();
    assert_eq!((Awake::waits().get(), Awake::wakes().get()), (0, 0));
}

#[test]
fn none_for_an_element_whose_owner_has_timed_out() {
    counting_backend!(Gone);
    let _watchdog = watchdog();
    let table = leaked_on::<Gone>(1);
    // Without a deadline: one that had passed already would end the wait before it publishes anything.
    table.location_wait(table);
    let deadline = Instant::now() + Duration::from_millis(1);
    while table.location_wait_deadline(table, deadline) != WaitOutcome::TimedOut {}
    assert_eq!(table.wake_all(table), 1, "the element lingers");
    assert_eq!(Gone::wakes().get(), 0, "its owner does not sleep");
}

#[test]
fn one_for_each_sleeper() {
    counting_backend!(Sleepy);
    let _watchdog = watchdog();
    let table = leaked_on::<Sleepy>(1);
    thread::scope(|s| {
        for sleepers in 1..=3 {
            s.spawn(|| table.wait_if(table, || true));
            Sleepy::waits().reaches(sleepers);
        }
        assert_eq!(table.wake_one(table), 1);
        assert_eq!(Sleepy::wakes().get(), 1);
        assert_eq!(table.wake_all(table), 2);
        assert_eq!(Sleepy::wakes().get(), 3);
    });
}

/// A backend whose waiters see the gate by themselves, and whose wake lasts until one more waiter's thread has ended.
///
/// So whatever the notifier still touches of that waiter's element is gone for certain.
struct Outlived;

static WAITERS: Tally = Tally::new();
static WAKES: Tally = Tally::new();
static ENDED: Tally = Tally::new();

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for Outlived {
    const NAME: &'static str = "outlived";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        WAITERS.add();
        Spin::wait(word, expected, deadline);
    }

    fn wake(_: *const AtomicU32) {
        WAKES.add();
        ENDED.reaches(WAKES.get());
    }
}

/// Writes over the part of the stack where the element was.
#[inline(never)]
fn scribble() {
    black_box(&mut [0xa5_u8; 8192]);
}

/// Breaks when an element is read after the system call that wakes its owner. They are made for several sleepers together,
/// so there are more than those.
#[test]
fn a_notifier_does_not_touch_an_element_after_its_gate() {
    let _watchdog = watchdog();
    let table = leaked_on::<Outlived>(1);
    let waiters = 40;
    let threads: Vec<_> = (1..=waiters)
        .map(|nth| {
            let waiter = thread::spawn(move || {
                table.wait_if(table, || true);
                scribble();
            });
            WAITERS.reaches(nth);
            waiter
        })
        .collect();
    let all_woken = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            assert_eq!(table.wake_all(table), waiters);
            all_woken.store(true, Ordering::SeqCst);
        });
        for waiter in threads.into_iter().rev() {
            waiter.join().unwrap();
            ENDED.add();
        }
        eventually(|| all_woken.load(Ordering::SeqCst));
    });
    assert_eq!(WAKES.get(), waiters);
}

/// Its first wake lasts until all who were notified have returned, as if the notifier had lost its CPU to the first that it
/// woke. Nobody needs the wake: who waits polls.
struct HeldUp;

static HELD_UP_WAITERS: Tally = Tally::new();
static RETURNED: Tally = Tally::new();
const NOTIFIED: usize = 3;

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for HeldUp {
    const NAME: &'static str = "held up";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        HELD_UP_WAITERS.add();
        Spin::wait(word, expected, deadline);
    }

    fn wake(_: *const AtomicU32) {
        RETURNED.reaches(NOTIFIED);
    }
}

/// A deadline that passes then would be late: see the head of `src/wait_table/publication.rs`.
#[test]
fn a_notifier_holds_no_element_during_a_system_call() {
    let _watchdog = watchdog();
    let table = leaked_on::<HeldUp>(1);
    thread::scope(|s| {
        for nth in 1..=NOTIFIED {
            s.spawn(|| {
                table.wait_if(table, || true);
                RETURNED.add();
            });
            HELD_UP_WAITERS.reaches(nth);
        }
        assert_eq!(table.wake_all(table), NOTIFIED);
    });
}
