//! Locks that are held for a while: what they let through, what that costs, and how long the unluckiest has waited.

use crate::contender::locks::{ParkingLotMutex, Raw, StdMutex};
use crate::contender::{Aligned, Exclusion};
use crate::os::{self, Usage};
use layby::mutex::{RawFairMutex, RawMutex};
use std::hint::black_box;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What a thread does while it has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// So much work: a thread that loses its CPU meanwhile has it before it.
    Computing(Duration),
    Asleep(Duration),
}

impl std::fmt::Display for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Computing(time) => write!(f, "{} us", time.as_micros()),
            Self::Asleep(time) => write!(f, "{} us asleep", time.as_micros()),
        }
    }
}

/// As `Display` writes it: "10", "10us", "100 us asleep".
impl std::str::FromStr for Hold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (time, hold): (&str, fn(Duration) -> Self) = match text.strip_suffix("asleep") {
            Some(time) => (time, Self::Asleep),
            None => (text, Self::Computing),
        };
        let micros = time.trim().trim_end_matches("us").trim().parse();
        micros.map(|micros| hold(Duration::from_micros(micros))).map_err(|error| format!("{text}: {error}"))
    }
}

/// Steps of work in a second.
static STEPS_PER_SECOND: LazyLock<f64> = LazyLock::new(|| {
    const STEPS: u64 = 1_000_000;
    let fastest = (0..20).map(|_| crate::workload::repeat(1, || work(STEPS))).min().expect("there are some");
    STEPS as f64 / fastest.as_secs_f64()
});

fn work(steps: u64) {
    let mut number = black_box(1_u64);
    for _ in 0..steps {
        number = black_box(number.wrapping_mul(6_364_136_223_846_793_005));
    }
}

/// What came out of one run of one lock.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub per_second: f64,
    /// Seconds of CPU time.
    pub cpu_per_operation: f64,
    /// In seconds, of all waits.
    pub longest_wait: f64,
}

/// How to run a lock: its threads, the hold, and for how long.
pub type Run = fn(usize, Hold, Duration) -> Outcome;

/// Ours, then the peers.
pub const LOCKS: [(&str, Run); 4] = [
    ("layby Mutex", run::<Raw<RawMutex>>),
    ("std Mutex", run::<StdMutex>),
    ("parking_lot Mutex", run::<ParkingLotMutex>),
    ("layby FairMutex", run::<Raw<RawFairMutex>>),
];

const WARM_UP: u32 = 0;
const MEASURE: u32 = 1;
const STOP: u32 = 2;

/// What one thread has done.
#[derive(Default)]
struct Share {
    operations: u64,
    longest_wait: Duration,
    used: Usage,
}

fn run<E: Exclusion>(threads: usize, hold: Hold, interval: Duration) -> Outcome {
    let (lock, phase) = (Aligned(E::with_permits(1)), Aligned(AtomicU32::new(WARM_UP)));
    let steps = match hold {
        Hold::Computing(time) => (*STEPS_PER_SECOND * time.as_secs_f64()) as u64,
        Hold::Asleep(_) => 0,
    };
    std::thread::scope(|scope| {
        let contend = || {
            let mut share = Share::default();
            let mut before = None;
            loop {
                match phase.0.load(Ordering::Relaxed) {
                    STOP => break,
                    MEASURE if before.is_none() => {
                        share = Share::default();
                        before = Some(os::thread_usage());
                    }
                    _ => {}
                }
                let asked = Instant::now();
                let inside = lock.0.exclusively(|| {
                    // A hold of nothing is not prolonged by a look at the clock.
                    let inside = (hold != Hold::Computing(Duration::ZERO)).then(Instant::now);
                    match hold {
                        Hold::Computing(_) => work(steps),
                        Hold::Asleep(time) => std::thread::sleep(time),
                    }
                    inside
                });
                share.longest_wait = share.longest_wait.max(inside.unwrap_or_else(Instant::now) - asked);
                share.operations += 1;
            }
            share.used = before.map_or_else(Usage::default, |before| os::thread_usage().since(before));
            share
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(contend)).collect();
        std::thread::sleep(interval / 10);
        let start = Instant::now();
        phase.0.store(MEASURE, Ordering::Relaxed);
        std::thread::sleep(interval);
        phase.0.store(STOP, Ordering::Relaxed);
        let seconds = start.elapsed().as_secs_f64();
        let shares: Vec<Share> = running.into_iter().map(|thread| thread.join().expect("nobody panics")).collect();
        let operations = shares.iter().map(|share| share.operations).sum::<u64>().max(1) as f64;
        Outcome {
            per_second: operations / seconds,
            cpu_per_operation: shares.iter().map(|share| share.used.cpu.as_secs_f64()).sum::<f64>() / operations,
            longest_wait: shares.iter().map(|share| share.longest_wait).max().unwrap_or_default().as_secs_f64(),
        }
    })
}

/// Each lock in each round, taking turns: outcomes by lock, then by round.
pub fn in_turns(
    locks: &[(&str, Run)],
    threads: usize,
    hold: Hold,
    rounds: usize,
    interval: Duration,
) -> Vec<Vec<Outcome>> {
    let mut outcomes = vec![Vec::with_capacity(rounds); locks.len()];
    for round in 0..rounds {
        for turn in 0..locks.len() {
            let index = (turn + round) % locks.len();
            outcomes[index].push(locks[index].1(threads, hold, interval));
        }
    }
    outcomes
}
