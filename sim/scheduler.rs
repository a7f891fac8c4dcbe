//! Virtual threads are coroutines on one real thread. The one whose clock is earliest runs next.

use super::{Costs, Counts, Machine, Operation, Tally, cpu_set::MAX_CPUS, directory::Directory, local_key::Locals};
use crate::sync::atomic::AtomicU32;
use core::ops::Range;
use generator::{Generator, Gn};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// In words of 8 bytes. The crate's own frames are small, but those of a panic are not.
const STACK_WORDS: usize = 0x8000;

/// A thread whose clock gets here waits for something that never happens. At the default costs it is an hour.
const END_OF_TIME: u64 = 10_u64.pow(13);

/// A thread that can run: when, a random number to break ties, which thread, and the number of the sleep that this ends.
type Ready = Reverse<(u64, u64, usize, u64)>;

#[derive(Default)]
struct Thread {
    clock: u64,
    counts: Counts,
    /// `None` once it is ending.
    locals: Option<Locals>,
    /// The address of the word that it sleeps on.
    asleep_on: Option<usize>,
    /// How often it has slept. It tells this sleep's expiry from an earlier one's.
    sleeps: u64,
    finished: bool,
}

struct Simulation {
    machine: Machine,
    directory: Directory,
    threads: Vec<Thread>,
    running: usize,
    ready: BinaryHeap<Ready>,
    sleepers: HashMap<usize, VecDeque<usize>>,
    random: u64,
    epoch: Instant,
}

std::thread_local! {
    static SIMULATION: RefCell<Option<Simulation>> = const { RefCell::new(None) };
}

/// Held during a simulation. The crate's statics are real ones, so two simulations at a time would interfere; and one that
/// panicked leaves elements in the global table, so the counts of any later one would be wrong.
static THE_STATICS: Mutex<()> = Mutex::new(());

impl Simulation {
    fn new(machine: &Machine, seed: u64, threads: usize) -> Self {
        Self {
            machine: machine.clone(),
            directory: Directory::new(machine),
            threads: (0..threads).map(|_| Thread { locals: Some(Vec::new()), ..Thread::default() }).collect(),
            running: 0,
            ready: BinaryHeap::new(),
            sleepers: HashMap::new(),
            random: seed,
            epoch: Instant::now(),
        }
    }

    fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.running]
    }

    /// splitmix64.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Lets `thread` run from time `at` on.
    fn schedule(&mut self, thread: usize, at: u64) {
        let (tie, sleeps) = (self.random(), self.threads[thread].sleeps);
        self.ready.push(Reverse((at, tie, thread, sleeps)));
    }

    /// The thread to run next. The expiry of a sleep that is already over is skipped.
    fn next(&mut self) -> Option<usize> {
        while let Some(Reverse((at, _, thread, sleeps))) = self.ready.pop() {
            let it = &mut self.threads[thread];
            if sleeps != it.sleeps || it.finished {
                continue;
            }
            if let Some(address) = it.asleep_on {
                // Its deadline has passed.
                self.sleepers.get_mut(&address).expect("it sleeps there").retain(|&other| other != thread);
            }
            self.rouse(thread, at);
            self.running = thread;
            return Some(thread);
        }
        None
    }

    fn rouse(&mut self, thread: usize, at: u64) {
        let it = &mut self.threads[thread];
        if it.asleep_on.take().is_some() {
            it.sleeps += 1;
        }
        it.clock = at;
    }

    /// Whether another thread must run before the current one continues.
    fn is_overtaken(&self) -> bool {
        let clock = self.threads[self.running].clock;
        self.ready.peek().is_some_and(|Reverse((at, ..))| *at < clock)
    }

    fn operate(&mut self, address: usize, operation: Operation) {
        let (cpu, now) = (self.running, self.me().clock);
        let access = self.directory.access(cpu, address, operation, now);
        let me = self.me();
        me.clock = access.done_at;
        assert!(me.clock < END_OF_TIME, "thread {cpu} waits for something that never happens");
        let counts = &mut me.counts;
        match operation {
            Operation::Load => counts.loads += access.tally,
            Operation::Store => counts.stores += access.tally,
            Operation::Update => counts.updates += access.tally,
        }
        counts.longest_queue = counts.longest_queue.max(access.queue);
    }
}

/// Runs `f` if the calling thread is one of a simulation.
fn inside<R>(f: impl FnOnce(&mut Simulation) -> R) -> Option<R> {
    SIMULATION.with(|simulation| simulation.borrow_mut().as_mut().map(f))
}

fn must_be_inside<R>(f: impl FnOnce(&mut Simulation) -> R) -> R {
    inside(f).expect("only a thread of a simulation can ask for this")
}

pub(super) fn is_inside() -> bool {
    inside(|_| ()).is_some()
}

/// Returns to [`run`], which resumes the earliest thread.
fn switch() {
    #[allow(deprecated, reason = "what would replace it cannot be called from deep inside the crate's own code")]
    generator::yield_with(());
}

/// Waits until the calling thread is the earliest. Returns `false` outside of a simulation.
fn take_turn() -> bool {
    let overtaken = inside(|simulation| {
        let overtaken = simulation.is_overtaken();
        if overtaken {
            let (me, clock) = (simulation.running, simulation.me().clock);
            simulation.schedule(me, clock);
        }
        overtaken
    });
    if overtaken == Some(true) {
        switch();
    }
    overtaken.is_some()
}

/// Pays for an operation. The caller must perform it immediately afterwards.
pub(super) fn access(address: usize, operation: Operation) {
    if take_turn() {
        must_be_inside(|simulation| simulation.operate(address, operation));
    }
}

/// Advances the caller's clock.
pub(super) fn spend(cost: impl FnOnce(&Costs) -> u64) {
    inside(|simulation| {
        let cost = cost(&simulation.machine.costs);
        simulation.me().clock += cost;
    });
}

/// Runs each of `threads` on a virtual CPU of its own, until all have ended, and returns their counts, added up.
///
/// Only one simulation at a time runs in a process, because the crate's statics are real ones.
///
/// # Panics
/// If a thread panics, if all remaining threads sleep forever, or if there are more threads than CPUs.
pub fn run<'a>(machine: &Machine, seed: u64, threads: Vec<Box<dyn FnOnce() + Send + 'a>>) -> Counts {
    assert!(machine.cpus <= MAX_CPUS, "at most {MAX_CPUS} CPUs");
    assert!(threads.len() <= machine.cpus, "each thread needs a CPU of its own");
    assert!(!is_inside(), "a simulation inside a simulation");
    let _statics = THE_STATICS.lock().expect("an earlier simulation has panicked");
    let mut simulation = Simulation::new(machine, seed, threads.len());
    (0..threads.len()).for_each(|thread| simulation.schedule(thread, 0));
    SIMULATION.set(Some(simulation));
    let mut threads = Threads(threads.into_iter().map(coroutine).collect());
    while let Some(next) = must_be_inside(Simulation::next) {
        threads.0[next].resume();
    }
    let asleep = must_be_inside(|simulation| simulation.threads.iter().filter(|thread| !thread.finished).count());
    assert_eq!(asleep, 0, "threads that sleep, with no thread left to wake them");
    let counts = counts();
    SIMULATION.set(None);
    counts
}

fn coroutine<'a>(body: Box<dyn FnOnce() + Send + 'a>) -> Generator<'a, (), ()> {
    Gn::new_opt(STACK_WORDS, move || {
        body();
        // Like std: while the destructors run, this is still a running thread.
        let locals = must_be_inside(|simulation| simulation.me().locals.take());
        drop(locals);
        must_be_inside(|simulation| simulation.me().finished = true);
    })
}

/// Coroutines that are not unwound if one of them panics, because their destructors would wait for each other.
struct Threads<'a>(Vec<Generator<'a, (), ()>>);

impl Drop for Threads<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::take(&mut self.0).into_iter().for_each(std::mem::forget);
            SIMULATION.set(None);
        }
    }
}

/// Gives access to the virtual thread's own values: `None` if it is ending.
pub(super) fn with_locals<R>(f: impl FnOnce(Option<&mut Locals>) -> R) -> R {
    must_be_inside(|simulation| f(simulation.me().locals.as_mut()))
}

/// How many CPUs the machine has; `None` outside of a simulation.
pub(crate) fn cpus() -> Option<usize> {
    inside(|simulation| simulation.machine.cpus)
}

/// The time of the caller's virtual CPU, or the real time outside of a simulation.
pub fn now() -> Instant {
    spend(|costs| costs.clock);
    let virtual_time = inside(|simulation| {
        let per_microsecond = simulation.machine.costs.cycles_per_microsecond;
        simulation.epoch + Duration::from_nanos(simulation.me().clock * 1_000 / per_microsecond)
    });
    virtual_time.unwrap_or_else(Instant::now)
}

/// The caller's clock. Reading it costs nothing.
pub fn cycles() -> u64 {
    must_be_inside(|simulation| simulation.me().clock)
}

/// Lets the caller work for this number of cycles without touching memory.
pub fn work(cycles: u64) {
    spend(|_| cycles);
}

/// A PAUSE instruction.
pub fn pause() {
    spend(|costs| costs.pause);
}

/// A system call that yields the CPU. No other thread can use it, so it only costs time.
pub fn yield_now() {
    spend(|costs| costs.yield_now);
    if !is_inside() {
        std::thread::yield_now();
    }
}

/// A random number, determined by the seed.
pub fn random() -> u64 {
    must_be_inside(Simulation::random)
}

/// The counts of all threads since they were last restarted.
pub fn counts() -> Counts {
    take_turn();
    must_be_inside(|simulation| {
        simulation.threads.iter().fold(Counts::default(), |mut sum, thread| {
            sum += thread.counts;
            sum
        })
    })
}

/// The counts of the caller since they were last restarted.
pub fn own_counts() -> Counts {
    must_be_inside(|simulation| simulation.me().counts)
}

/// Sets all counts to zero. The caches stay as they are.
pub fn restart_counts() {
    take_turn();
    must_be_inside(|simulation| {
        simulation.threads.iter_mut().for_each(|thread| thread.counts = Counts::default());
        simulation.directory.restart_counts();
    });
}

/// What was done to the lines of these addresses since the counts were last restarted.
pub fn tally_of(addresses: Range<usize>) -> Tally {
    take_turn();
    must_be_inside(|simulation| simulation.directory.tally_of(addresses))
}

/// The lines of these addresses that were used since the counts were last restarted, each with the CPUs that used it.
pub fn visitors_of(addresses: Range<usize>) -> Vec<Vec<usize>> {
    take_turn();
    must_be_inside(|simulation| simulation.directory.visitors_of(addresses))
}

/// Sleeps while `word` is `expected`, until woken or until the deadline. May return early; outside of a simulation it
/// always does.
pub(crate) fn sleep(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
    spend(|costs| costs.sleep);
    // The kernel reads the word. No other thread can change it between here and the switch.
    if word.load(super::atomic::Ordering::Relaxed) != expected {
        return;
    }
    let address = std::ptr::from_ref(word).addr();
    let sleeps = inside(|simulation| {
        let per_microsecond = simulation.machine.costs.cycles_per_microsecond;
        let expiry = deadline.map(|at| {
            let nanos = at.saturating_duration_since(simulation.epoch).as_nanos();
            u64::try_from(nanos).unwrap_or(u64::MAX).saturating_mul(per_microsecond) / 1_000 + 1
        });
        let running = simulation.running;
        let me = simulation.me();
        me.asleep_on = Some(address);
        me.counts.sleeps += 1;
        let clock = me.clock;
        simulation.sleepers.entry(address).or_default().push_back(running);
        if let Some(at) = expiry {
            simulation.schedule(running, at.max(clock));
        }
    });
    match sleeps {
        Some(()) => switch(),
        None => std::thread::yield_now(),
    }
}

/// Wakes the thread that has slept longest on the word at this address, if any.
pub(crate) fn wake(word: *const AtomicU32) {
    wake_at_most(word, 1);
}

/// Wakes every thread that sleeps on the word at this address.
pub(crate) fn wake_all(word: *const AtomicU32) {
    wake_at_most(word, usize::MAX);
}

fn wake_at_most(word: *const AtomicU32, limit: usize) {
    if !take_turn() {
        return;
    }
    must_be_inside(|simulation| {
        let (costs, sleepers) = (simulation.machine.costs, simulation.sleepers.get_mut(&word.addr()));
        let woken: Vec<_> =
            sleepers.map_or_else(Vec::new, |sleepers| sleepers.drain(..limit.min(sleepers.len())).collect());
        let me = simulation.me();
        me.clock += costs.wake;
        me.counts.wakes += woken.len() as u64;
        let runs_at = me.clock + costs.wake_latency;
        for sleeper in woken {
            simulation.rouse(sleeper, runs_at);
            simulation.schedule(sleeper, runs_at);
        }
    });
}
