//! Many waiters on one chain: listing 3's, pushed by a SWAP and woken from waiter to waiter, against the wait table's, pushed by a
//! compare-and-swap and walked by the notifier.

use crate::rounds::OnAPage;
use layby::WaitTable;
use layby::coherence::{self, Machine};
use layby::paper::{RawSemaphore, TwaChainSemaphore};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A chain with waiters 0 to n, who have come at once or one after the other.
pub trait Chain: Sync {
    const NAME: &'static str;

    fn new(waiters: usize) -> Self;

    /// Waits, as waiter number so-and-so, until woken by `wake`.
    fn wait(&self, number: usize);

    /// Wakes waiter 0, and all others who are in the way.
    fn wake_the_oldest(&self);

    fn wake_all(&self);
}

/// Semaphores a page apart: their first tickets have the same chain.
pub struct Systolic(Vec<OnAPage<TwaChainSemaphore>>);

impl Chain for Systolic {
    const NAME: &'static str = "listing 3";

    fn new(waiters: usize) -> Self {
        Self((0..waiters).map(|_| OnAPage(TwaChainSemaphore::with_permits(0))).collect())
    }

    fn wait(&self, number: usize) {
        self.0[number].0.take();
    }

    fn wake_the_oldest(&self) {
        self.0[0].0.post();
    }

    fn wake_all(&self) {
        self.0.iter().for_each(|semaphore| semaphore.0.post());
    }
}

/// A table of one slot.
pub struct Walked {
    table: WaitTable,
    /// std's atomics, so that they are not counted.
    open: Vec<OnAPage<AtomicBool>>,
}

impl Chain for Walked {
    const NAME: &'static str = "wait table";

    fn new(waiters: usize) -> Self {
        Self { table: WaitTable::with_slots(1), open: (0..waiters).map(|_| OnAPage(AtomicBool::new(false))).collect() }
    }

    fn wait(&self, number: usize) {
        let open = &self.open[number].0;
        self.table.wait_until(open, || open.load(Relaxed));
    }

    fn wake_the_oldest(&self) {
        self.open[0].0.store(true, Relaxed);
        self.table.wake_all(&self.open[0].0);
    }

    fn wake_all(&self) {
        self.open.iter().for_each(|open| open.0.store(true, Relaxed));
        self.table.wake_everybody();
    }
}

/// What it costs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// All come at once: lines moved for each, until it sleeps.
    pub moved_by_arrival: f64,
    /// The oldest is woken, the last of the chain.
    pub oldest: Wake,
    /// All are woken.
    pub all: Wake,
}

#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// The notifier's system calls, and the cycles that they take it.
    pub calls: u64,
    pub notifier: u64,
    /// The cycles until the last of those who are to go goes on.
    pub last: u64,
}

/// Longer than any thread stays awake.
const ALL_SLEEP: u64 = 10_000_000;

/// The cost with so many waiters.
pub fn cost<C: Chain>(waiters: usize) -> Cost {
    Cost {
        moved_by_arrival: arrive_at_once::<C>(waiters),
        oldest: wake::<C>(waiters, 1, C::wake_the_oldest),
        all: wake::<C>(waiters, waiters, C::wake_all),
    }
}

fn arrive_at_once<C: Chain>(waiters: usize) -> f64 {
    let chain = C::new(waiters);
    let moved = AtomicU64::new(0);
    let mut threads = waiting(&chain, waiters, |_| 0, |_| {});
    threads.push(Box::new(|| {
        coherence::work(ALL_SLEEP);
        moved.store(coherence::counts().total().moved, Relaxed);
        chain.wake_all();
    }));
    coherence::run(&Machine::new(waiters + 1), 1, threads);
    moved.into_inner() as f64 / waiters as f64
}

/// They come one after the other, and the first `go` of them are woken by `wake`.
fn wake<C: Chain>(waiters: usize, go: usize, wake: fn(&C)) -> Wake {
    let chain = C::new(waiters);
    let (last, outcome) = (AtomicU64::new(0), OnceLock::new());
    let note = |number: usize| {
        if number < go {
            last.fetch_max(coherence::cycles(), Relaxed);
        }
    };
    let apart = |number: usize| 100_000 * (number as u64 + 1);
    let mut threads = waiting(&chain, waiters, apart, note);
    threads.push(Box::new(|| {
        coherence::work(ALL_SLEEP + apart(waiters));
        coherence::restart_counts();
        let before = coherence::cycles();
        wake(&chain);
        outcome.set((before, coherence::cycles(), coherence::own_counts().wakes)).expect("once");
        coherence::work(ALL_SLEEP);
        if go < waiters {
            chain.wake_all();
        }
    }));
    coherence::run(&Machine::new(waiters + 1), 1, threads);
    let &(before, after, calls) = outcome.get().expect("woken");
    Wake { calls, notifier: after - before, last: last.into_inner() - before }
}

/// Threads that wait, each after so many cycles, and say when they go on.
fn waiting<'a, C: Chain>(
    chain: &'a C,
    waiters: usize,
    begin: impl Fn(usize) -> u64,
    note: impl Fn(usize) + Copy + Send + 'a,
) -> Vec<Box<dyn FnOnce() + Send + 'a>> {
    let thread = |number| {
        let begin = begin(number);
        Box::new(move || {
            coherence::work(begin);
            chain.wait(number);
            note(number);
        }) as Box<dyn FnOnce() + Send + 'a>
    };
    (0..waiters).map(thread).collect()
}
