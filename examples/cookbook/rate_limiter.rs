//! A token bucket: so many calls a second, so many at once after a pause, and those who wait are served in order.

use layby::sema::Semaphore;
use std::time::{Duration, Instant};

pub struct RateLimiter {
    tokens: Semaphore,
    burst: u64,
}

impl RateLimiter {
    /// A bucket of `burst` tokens, full.
    pub fn new(burst: u64) -> Self {
        Self { tokens: Semaphore::new(burst), burst }
    }

    /// Waits for a token.
    pub fn acquire(&self) {
        self.tokens.take();
    }

    /// Like `acquire`, but not longer than `timeout`: `false`, and nobody behind is held up.
    #[must_use]
    pub fn acquire_timeout(&self, timeout: Duration) -> bool {
        self.tokens.take_timeout(timeout)
    }

    /// Adds `tokens`, of which those that nobody waits for must fit into the bucket; returns how many did.
    pub fn refill(&self, tokens: u64) -> u64 {
        self.tokens.post_up_to(tokens, self.burst)
    }

    /// Adds a token each `period` while `go_on`: for a thread of its own.
    pub fn run(&self, period: Duration, go_on: impl Fn() -> bool) {
        let mut next = Instant::now();
        while go_on() {
            // By the clock, so that a late tick is not the next one's delay too.
            next += period;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            self.refill(1);
        }
    }
}
