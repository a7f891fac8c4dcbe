//! Timeout against notify: an expiry is an event of the model.

#![cfg(layby_loom)]

mod models;

use layby::{WaitOutcome, model::expire_deadlines};
use loom::thread;
use models::{World, explore, is_set, some_time, spawn};

#[test]
fn wait_until_deadline_against_notify() {
    explore(3, || {
        let world = World::new();
        let waiter = spawn(&world, |w| {
            let held = w.table.wait_until_deadline(&w.x, some_time(), || is_set(&w.x));
            assert!(!held || is_set(&w.x), "true, though the condition does not hold");
        });
        let clock = thread::spawn(expire_deadlines);
        world.wake_all_after_set(&world.x);
        waiter.join().unwrap();
        clock.join().unwrap();
        world.assert_at_rest();
    });
}

/// Without an expiry there is no timeout.
#[test]
fn a_deadline_that_does_not_pass() {
    explore(4, || {
        let world = World::new();
        let waiter = spawn(&world, |w| assert!(w.table.wait_until_deadline(&w.x, some_time(), || is_set(&w.x))));
        world.wake_all_after_set(&world.x);
        waiter.join().unwrap();
        world.assert_at_rest();
    });
}

/// A wake-up is used up if and only if it is reported.
#[test]
fn wait_if_deadline_against_wake_one() {
    explore(3, || {
        let world = World::new();
        let waiter = {
            let world = loom::sync::Arc::clone(&world);
            thread::spawn(move || world.table.wait_if_deadline(&world.x, some_time(), || true))
        };
        let clock = thread::spawn(expire_deadlines);
        let notified = world.table.wake_one(&world.x);
        let outcome = waiter.join().unwrap();
        clock.join().unwrap();
        assert_eq!(notified == 1, outcome == WaitOutcome::Woken, "{notified} notified, but {outcome:?}");
        world.assert_at_rest();
    });
}

/// The loop form: after a timeout the element lingers; after a wake-up it does not. Then it is published anew.
#[test]
fn location_wait_deadline_against_wake_one() {
    explore(3, || {
        let world = World::leaked();
        let waiter = thread::spawn(|| {
            let wait = || world.table.location_wait_deadline(&world.x, some_time());
            if wait() == WaitOutcome::Woken {
                wait();
            }
            world.table.location_wait(&world.y);
        });
        let clock = thread::spawn(expire_deadlines);
        world.table.wake_one(&world.x);
        waiter.join().unwrap();
        clock.join().unwrap();
    });
}
