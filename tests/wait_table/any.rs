//! Waiting on several locations at once.

use crate::common::{Random, Tally, counting_backend, eventually, leaked, scaled, watchdog};
use layby::{
    Cancel, Key, Limit, Location, Stopped, WaitTable, location_wake_all, wait_until_any, wait_until_any_deadline,
    wait_until_any_timeout, wait_until_any_within,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

fn is_empty(table: &WaitTable) -> bool {
    format!("{table:?}").contains("occupied: 0")
}

/// On the stack and on the heap, all in one slot and in slots of their own: a wake-up of any location ends the wait, and
/// nothing is left at the others.
#[test]
fn every_location_ends_the_wait() {
    let _watchdog = watchdog();
    for slots in [1, 64] {
        let table: WaitTable = WaitTable::with_slots(slots);
        for count in [1, 2, 15, 16, 17, 40] {
            for chosen in [0, count / 2, count - 1] {
                let flags: Vec<_> = (0..count).map(|_| AtomicBool::new(false)).collect();
                let keys: Vec<_> = flags.iter().map(Location::key).collect();
                thread::scope(|s| {
                    s.spawn(|| table.wait_until_any(&keys, || flags.iter().any(|flag| flag.load(Ordering::Relaxed))));
                    eventually(|| table.waiters().len() == count);
                    flags[chosen].store(true, Ordering::Relaxed);
                    assert_eq!(table.wake_all(&flags[chosen]), 1);
                });
                assert!(is_empty(&table), "{table:?}");
            }
        }
    }
}

#[test]
fn the_free_functions_are_those_of_the_global_table() {
    let _watchdog = watchdog();
    let (x, y) = (AtomicBool::new(false), AtomicBool::new(false));
    let keys = [x.key(), y.key()];
    let is_set = || x.load(Ordering::Relaxed) || y.load(Ordering::Relaxed);
    let soon = Duration::from_millis(1);
    let started = Instant::now();
    assert!(!wait_until_any_deadline(&keys, started + soon, is_set));
    assert!(!wait_until_any_timeout(&keys, soon, is_set));
    assert_eq!(wait_until_any_within(&keys, soon, is_set), Err(Stopped::TimedOut));
    assert!(started.elapsed() >= 3 * soon);
    thread::scope(|s| {
        s.spawn(|| wait_until_any(&keys, is_set));
        s.spawn(|| assert!(wait_until_any_timeout(&keys, Duration::MAX, is_set)));
        y.store(true, Ordering::Relaxed);
        location_wake_all(&y);
    });
}

/// A location that is named several times has as many elements, and one wake-up takes them all.
#[test]
fn a_location_may_be_named_twice() {
    let _watchdog = watchdog();
    let table: WaitTable = WaitTable::with_slots(1);
    let open = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| table.wait_until_any(&[open.key(); 3], || open.load(Ordering::Relaxed)));
        eventually(|| table.waiters().len() == 3);
        open.store(true, Ordering::Relaxed);
        assert_eq!(table.wake_all(&open), 3);
    });
    assert!(is_empty(&table));
}

#[test]
#[should_panic(expected = "would never end")]
fn no_location_and_no_limit_is_refused() {
    wait_until_any(&[], || false);
}

/// What is left is the limit.
#[test]
fn no_location_is_a_wait_for_the_limit() {
    let _watchdog = watchdog();
    let started = Instant::now();
    let soon = Duration::from_millis(2);
    assert!(!wait_until_any_timeout(&[], soon, || false));
    assert!(started.elapsed() >= soon);
    let cancel = Cancel::new();
    thread::scope(|s| {
        let waiter = s.spawn(|| wait_until_any_within(&[], &cancel, || false));
        cancel.cancel();
        assert_eq!(waiter.join().unwrap(), Err(Stopped::Cancelled));
    });
}

/// Panics in the n-th evaluation of the condition: at the second one all members are published.
#[test]
fn a_panicking_condition_leaves_the_table_as_it_was() {
    let _watchdog = watchdog();
    let (table, cancel): (WaitTable, _) = (WaitTable::with_slots(2), Cancel::new());
    for count in [2, 20] {
        let keys: Vec<_> = (0..count).map(|ticket| Key::ticket(&table, ticket)).collect();
        for nth in [1, 2] {
            let looks = Tally::new();
            let wait = || {
                table.wait_until_any_within(&keys, &cancel, || {
                    looks.add();
                    assert!(looks.get() < nth, "as planned");
                    false
                })
            };
            catch_unwind(AssertUnwindSafe(wait)).expect_err("the condition panics");
            assert!(is_empty(&table), "{table:?}");
            assert_eq!(location_wake_all(&cancel), 0);
        }
    }
}

/// A group within the condition of a group, with the same locations, and both are woken.
#[test]
fn groups_may_be_nested() {
    let _watchdog = watchdog();
    let table: WaitTable = WaitTable::with_slots(1);
    let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let keys = [x.key(), y.key()];
    thread::scope(|s| {
        s.spawn(|| {
            table.wait_until_any(&keys, || {
                table.wait_until_any(&keys, || x.load(Ordering::Relaxed) > 0);
                y.load(Ordering::Relaxed) > 0
            });
        });
        for flag in [&x, &y] {
            eventually(|| table.waiters().len() >= 2);
            flag.store(1, Ordering::Relaxed);
            table.wake_all(flag);
        }
    });
    assert!(is_empty(&table));
}

/// A thread that waits on several locations is woken by a wake of one, besides the one that is chosen.
#[test]
fn a_wake_of_one_wakes_a_group_besides_the_one() {
    counting_backend!(Sleepy);
    let _watchdog = watchdog();
    let table: WaitTable<Sleepy> = WaitTable::with_slots_in(1);
    let other = AtomicBool::new(false);
    let looks = Tally::new();
    thread::scope(|s| {
        s.spawn(|| {
            table.wait_until_any(&[table.key(), other.key()], || {
                looks.add();
                other.load(Ordering::Relaxed)
            });
        });
        Sleepy::waits().reaches(1);
        let one = s.spawn(|| table.wait_if(&table, || true));
        Sleepy::waits().reaches(2);
        assert_eq!(table.wake_one(&table), 2, "the one, and the group");
        one.join().unwrap();
        // Published again, it waits on.
        Sleepy::waits().reaches(3);
        other.store(true, Ordering::Relaxed);
        assert_eq!(table.wake_all(&other), 1);
    });
}

/// A report shows the thread at each of its locations, asleep.
#[test]
fn a_report_shows_every_location() {
    let _watchdog = watchdog();
    let (table, cancel): (WaitTable, _) = (WaitTable::with_slots(1), Cancel::new());
    let keys = [1, 2].map(|ticket| Key::ticket(&table, ticket));
    thread::scope(|s| {
        let waiter = s.spawn(|| table.wait_until_any_within(&keys, &cancel, || false));
        eventually(|| {
            let report = table.waiters();
            let asleep = |waiter: &&layby::wait_table::Waiter| waiter.activity() == layby::wait_table::Activity::Asleep;
            report.iter().filter(asleep).filter(|waiter| keys.contains(&waiter.key())).count() == 2
        });
        let is_of_the_cancellation = |waiter: &layby::wait_table::Waiter| waiter.key().is_within(&cancel);
        assert!(!layby::waiters().iter().any(is_of_the_cancellation), "that is not what it waits for");
        cancel.cancel();
        assert_eq!(waiter.join().unwrap(), Err(Stopped::Cancelled));
    });
}

/// Threads wait for any of a few counts to have something to take, with and without limits, while others give; whatever was
/// given is taken in the end. A wake-up that is lost stops the test.
#[test]
fn what_is_given_anywhere_is_taken() {
    const PLACES: usize = 5;
    const TAKERS: usize = 4;
    let _watchdog = watchdog();
    for slots in [1, 4] {
        let table = leaked(slots);
        let counts = [const { AtomicUsize::new(0) }; PLACES];
        let (given, taken, done) = (scaled(20_000), AtomicUsize::new(0), AtomicBool::new(false));
        let take_anywhere = || {
            counts.iter().any(|count| {
                count.fetch_update(Ordering::Acquire, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
            })
        };
        thread::scope(|s| {
            for seed in 0..TAKERS {
                let (counts, taken, done) = (&counts, &taken, &done);
                let mut random = Random::new(seed);
                s.spawn(move || {
                    let mut keys: Vec<_> = counts.iter().map(Location::key).collect();
                    keys.push(done.key());
                    let never = Cancel::new();
                    while !done.load(Ordering::Acquire) {
                        let mut got = false;
                        let over = || {
                            got = take_anywhere();
                            got || done.load(Ordering::Acquire)
                        };
                        match random.below(3) {
                            0 => table.wait_until_any(&keys, over),
                            1 => drop(table.wait_until_any_timeout(&keys, Duration::from_micros(50), over)),
                            _ => {
                                let limit = Limit::from(Duration::from_millis(1)).or(&never);
                                let _ = table.wait_until_any_within(&keys, limit, over);
                            }
                        }
                        if got && taken.fetch_add(1, Ordering::AcqRel) + 1 == given {
                            done.store(true, Ordering::Release);
                            table.wake_all(done);
                        }
                    }
                });
            }
            let mut random = Random::new(99);
            for _ in 0..given {
                let count = &counts[random.below(PLACES)];
                count.fetch_add(1, Ordering::Release);
                table.wake_all(count);
            }
        });
        assert_eq!(taken.load(Ordering::Relaxed), given);
        assert!(is_empty(table), "{table:?}");
    }
}
