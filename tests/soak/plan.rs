//! What a round is made of, all from one seed.

use crate::{common::Random, games::Kind};
use std::{fmt, thread, time::Duration};

/// Where a round's primitives wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Global,
    OneSlot,
    FewSlots,
    SomeSlots,
    Parking,
    Spinning,
}

impl Place {
    /// The more often, the more often it is named.
    const ALL: [Self; 9] = [
        Self::Global,
        Self::Global,
        Self::OneSlot,
        Self::OneSlot,
        Self::FewSlots,
        Self::FewSlots,
        Self::SomeSlots,
        Self::Parking,
        Self::Spinning,
    ];
}

/// What makes life harder for a round's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hardship {
    /// Signals at random moments, whose handler posts and wakes.
    Signals,
    /// A thread that forks, over and over.
    Forks,
    /// Threads on one CPU or another.
    Pinning,
    /// Threads of different priorities and classes.
    Priorities,
}

impl Hardship {
    const ALL: [Self; 4] = [Self::Signals, Self::Forks, Self::Pinning, Self::Priorities];
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) seed: usize,
    pub(crate) round: usize,
    pub(crate) place: Place,
    pub(crate) games: Vec<Kind>,
    pub(crate) threads: usize,
    /// After how many steps a thread ends and another takes its place.
    pub(crate) life: usize,
    pub(crate) duration: Duration,
    pub(crate) permits: u64,
    /// How many slots a table has that lives for the round only.
    pub(crate) slots: usize,
    pub(crate) hardships: Vec<Hardship>,
}

impl Plan {
    pub(crate) fn new(seed: usize, round: usize) -> Self {
        let mut random = Random::of(&[seed, round]);
        let cpus = thread::available_parallelism().map_or(2, usize::from);
        let games = (0..random.below(6) + 1).map(|_| random.choose(&Kind::ALL)).collect();
        Self {
            seed,
            round,
            place: random.choose(&Place::ALL),
            games,
            threads: (cpus + 1 + random.below(3 * cpus + 4)).min(60),
            life: 1 << random.below(12),
            duration: Duration::from_millis(20 << random.below(6)),
            permits: 1 + random.below(4) as u64,
            slots: 1 << random.below(13),
            hardships: Hardship::ALL.into_iter().filter(|_| random.one_in(3)).collect(),
        }
    }

    pub(crate) fn has(&self, hardship: Hardship) -> bool {
        self.hardships.contains(&hardship)
    }

    /// The chance of one of its threads.
    pub(crate) fn random(&self, thread: usize, generation: usize) -> Random {
        Random::of(&[self.seed, self.round, thread + 1, generation])
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, round, place, games, threads, life, duration, permits, slots, hardships } = self;
        write!(
            f,
            "seed {seed} round {round}: {games:?} in {place:?}, {permits} permits, {threads} threads of {life} steps, "
        )?;
        write!(f, "{} ms, own table of {slots}, {hardships:?}", duration.as_millis())
    }
}
