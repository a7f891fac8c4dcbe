//! Timeout against notify: an expiry is an event of the model.

use crate::explore::ALL;
use crate::world::{World, explore, explore_lingering, is_set, some_time};
use layby::{WaitOutcome, model::expire_deadlines};
use loom::sync::atomic::Ordering;

#[test]
fn wait_until_deadline_against_notify() {
    fn wait(w: &World) {
        let held = w.table.wait_until_deadline(&w.x, some_time(), || is_set(&w.x));
        assert!(!held || is_set(&w.x), "true, though the condition does not hold");
    }
    explore(2, [wait, |_| expire_deadlines(), |w| w.wake_all_after_set(&w.x)]);
}

/// Without an expiry there is no timeout.
#[test]
fn a_deadline_that_does_not_pass() {
    fn wait(w: &World) {
        assert!(w.table.wait_until_deadline(&w.x, some_time(), || is_set(&w.x)), "a timeout without an expiry");
    }
    explore(ALL, [wait, |w| w.wake_all_after_set(&w.x)]);
}

/// A wake-up is used up if and only if it is reported: what comes last of the two compares.
#[test]
fn wait_if_deadline_against_wake_one() {
    const WOKEN: usize = 1;
    const TIMED_OUT: usize = 2;
    fn wait(w: &World) {
        let outcome = w.table.wait_if_deadline(&w.x, some_time(), || true);
        w.y.store(if outcome == WaitOutcome::Woken { WOKEN } else { TIMED_OUT }, Ordering::Relaxed);
    }
    fn expire_then_compare(w: &World) {
        let notified = w.table.wake_one(&w.x);
        expire_deadlines();
        loop {
            match w.y.load(Ordering::Relaxed) {
                0 => loom::thread::yield_now(),
                outcome => {
                    assert_eq!(notified == 1, outcome == WOKEN, "{notified} notified, but the outcome is {outcome}");
                    return;
                }
            }
        }
    }
    explore(ALL, [wait, expire_then_compare]);
    explore(2, [wait, |_| expire_deadlines(), expire_then_compare]);
}

/// The loop form: after a timeout the element lingers; after a wake-up it does not. Then it is published anew.
#[test]
fn location_wait_deadline_against_wake_one() {
    fn wait_for_x_then_y(w: &'static World) {
        let wait = || w.table.location_wait_deadline(&w.x, some_time());
        if wait() == WaitOutcome::Woken {
            let _ = wait();
        }
        w.table.location_wait(&w.y);
    }
    explore_lingering(2, [wait_for_x_then_y, |_| expire_deadlines(), |w| w.wake_one_idly(&w.x)]);
}
