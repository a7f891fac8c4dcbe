//! Tables of different sizes under the same crowd: many turnstiles, each with a few threads that sleep.

use crate::rounds::{OnAPage, everywhere};
use crate::turnstile::{Events, Turnstile};
use layby::coherence::{self, Machine};
use layby::sys::Native;
use layby::wait_table::{Home, Slots, WaitTable};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A home whose table is at known addresses.
pub trait Table: Home {
    const SLOTS: usize;

    fn addresses() -> Range<usize>;
}

macro_rules! tables {
    ($($name:ident $slots:literal)+) => { $(
        pub struct $name;

        impl $name {
            const fn slots() -> &'static Slots<$slots> {
                static SLOTS: Slots<$slots> = Slots::new();
                &SLOTS
            }
        }

        impl Home for $name {
            type Backend = Native;

            const TABLE: &'static WaitTable<Native> = {
                static TABLE: WaitTable<Native> = WaitTable::from_slots($name::slots());
                &TABLE
            };
        }

        impl Table for $name {
            const SLOTS: usize = $slots;

            fn addresses() -> Range<usize> {
                let start = std::ptr::from_ref($name::slots()).addr();
                start..start + size_of::<Slots<$slots>>()
            }
        }
    )+ };
}

tables! {
    Slots256 256
    Slots1024 1024
    Slots4096 4096
    Slots16384 16384
    Slots65536 65536
}

/// How the crowd is spread.
pub struct Crowd {
    pub turnstiles: usize,
    pub threads_each: usize,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Collisions {
    pub slots: usize,
    /// How many threads wait at a time.
    pub waiting: usize,
    /// Threads woken per hand-over in addition to the one whose turn it is.
    pub spurious: f64,
    pub moved: f64,
    /// Lines of the table that were used.
    pub footprint: usize,
}

impl Collisions {
    /// The expected value of `spurious`: each waiter is in the woken slot with a probability of one in `slots`.
    pub fn expected(&self) -> f64 {
        (self.waiting - 1) as f64 / self.slots as f64
    }
}

/// Places for turnstiles, 16 bytes each. The seed determines which of them are used.
const PLACES: usize = 1 << 14;

const WARM_UP: u64 = 4;
const COUNTED: u64 = 16;

/// Hands over in every turnstile, repeatedly, while all other threads sleep.
pub fn hand_over_in<H: Table>(crowd: &Crowd) -> Collisions {
    let Crowd { turnstiles, threads_each, seed } = *crowd;
    let arena: Box<OnAPage<[Events<H>; PLACES]>> = Box::new(OnAPage(std::array::from_fn(|_| Turnstile::new())));
    let cpus = turnstiles * threads_each;
    // A turnstile that has been in use for a while has given out an arbitrary number of tickets.
    let mut random = seed;
    let chosen: Vec<&Events<H>> = (0..turnstiles)
        .map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let turnstile = &arena.0[(random >> 33) as usize % PLACES];
            let passed = random >> 48;
            let _ = turnstile.order.tickets(passed);
            turnstile.turn.advance_by(passed);
            turnstile
        })
        .collect();
    let [started, passed] = [const { AtomicU64::new(0) }; 2];
    let outcome = OnceLock::new();
    let rounds = |of: u64| of * cpus as u64;
    let thread = || {
        let turnstile = chosen[started.fetch_add(1, Relaxed) as usize % turnstiles];
        while passed.load(Relaxed) < rounds(WARM_UP + COUNTED) {
            turnstile.pass(|| {
                // Long enough for all waiters to go to sleep.
                coherence::work(400_000 + coherence::random() % 100_000);
                let number = passed.fetch_add(1, Relaxed) + 1;
                if number == rounds(WARM_UP) {
                    coherence::restart_counts();
                } else if number == rounds(WARM_UP + COUNTED) {
                    let (counts, lines) = (coherence::counts(), coherence::visitors_of(H::addresses()));
                    outcome.set((counts, lines.len())).expect("once");
                }
            });
        }
    };
    coherence::run(&Machine::new(cpus), seed, everywhere(cpus, &thread));
    let (counts, footprint) = *outcome.get().expect("all hand-overs have taken place");
    let each = |count: u64| count as f64 / rounds(COUNTED) as f64;
    let (spurious, moved) = ((each(counts.wakes) - 1.0).max(0.0), each(counts.total().moved));
    Collisions { slots: H::SLOTS, waiting: cpus - turnstiles, spurious, moved, footprint }
}

/// The same crowd in tables of all sizes.
pub fn all_sizes(crowd: &Crowd) -> Vec<Collisions> {
    let sizes = [
        hand_over_in::<Slots256>,
        hand_over_in::<Slots1024>,
        hand_over_in::<Slots4096>,
        hand_over_in::<Slots16384>,
        hand_over_in::<Slots65536>,
    ];
    sizes.into_iter().map(|run| run(crowd)).collect()
}
