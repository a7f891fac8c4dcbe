//! Condition variables: a queue of one slot that everybody waits for, and a crowd that is let go at once.

use super::measure::{Bound, Effort, Finding, ratios, with_free_cpus};
use crate::os;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

const SMALL_STACK: usize = 64 * 1024;

/// Some state behind a mutex, and two conditions on it.
trait Monitor: Send + Sync + 'static {
    fn new() -> Self;

    /// Waits at the condition with this number while `unfit` holds, then changes the state, and notifies all who wait at `next`.
    fn pass(&self, here: usize, unfit: impl Fn(u64) -> bool, change: impl Fn(&mut u64), next: usize, when: When);
}

/// When a change is notified.
#[derive(Clone, Copy, Debug)]
enum When {
    Locked,
    Unlocked,
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Locked => "with the lock held",
            Self::Unlocked => "with the lock released",
        })
    }
}

macro_rules! monitor {
    ($name:ident, $mutex:path, $condvar:path) => {
        struct $name($mutex, [$condvar; 2]);

        impl Monitor for $name {
            fn new() -> Self {
                Self(<$mutex>::new(0), [<$condvar>::new(), <$condvar>::new()])
            }

            fn pass(
                &self,
                here: usize,
                unfit: impl Fn(u64) -> bool,
                change: impl Fn(&mut u64),
                next: usize,
                when: When,
            ) {
                let mut state = self.0.lock();
                while unfit(*state) {
                    self.1[here].wait(&mut state);
                }
                change(&mut state);
                if let When::Unlocked = when {
                    drop(state);
                }
                self.1[next].notify_all();
            }
        }
    };
}

type LaybyMutex = layby::mutex::Mutex<u64>;
type LaybyFairMutex = layby::mutex::FairMutex<u64>;
type ParkingLotMutex = parking_lot::Mutex<u64>;

monitor!(Layby, LaybyMutex, layby::mutex::Condvar);
monitor!(LaybyFair, LaybyFairMutex, layby::mutex::FairCondvar);
monitor!(ParkingLot, ParkingLotMutex, parking_lot::Condvar);

struct Std(std::sync::Mutex<u64>, [std::sync::Condvar; 2]);

impl Monitor for Std {
    fn new() -> Self {
        Self(std::sync::Mutex::new(0), Default::default())
    }

    fn pass(&self, here: usize, unfit: impl Fn(u64) -> bool, change: impl Fn(&mut u64), next: usize, when: When) {
        let mut state = self.0.lock().expect("nobody panics inside");
        while unfit(*state) {
            state = self.1[here].wait(state).expect("nobody panics inside");
        }
        change(&mut state);
        if let When::Unlocked = when {
            drop(state);
        }
        self.1[next].notify_all();
    }
}

/// What an operation has cost, in seconds.
#[derive(Clone, Copy, Default)]
struct Cost {
    time: f64,
    cpu: f64,
}

/// `pairs` producers and as many consumers pass `each` messages through one slot, all notified of every change.
fn queue<M: Monitor>(pairs: usize, each: u64) -> Cost {
    let monitor = M::new();
    let (is_full, is_empty) = (|slot| slot == 1, |slot| slot == 0);
    let before = os::process_usage();
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..pairs {
            scope.spawn(|| (0..each).for_each(|_| monitor.pass(0, is_full, |slot| *slot = 1, 1, When::Unlocked)));
            scope.spawn(|| (0..each).for_each(|_| monitor.pass(1, is_empty, |slot| *slot = 0, 0, When::Unlocked)));
        }
    });
    let operations = (2 * pairs as u64 * each) as f64;
    let cpu = os::process_usage().since(before).cpu;
    Cost { time: start.elapsed().as_secs_f64() / operations, cpu: cpu.as_secs_f64() / operations }
}

/// Threads that wait for the number to change, until the process ends.
struct Crowd<M> {
    monitor: M,
    size: usize,
    awake: AtomicUsize,
    notifier: Thread,
}

impl<M: Monitor> Crowd<M> {
    fn gather(size: usize) -> Arc<Self> {
        let crowd = Self { monitor: M::new(), size, awake: AtomicUsize::new(0), notifier: thread::current() };
        let crowd = Arc::new(crowd);
        for _ in 0..size {
            let crowd = Arc::clone(&crowd);
            let body = move || {
                for seen in 0.. {
                    // Nobody waits at the second condition.
                    crowd.monitor.pass(0, |number| number == seen, |_| (), 1, When::Unlocked);
                    if crowd.awake.fetch_add(1, Ordering::AcqRel) + 1 == crowd.size {
                        crowd.notifier.unpark();
                    }
                }
            };
            thread::Builder::new().stack_size(SMALL_STACK).spawn(body).expect("the machine can run that many");
        }
        crowd
    }

    /// Lets all go, when all sleep: until all have had the lock.
    fn let_go(&self, when: When) -> Cost {
        os::settle();
        self.awake.store(0, Ordering::Release);
        let before = os::process_usage();
        let start = Instant::now();
        self.monitor.pass(0, |_| false, |number| *number += 1, 0, when);
        while self.awake.load(Ordering::Acquire) < self.size {
            thread::park();
        }
        let time = start.elapsed().as_secs_f64();
        os::settle();
        Cost { time, cpu: os::process_usage().since(before).cpu.as_secs_f64() }
    }
}

/// How to measure one of ours or of the peers once.
type Side<'a> = &'a dyn Fn() -> Cost;

/// Ours, the fair one of ours, then parking_lot and std.
fn compare(what: &str, sides: [Side<'_>; 4], rounds: usize) -> Vec<Finding> {
    let mut costs = [const { Vec::new() }; 4];
    for round in 0..rounds {
        for turn in 0..sides.len() {
            let side = (turn + round) % sides.len();
            costs[side].push(sides[side]());
        }
    }
    let mut findings = Vec::new();
    for (ours, name) in [(0, "Mutex"), (1, "FairMutex")] {
        for (theirs, against, bound) in [(2, "parking_lot", Bound::AtMost(1.0)), (3, "std", Bound::Shown)] {
            let mut finding = |of_what: &str, of: fn(&Cost) -> f64| {
                let [ours, theirs] = [ours, theirs].map(|side| costs[side].iter().map(of).collect::<Vec<_>>());
                findings.push(Finding::new(
                    format!("{name}, {what}: {of_what}"),
                    against,
                    bound,
                    ratios(&ours, &theirs),
                ));
            };
            finding("time", |cost| cost.time);
            finding("CPU time", |cost| cost.cpu);
        }
    }
    findings
}

/// A queue of one slot, by many producers and consumers.
pub fn one_slot(effort: Effort) -> Vec<Finding> {
    const MESSAGES: u64 = 12_800;
    let effort = effort.of_trials();
    let at = |pairs: usize| {
        let each = MESSAGES / pairs as u64;
        let sides: [Side<'_>; 4] = [
            &|| queue::<Layby>(pairs, each),
            &|| queue::<LaybyFair>(pairs, each),
            &|| queue::<ParkingLot>(pairs, each),
            &|| queue::<Std>(pairs, each),
        ];
        compare(&format!("a slot, {pairs} producers and consumers"), sides, effort.rounds)
    };
    [2, 8, 32].into_iter().flat_map(|pairs| with_free_cpus(|| at(pairs))).collect()
}

/// A crowd that waits for one change.
pub fn crowd(effort: Effort) -> Vec<Finding> {
    let effort = effort.of_trials();
    let at = |size: usize, when: When| {
        let (ours, fair) = (Crowd::<Layby>::gather(size), Crowd::<LaybyFair>::gather(size));
        let (parking_lot, std) = (Crowd::<ParkingLot>::gather(size), Crowd::<Std>::gather(size));
        let sides: [Side<'_>; 4] =
            [&|| ours.let_go(when), &|| fair.let_go(when), &|| parking_lot.let_go(when), &|| std.let_go(when)];
        compare(&format!("{size} who wait, notified {when}"), sides, effort.rounds)
    };
    let settings = [8, 64].into_iter().flat_map(|size| [When::Locked, When::Unlocked].map(|when| (size, when)));
    settings.flat_map(|(size, when)| with_free_cpus(|| at(size, when))).collect()
}
