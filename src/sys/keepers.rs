//! Threads that keep a CPU from going idle, at most one on each.
//!
//! To wake a thread costs a microsecond or two if it is to run on the CPU of the thread that wakes it. If it is to run on another,
//! that CPU has to be interrupted, and if that is idle, it has to leave its idle state: ten to a hundred times as much in a
//! virtual machine. Where threads do nothing but wake each other in turn, all that decides how fast they are is where the scheduler
//! puts them, and it puts a thread that is woken on a CPU that is idle, if there is one. So one of those who wait stays awake on
//! each CPU, and lets others run all the time; the others sleep.

use super::{cpus, fork::Birth, head_count::HeadCount};

/// CPUs whose numbers differ by this share a seat: machines that have more CPUs have fewer keepers. 8 KiB.
const SEATS: usize = 64;

static KEEPERS: Seats = Seats::new();

/// A seat for each CPU.
struct Seats([HeadCount; SEATS]);

impl Seats {
    const fn new() -> Self {
        Self([const { HeadCount::new() }; SEATS])
    }

    /// The seat of a CPU, if nobody has it.
    fn take(&self, cpu: usize) -> Option<Seat<'_>> {
        let count = &self.0[cpu % SEATS];
        // Most find it taken, and do not write.
        if count.get() > 0 {
            return None;
        }
        let (born, sitting) = (Birth::now(), count.add());
        let seat = Seat { count, born };
        // If two came at once, the second leaves.
        (sitting == 1).then_some(seat)
    }
}

/// Given up on drop.
struct Seat<'a> {
    count: &'a HeadCount,
    born: Birth,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.count.remove(self.born);
    }
}

/// The thread that keeps a CPU awake, until this is dropped.
pub(crate) struct Keeper {
    cpu: usize,
    _seat: Seat<'static>,
}

impl Keeper {
    /// The calling thread as the keeper of its CPU, if that has none.
    pub(crate) fn of_this_cpu() -> Option<Self> {
        let cpu = cpus::current();
        KEEPERS.take(cpu).map(|seat| Self { cpu, _seat: seat })
    }

    /// Whether it still runs there. If not, it may be one too many where it runs now.
    pub(crate) fn is_there(&self) -> bool {
        cpus::current() == self.cpu
    }
}

#[cfg(all(test, not(any(layby_model, layby_coherence))))]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_has_one_keeper_at_a_time() {
        let seats = Seats::new();
        let first = seats.take(3);
        assert!(first.is_some() && seats.take(3).is_none() && seats.take(3 + SEATS).is_none());
        assert!(seats.take(4).is_some(), "another CPU");
        drop(first);
        assert!(seats.take(3).is_some(), "who was turned away left nothing behind");
    }
}
