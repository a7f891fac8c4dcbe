//! All of layby's futures on real runtimes, beside threads. Blind to: rare interleavings and weak memory, which the crate's models
//! have; what a future does when it is dropped after any poll, which tests/tasks has.

#![allow(clippy::await_holding_lock, reason = "it means the guards of locks that block their thread")]

mod events;
mod line;
mod locks;
mod semaphores;
mod timeouts;
#[path = "../../../../tests/common/watchdog.rs"]
mod watchdog;

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many tasks of each runtime, and how many threads.
const EACH: usize = 3;

/// How often each of them does what the test is about.
fn rounds() -> usize {
    (200 / watchdog::divisor()).max(4)
}

/// For what tasks of several runtimes share.
fn leaked<T>(thing: T) -> &'static T {
    Box::leak(Box::new(thing))
}

/// How many are inside of what lets some in at a time.
#[derive(Default)]
struct Inside(AtomicUsize);

impl Inside {
    fn enter(&self, n: usize, most: usize) {
        assert!(self.0.fetch_add(n, Ordering::Relaxed) + n <= most, "more are inside than may be");
    }

    fn leave(&self, n: usize) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    /// A task's stay: others may come meanwhile, and must not get in.
    async fn visit(&self, n: usize, most: usize) {
        self.enter(n, most);
        async_service::yield_now().await;
        self.leave(n);
    }

    /// A thread's.
    fn visit_blocking(&self, n: usize, most: usize) {
        self.enter(n, most);
        std::thread::yield_now();
        self.leave(n);
    }
}
