//! A semaphore that signal handlers post to. Its table has one slot, so that they disturb all others there.

use super::Game;
use crate::{common::homes::OneSlot, plan::Hardship, plan::Plan, signals, worker::Worker};
use layby::{
    Key,
    sema::Semaphore,
    wait_table::{Home, global},
};
use std::sync::atomic::{AtomicU64, Ordering};

static BELL: Semaphore<OneSlot> = Semaphore::new_in(0);
static RUNG: AtomicU64 = AtomicU64::new(0);
static HEARD: AtomicU64 = AtomicU64::new(0);

/// Fit for a signal handler.
pub(crate) fn ring() {
    RUNG.fetch_add(1, Ordering::Relaxed);
    BELL.post();
    global().wake_all(Key::address(&BELL));
    OneSlot::TABLE.wake_one(Key::address(&BELL));
}

/// How often it was rung.
pub(crate) fn rung() -> u64 {
    RUNG.load(Ordering::Relaxed)
}

pub(crate) struct Bell {
    /// Whether somebody else rings until all threads of the round have ended.
    rings_by_itself: bool,
}

impl Bell {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { rings_by_itself: plan.has(Hardship::Signals) && signals::ARE_SENT }
    }
}

impl Game for Bell {
    fn play(&self, worker: &mut Worker<'_>) {
        if !self.rings_by_itself {
            ring();
        }
        let soon = worker.soon();
        let heard = if worker.random.one_in(2) {
            worker.at(|| BELL.take_timeout(soon))
        } else {
            worker.at(|| BELL.take());
            true
        };
        HEARD.fetch_add(u64::from(heard), Ordering::Relaxed);
    }

    fn check(self: Box<Self>) {
        assert_eq!(RUNG.load(Ordering::Relaxed), HEARD.load(Ordering::Relaxed) + BELL.available());
        assert_eq!(BELL.waiters(), 0);
    }
}
