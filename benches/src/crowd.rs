//! Many threads, each waiting for a value of its own of one counter.

use crate::os;
use layby::eventcount::EventCount;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// A counter that can be waited on.
pub trait Counter: Default + Send + Sync + 'static {
    fn advance(&self);
    fn await_at_least(&self, value: u64);
}

/// Ours: an advance wakes who waits for that value.
pub type Targeted = EventCount;

impl Counter for EventCount {
    fn advance(&self) {
        Self::advance(self);
    }

    fn await_at_least(&self, value: u64) {
        Self::await_at_least(self, value);
    }
}

/// A mutex and a condition variable: an advance wakes all.
#[derive(Default)]
pub struct Broadcast {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Counter for Broadcast {
    fn advance(&self) {
        *self.count.lock().expect("nobody panics inside") += 1;
        self.changed.notify_all();
    }

    fn await_at_least(&self, value: u64) {
        let count = self.count.lock().expect("nobody panics inside");
        drop(self.changed.wait_while(count, |count| *count < value).expect("nobody panics inside"));
    }
}

#[derive(Default)]
struct Shared<C> {
    counter: C,
    arrived: AtomicU64,
    passed: Mutex<u64>,
    one_more: Condvar,
}

/// Threads 1 to n, of which number i waits for the value i and ends.
pub struct Crowd<C: Counter> {
    shared: Arc<Shared<C>>,
    threads: Vec<JoinHandle<()>>,
}

/// What some advances cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// From the first advance until the last of those it let pass has said so and all others sleep again.
    pub time: Duration,
    /// How often threads other than the calling one went to sleep: those that were woken in vain.
    pub sleeps_of_others: u64,
}

const SMALL_STACK: usize = 64 * 1024;

impl<C: Counter> Crowd<C> {
    pub fn gather(size: u64) -> Self {
        let shared = Arc::<Shared<C>>::default();
        let start = |value| {
            let shared = Arc::clone(&shared);
            let body = move || {
                shared.arrived.fetch_add(1, Ordering::Relaxed);
                shared.counter.await_at_least(value);
                *shared.passed.lock().expect("nobody panics inside") += 1;
                shared.one_more.notify_one();
            };
            Builder::new().stack_size(SMALL_STACK).spawn(body).expect("the machine can run that many threads")
        };
        let threads = (1..=size).map(start).collect();
        while shared.arrived.load(Ordering::Relaxed) < size {
            std::thread::sleep(Duration::from_millis(1));
        }
        os::settle();
        Self { shared, threads }
    }

    /// Advances so often, each time when the thread that waited for it has passed.
    pub fn advance(&self, advances: u64) -> Cost {
        let before = os::sleeps_of_others();
        let start = Instant::now();
        for _ in 0..advances {
            let target = *self.shared.passed.lock().expect("nobody panics inside") + 1;
            self.shared.counter.advance();
            let passed = self.shared.passed.lock().expect("nobody panics inside");
            let waits = self.shared.one_more.wait_while(passed, |passed| *passed < target);
            drop(waits.expect("nobody panics inside"));
        }
        let time = start.elapsed();
        os::settle();
        // Of the threads that ended, each has slept since `before` at the most once, at the lock of `passed`.
        Cost { time, sleeps_of_others: os::sleeps_of_others().saturating_sub(before) }
    }
}

impl<C: Counter> Drop for Crowd<C> {
    fn drop(&mut self) {
        for _ in &self.threads {
            self.shared.counter.advance();
        }
        for thread in self.threads.drain(..) {
            thread.join().expect("a thread of the crowd panicked");
        }
    }
}
