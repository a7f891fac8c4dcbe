//! The fence pairs of the protocols, reduced to their cores: with both fences the forbidden outcome is in no execution,
//! without either it is in some. What needs `SeqCst` accesses, to which loom is blind, is judged by `ci/litmus.py` in the
//! language's model, with the orders that the source has.

use crate::explore::{ALL, explore_run};
use loom::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::*, fence},
};
use loom::thread;

#[derive(Clone, Copy)]
struct Fences {
    a: bool,
    b: bool,
}

/// Fails if a waiter that is published and a notifier that has changed the condition do not see each other: `slot` and
/// `condition` are written on one side and read on the other.
fn wait_against_wake(fences: Fences) {
    explore_run(ALL, move || {
        let words = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let waiter = {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                let (slot, condition) = &*words;
                slot.fetch_add(1, Release);
                if fences.a {
                    fence(SeqCst);
                }
                condition.load(Relaxed)
            })
        };
        let (slot, condition) = &*words;
        condition.store(1, Relaxed);
        if fences.b {
            fence(SeqCst);
        }
        let looked = slot.load(Relaxed);
        let checked = waiter.join().unwrap();
        assert!((checked, looked) != (0, 0), "neither saw the other");
    });
}

#[test]
fn fences_a_and_b() {
    wait_against_wake(Fences { a: true, b: true });
}

#[test]
#[should_panic(expected = "neither saw the other")]
fn without_fence_a() {
    wait_against_wake(Fences { a: false, b: true });
}

#[test]
#[should_panic(expected = "neither saw the other")]
fn without_fence_b() {
    wait_against_wake(Fences { a: true, b: false });
}
