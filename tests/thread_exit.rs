//! Promise 4 (README): waits and wakes in thread-local destructors, and the end of a thread whose element lingers.

#![cfg(not(layby_model))]
#![allow(unsafe_code, reason = "a backend of its own")]

mod common;

use common::{Rally, Tally, eventually, leaked, leaked_on, scaled, watchdog};
use layby::{
    Key, WaitOutcome, WaitTable,
    sys::{AtomicU32, Backend, Spin},
    wait_table::global,
};
use std::{
    cell::RefCell,
    thread,
    time::{Duration, Instant},
};

/// Runs what it holds when the thread ends.
struct LastWords(RefCell<Option<Box<dyn FnOnce()>>>);

impl Drop for LastWords {
    fn drop(&mut self) {
        if let Some(words) = self.0.take() {
            words();
        }
    }
}

thread_local! {
    static LAST_WORDS: LastWords = const { LastWords(RefCell::new(None)) };
}

fn at_thread_exit(words: impl FnOnce() + 'static) {
    LAST_WORDS.with(|last| *last.0.borrow_mut() = Some(Box::new(words)));
}

/// Uses the thread's element, which thereby gets its destructor.
fn touch_the_element(table: &'static WaitTable) {
    drop(table.arm(Key::ticket(table, 99)));
}

/// Whether the thread's element is still there: the loop form then leaves it on a chain.
fn element_is_alive() -> bool {
    let table = leaked(1);
    table.location_wait(table);
    table.wake_all(table) == 1
}

/// Waits and wakes in every form, in a destructor that runs after or before the element's own.
fn rally_in_a_destructor(ours_first: bool) {
    static SPOKEN: Tally = Tally::new();
    let before = SPOKEN.get();
    let table = leaked(1);
    let rounds = scaled(20);
    let rally = Rally::leaked(table);
    let words = move || {
        // Destructors of std's thread-locals run last registered first.
        if cfg!(target_os = "linux") {
            assert_eq!(element_is_alive(), !ours_first, "the destructors ran in another order than meant");
        }
        rally.play(1, rounds);
        SPOKEN.add();
    };
    let dying = thread::spawn(move || {
        if ours_first {
            at_thread_exit(words);
            touch_the_element(table);
        } else {
            touch_the_element(table);
            at_thread_exit(words);
        }
    });
    rally.play(0, rounds);
    dying.join().unwrap();
    assert_eq!(SPOKEN.get(), before + 1);
    // Ours may linger, being the loop forms'; the dead thread's may not.
    assert!(table.wake_all(table) <= 1);
}

#[test]
fn destructors_may_wait_and_wake() {
    let _watchdog = watchdog();
    rally_in_a_destructor(false);
    rally_in_a_destructor(true);
}

#[test]
fn timeouts_hold_when_the_element_is_gone() {
    static CHECKED: Tally = Tally::new();
    let _watchdog = watchdog();
    let table = leaked(1);
    let in_a_thread = thread::spawn(move || {
        at_thread_exit(move || {
            // There is no second look before it sleeps, so it does not sleep for long.
            let far = Instant::now() + Duration::from_secs(3600);
            assert_eq!(table.location_wait_deadline(table, far), WaitOutcome::Woken);
            for timeout in [Duration::ZERO, Duration::from_millis(5)] {
                let deadline = Instant::now() + timeout;
                while table.location_wait_deadline(table, deadline) != WaitOutcome::TimedOut {}
                assert!(Instant::now() >= deadline);
                while table.arm(table).wait_deadline(deadline) != WaitOutcome::TimedOut {}
                assert!(!table.wait_until_deadline(table, deadline, || false));
                CHECKED.add();
            }
        });
        touch_the_element(table);
    });
    in_a_thread.join().unwrap();
    assert_eq!(CHECKED.get(), 2);
    assert_eq!(table.wake_all(table), 0);
}

/// A backend that knows no deadline.
struct Sound;

static ASLEEP: Tally = Tally::new();

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for Sound {
    const NAME: &'static str = "sound";

    fn wait(word: &AtomicU32, expected: u32, _: Option<Instant>) {
        ASLEEP.add();
        Spin::wait(word, expected, None);
    }

    fn wake(_: *const AtomicU32) {}
}

/// Also when the element is gone the loop form is not chosen by a wake of one, and a wake-up is no timeout.
#[test]
fn a_wake_up_when_the_element_is_gone() {
    static SPOKEN: Tally = Tally::new();
    let _watchdog = watchdog();
    let table = leaked_on::<Sound>(1);
    let dying = thread::spawn(move || {
        at_thread_exit(move || {
            let outcome = table.location_wait_deadline(table, Instant::now());
            assert!(ASLEEP.get() == 0 || outcome == WaitOutcome::Woken);
            SPOKEN.add();
        });
        touch_the_element(leaked(1));
    });
    // Where the destructors run in another order the element is still there, and the deadline has passed.
    eventually(|| ASLEEP.get() + SPOKEN.get() == 1);
    thread::scope(|s| {
        let polling = ASLEEP.get();
        s.spawn(|| table.wait_if(table, || true));
        ASLEEP.reaches(polling + 1);
        assert_eq!(table.wake_one(table), polling + 1, "who waits in the loop form, and the one");
    });
    dying.join().unwrap();
    assert_eq!(SPOKEN.get(), 1);
}

/// With a neighbour on its chain, which must be put back: the owner reaches its own element by the chain.
#[test]
fn a_thread_ends_with_a_lingering_element_beside_another() {
    let _watchdog = watchdog();
    let table = leaked(1);
    let (ours, its) = (Key::ticket(table, 1), Key::ticket(table, 2));
    table.location_wait(ours);
    for _ in 0..scaled(100) {
        thread::spawn(move || table.location_wait(its)).join().unwrap();
        assert_eq!(table.wake_all(its), 0);
    }
    assert_eq!(table.wake_all(ours), 1);
}

/// Breaks when `Local` has no destructor: the wake walks freed memory, and counts what is not there.
#[test]
fn a_thread_ends_with_a_lingering_element() {
    let _watchdog = watchdog();
    for table in [leaked(1), global()] {
        for round in 0..scaled(200) {
            let key = Key::ticket(table, 3);
            let leave: fn(&'static WaitTable, Key) = match round % 3 {
                0 => |table, key| table.location_wait(key),
                1 => |table, key| drop(table.arm(key)),
                // Published, then timed out: off to the thread's end with a gate that once said "sleeping".
                _ => |table, key| {
                    table.location_wait(key);
                    let _ = table.location_wait_deadline(key, Instant::now() + Duration::from_micros(10));
                },
            };
            thread::spawn(move || leave(table, key)).join().unwrap();
            assert_eq!(table.wake_all(key), 0, "the element of a thread that has ended is still on its chain");
        }
    }
}

/// Threads end with lingering elements while others wake the same slot: the owner must wait for a notifier that has its
/// element in hand.
#[test]
fn threads_end_while_notifiers_walk_their_chain() {
    let _watchdog = watchdog();
    let table = leaked(1);
    let ended = Tally::new();
    let threads = scaled(400);
    thread::scope(|s| {
        s.spawn(|| {
            while ended.get() < threads {
                table.wake_all(table);
                table.wake_one(table);
            }
        });
        for _ in 0..2 {
            s.spawn(|| {
                for _ in 0..threads / 2 {
                    thread::spawn(move || table.location_wait(table)).join().unwrap();
                    ended.add();
                }
            });
        }
    });
    assert_eq!(table.wake_all(table), 0);
}
