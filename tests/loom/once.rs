//! `Once`: one closure at a time, all who go on see what it wrote, and nobody is left asleep.
//!
//! Two closures at once, or one that is not ordered before who goes on, are a race on the cell, which loom reports.

use crate::explore::explore_roles;
use layby::once::Once;
use loom::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A `Once`, and how many closures have run.
struct Counted {
    once: Once,
    calls: UnsafeCell<u32>,
}

// SAFETY: the cell is changed by closures only and read by who waited for them, which is what loom checks.
#[allow(unsafe_code)]
unsafe impl Sync for Counted {}

#[allow(unsafe_code)]
impl Counted {
    fn new() -> Self {
        Self { once: Once::new(), calls: UnsafeCell::new(0) }
    }

    fn count(&self) {
        // SAFETY: one closure at a time, and nobody reads before it is over.
        self.calls.with_mut(|calls| unsafe { *calls += 1 });
    }

    fn calls(&self) -> u32 {
        // SAFETY: whoever asks has waited for the closure, or is one.
        self.calls.with(|calls| unsafe { *calls })
    }
}

fn call(shared: &Counted) {
    shared.once.call_once(|| shared.count());
    assert_eq!(shared.calls(), 1);
}

fn wait(shared: &Counted) {
    shared.once.wait();
    assert_eq!(shared.calls(), 1);
}

fn look(shared: &Counted) {
    if shared.once.is_completed() {
        assert_eq!(shared.calls(), 1);
    }
}

/// Unwinds, twice, and then insists: so who sees it `POISONED` may find it so anew.
fn unwind_and_insist(shared: &Counted) {
    let unwind = || {
        shared.count();
        resume_unwind(Box::new(()));
    };
    for _ in 0..2 {
        let _ = catch_unwind(AssertUnwindSafe(|| shared.once.call_once_force(|_| unwind())));
    }
    insist(shared);
}

fn insist(shared: &Counted) {
    shared.once.call_once_force(|before| {
        assert_eq!(shared.calls() > 0, before.is_poisoned());
        shared.count();
    });
    assert!(shared.calls() > 0);
}

#[test]
fn two_calls() {
    explore_roles(3, Counted::new, [call, call], |shared| assert!(shared.once.is_completed()));
}

#[test]
fn three_calls() {
    explore_roles(2, Counted::new, [call, call, call], |shared| assert_eq!(shared.calls(), 1));
}

#[test]
fn a_call_against_two_that_wait() {
    explore_roles(2, Counted::new, [call, wait, wait], |_| ());
}

#[test]
fn a_call_against_a_look() {
    explore_roles(3, Counted::new, [call, look], |_| ());
}

/// The first closure unwinds, and somebody else may do it after it.
#[test]
fn a_call_that_unwinds_against_one_that_insists() {
    explore_roles(3, Counted::new, [unwind_and_insist, insist], |shared| assert!(shared.once.is_completed()));
}

/// Two want to begin after it has unwound; one of them waits for the other.
#[test]
fn a_call_that_unwinds_against_two_that_insist() {
    explore_roles(1, Counted::new, [unwind_and_insist, insist, insist], |shared| assert!(shared.once.is_completed()));
}
