//! The pop-stack with pickers: push against detach against pick and put-back; `wake_one`; withdrawal.

#![cfg(layby_loom)]

mod models;

use layby::{WaitOutcome, model::expire_deadlines};
use loom::sync::atomic::Ordering;
use models::{World, explore, is_set, some_time, spawn};

/// `wake_one` of x holds y's element in its hands when y's notifier looks.
#[test]
fn a_picker_of_x_against_a_notifier_of_y() {
    explore(3, || {
        let world = World::new();
        let waiter = spawn(&world, |w| w.wait_for(&w.y));
        let picker = spawn(&world, |w| {
            w.table.wake_one(&w.x);
        });
        world.wake_all_after_set(&world.y);
        waiter.join().unwrap();
        picker.join().unwrap();
        world.assert_at_rest();
    });
}

/// As above, but the notifier of y wakes one.
#[test]
fn a_picker_of_x_against_a_picker_of_y() {
    explore(3, || {
        let world = World::new();
        let waiter = spawn(&world, |w| w.wait_if_unset(&w.y));
        let picker = spawn(&world, |w| {
            w.table.wake_one(&w.x);
        });
        world.wake_one_after_set(&world.y);
        waiter.join().unwrap();
        picker.join().unwrap();
        world.assert_at_rest();
    });
}

/// A waiter of x that withdraws holds y's element in its hands when y's notifier looks.
#[test]
fn a_withdrawal_against_a_notifier() {
    explore(3, || {
        let world = World::new();
        let waiter = spawn(&world, |w| w.wait_for(&w.y));
        let leaver = spawn(&world, |w| w.publish_and_withdraw(&w.x));
        world.wake_all_after_set(&world.y);
        waiter.join().unwrap();
        leaver.join().unwrap();
        world.assert_at_rest();
    });
}

/// Each finds the other at work as a picker; nobody comes to notify them.
#[test]
fn two_withdrawals() {
    explore(3, || {
        let world = World::new();
        let other = spawn(&world, |w| w.publish_and_withdraw(&w.x));
        world.publish_and_withdraw(&world.y);
        other.join().unwrap();
        world.assert_at_rest();
    });
}

/// Two waiters, two permits, each given by one `wake_one`: both get theirs.
#[test]
fn two_wakes_of_one() {
    explore(2, || {
        let world = World::new();
        let take = |w: &World| loop {
            let took = w.x.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |permits| permits.checked_sub(1));
            if took.is_ok() {
                return;
            }
            w.table.wait_if(&w.x, || !is_set(&w.x));
        };
        let takers = [spawn(&world, take), spawn(&world, take)];
        for _ in 0..2 {
            world.x.fetch_add(1, Ordering::Relaxed);
            world.table.wake_one(&world.x);
        }
        for taker in takers {
            taker.join().unwrap();
        }
        world.assert_at_rest();
    });
}

/// Two waiters of one key, one of which times out at any moment. The wake-up of one goes to the one that stays, or the
/// one that leaves says that it has used it up, and hands it on.
#[test]
fn a_wake_of_one_against_a_withdrawal() {
    explore(2, || {
        let world = World::new();
        let leaver = spawn(&world, |w| {
            let outcome = w.table.wait_if_deadline(&w.x, some_time(), || {
                expire_deadlines();
                true
            });
            if outcome == WaitOutcome::Woken {
                w.table.wake_one(&w.x);
            }
        });
        let notifier = spawn(&world, |w| {
            w.wake_one_after_set(&w.x);
        });
        world.wait_if_unset(&world.x);
        leaver.join().unwrap();
        notifier.join().unwrap();
        world.assert_at_rest();
    });
}

/// A thread that finds nothing to wait for must not keep a wake-up of one that it was chosen for meanwhile.
#[test]
fn a_wake_of_one_against_a_thread_that_does_not_wait() {
    explore(3, || {
        let world = World::new();
        let passer_by = spawn(&world, |w| w.publish_and_withdraw(&w.x));
        let notifier = spawn(&world, |w| {
            w.wake_one_after_set(&w.x);
        });
        world.wait_if_unset(&world.x);
        passer_by.join().unwrap();
        notifier.join().unwrap();
        world.assert_at_rest();
    });
}

/// Two elements come to the chain while a picker is at work, pushed by one thread, the one nested in the other.
#[test]
fn newcomers_while_a_picker_is_at_work() {
    explore(3, || {
        let world = World::new();
        let waiter = spawn(&world, |w| {
            w.table.wait_if(&w.x, || {
                w.wait_for(&w.y);
                false
            });
        });
        let leaver = spawn(&world, |w| w.publish_and_withdraw(&w.x));
        world.wake_all_after_set(&world.y);
        waiter.join().unwrap();
        leaver.join().unwrap();
        world.assert_at_rest();
    });
}
