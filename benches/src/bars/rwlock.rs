//! Reader-writer locks: alone, and with readers and writers mixed.

use super::measure::{Bound, Effort, Finding, against, ratios, with_free_cpus};
use crate::contender::Aligned;
use crate::workload::{repeat_alone, two_fetch_adds};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A reader-writer lock around a number.
trait Lock: Sync {
    fn new() -> Self;
    fn read(&self) -> u64;
    fn write(&self);
}

/// A lock whose guards are got by these calls.
macro_rules! lock {
    ($lock:ty, |$this:ident| $read:expr, $write:expr) => {
        impl Lock for $lock {
            fn new() -> Self {
                Self::new(0)
            }

            #[inline]
            fn read(&self) -> u64 {
                let $this = self;
                *$read
            }

            #[inline]
            fn write(&self) {
                let $this = self;
                *$write += 1;
            }
        }
    };
}

type Ours = layby::rwlock::RwLock<u64>;
type ParkingLot = parking_lot::RwLock<u64>;
type Std = std::sync::RwLock<u64>;
type Tokio = tokio::sync::RwLock<u64>;

lock!(Ours, |lock| lock.read(), lock.write());
lock!(ParkingLot, |lock| lock.read(), lock.write());
lock!(Std, |lock| lock.read().expect("nobody panics inside"), lock.write().expect("nobody panics inside"));
lock!(Tokio, |lock| lock.blocking_read(), lock.blocking_write());

fn alone<L: Lock>(n: u64, operation: fn(&L)) -> Duration {
    let lock = Aligned(L::new());
    let lock = black_box(&lock);
    repeat_alone(n, || operation(&lock.0))
}

fn reads<L: Lock>(n: u64) -> Duration {
    alone::<L>(n, |lock| _ = black_box(lock.read()))
}

fn writes<L: Lock>(n: u64) -> Duration {
    alone::<L>(n, L::write)
}

pub fn no_contention(effort: Effort) -> Vec<Finding> {
    let effort = effort.in_short_slices();
    let mut findings = against(
        "RwLock read + unlock, no contention",
        &mut reads::<Ours>,
        &mut [
            ("two bare fetch_adds", Bound::AtMost(1.05), &mut two_fetch_adds),
            ("parking_lot RwLock", Bound::AtMost(1.05), &mut reads::<ParkingLot>),
            ("std RwLock", Bound::AtMost(1.05), &mut reads::<Std>),
            ("tokio RwLock", Bound::AtMost(0.5), &mut reads::<Tokio>),
        ],
        effort,
    );
    findings.extend(against(
        "RwLock write + unlock, no contention",
        &mut writes::<Ours>,
        &mut [
            ("parking_lot RwLock", Bound::Shown, &mut writes::<ParkingLot>),
            ("std RwLock", Bound::Shown, &mut writes::<Std>),
            ("tokio RwLock", Bound::AtMost(0.5), &mut writes::<Tokio>),
        ],
        effort,
    ));
    findings
}

/// What came out of one run.
struct Outcome {
    per_second: f64,
    /// The longest that a writer, or one reader in 32, has waited.
    longest_ns: f64,
}

/// `threads` threads for some time, of whose operations `writes` in a hundred write, with a little work between two of them.
fn run<L: Lock>(threads: u64, writes: u64, time: Duration) -> Outcome {
    let (lock, stop) = (Aligned(L::new()), Aligned(AtomicBool::new(false)));
    let longest = AtomicU64::new(0);
    let begun = Instant::now();
    let operations: u64 = std::thread::scope(|s| {
        let work = |thread: u64| {
            let (lock, stop, longest) = (&lock.0, &stop.0, &longest);
            move || {
                // Marsaglia's xorshift: who writes, and the work.
                let mut random = 0x9E37_79B9_7F4A_7C15 ^ (thread + 1);
                let (mut done, mut worst) = (0, Duration::ZERO);
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..4 {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                    }
                    let (is_write, is_timed) = (random % 100 < writes, random >> 32 & 31 == 0);
                    let started = (is_write || is_timed).then(Instant::now);
                    if is_write {
                        lock.write();
                    } else {
                        black_box(lock.read());
                    }
                    worst = worst.max(started.map_or(Duration::ZERO, |started| started.elapsed()));
                    done += 1;
                }
                longest.fetch_max(worst.as_nanos() as u64, Ordering::Relaxed);
                done
            }
        };
        let workers: Vec<_> = (0..threads).map(|thread| s.spawn(work(thread))).collect();
        std::thread::sleep(time);
        stop.0.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().expect("nobody panics")).sum()
    });
    let seconds = begun.elapsed().as_secs_f64();
    Outcome { per_second: operations as f64 / seconds, longest_ns: longest.into_inner() as f64 }
}

type Run = fn(u64, u64, Duration) -> Outcome;

const PEERS: [(&str, Run); 4] = [
    ("ours", run::<Ours>),
    ("parking_lot RwLock", run::<ParkingLot>),
    ("std RwLock", run::<Std>),
    ("tokio RwLock", run::<Tokio>),
];

/// Tokio's is the one that serves in order, too. The others let whoever runs overtake those who sleep, and are shown.
pub fn mixed(effort: Effort) -> Vec<Finding> {
    let effort = effort.of_trials();
    let at = |threads: u64, writes: u64| {
        let mut outcomes: [Vec<Outcome>; PEERS.len()] = Default::default();
        for round in 0..effort.rounds {
            for turn in 0..PEERS.len() {
                let index = (turn + round) % PEERS.len();
                outcomes[index].push(PEERS[index].1(threads, writes, effort.slice));
            }
        }
        let series = |index: usize, of: fn(&Outcome) -> f64| outcomes[index].iter().map(of).collect::<Vec<_>>();
        let mut findings = Vec::new();
        for (index, (peer, _)) in PEERS.iter().enumerate().skip(1) {
            let what = format!("RwLock, {writes} % writes, T = {threads}");
            let bound = if *peer == "tokio RwLock" { Bound::AtLeast(1.2) } else { Bound::Shown };
            let throughput = ratios(&series(0, |o| o.per_second), &series(index, |o| o.per_second));
            findings.push(Finding::new(&what, *peer, bound, throughput));
            let longest = ratios(&series(0, |o| o.longest_ns), &series(index, |o| o.longest_ns));
            findings.push(Finding::new(format!("{what}: longest wait"), *peer, Bound::Shown, longest));
        }
        findings
    };
    let mixes = [2, 4, 8, 32].into_iter().flat_map(|threads| [0, 1, 10, 50].map(|writes| (threads, writes)));
    mixes.flat_map(|(threads, writes)| with_free_cpus(|| at(threads, writes))).collect()
}
