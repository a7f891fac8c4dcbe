//! What a model needs instead of an operating system: a place to sleep, and a clock whose expiry is an event.

use super::world::world_static;
use core::cell::Cell;
use std::time::Instant;

use super::checker::sync::{Condvar, Mutex, atomic::AtomicU32};

use super::atomic::Ordering;

/// Where every thread of the model sleeps, and whether the model's deadlines have passed.
struct Parker {
    expired: Mutex<bool>,
    bell: Condvar,
}

world_static! {
    fn parker() -> &'static Parker {
        const { Parker { expired: Mutex::new(false), bell: Condvar::new() } }
        model { Parker { expired: Mutex::new(false), bell: Condvar::new() } }
    }
}

std::thread_local! {
    static EXECUTION: Cell<u64> = const { Cell::new(0) };
}

/// Opens an execution: call it first in the closure that is given to the checker.
///
/// It makes the statics of this execution, before there is a second thread to race for that.
pub fn begin() {
    EXECUTION.set(EXECUTION.get() + 1);
    parker();
    crate::wait_table::global();
    crate::ticket_queue::shards();
    crate::paper::wait_array();
}

/// Which execution this is.
pub(crate) fn execution() -> u64 {
    let execution = EXECUTION.get();
    assert_ne!(execution, 0, "a model must call `layby::model::begin()` first");
    execution
}

/// Lets every deadline of this execution pass. Call it from a thread of the model: when that happens is then part of
/// the interleaving.
pub fn expire_deadlines() {
    *parker().expired.lock().unwrap() = true;
    parker().bell.notify_all();
}

/// Whether a deadline has passed in the model; the value of the `Instant` plays no part.
pub(crate) fn deadline_has_passed(_: Instant) -> bool {
    *parker().expired.lock().unwrap()
}

/// Sleeps while `word` is `expected` and the deadline, if any, has not passed.
pub(crate) fn sleep(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
    let mut expired = parker().expired.lock().unwrap();
    while word.load(Ordering::Relaxed) == expected && !(deadline.is_some() && *expired) {
        expired = parker().bell.wait(expired).unwrap();
    }
}

/// Wakes every sleeper of the model; each looks at its own word.
pub(crate) fn wake_all(_word: *const AtomicU32) {
    drop(parker().expired.lock().unwrap());
    parker().bell.notify_all();
}
pub(crate) use wake_all as wake;
