//! How many threads spin: with as many as there are CPUs, the thread that they wait for may have none.

use super::{
    cpus,
    fork::Birth,
    head_count::HeadCount,
    polite_wait::{Line, PoliteWait},
};
use crate::counters::{self, Event};
use crate::sync::{IN_A_MODEL, hint, thread};
use core::cell::Cell;

/// How often a spinner polls before it counts the others. Arbitrary: enough to make that, or reading the clock, a
/// small part of its time.
pub(crate) const POLLS_PER_CHECK: u32 = 16;

/// How often a spinner polls that many times with a PAUSE after each before it has the processor watch its word, if that can do it.
/// Arbitrary: a microsecond or more, in which most hand-overs between running threads come.
const CHECKS_BEFORE_POLITE: u32 = 4;

/// Threads of this process that spin at this moment.
static SPINNERS: HeadCount = HeadCount::new();

fn fill_the_machine() -> bool {
    SPINNERS.get() >= cpus::count()
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
            self.was_full.set(fill_the_machine());
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
        SPINNERS.remove(self.born);
    }
}

/// Spins until `ready`, without ever sleeping; yields when the spinners fill the machine. What makes it ready is a store to `line`;
/// of anything else it may hear a little later.
pub(crate) fn spin_forever_until(line: Line<'_>, mut ready: impl FnMut() -> bool) {
    let spinner = Spinner::join();
    for check in 1_u32.. {
        for _ in 0..POLLS_PER_CHECK {
            if ready() {
                return;
            }
            hint::spin_loop();
        }
        spinner.make_room();
        // Not before it has spun for a while: leaving the processor's wait may take longer than a PAUSE. And not where it has to make
        // room again and again. Whoever has not found the machine full never will: see `Spinner`.
        if check == CHECKS_BEFORE_POLITE
            && !spinner.was_full.get()
            && let Some(polite) = PoliteWait::chosen()
        {
            return polite.wait_until(line, ready);
        }
    }
}
