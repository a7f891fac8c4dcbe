//! One run of one contender: some threads for some time.

use super::hold::Hold;
use crate::contender::{Aligned, Exclusion};
use crate::os;
use hdrhistogram::Histogram;
use layby::counters::{self, Counters};
use rand_mt::Mt;
use serde::{Deserialize, Serialize};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Where threads may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum, Serialize, Deserialize)]
pub enum Pinning {
    /// Where the scheduler puts them.
    #[default]
    None,
    /// Thread i on CPU i, and round again.
    Spread,
    /// All on one CPU.
    One,
}

/// What to run.
pub struct Trial<'a> {
    pub threads: usize,
    pub interval: Duration,
    pub pinning: Pinning,
    /// How many may be inside at a time.
    pub permits: u32,
    /// What they do there.
    pub hold: Hold,
    /// Set from outside to give up.
    pub interrupted: &'a AtomicBool,
}

/// What came out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub seconds: f64,
    /// Operations of each thread within the interval.
    pub counts: Vec<u64>,
    /// Of all threads together, as the operating system counts it.
    pub cpu_seconds: f64,
    pub voluntary_switches: u64,
    #[serde(default)]
    pub involuntary_switches: u64,
    /// What layby counted meanwhile: zeroes of a peer, and without the feature `counters`.
    #[serde(default)]
    pub counted: Counted,
    /// Time from asking to being inside: of one take in 32, or of all if permits are held for a while.
    pub wait: Wait,
    /// The longest time for which some thread was seen not to move: at least this long, as it is looked at only every
    /// 10 ms. A sample of the takes would miss the one that starves.
    pub standstill_ns: u64,
}

/// What a hand-over is made of.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Counted {
    pub waits: u64,
    pub wakes: u64,
    pub staged_wakes: u64,
    pub futile_wakes: u64,
    pub spins_succeeded: u64,
    pub spins_failed: u64,
    pub yields: u64,
    pub sleep_calls: u64,
    pub wake_calls: u64,
}

impl From<Counters> for Counted {
    fn from(counters: Counters) -> Self {
        Self {
            waits: counters.waits,
            wakes: counters.wakes,
            staged_wakes: counters.staged_wakes,
            futile_wakes: counters.futile_wakes,
            spins_succeeded: counters.spins_succeeded,
            spins_failed: counters.spins_failed,
            yields: counters.yields,
            sleep_calls: counters.sleep_calls,
            wake_calls: counters.wake_calls,
        }
    }
}

/// Quantiles in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Wait {
    pub samples: u64,
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

impl Wait {
    fn of(histogram: &Histogram<u64>) -> Self {
        Self {
            samples: histogram.len(),
            p50: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
        }
    }
}

impl Outcome {
    pub fn operations(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn per_second(&self) -> f64 {
        self.operations() as f64 / self.seconds
    }

    /// 1 if all threads did the same.
    pub fn min_over_max(&self) -> f64 {
        let max = self.counts.iter().max().copied().unwrap_or(0);
        let min = self.counts.iter().min().copied().unwrap_or(0);
        if max == 0 { 0.0 } else { min as f64 / max as f64 }
    }

    /// Jain's index: 1 if all threads did the same, 1/T if one did all.
    pub fn jain(&self) -> f64 {
        let sum = self.operations() as f64;
        let squares: f64 = self.counts.iter().map(|&count| (count as f64).powi(2)).sum();
        if squares == 0.0 { 0.0 } else { sum * sum / (self.counts.len() as f64 * squares) }
    }

    pub fn longest_wait_ns(&self) -> u64 {
        self.wait.max.max(self.standstill_ns)
    }

    pub fn cpu_seconds_per_million(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.operations().max(1) as f64
    }

    pub fn switches_per_operation(&self) -> f64 {
        self.per_operation(self.voluntary_switches)
    }

    pub fn per_operation(&self, events: u64) -> f64 {
        events as f64 / self.operations().max(1) as f64
    }
}

const WARM_UP: u32 = 0;
const MEASURE: u32 = 1;
const STOP: u32 = 2;

/// One take in this many is timed, unless the permit is held for a while: two looks at the clock cost as much as an uncontended
/// take. A power of two.
const TAKES_PER_SAMPLE: u32 = 32;

/// How often the threads' counters are looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How long all threads may need for their first operation. An unfair contender may let one starve for as long as it is
/// measured; then the clock starts without it.
const PATIENCE: Duration = Duration::from_secs(2);

struct Arena<E> {
    exclusion: Aligned<E>,
    generator: Aligned<UnsafeCell<Mt>>,
    phase: Aligned<AtomicU32>,
    counts: Vec<Aligned<AtomicU64>>,
}

// SAFETY: the generator is touched only inside the exclusion, and only if that lets one in at a time.
unsafe impl<E: Sync> Sync for Arena<E> {}

/// Runs a trial; `None` if it was interrupted.
pub fn run<E: Exclusion>(trial: &Trial<'_>) -> Option<Outcome> {
    assert!(E::COUNTS || trial.permits == 1, "a mutex has one permit");
    trial.hold.prepare();
    let arena = Arena {
        exclusion: Aligned(E::with_permits(trial.permits)),
        generator: Aligned(UnsafeCell::new(Mt::new(1))),
        phase: Aligned(AtomicU32::new(WARM_UP)),
        counts: (0..trial.threads).map(|_| Aligned::default()).collect(),
    };
    let cpus = os::allowed_cpus();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..trial.threads)
            .map(|index| {
                let (arena, cpus) = (&arena, &cpus);
                scope.spawn(move || {
                    match trial.pinning {
                        Pinning::None => true,
                        Pinning::Spread => os::confine_to(&[cpus[index % cpus.len()]]),
                        Pinning::One => os::confine_to(&cpus[..1]),
                    };
                    contend_as(trial, arena, index)
                })
            })
            .collect();
        let observation = observe(trial, &arena);
        arena.phase.0.store(STOP, Ordering::Relaxed);
        let mut waits = new_histogram();
        for thread in threads {
            let histogram = thread.join().expect("a benchmark thread panicked");
            waits.add(&histogram).expect("the same bounds");
        }
        let Observation { seconds, counts, usage, counted, standstill } = observation?;
        Some(Outcome {
            seconds,
            counts,
            cpu_seconds: usage.cpu.as_secs_f64(),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            counted,
            wait: Wait::of(&waits),
            standstill_ns: standstill.as_nanos() as u64,
        })
    })
}

fn new_histogram() -> Histogram<u64> {
    const AN_HOUR_NS: u64 = 3_600_000_000_000;
    Histogram::new_with_bounds(1, AN_HOUR_NS, 2).expect("good bounds")
}

/// What one thread does, with the section that the trial asks for.
fn contend_as<E: Exclusion>(trial: &Trial<'_>, arena: &Arena<E>, index: usize) -> Histogram<u64> {
    let hold = trial.hold;
    match (trial.permits, hold) {
        (1, Hold::OneStep) => {
            // SAFETY: called only inside the exclusion, alone.
            let step_shared = || unsafe { (*arena.generator.0.get()).next_u32() };
            contend(arena, index, TAKES_PER_SAMPLE, || {
                black_box(step_shared());
            })
        }
        (_, Hold::OneStep) => {
            let mut inside = Mt::new(1);
            contend(arena, index, TAKES_PER_SAMPLE, || {
                black_box(inside.next_u32());
            })
        }
        _ => contend(arena, index, 1, || hold.spend()),
    }
}

/// What one thread does: `section` inside, a step of its own generator outside.
fn contend<E: Exclusion>(
    arena: &Arena<E>,
    index: usize,
    takes_per_sample: u32,
    mut section: impl FnMut(),
) -> Histogram<u64> {
    let mut private = Mt::new(index as u32 + 2);
    let mut histogram = new_histogram();
    let mut measures = false;
    let mut count = 0;
    loop {
        match arena.phase.0.load(Ordering::Relaxed) {
            STOP => return histogram,
            MEASURE if !measures => {
                histogram.reset();
                measures = true;
            }
            _ => {}
        }
        if black_box(private.next_u32()).is_multiple_of(takes_per_sample) {
            let asked = Instant::now();
            let inside = arena.exclusion.0.exclusively(|| {
                let inside = Instant::now();
                section();
                inside
            });
            histogram.saturating_record((inside - asked).as_nanos() as u64);
        } else {
            arena.exclusion.0.exclusively(&mut section);
        }
        count += 1;
        arena.counts[index].0.store(count, Ordering::Relaxed);
    }
}

struct Observation {
    seconds: f64,
    counts: Vec<u64>,
    usage: os::Usage,
    counted: Counted,
    standstill: Duration,
}

/// Starts the clock when all threads are running, and watches them until it stops.
fn observe<E>(trial: &Trial<'_>, arena: &Arena<E>) -> Option<Observation> {
    let counts = || -> Vec<u64> { arena.counts.iter().map(|count| count.0.load(Ordering::Relaxed)).collect() };
    let begun = Instant::now();
    let warm_up = (trial.interval / 10).clamp(Duration::from_millis(5), Duration::from_secs(1));
    while begun.elapsed() < warm_up || (counts().contains(&0) && begun.elapsed() < PATIENCE) {
        std::thread::sleep(Duration::from_millis(1));
        if trial.interrupted.load(Ordering::Relaxed) {
            return None;
        }
    }
    let start = Instant::now();
    let before = counts();
    // Of all threads in just the time in which their operations are counted.
    let (usage_before, counted_before) = (os::usage_of_others(), counters::snapshot());
    arena.phase.0.store(MEASURE, Ordering::Relaxed);
    let mut seen: Vec<_> = before.iter().map(|&count| (count, start)).collect();
    let mut standstill = Duration::ZERO;
    loop {
        let left = trial.interval.saturating_sub(start.elapsed());
        std::thread::sleep(left.min(LOOK));
        if trial.interrupted.load(Ordering::Relaxed) {
            return None;
        }
        let (now, current) = (Instant::now(), counts());
        for (last, &count) in seen.iter_mut().zip(&current) {
            if last.0 == count {
                standstill = standstill.max(now - last.1);
            } else {
                *last = (count, now);
            }
        }
        if now - start >= trial.interval {
            let counts = current.iter().zip(&before).map(|(after, before)| after - before).collect();
            let usage = os::usage_of_others().since(usage_before);
            let counted = Counted::from(counters::snapshot() - counted_before);
            return Some(Observation { seconds: (now - start).as_secs_f64(), counts, usage, counted, standstill });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(counts: &[u64]) -> Outcome {
        Outcome {
            seconds: 2.0,
            counts: counts.to_vec(),
            cpu_seconds: 1.0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            counted: Counted::default(),
            wait: Wait::default(),
            standstill_ns: 0,
        }
    }

    #[test]
    fn fairness_of_equals_is_one_and_of_a_tyrant_one_in_t() {
        assert_eq!((outcome(&[5, 5, 5, 5]).jain(), outcome(&[5, 5, 5, 5]).min_over_max()), (1.0, 1.0));
        assert_eq!((outcome(&[8, 0, 0, 0]).jain(), outcome(&[8, 0, 0, 0]).min_over_max()), (0.25, 0.0));
        assert_eq!(outcome(&[6, 4]).per_second(), 5.0);
    }

    #[test]
    fn an_interrupted_trial_has_no_outcome() {
        let interrupted = AtomicBool::new(true);
        let trial = Trial {
            threads: 2,
            interval: Duration::from_secs(3600),
            pinning: Pinning::None,
            permits: 1,
            hold: Hold::OneStep,
            interrupted: &interrupted,
        };
        assert!(run::<crate::contender::locks::StdMutex>(&trial).is_none());
    }
}
