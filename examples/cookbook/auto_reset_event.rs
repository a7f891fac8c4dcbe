//! An event that lets one thread go on and resets itself, as Windows has it.
//!
//! A wake-up is for one, so the wait is `wait_if`: the only form that `location_wake_one` wakes one by one.

use super::sync::atomic::{AtomicBool, Ordering};
use layby::{WaitOutcome, location_wake_one, wait_if, wait_if_deadline};
use std::time::Instant;

pub struct AutoResetEvent {
    is_set: AtomicBool,
}

impl AutoResetEvent {
    pub fn new() -> Self {
        Self { is_set: AtomicBool::new(false) }
    }

    /// Lets one thread go on: one that waits, or else the next that will. Events that are set twice are set once.
    pub fn set(&self) {
        if !self.is_set.swap(true, Ordering::Release) {
            location_wake_one(&self.is_set);
        }
    }

    /// Waits for a `set`, and resets the event.
    pub fn wait(&self) {
        // In a loop: another thread may have come first, and waits may end early.
        while !self.try_reset() {
            wait_if(&self.is_set, || !self.is_set.load(Ordering::Relaxed));
        }
    }

    /// Like `wait`, but gives up at `deadline`.
    #[must_use]
    pub fn wait_deadline(&self, deadline: Instant) -> bool {
        while !self.try_reset() {
            let waited = wait_if_deadline(&self.is_set, deadline, || !self.is_set.load(Ordering::Relaxed));
            if waited == WaitOutcome::TimedOut {
                return self.try_reset();
            }
        }
        true
    }

    fn try_reset(&self) -> bool {
        self.is_set.swap(false, Ordering::Acquire)
    }
}
