//! A machine of many virtual CPUs that counts what its caches do, and runs the crate's own code.
//!
//! `--cfg layby_coherence` puts the crate's atomics, cells, thread-locals, clock and sleep into this world. They are as
//! large as the real ones and live at the same addresses, so that what shares a cache line in the program shares it here.
//! [`run`] runs up to [`MAX_CPUS`] virtual threads, each on a virtual CPU of its own, and counts for every operation whether
//! its line was at hand, which copies it invalidated, and who else was waiting for the line.
//!
//! # Time
//!
//! Each CPU has a clock in cycles. An operation takes place when its CPU's clock is the earliest of all, so what is
//! seen is one order of all operations (the model is sequentially consistent); then its CPU's clock moves on by what the
//! operation costs, waiting for a busy line included. Threads on other CPUs go on meanwhile: waiting and handing over
//! overlap as on a real machine. The crate's own timed policies see this clock. A thread that sleeps costs nothing.
//!
//! Everything is decided by the machine and the seed, which breaks ties and is the source of [`random`].
//!
//! # What it is not
//!
//! [`Costs`] are a rough order of magnitude, the same for every machine, so cycles here say how costs grow and not how long
//! anything takes. There are no caches of limited size, no prefetching, no store buffers, no weak memory order, no other
//! load, and no more threads than CPUs. What the kernel does to its own lines when a thread sleeps is a cost, and not
//! counted. What threads write by plain stores is not seen, except through the crate's cells.
//!
//! ```
//! # #[cfg(layby_coherence)] {
//! use layby::coherence::{self, Machine, atomic::{AtomicU64, Ordering}};
//!
//! let counter = AtomicU64::new(0);
//! let add = || { counter.fetch_add(1, Ordering::Relaxed); };
//! let threads = (0..4).map(|_| Box::new(add) as Box<dyn FnOnce() + Send>).collect();
//! let counts = coherence::run(&Machine::new(4), 1, threads);
//! // The first has it from memory, each of the others from the one before.
//! assert_eq!((counts.updates.moved, counts.updates.invalidations), (4, 3));
//! # }
//! ```

mod atomics;
mod counts;
mod cpu_set;
mod directory;
mod local_key;
mod scheduler;

pub use counts::{Counts, Tally};
pub use cpu_set::MAX_CPUS;
pub(crate) use local_key::LocalKey;
pub use scheduler::{
    counts, cycles, now, own_counts, pause, random, restart_counts, run, tally_of, visitors_of, work, yield_now,
};
pub(crate) use scheduler::{cpus, sleep, wake, wake_all};

/// The atomics of this world, for code that is to be compared with the crate's.
pub mod atomic {
    pub use super::atomics::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
}

pub(crate) mod cell {
    pub(crate) use super::atomics::UnsafeCell;
}

/// What a thread does to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Load,
    Store,
    /// A read-modify-write.
    Update,
}

/// A machine: its CPUs, and what things cost on it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// How many CPUs; at most [`MAX_CPUS`].
    pub cpus: usize,
    /// How many sockets they are spread over: the first half of the CPUs on the first of two.
    pub sockets: usize,
    /// How many bytes move at a time: 64, or 128 on machines whose caches fetch lines in pairs.
    pub line_bytes: usize,
    /// What things cost.
    pub costs: Costs,
}

impl Machine {
    /// One socket with so many CPUs, lines of 64 bytes, and the usual costs.
    pub fn new(cpus: usize) -> Self {
        Self { cpus, sockets: 1, line_bytes: 64, costs: Costs::default() }
    }
}

/// What things cost, in cycles. The defaults are rough orders of magnitude of large servers.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// A line at hand.
    pub hit: u64,
    /// What a read-modify-write costs besides its line.
    pub update: u64,
    /// A line from another cache of the same socket. Nobody else gets it meanwhile.
    pub transfer: u64,
    /// A line from another socket.
    pub transfer_between_sockets: u64,
    /// How long a line that several caches share is busy with each request for one more copy.
    pub share: u64,
    /// What each copy to be invalidated adds to a transfer.
    pub invalidation: u64,
    /// A line that no cache has.
    pub memory: u64,
    /// A fence.
    pub fence: u64,
    /// A PAUSE between two looks.
    pub pause: u64,
    /// A look at the clock.
    pub clock: u64,
    /// A system call that finds nobody else to run.
    pub yield_now: u64,
    /// A system call that puts the thread to sleep.
    pub sleep: u64,
    /// A system call that wakes a thread, for the one who calls.
    pub wake: u64,
    /// From that until the thread that was woken runs.
    pub wake_latency: u64,
    /// How many cycles a microsecond has, for policies that go by the clock.
    pub cycles_per_microsecond: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            hit: 4,
            update: 18,
            transfer: 100,
            transfer_between_sockets: 300,
            share: 20,
            invalidation: 2,
            memory: 200,
            fence: 30,
            pause: 100,
            clock: 60,
            yield_now: 1_500,
            sleep: 3_000,
            wake: 3_000,
            wake_latency: 10_000,
            cycles_per_microsecond: 3_000,
        }
    }
}
