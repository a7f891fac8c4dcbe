//! All forms of waiting and waking at once, on one slot.

use crate::schedules::{at_random, by_pct};
use layby::{WaitOutcome, WaitTable, model};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;
use std::time::Instant;

/// How many schedules of each kind; arbitrary.
const SCHEDULES: usize = 2_000;

struct World {
    table: WaitTable,
    counter: AtomicUsize,
    stranger: AtomicUsize,
}

impl World {
    fn leaked() -> &'static Self {
        let world =
            Self { table: WaitTable::with_slots(1), counter: AtomicUsize::new(0), stranger: AtomicUsize::new(0) };
        Box::leak(Box::new(world))
    }

    fn count(&self) -> usize {
        self.counter.load(Ordering::SeqCst)
    }
}

type Body = Box<dyn FnOnce() + Send>;

/// Runs all bodies as threads to their end.
fn run_all(bodies: Vec<Body>) {
    let threads: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// A relay: each runner waits for the count of its predecessor, in a form of its own, and passes it on. Strangers on
/// the same slot pick, withdraw and time out meanwhile.
fn relay() {
    const RUNNERS: usize = 8;
    let world = World::leaked();
    let World { table, counter, stranger } = world;
    let mut bodies: Vec<Body> = Vec::new();
    for place in 0..RUNNERS {
        bodies.push(Box::new(move || {
            match place % 4 {
                0 => table.wait_until(counter, || world.count() >= place),
                1 => {
                    while world.count() < place {
                        table.location_wait(counter);
                    }
                }
                2 => loop {
                    let armed = table.arm(counter);
                    if world.count() >= place {
                        break;
                    }
                    armed.wait();
                },
                _ => {
                    while world.count() < place {
                        table.wait_if(counter, || world.count() < place);
                    }
                }
            }
            assert_eq!(world.count(), place, "somebody ran before his turn");
            counter.fetch_add(1, Ordering::SeqCst);
            table.wake_all_seqcst(counter);
        }));
    }
    bodies.push(Box::new(move || table.wait_if(stranger, || false)));
    bodies.push(Box::new(move || {
        table.wake_one(stranger);
    }));
    bodies.push(Box::new(move || {
        assert!(!table.wait_until_deadline(stranger, Instant::now(), || false), "true for what is never true");
    }));
    bodies.push(Box::new(model::expire_deadlines));
    run_all(bodies);
    assert_eq!(world.count(), RUNNERS);
}

/// Permits, given one by one with one wake-up each, to takers of whom some give up. Nobody who stays is forgotten.
fn permits() {
    const STAYING: usize = 4;
    const LEAVING: usize = 3;
    let world = World::leaked();
    let World { table, counter: available, .. } = world;
    let try_take =
        || available.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |permits| permits.checked_sub(1)).is_ok();
    let mut bodies: Vec<Body> = Vec::new();
    for _ in 0..STAYING {
        bodies.push(Box::new(move || {
            while !try_take() {
                table.wait_if(available, || world.count() == 0);
            }
        }));
    }
    for _ in 0..LEAVING {
        bodies.push(Box::new(move || {
            while !try_take() {
                if table.wait_if_deadline(available, Instant::now(), || world.count() == 0) == WaitOutcome::TimedOut {
                    return;
                }
            }
            // Not needed after all: back, with a wake-up.
            available.fetch_add(1, Ordering::SeqCst);
            table.wake_one(available);
        }));
    }
    for _ in 0..STAYING {
        bodies.push(Box::new(move || {
            available.fetch_add(1, Ordering::SeqCst);
            table.wake_one(available);
        }));
    }
    bodies.push(Box::new(model::expire_deadlines));
    run_all(bodies);
    assert_eq!(world.count(), 0, "permits are left over");
    let report = format!("{table:?}");
    assert!(report.contains("occupied: 0"), "something is left: {report}");
}

#[test]
fn relay_at_random() {
    at_random(SCHEDULES, relay);
}

#[test]
fn relay_by_pct() {
    by_pct(SCHEDULES, relay);
}

#[test]
fn permits_at_random() {
    at_random(SCHEDULES, permits);
}

#[test]
fn permits_by_pct() {
    by_pct(SCHEDULES, permits);
}
