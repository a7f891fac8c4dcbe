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
    fn wait_at_least(&self, value: u64);
}

/// Ours: an advance wakes who waits for that value.
pub type Targeted = EventCount;

impl Counter for EventCount {
    fn advance(&self) {
        Self::advance(self);
    }

    fn wait_at_least(&self, value: u64) {
        Self::wait_at_least(self, value).expect("nobody closes it");
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

    fn wait_at_least(&self, value: u64) {
        let count = self.count.lock().expect("nobody panics inside");
        drop(self.changed.wait_while(count, |count| *count < value).expect("nobody panics inside"));
    }
}

#[derive(Default)]
struct Shared<C> {
    counter: C,
    passed: AtomicU64,
}

/// Threads 1 to n, of which number i waits for the value i and ends.
pub struct Crowd<C: Counter> {
    shared: Arc<Shared<C>>,
    threads: Vec<JoinHandle<()>>,
    /// The operating system's numbers of the threads, in the order of the values they wait for.
    numbers: Vec<u32>,
}

/// What some advances cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// From the first advance until the last of those it let pass has said so and all others sleep again.
    pub time: Duration,
    /// How often those who wait for more went to sleep meanwhile: they were woken for nothing.
    pub sleeps_of_others: u64,
}

const SMALL_STACK: usize = 64 * 1024;

impl<C: Counter> Crowd<C> {
    pub fn gather(size: u64) -> Self {
        let shared = Arc::<Shared<C>>::default();
        let gatherer = std::thread::current();
        let (arrived, arrivals) = std::sync::mpsc::channel();
        let start = |value| {
            let (shared, gatherer, arrived) = (Arc::clone(&shared), gatherer.clone(), arrived.clone());
            let body = move || {
                arrived.send((value, os::thread_number())).expect("the gatherer waits for it");
                shared.counter.wait_at_least(value);
                shared.passed.fetch_add(1, Ordering::Release);
                gatherer.unpark();
            };
            Builder::new().stack_size(SMALL_STACK).spawn(body).expect("the machine can run that many threads")
        };
        let threads = (1..=size).map(start).collect();
        let mut arrivals: Vec<(u64, u32)> = arrivals.iter().take(size as usize).collect();
        arrivals.sort_unstable();
        os::settle();
        Self { shared, threads, numbers: arrivals.into_iter().map(|(_, number)| number).collect() }
    }

    /// Advances so often, each time when the thread that waited for it has passed. Only for the thread that gathered.
    pub fn advance(&self, advances: u64) -> Cost {
        let passed = self.shared.passed.load(Ordering::Acquire) + advances;
        let others = &self.numbers[(passed as usize).min(self.numbers.len())..];
        let sleeps_of_others = || others.iter().map(|&number| os::sleeps_of(number)).sum::<u64>();
        let before = sleeps_of_others();
        let start = Instant::now();
        for _ in 0..advances {
            let target = self.shared.passed.load(Ordering::Acquire) + 1;
            self.shared.counter.advance();
            while self.shared.passed.load(Ordering::Acquire) < target {
                std::thread::park();
            }
        }
        let time = start.elapsed();
        os::settle();
        Cost { time, sleeps_of_others: sleeps_of_others() - before }
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
