//! What a model needs instead of an operating system: a place to sleep, and a clock whose expiry is an event.

use super::world::world_static;
use core::cell::Cell;
use std::time::Instant;

use super::checker::sync::{Condvar, Mutex, atomic::AtomicU32};

use super::atomic::Ordering;

/// Where every thread of the model sleeps, and whether the model's deadlines have passed.
struct Bedroom {
    expired: Mutex<bool>,
    bell: Condvar,
}

world_static! {
    fn bedroom() -> &'static Bedroom {
        const { Bedroom { expired: Mutex::new(false), bell: Condvar::new() } }
        model { Bedroom { expired: Mutex::new(false), bell: Condvar::new() } }
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
    bedroom();
    crate::wait_table::global();
    crate::line::shards();
    crate::sema::wait_array();
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
    *bedroom().expired.lock().unwrap() = true;
    bedroom().bell.notify_all();
}

/// Whether `deadline` has passed in the model; the value of the `Instant` plays no part.
pub(crate) fn passed(deadline: Option<Instant>) -> bool {
    deadline.is_some() && *bedroom().expired.lock().unwrap()
}

/// Sleeps while `word` is `expected` and the deadline, if any, has not passed.
pub(crate) fn sleep(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
    let mut expired = bedroom().expired.lock().unwrap();
    while word.load(Ordering::Relaxed) == expected && !(deadline.is_some() && *expired) {
        expired = bedroom().bell.wait(expired).unwrap();
    }
}

/// Wakes every sleeper of the model; each looks at its own word.
pub(crate) fn wake_all(_word: *const AtomicU32) {
    drop(bedroom().expired.lock().unwrap());
    bedroom().bell.notify_all();
}
pub(crate) use wake_all as wake;
