//! Promise 1 (README). Threads that sleep on one word. In a model one sleeper that was woken makes a crowd, so the second
//! wait for the same key is in it.

use crate::world::{World, explore};
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

fn wait_for(w: &World, flag: &AtomicUsize, value: usize) {
    w.table.wait_until(flag, || flag.load(Ordering::Relaxed) >= value);
}

fn wait_twice(w: &World) {
    wait_for(w, &w.x, 1);
    wait_for(w, &w.x, 2);
}

fn wake_twice(w: &World) {
    for value in 1..=2 {
        w.x.store(value, Ordering::Relaxed);
        w.table.wake_all(&w.x);
    }
}

#[test]
fn a_sleeper_against_a_wake() {
    explore(2, [wait_twice, wake_twice]);
}

#[test]
fn two_sleepers_against_a_wake() {
    explore(1, [wait_twice, |w| wait_for(w, &w.x, 2), wake_twice]);
}

/// Whoever gives up in a crowd leaves nothing behind, and one whose wake-up came first has not timed out.
#[test]
fn a_deadline_against_a_wake() {
    explore(
        3,
        [
            |w| {
                wait_for(w, &w.x, 1);
                let held = w.table.wait_until_deadline(&w.x, Instant::now(), || w.x.load(Ordering::Relaxed) >= 2);
                assert!(held || w.y.load(Ordering::Relaxed) == 1, "early");
            },
            |w| {
                w.x.store(1, Ordering::Relaxed);
                w.table.wake_all(&w.x);
                w.y.store(1, Ordering::Relaxed);
                layby::model::expire_deadlines();
                w.x.store(2, Ordering::Relaxed);
                w.table.wake_all(&w.x);
            },
        ],
    );
}
