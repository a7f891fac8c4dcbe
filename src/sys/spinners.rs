//! How many threads spin: with as many as there are CPUs, the thread that they wait for may have none.

use super::{cpus, fork::Birth};
use crate::counters::{self, Event};
use crate::sync::{IN_A_MODEL, advice::AtomicUsize, atomic::Ordering, hint, thread};
use core::cell::Cell;

/// How often a spinner polls before it counts the others. Arbitrary: enough to make that, or reading the clock, a
/// small part of its time.
pub(crate) const POLLS_PER_CHECK: u32 = 16;

/// Threads of this process that spin at this moment. Aligned: it changes with every spin, and its neighbours in memory do
/// not.
static SPINNERS: Spinners = Spinners(AtomicUsize::new(0));

/// The lower half is their number, the upper half says whose: a fork's child has a copy of its parent's count, and none of
/// its spinners.
#[repr(align(128))]
struct Spinners(AtomicUsize);

const HALF: u32 = usize::BITS / 2;
const NUMBER: usize = (1 << HALF) - 1;

/// The word of a process in which nobody spins.
fn nobody() -> usize {
    (Birth::now().number() as usize) << HALF
}

impl Spinners {
    /// Counts the calling thread; returns how many there are with it.
    fn add(&self) -> usize {
        // Ordering: relaxed, here and below; the count is advice.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        if before & !NUMBER == nobody() { (before & NUMBER) + 1 } else { self.start_over() }
    }

    /// The count was a parent's, and what was added to it is forgotten with it.
    #[cold]
    fn start_over(&self) -> usize {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let others = if seen & !NUMBER == nobody() { seen } else { nobody() };
            match self.0.compare_exchange(seen, others + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return (others & NUMBER) + 1,
                Err(now) => seen = now,
            }
        }
    }

    fn remove(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    fn fill_the_machine(&self) -> bool {
        let seen = self.0.load(Ordering::Relaxed);
        seen & !NUMBER == nobody() && seen & NUMBER >= cpus::count()
    }
}

/// A thread's place among the spinners, given up on drop.
///
/// A spinner reads the count when it joins, and after that only while it finds the machine full. If all kept reading, each
/// thread that comes or goes would have every spinner fetch the count's cache line anew (see `sim/README.md`).
pub(crate) struct Spinner {
    /// Whether there were as many spinners as CPUs, this one included, when it last read the count. Of those that have not seen that,
    /// there are fewer than CPUs: the last of them to join has counted the others.
    was_full: Cell<bool>,
    born: Birth,
}

impl Spinner {
    /// Counts the calling thread as a spinner.
    pub(crate) fn join() -> Self {
        let spinners = SPINNERS.add();
        Self { was_full: Cell::new(spinners >= cpus::count()), born: Birth::now() }
    }

    /// Whether every CPU may be taken by a spinner, so that the thread they wait for may have none, and this is one of
    /// those who should make room.
    pub(crate) fn should_make_room(&self) -> bool {
        if self.was_full.get() {
            self.was_full.set(SPINNERS.fill_the_machine());
        }
        self.was_full.get()
    }

    /// Lets another thread run if the spinners fill the machine.
    fn make_room(&self) {
        if IN_A_MODEL || self.should_make_room() {
            counters::count(Event::Yield);
            thread::yield_now();
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // A signal handler may have forked meanwhile: the child does not count us.
        if self.born.is_of_this_process() {
            SPINNERS.remove();
        }
    }
}

/// Spins until `ready`, without ever sleeping; yields when the spinners fill the machine.
pub(crate) fn spin_forever_until(mut ready: impl FnMut() -> bool) {
    let spinner = Spinner::join();
    loop {
        for _ in 0..POLLS_PER_CHECK {
            if ready() {
                return;
            }
            hint::spin_loop();
        }
        spinner.make_room();
    }
}
