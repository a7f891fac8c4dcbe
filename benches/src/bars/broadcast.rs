//! One thread wakes two hundred that sleep on one address.

use super::measure::{Bound, Effort, Finding, against};
use crate::os;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

const SLEEPERS: usize = 200;
const SMALL_STACK: usize = 64 * 1024;

/// A number that all wait to see changed.
trait Bell: Default + Send + Sync + 'static {
    /// Waits until the number is not `seen`; returns the new one.
    fn wait(&self, seen: u32) -> u32;

    /// Adds one and wakes all.
    fn ring(&self);
}

#[derive(Default)]
struct Layby(AtomicU32);

impl Bell for Layby {
    fn wait(&self, seen: u32) -> u32 {
        layby::wait_until(&self.0, || self.0.load(Ordering::Acquire) != seen);
        self.0.load(Ordering::Acquire)
    }

    fn ring(&self) {
        self.0.fetch_add(1, Ordering::Release);
        layby::location_wake_all(&self.0);
    }
}

/// A futex: one system call wakes all.
#[cfg(target_os = "linux")]
#[derive(Default)]
struct RawFutex(AtomicU32);

#[cfg(target_os = "linux")]
impl Bell for RawFutex {
    fn wait(&self, seen: u32) -> u32 {
        use crate::contender::word_wait::{Futex, WordWait};
        while self.0.load(Ordering::Acquire) == seen {
            Futex::wait(&self.0, seen);
        }
        self.0.load(Ordering::Acquire)
    }

    fn ring(&self) {
        use crate::contender::word_wait::{Futex, WordWait};
        self.0.fetch_add(1, Ordering::Release);
        Futex::wake_all(&self.0);
    }
}

#[derive(Default)]
struct StdCondvar(Mutex<u32>, Condvar);

impl Bell for StdCondvar {
    fn wait(&self, seen: u32) -> u32 {
        let number = self.0.lock().expect("nobody panics inside");
        *self.1.wait_while(number, |number| *number == seen).expect("nobody panics inside")
    }

    fn ring(&self) {
        *self.0.lock().expect("nobody panics inside") += 1;
        self.1.notify_all();
    }
}

struct Herd<B> {
    bell: B,
    awake: AtomicUsize,
    herdsman: Thread,
}

impl<B: Bell> Herd<B> {
    /// Threads that stay until the process ends.
    fn gather() -> Arc<Self> {
        let herd = Arc::new(Self { bell: B::default(), awake: AtomicUsize::new(0), herdsman: thread::current() });
        for _ in 0..SLEEPERS {
            let herd = Arc::clone(&herd);
            let body = move || {
                let mut seen = 0;
                loop {
                    seen = herd.bell.wait(seen);
                    if herd.awake.fetch_add(1, Ordering::AcqRel) + 1 == SLEEPERS {
                        herd.herdsman.unpark();
                    }
                }
            };
            thread::Builder::new().stack_size(SMALL_STACK).spawn(body).expect("the machine can run that many");
        }
        herd
    }

    /// n times, when all sleep: until the ring has returned, and until all have been awake.
    fn ring(&self, n: u64) -> [Duration; 2] {
        let mut sums = [Duration::ZERO; 2];
        for _ in 0..n {
            os::settle();
            self.awake.store(0, Ordering::Release);
            let start = Instant::now();
            self.bell.ring();
            sums[0] += start.elapsed();
            while self.awake.load(Ordering::Acquire) < SLEEPERS {
                thread::park();
            }
            sums[1] += start.elapsed();
        }
        sums
    }
}

/// Until all are awake, and until the notifier can do something else.
#[cfg(target_os = "linux")]
pub fn to_two_hundred(effort: Effort) -> Vec<Finding> {
    let (ours, raw, condvar) = (Herd::<Layby>::gather(), Herd::<RawFutex>::gather(), Herd::<StdCondvar>::gather());
    let mut findings = Vec::new();
    for (index, what, bound) in [
        (1, "200 sleepers on one address: until all are awake", Bound::AtMost(1.0)),
        (0, "200 sleepers on one address: until the notifier is free", Bound::Shown),
    ] {
        findings.extend(against(
            what,
            &mut |n| ours.ring(n)[index],
            &mut [
                ("a raw futex", bound, &mut |n| raw.ring(n)[index]),
                ("std's condvar", Bound::Shown, &mut |n| condvar.ring(n)[index]),
            ],
            effort,
        ));
    }
    findings
}

/// There is no raw futex to compare with.
#[cfg(not(target_os = "linux"))]
pub fn to_two_hundred(_: Effort) -> Vec<Finding> {
    Vec::new()
}
