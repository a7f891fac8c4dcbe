//! Whether other programs want the CPUs, as the threads of this process feel it.
//!
//! A thread that yields while another program wants its CPU loses it for one of that program's time slices, several
//! milliseconds; threads that yield to each other are back in microseconds. So a yield that comes back late says that the
//! machine is busy. While it counts as busy nobody stays awake to wait, so nobody yields, and nothing more is learned: what was
//! seen holds for a time, and then somebody yields again.
//!
//! | a yield is late | the machine counts as busy |
//! |---|---|
//! | for the first time | for 8 times as long as the yield took |
//! | again, no later after that time than it was long | for twice as long as before, at most a second |
//! | later than that | for 8 times as long as the yield took |
//!
//! On a busy machine every such attempt costs a slice, in which a whole queue may stand still: an eighth of the time if all
//! pauses were short, and less than a hundredth once they are a second long. And the machine counts as busy at most about as long
//! after the others are gone as they were there.
//!
//! A yield is the one thing that can be felt for nothing. Others were considered: DESIGN.md, "Busy machines".

use super::clock;
use crate::sync::{advice::AtomicUsize, atomic::Ordering};
use core::time::Duration;

/// Whether other programs have the CPUs, as far as is known.
#[inline]
pub(crate) fn machine_is_busy() -> bool {
    MACHINE.is_busy(clock::coarse_millis)
}

/// Called after every yield of a thread that waits, with how long it took.
#[inline]
pub(crate) fn note_yield(took: Duration) {
    if took >= LATE {
        MACHINE.note_late(took, clock::coarse_millis());
    }
}

static MACHINE: Machine = Machine::new();

/// A yield that takes longer than this gave the CPU to another program, for one of its slices. Arbitrary, but threads that
/// yield to each other seldom take as long.
const LATE: Duration = Duration::from_millis(1);

/// Longer slices than this are not those of another program: the machine slept, or the process was stopped. Arbitrary.
const LONGEST_SLICE: Duration = Duration::from_millis(20);

/// The first pause, in multiples of the time that the yield took. See docs/measurements.md, "Busy machines".
const FIRST_PAUSE: usize = 8;

/// In milliseconds. As above.
const LONGEST_PAUSE: usize = 1000;

/// All of it is advice: threads that are late at the same time may overwrite what one of them has noted. Times are those of
/// [`clock::coarse_millis`]: on a busy machine every wait and every post asks.
struct Machine {
    /// Until when it counts as busy; 0 if it does not.
    until: AtomicUsize,
    /// The same when it does not any more: when the last pause ended.
    ended: AtomicUsize,
    /// How long that was.
    pause: AtomicUsize,
}

impl Machine {
    const fn new() -> Self {
        Self { until: AtomicUsize::new(0), ended: AtomicUsize::new(0), pause: AtomicUsize::new(0) }
    }

    #[inline]
    fn is_busy(&self, now: impl FnOnce() -> usize) -> bool {
        // Ordering: relaxed, here and below; it is advice.
        let until = self.until.load(Ordering::Relaxed);
        until != 0 && self.is_busy_until(until, now())
    }

    #[cold]
    fn is_busy_until(&self, until: usize, now: usize) -> bool {
        let is_busy = is_before(now, until);
        if !is_busy {
            self.until.store(0, Ordering::Relaxed);
        }
        is_busy
    }

    #[cold]
    fn note_late(&self, took: Duration, now: usize) {
        let (ended, last) = (self.ended.load(Ordering::Relaxed), self.pause.load(Ordering::Relaxed));
        // 0: there is no such clock, and a pause would never end. Or this one was late in the same slice as another.
        if now == 0 || (last != 0 && is_before(now, ended)) {
            return;
        }
        let first = took.min(LONGEST_SLICE).as_millis() as usize * FIRST_PAUSE;
        let is_late_again = last != 0 && now.wrapping_sub(ended) <= last;
        let pause = if is_late_again { first.max(2 * last).min(LONGEST_PAUSE) } else { first };
        let until = now.wrapping_add(pause).max(1);
        self.pause.store(pause, Ordering::Relaxed);
        self.ended.store(until, Ordering::Relaxed);
        self.until.store(until, Ordering::Relaxed);
    }
}

fn is_before(a: usize, b: usize) -> bool {
    b.wrapping_sub(a).cast_signed() > 0
}

#[cfg(all(test, not(any(layby_model, layby_coherence))))]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(4);

    /// For how long after `now` it counts as busy, in milliseconds.
    fn pause_after(machine: &Machine, now: usize) -> usize {
        let is_busy_after =
            |millis: usize| machine.until.load(Ordering::Relaxed) != 0 && machine.is_busy(|| now + millis);
        (0..5000).take_while(|&millis| is_busy_after(millis)).count()
    }

    #[test]
    fn a_late_yield_counts_for_eight_times_as_long() {
        let machine = Machine::new();
        assert!(!machine.is_busy(|| unreachable!("nobody was late: the clock is not read")));
        machine.note_late(SLICE, 100);
        assert_eq!(pause_after(&machine, 100), 32);
        assert!(!machine.is_busy(|| unreachable!("it is over")));
    }

    #[test]
    fn a_process_that_was_stopped_is_not_on_a_busy_machine_for_long() {
        let machine = Machine::new();
        machine.note_late(Duration::from_secs(3600), 100);
        assert_eq!(pause_after(&machine, 100), 160);
    }

    #[test]
    fn late_again_and_again_is_busy_for_longer_and_longer() {
        let machine = Machine::new();
        let mut now = 100;
        let mut pauses = Vec::new();
        for _ in 0..8 {
            machine.note_late(SLICE, now);
            pauses.push(pause_after(&machine, now));
            // The first who yields after it is late again.
            now += pauses.last().unwrap() + 5;
        }
        assert_eq!(pauses, [32, 64, 128, 256, 512, 1000, 1000, 1000]);
    }

    #[test]
    fn who_is_late_long_after_the_last_starts_over() {
        let machine = Machine::new();
        machine.note_late(SLICE, 100);
        machine.note_late(SLICE, 100 + 32);
        assert_eq!(pause_after(&machine, 132), 64);
        machine.note_late(SLICE, 132 + 64 + 65);
        assert_eq!(pause_after(&machine, 261), 32);
    }

    #[test]
    fn all_who_were_late_in_one_slice_are_one_sign() {
        let machine = Machine::new();
        for now in [100, 100, 101, 103] {
            machine.note_late(SLICE, now);
        }
        assert_eq!(pause_after(&machine, 100), 32);
    }

    #[test]
    fn without_a_clock_it_is_never_busy() {
        let machine = Machine::new();
        machine.note_late(SLICE, 0);
        assert!(!machine.is_busy(|| 0));
    }

    #[test]
    fn the_clock_may_wrap() {
        let machine = Machine::new();
        let now = usize::MAX - 10;
        machine.note_late(SLICE, now);
        assert!(machine.is_busy(|| usize::MAX) && machine.is_busy(|| 5) && !machine.is_busy(|| 30));
        machine.note_late(SLICE, 30);
        assert_eq!(pause_after(&machine, 30), 64);
    }
}
