//! A fair lock: each thread waits for its number, and an unlock wakes the one whose number it is, among however many.

use super::sync::atomic::{AtomicU32, Ordering};
use layby::{Key, location_wake_all, wait_until};

pub struct TicketLock {
    next: AtomicU32,
    serving: AtomicU32,
}

/// The lock is held while this lives.
pub struct Guard<'a>(&'a TicketLock, u32);

impl TicketLock {
    pub fn new() -> Self {
        Self { next: AtomicU32::new(0), serving: AtomicU32::new(0) }
    }

    pub fn lock(&self) -> Guard<'_> {
        let mine = self.next.fetch_add(1, Ordering::Relaxed);
        // A key of one's own, beside those of the others.
        wait_until(self.turn(mine), || self.serving.load(Ordering::Acquire) == mine);
        Guard(self, mine)
    }

    fn turn(&self, number: u32) -> Key {
        Key::ticket(&self.serving, number.into())
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let next = self.1.wrapping_add(1);
        self.0.serving.store(next, Ordering::Release);
        location_wake_all(self.0.turn(next));
    }
}
