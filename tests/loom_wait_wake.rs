//! Wait against wake: the fence pair, the ratification, the gate.
//!
//! | model | preemptions | seconds |
//! |---|---|---|
//! | `plain_store` | 4 | TBD |

#![cfg(layby_loom)]

mod models;

use loom::sync::atomic::Ordering;
use models::{World, explore, spawn};

#[test]
fn a_plain_store_and_wake_all() {
    explore(4, || {
        let world = World::new();
        let waiter = spawn(&world, |w| w.wait_for(&w.x));
        world.wake_all_after_set(&world.x);
        waiter.join().unwrap();
        world.assert_at_rest();
    });
}

#[test]
fn a_read_modify_write_and_wake_all_seqcst() {
    explore(4, || {
        let world = World::new();
        let waiter = spawn(&world, |w| w.wait_for(&w.x));
        world.x.fetch_add(1, Ordering::SeqCst);
        world.table.wake_all_seqcst(&world.x);
        waiter.join().unwrap();
        world.assert_at_rest();
    });
}

#[test]
fn wait_if_and_wake_one() {
    explore(4, || {
        let world = World::new();
        let waiter = spawn(&world, |w| w.wait_if_unset(&w.x));
        world.wake_one_after_set(&world.x);
        waiter.join().unwrap();
        world.assert_at_rest();
    });
}

/// Two notifiers, one of which may find the chain in the other's hands.
#[test]
fn two_notifiers() {
    explore(2, || {
        let world = World::new();
        let waiter = spawn(&world, |w| w.wait_for(&w.x));
        let other = spawn(&world, |w| {
            w.table.wake_all(&w.y);
        });
        world.wake_all_after_set(&world.x);
        waiter.join().unwrap();
        other.join().unwrap();
        world.assert_at_rest();
    });
}

/// Two keys in one slot, two elements on one chain: a wake-up of either key takes both.
#[test]
fn two_keys_in_one_slot() {
    explore(2, || {
        let world = World::new();
        let waiter_of_x = spawn(&world, |w| w.wait_for(&w.x));
        let waiter_of_y = spawn(&world, |w| w.wait_for(&w.y));
        world.wake_all_after_set(&world.x);
        world.wake_all_after_set(&world.y);
        waiter_of_x.join().unwrap();
        waiter_of_y.join().unwrap();
        world.assert_at_rest();
    });
}
