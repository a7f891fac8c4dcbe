//! What is counted.

use std::ops::{Add, AddAssign};

/// What operations of one kind did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations that the CPU's own cache could serve.
    pub hits: u64,
    /// Operations that it could not: the line had to be fetched, or other copies of it invalidated.
    pub misses: u64,
    /// Lines fetched from another cache or from memory.
    pub moved: u64,
    /// Of those, the ones that came from another socket's cache.
    pub crossed: u64,
    /// Copies in other caches that were invalidated.
    pub invalidations: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.moved += other.moved;
        self.crossed += other.crossed;
        self.invalidations += other.invalidations;
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// What a thread, or all of them, did since the counts were last restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Loads.
    pub loads: Tally,
    /// Stores.
    pub stores: Tally,
    /// Read-modify-writes, including those that fail: they take exclusive ownership of the line too.
    pub updates: Tally,
    /// The largest number of requests in flight for one line at one time.
    pub longest_queue: u64,
    /// How often a thread went to sleep.
    pub sleeps: u64,
    /// How often a thread woke another from its sleep.
    pub wakes: u64,
}

impl Counts {
    /// Loads, stores and updates together.
    pub fn total(&self) -> Tally {
        self.loads + self.stores + self.updates
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.updates += other.updates;
        self.longest_queue = self.longest_queue.max(other.longest_queue);
        self.sleeps += other.sleeps;
        self.wakes += other.wakes;
    }
}
