//! Many threads asleep before one semaphore.

use crate::contender::{Aligned, PostTake};
use crate::os;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

struct Shared<S> {
    semaphore: Aligned<S>,
    over: AtomicBool,
    /// Threads about to take for the first time.
    arrived: AtomicU64,
    /// Takes during which their thread slept twice: once far from its turn, once made ready too early.
    staged: AtomicU64,
    /// Sleeps of a take beyond those two.
    futile: AtomicU64,
    served: Mutex<u64>,
    one_more: Condvar,
}

/// Threads that take, say that they were served, and take again.
pub struct Herd<S: PostTake> {
    shared: Arc<Shared<S>>,
    threads: Vec<JoinHandle<()>>,
}

/// What some posts cost.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// CPU time within the calls of post.
    pub in_post: Duration,
    /// Of the threads served, those that were made ready before their turn and slept once more.
    pub staged_wakes: u64,
    /// Times that a thread served had been woken for nothing: neither granted nor made ready.
    pub futile_wakes: u64,
}

const SMALL_STACK: usize = 64 * 1024;

impl<S: PostTake + 'static> Herd<S> {
    /// Starts the threads and waits until all sleep.
    pub fn gather(size: usize) -> Self {
        let shared = Arc::new(Shared {
            semaphore: Aligned(S::with_permits(0)),
            over: AtomicBool::new(false),
            arrived: AtomicU64::new(0),
            staged: AtomicU64::new(0),
            futile: AtomicU64::new(0),
            served: Mutex::new(0),
            one_more: Condvar::new(),
        });
        let start = |_| {
            let shared = Arc::clone(&shared);
            let body = move || {
                shared.arrived.fetch_add(1, Ordering::Relaxed);
                loop {
                    let before = os::thread_usage();
                    shared.semaphore.0.take();
                    let sleeps = os::thread_usage().since(before).voluntary_switches;
                    shared.staged.fetch_add(u64::from(sleeps >= 2), Ordering::Relaxed);
                    shared.futile.fetch_add(sleeps.saturating_sub(2), Ordering::Relaxed);
                    if shared.over.load(Ordering::Relaxed) {
                        return;
                    }
                    *shared.served.lock().expect("nobody panics inside") += 1;
                    shared.one_more.notify_one();
                }
            };
            Builder::new().stack_size(SMALL_STACK).spawn(body).expect("the machine can run that many threads")
        };
        let threads = (0..size).map(start).collect();
        while shared.arrived.load(Ordering::Relaxed) < size as u64 {
            std::thread::sleep(Duration::from_millis(1));
        }
        os::settle();
        Self { shared, threads }
    }

    /// Posts so often, each time when the one before has been received.
    pub fn serve(&self, posts: u64) -> Service {
        let counted = || [&self.shared.staged, &self.shared.futile].map(|count| count.load(Ordering::Relaxed));
        let before = counted();
        let mut in_post = Duration::ZERO;
        for _ in 0..posts {
            let mut served = self.shared.served.lock().expect("nobody panics inside");
            let target = *served + 1;
            drop(served);
            let start = os::thread_cpu_time();
            self.shared.semaphore.0.post();
            in_post += os::thread_cpu_time() - start;
            served = self.shared.served.lock().expect("nobody panics inside");
            while *served < target {
                served = self.shared.one_more.wait(served).expect("nobody panics inside");
            }
        }
        os::settle();
        let [staged_wakes, futile_wakes] = std::array::from_fn(|index| counted()[index] - before[index]);
        Service { in_post, staged_wakes, futile_wakes }
    }
}

impl<S: PostTake> Drop for Herd<S> {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for _ in &self.threads {
            self.shared.semaphore.0.post();
        }
        for thread in self.threads.drain(..) {
            thread.join().expect("a thread of the herd panicked");
        }
    }
}
