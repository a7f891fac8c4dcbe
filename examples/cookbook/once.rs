//! Something that is done once, by whoever comes first; the others wait for it. If it panics, the next one does it.

use super::sync::atomic::{AtomicU32, Ordering};
use layby::{location_wake_all, wait_until};

const NEW: u32 = 0;
const RUNNING: u32 = 1;
const DONE: u32 = 2;

pub struct Once {
    state: AtomicU32,
}

impl Once {
    pub fn new() -> Self {
        Self { state: AtomicU32::new(NEW) }
    }

    /// Calls `f` unless that has been done; returns when it has been done, by whomever.
    pub fn call_once(&self, f: impl FnOnce()) {
        let mut begun = false;
        wait_until(&self.state, || {
            let seen = self.state.compare_exchange(NEW, RUNNING, Ordering::Acquire, Ordering::Acquire);
            begun = seen.is_ok();
            begun || seen == Err(DONE)
        });
        if begun {
            let mut end = End { once: self, state: NEW };
            f();
            end.state = DONE;
        }
    }
}

/// Sets the state when dropped, be it by a panic.
struct End<'a> {
    once: &'a Once,
    state: u32,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.once.state.store(self.state, Ordering::Release);
        location_wake_all(&self.once.state);
    }
}
