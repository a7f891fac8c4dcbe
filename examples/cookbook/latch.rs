//! A latch: threads wait until a count has come down to zero. It opens once, for all.

use super::sync::atomic::{AtomicUsize, Ordering};
use layby::{location_wake_all, wait_until};

pub struct Latch {
    left: AtomicUsize,
}

impl Latch {
    pub fn new(count: usize) -> Self {
        Self { left: AtomicUsize::new(count) }
    }

    /// One less to wait for.
    pub fn count_down(&self) {
        // Release, for those who wait; acquire, so that the last one passes on what the others did.
        let before = self.left.fetch_sub(1, Ordering::AcqRel);
        assert_ne!(before, 0, "counted down too often");
        if before == 1 {
            // All of them may go on, so this is no thundering herd.
            location_wake_all(&self.left);
        }
    }

    /// Waits until the count is zero.
    pub fn wait(&self) {
        wait_until(&self.left, || self.left.load(Ordering::Acquire) == 0);
    }
}
