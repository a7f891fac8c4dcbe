//! The pop-stack with pickers: push against detach against pick and put-back; `wake_one`; withdrawal.

use crate::world::{World, explore, is_set, set, some_time};
use layby::{Key, WaitOutcome, model::expire_deadlines};
use loom::sync::atomic::Ordering;

/// `wake_one` of x holds y's element in its hands when y's notifier looks.
#[test]
fn a_picker_of_x_against_a_notifier_of_y() {
    explore(2, [|w| w.wait_for(&w.y), |w| w.wake_one_idly(&w.x), |w| w.wake_all_after_set(&w.y)]);
}

/// As above, but the notifier of y wakes one.
#[test]
fn a_picker_of_x_against_a_picker_of_y() {
    explore(2, [|w| w.wait_if_unset(&w.y), |w| w.wake_one_idly(&w.x), |w| w.wake_one_after_set(&w.y)]);
}

/// A waiter of x that withdraws holds y's element in its hands when y's notifier looks.
#[test]
fn a_withdrawal_against_a_notifier() {
    explore(2, [|w| w.wait_for(&w.y), |w| w.publish_and_withdraw(&w.x), |w| w.wake_all_after_set(&w.y)]);
}

/// Each finds the other at work as a picker; nobody comes to notify them.
#[test]
fn two_withdrawals() {
    explore(4, [|w| w.publish_and_withdraw(&w.x), |w| w.publish_and_withdraw(&w.y)]);
}

/// Two waiters, two permits, each given by one `wake_one`: both get theirs.
#[test]
fn two_wakes_of_one() {
    fn take(w: &World) {
        loop {
            let took = w.x.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |permits| permits.checked_sub(1));
            if took.is_ok() {
                return;
            }
            w.table.wait_if(&w.x, || !is_set(&w.x));
        }
    }
    explore(
        2,
        [take, take, |w| {
            for _ in 0..2 {
                w.x.fetch_add(1, Ordering::Relaxed);
                w.table.wake_one(&w.x);
            }
        }],
    );
}

/// Two waiters of one key, one of which times out at any moment. The wake-up of one goes to the one that stays, or the
/// one that leaves says that it has used it up, and hands it on.
#[test]
fn a_wake_of_one_against_a_withdrawal() {
    fn leave(w: &World) {
        let outcome = w.table.wait_if_deadline(&w.x, some_time(), || {
            expire_deadlines();
            true
        });
        if outcome == WaitOutcome::Woken {
            w.table.wake_one(&w.x);
        }
    }
    explore(2, [leave, |w| w.wait_if_unset(&w.x), |w| w.wake_one_after_set(&w.x)]);
}

/// A thread that finds nothing to wait for must not keep a wake-up of one that it was chosen for meanwhile.
#[test]
fn a_wake_of_one_against_a_thread_that_does_not_wait() {
    explore(2, [|w| w.publish_and_withdraw(&w.x), |w| w.wait_if_unset(&w.x), |w| w.wake_one_after_set(&w.x)]);
}

/// Two elements come to the chain while a picker is at work, pushed by one thread, the one nested in the other.
#[test]
fn newcomers_while_a_picker_is_at_work() {
    fn wait_nested(w: &World) {
        w.table.wait_if(&w.x, || {
            w.wait_for(&w.y);
            false
        });
    }
    let pick = |w: &World| drop(w.table.waiters());
    explore(2, [wait_nested, pick, |w| w.wake_all_after_set(&w.y)]);
}

/// An element that comes when the picker has been asked for a flush, and before it has seen that.
#[test]
fn a_newcomer_behind_a_flush() {
    fn ask_and_publish(w: &World) {
        w.table.wait_if(&w.x, || {
            w.table.wake_all(&w.x);
            w.publish_and_withdraw(&w.y);
            false
        });
    }
    explore(4, [ask_and_publish, |w| drop(w.table.waiters())]);
}

/// Three keys with fingerprints of their own on one chain: whoever comes last, and whoever puts the others back, leaves a
/// word that sends nobody's notifier away.
#[test]
fn fingerprints_of_several_keys() {
    fn key(w: &World, nth: u64) -> Key {
        Key::ticket(&w.table, nth)
    }
    explore(
        2,
        [
            |w| w.table.wait_until(key(w, 1), || is_set(&w.x)),
            |w| w.table.wait_until(key(w, 2), || is_set(&w.y)),
            |w| {
                w.table.wait_if(key(w, 3), || false);
                set(&w.x);
                w.table.wake_all(key(w, 1));
                set(&w.y);
                w.table.wake_one(key(w, 2));
            },
        ],
    );
}
