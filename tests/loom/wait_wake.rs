//! Promise 1 (README). Wait against wake: the fence pair, the ratification, the gate.

use crate::explore::ALL;
use crate::world::{explore, is_set, set};
use loom::sync::atomic::Ordering;

#[test]
fn a_plain_store_and_wake_all() {
    explore(ALL, [|w| w.wait_for(&w.x), |w| w.wake_all_after_set(&w.x)]);
}

#[test]
fn a_read_modify_write_and_wake_all_seqcst() {
    explore(
        ALL,
        [
            |w| w.wait_for(&w.x),
            |w| {
                w.x.fetch_add(1, Ordering::SeqCst);
                w.table.wake_all_seqcst(&w.x);
            },
        ],
    );
}

#[test]
fn wait_if_and_wake_one() {
    explore(ALL, [|w| w.wait_if_unset(&w.x), |w| w.wake_one_after_set(&w.x)]);
}

/// The free functions, on the global table.
#[test]
fn a_plain_store_and_location_wake_all() {
    explore(
        ALL,
        [
            |w| layby::wait_until(&w.x, || is_set(&w.x)),
            |w| {
                set(&w.x);
                layby::location_wake_all(&w.x);
            },
        ],
    );
}

#[test]
fn a_read_modify_write_and_location_wake_all_seqcst() {
    explore(
        ALL,
        [
            |w| layby::wait_until(&w.x, || is_set(&w.x)),
            |w| {
                w.x.fetch_add(1, Ordering::SeqCst);
                layby::location_wake_all_seqcst(&w.x);
            },
        ],
    );
}

/// Two notifiers, one of which may find the chain in the other's hands.
#[test]
fn two_notifiers() {
    explore(2, [|w| w.wait_for(&w.x), |w| w.wake_all_idly(&w.y), |w| w.wake_all_after_set(&w.x)]);
}

/// Two keys in one slot, two elements on one chain: a wake-up of either key takes both.
#[test]
fn two_keys_in_one_slot() {
    explore(
        2,
        [
            |w| w.wait_for(&w.x),
            |w| w.wait_for(&w.y),
            |w| {
                w.wake_all_after_set(&w.x);
                w.wake_all_after_set(&w.y);
            },
        ],
    );
}
