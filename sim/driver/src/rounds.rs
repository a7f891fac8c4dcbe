//! T threads pass a turnstile repeatedly: the paper's benchmark, with counts instead of a clock.

use crate::turnstile::Turnstile;
use layby::coherence::{self, Counts, Machine, Tally};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A value on a page of its own, so that its lines and slots do not depend on where the allocator puts it.
#[repr(align(4096))]
pub struct OnAPage<T>(pub T);

impl<T> OnAPage<T> {
    pub fn addresses(&self) -> Range<usize> {
        let start = std::ptr::from_ref(self).addr();
        start..start + size_of::<T>()
    }
}

/// What the threads do, and how often.
#[derive(Clone, Debug)]
pub struct Rounds {
    pub machine: Machine,
    pub seed: u64,
    /// Cycles that a thread works inside.
    pub inside: u64,
    /// Cycles that it works outside, and the maximum that the seed adds to them.
    pub outside: u64,
    pub jitter: u64,
    /// The number of hand-overs before the counting begins, and then with it.
    pub warm_up: u64,
    pub counted: u64,
}

impl Rounds {
    /// The settings of the published figure: short work inside and outside. Up to 64 CPUs, all lines of the table have been
    /// used before the counting begins; with more, the warm-up is only one or two rounds.
    pub fn new(cpus: usize) -> Self {
        let (warm_up, counted) = ((2 * cpus as u64).max(160_000 / cpus as u64).min(2_500), (cpus as u64).max(400));
        Self { machine: Machine::new(cpus), seed: 1, inside: 200, outside: 200, jitter: 200, warm_up, counted }
    }
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub handovers: u64,
    pub counts: Counts,
    /// The part of the counts that concerns the turnstile's own lines.
    pub own: Tally,
    /// The mean time in cycles from one thread's leaving to the next one's entering.
    pub latency: f64,
}

impl Outcome {
    pub fn each(&self, count: u64) -> f64 {
        count as f64 / self.handovers as f64
    }

    pub fn moved(&self) -> f64 {
        self.each(self.counts.total().moved)
    }

    pub fn invalidations(&self) -> f64 {
        self.each(self.counts.total().invalidations)
    }
}

/// Lets every CPU pass until all hand-overs have been counted.
pub fn pass_again_and_again<X: Turnstile>(rounds: &Rounds) -> Outcome {
    let turnstile = OnAPage(X::new());
    let Rounds { inside, outside, jitter, warm_up, counted, .. } = *rounds;
    // std's atomics, so that the measurement is not counted.
    let [passed, left_at, waited] = [const { AtomicU64::new(0) }; 3];
    let outcome = OnceLock::new();
    let measure = |number: u64| {
        if number == warm_up {
            coherence::restart_counts();
            waited.store(0, Relaxed);
        } else if number == warm_up + counted {
            let (counts, own) = (coherence::counts(), coherence::tally_of(turnstile.addresses()));
            let latency = waited.load(Relaxed) as f64 / counted as f64;
            outcome.set(Outcome { handovers: counted, counts, own, latency }).expect("once");
        }
    };
    let thread = || {
        while passed.load(Relaxed) < warm_up + counted {
            coherence::work(outside + coherence::random() % (jitter + 1));
            turnstile.0.pass(|| {
                waited.fetch_add(coherence::cycles().saturating_sub(left_at.load(Relaxed)), Relaxed);
                coherence::work(inside);
                measure(passed.fetch_add(1, Relaxed) + 1);
                left_at.store(coherence::cycles(), Relaxed);
            });
        }
    };
    coherence::run(&rounds.machine, rounds.seed, everywhere(rounds.machine.cpus, &thread));
    *outcome.get().expect("all hand-overs have taken place")
}

/// The same thread on every CPU.
pub fn everywhere<'a>(cpus: usize, thread: &'a (dyn Fn() + Sync)) -> Vec<Box<dyn FnOnce() + Send + 'a>> {
    (0..cpus).map(|_| Box::new(thread) as Box<dyn FnOnce() + Send>).collect()
}
