//! A simulated machine with many CPUs that runs the crate's own code and counts what its caches do.
//!
//! `--cfg layby_coherence` puts the crate's atomics, cells, thread-locals, clock and sleep into this world. They are as
//! large as the real ones and live at the same addresses, so that what shares a cache line in the program shares it here.
//! [`run`] runs up to [`MAX_CPUS`] virtual threads, each on a virtual CPU of its own. For every operation it counts whether
//! the line was in the CPU's own cache, how many copies were invalidated, and how many requests queued for the line.
//!
//! # Time
//!
//! Each CPU has a clock in cycles. An operation takes place when its CPU's clock is the earliest of all, so all threads see
//! one order of all operations (the simulation is sequentially consistent). Then its CPU's clock advances by the cost of the
//! operation, which includes the time to wait for a busy line. Threads on other CPUs continue meanwhile: waiting and handing
//! over overlap as on a real machine. The crate's own timed policies read this clock. A thread that sleeps costs nothing.
//!
//! The machine and the seed determine the whole run. The seed breaks ties and is the source of [`random`].
//!
//! # What it is not
//!
//! [`Costs`] are rough orders of magnitude, the same for every machine, so cycles show how costs grow and not how long
//! anything takes. There are no caches of limited size, no prefetching, no store buffers, no weak memory order, no other
//! load, and no more threads than CPUs. A system call has a cost, but the kernel's own cache lines are not simulated. Plain
//! stores are not seen, except those through the crate's cells.
//!
//! ```
//! # #[cfg(layby_coherence)] {
//! use layby::coherence::{self, Machine, atomic::{AtomicU64, Ordering}};
//!
//! let counter = AtomicU64::new(0);
//! let add = || { counter.fetch_add(1, Ordering::Relaxed); };
//! let threads = (0..4).map(|_| Box::new(add) as Box<dyn FnOnce() + Send>).collect();
//! let counts = coherence::run(&Machine::new(4), 1, threads);
//! // The first CPU fetches the line from memory, each of the others from the one before it.
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

/// The atomics of this world, for code to compare the crate with.
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

/// A machine: its CPUs, and what operations cost on it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// How many CPUs; at most [`MAX_CPUS`].
    pub cpus: usize,
    /// How many sockets they are spread over. Of two, the first has the first half of the CPUs.
    pub sockets: usize,
    /// How many bytes move at a time: 64, or 128 on machines whose caches fetch lines in pairs.
    pub line_bytes: usize,
    /// What operations cost.
    pub costs: Costs,
}

impl Machine {
    /// One socket with `cpus` CPUs, lines of 64 bytes, and the default costs.
    pub fn new(cpus: usize) -> Self {
        Self { cpus, sockets: 1, line_bytes: 64, costs: Costs::default() }
    }
}

/// What operations cost, in cycles. The defaults are rough orders of magnitude for large servers.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// An access to a line in the CPU's own cache.
    pub hit: u64,
    /// What a read-modify-write costs in addition to its line.
    pub update: u64,
    /// Fetching a line from another cache of the same socket. No other CPU can get it meanwhile.
    pub transfer: u64,
    /// Fetching a line from another socket.
    pub transfer_between_sockets: u64,
    /// How long a line that several caches share is busy with each request for one more copy.
    pub share: u64,
    /// What each copy to be invalidated adds to a transfer.
    pub invalidation: u64,
    /// Fetching a line that is in no cache.
    pub memory: u64,
    /// A fence.
    pub fence: u64,
    /// A PAUSE between two polls.
    pub pause: u64,
    /// Reading the clock.
    pub clock: u64,
    /// A yield to the operating system, which finds no other thread to run.
    pub yield_now: u64,
    /// A system call that puts the thread to sleep.
    pub sleep: u64,
    /// A system call that wakes a thread, for its caller.
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
