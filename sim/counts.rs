//! What is counted.

use std::ops::{Add, AddAssign};

/// What operations of one kind did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Served by the CPU's own cache.
    pub hits: u64,
    /// Not served by it: a line had to be fetched, or other copies of it invalidated.
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
    /// Read-modify-writes. One that fails is one too: it takes the line for itself all the same.
    pub updates: Tally,
    /// The most requests that were under way for one line at one time.
    pub longest_queue: u64,
    /// How often a thread went to sleep.
    pub sleeps: u64,
    /// How often a thread was woken from its sleep.
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
