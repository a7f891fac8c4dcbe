//! What a model has instead of an operating system: executions, a place to sleep, and deadlines that pass when told to.

use super::atomic::{AtomicU32, Ordering};
use super::checker::sync::{Condvar, Mutex};
use super::world_static;
use core::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::time::Instant;

/// Where every thread of the model sleeps, and whether the model's deadlines have passed.
/// A waker that unwinds may poison it, which says nothing.
struct Parker {
    expired: Mutex<bool>,
    bell: Condvar,
}

world_static! {
    fn parker() -> &'static Parker {
        const { unreachable!("only a model has one") }
        model { Parker { expired: Mutex::new(false), bell: Condvar::new() } }
    }
}

std::thread_local! {
    /// The real thread's: a checker runs all executions of a model on one.
    static EXECUTION: Cell<u64> = const { Cell::new(0) };
}

/// Begins an execution, with statics of its own. Those of this module are made at once.
pub(crate) fn begin_execution() {
    EXECUTION.set(EXECUTION.get() + 1);
    parker();
}

/// The number of this execution.
pub(crate) fn execution() -> u64 {
    let execution = EXECUTION.get();
    assert_ne!(execution, 0, "a model must call `layby::model::begin()` first");
    execution
}

/// Runs what a destructor does. When a model has failed, its checker unwinds the threads, and whatever they do with the checker's
/// atomics panics again: out of a destructor that would abort the process, and with it the report.
pub(crate) fn in_destructor(act: impl FnOnce()) {
    if std::thread::panicking() {
        // Nothing that is left undone can be seen: either it was done, or the execution is over.
        let _ = catch_unwind(AssertUnwindSafe(act));
    } else {
        act();
    }
}

/// Lets every deadline of this execution pass.
pub(crate) fn expire_deadlines() {
    *parker().expired.lock().unwrap_or_else(PoisonError::into_inner) = true;
    parker().bell.notify_all();
}

/// Whether the deadlines of this execution have passed. The value of the `Instant` does not matter.
pub(crate) fn deadline_has_passed(_: Instant) -> bool {
    *parker().expired.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sleeps while `word` is `expected` and the deadline, if any, has not passed.
pub(crate) fn sleep(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
    let mut expired = parker().expired.lock().unwrap_or_else(PoisonError::into_inner);
    while word.load(Ordering::Relaxed) == expected && !(deadline.is_some() && *expired) {
        expired = parker().bell.wait(expired).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Wakes every sleeper of the model, on whichever word. Each then checks its own.
pub(crate) fn wake_all(_word: *const AtomicU32) {
    drop(parker().expired.lock().unwrap_or_else(PoisonError::into_inner));
    parker().bell.notify_all();
}
