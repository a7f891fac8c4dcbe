//! Whether it pays to stay awake in a queue: how fast the queue moves, and how long it is.
//!
//! A waiter that is awake when its turn comes saves a sleep and a wake-up; one that is made ready for it, four places before,
//! pays for a wake-up more. Both pay in a queue whose holders hand over in microseconds. Where they take their time, because
//! they wait for a disk or the network themselves, nobody gains by being awake: a waiter then sleeps until its ticket is granted,
//! and post makes nobody ready.
//!
//! Nobody is told how long a permit is held, but one who stays awake sees how many tickets are granted meanwhile. If a hand-over
//! takes longer than a sleep and a wake-up would, it was for nothing. After three in a row the queue counts as slow for the next 64
//! waits; then it is tried again, and if it is still slow, for twice as many.
//!
//! | seen | kept of the queue |
//! |---|---|
//! | a quick wait | one slow wait less; with the last of them all is forgotten |
//! | a slow wait | one more; from three on it counts as slow: 64 waits, next time 128, up to 2,048 |
//! | a wait, while it counts as slow | one wait less to go |
//!
//! In a long queue nobody is made ready either ([`super::waiting`]). Post does not always know how long its queue is, so those who
//! come to wait note it here. It stays long until it is clearly shorter: a queue whose length is about the limit is one or the other.
//!
//! A queue has no room for this: it is kept in a table, by the queue's address. Queues that share an entry are taken for one, and
//! what they do then is right, if not the fastest. In steady state an entry of a quick queue is only read.

use super::{counts::Counts, word::Distance};
use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicU32};
use core::time::Duration;

/// A hand-over that takes longer than this is slow: what a sleep and a wake-up cost, on a CPU that is idle. See
/// docs/measurements.md, "Holders that take their time".
const SLOW: Duration = Duration::from_micros(25);

/// A judgement needs a wait of this length: in a crowd a few hand-overs in a row may be slow, because a thread that was to run
/// did not. As above.
const LEAST: Duration = Duration::from_micros(300);

/// Slow waits in a row that make a queue slow. Arbitrary: one may be bad luck.
const STRIKES: u8 = 3;

/// How many waits a queue counts as slow for the first time: an attempt then costs less than [`LEAST`] / 64 a wait. Arbitrary.
const FIRST_PAUSE: u16 = 64;

/// How often that is doubled. Arbitrary.
const DOUBLINGS: u8 = 5;

/// How many waiters for each CPU make a queue long. See docs/measurements.md, "Near and far".
const LONG_PER_CPU: usize = 14;

/// A long queue with fewer than this is long no more. Arbitrary.
const SHORT_PER_CPU: usize = 12;

/// Queues in use at the same time should have an entry each. A power of two; 4 KiB.
const ENTRIES: usize = 1024;

static PACES: [Pace; ENTRIES] = [const { Pace(AtomicU32::new(0)) }; ENTRIES];

/// What is known of a queue. All of it is advice: who changes it at the same time as another may undo that.
pub(super) struct Pace(AtomicU32);

impl Pace {
    /// Of the queue at this address, which may be gone.
    pub(super) fn of(queue: *const Counts) -> &'static Self {
        // Queues are 16 bytes long. The multiplier is 2^32 divided by the golden ratio, which parts neighbours best.
        let hash = ((queue.addr() >> 4) as u32).wrapping_mul(0x9E37_79B9) >> (u32::BITS - ENTRIES.ilog2());
        &PACES[hash as usize]
    }

    /// Whether it counts as slow.
    #[inline]
    pub(super) fn is_slow(&self) -> bool {
        self.get().is_slow()
    }

    /// Whether those who wait in it may be made ready.
    pub(super) fn is_quick_and_short(&self) -> bool {
        let state = self.get();
        !state.is_slow() && !state.is_long
    }

    /// Whether it counts as long, asked by one who begins to wait behind `ahead` others.
    #[inline]
    pub(super) fn is_long_for_a_waiter(&self, ahead: usize, cpus: usize) -> bool {
        let state = self.get();
        let after = state.with_line(ahead, cpus);
        if after != state {
            self.set(after);
        }
        after.is_long
    }

    /// Whether it counts as slow, asked by one who begins to wait.
    #[inline]
    pub(super) fn is_slow_for_a_waiter(&self) -> bool {
        let state = self.get();
        if state.is_slow() {
            self.set(state.after_a_wait());
        }
        state.is_slow()
    }

    /// Somebody stayed awake and got its turn.
    #[inline]
    pub(super) fn note_quick_wait(&self) {
        let state = self.get();
        let after = state.after_a_quick_wait();
        if after != state {
            self.set(after);
        }
    }

    /// Somebody stayed awake for nothing.
    #[cold]
    pub(super) fn note_slow_wait(&self) {
        self.set(self.get().after_a_slow_wait());
    }

    #[inline]
    fn get(&self) -> State {
        // Ordering: relaxed, here and below; it is advice.
        State::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, state: State) {
        self.0.store(state.bits(), Ordering::Relaxed);
    }
}

/// Whether one who has been awake for this long, while so many tickets before its own were granted, waits in a slow queue.
pub(super) fn is_slow(awake: Duration, granted: Distance) -> bool {
    let hand_overs = u32::try_from(granted.saturating_add(1)).unwrap_or(1).max(1);
    awake >= LEAST && awake > SLOW.saturating_mul(hand_overs)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    /// For how many more waits it counts as slow.
    waits_left: u16,
    /// Slow waits in a row.
    strikes: u8,
    /// How often in a row it has counted as slow.
    doublings: u8,
    is_long: bool,
}

/// Beside the number of doublings.
const IS_LONG: u8 = 1 << 7;

impl State {
    const QUICK: Self = Self { waits_left: 0, strikes: 0, doublings: 0, is_long: false };

    fn bits(self) -> u32 {
        let [low, high] = self.waits_left.to_le_bytes();
        let line = if self.is_long { IS_LONG } else { 0 };
        u32::from_le_bytes([low, high, self.strikes, self.doublings | line])
    }

    fn from_bits(bits: u32) -> Self {
        let [low, high, strikes, rest] = bits.to_le_bytes();
        let waits_left = u16::from_le_bytes([low, high]);
        Self { waits_left, strikes, doublings: rest & !IS_LONG, is_long: rest & IS_LONG != 0 }
    }

    fn is_slow(self) -> bool {
        self.waits_left > 0
    }

    fn after_a_wait(self) -> Self {
        Self { waits_left: self.waits_left.saturating_sub(1), ..self }
    }

    fn after_a_quick_wait(self) -> Self {
        match self.strikes {
            // Of a wait that began before it was found to be slow.
            _ if self.is_slow() => self,
            0 | 1 => Self { is_long: self.is_long, ..Self::QUICK },
            strikes => Self { strikes: strikes - 1, ..self },
        }
    }

    fn after_a_slow_wait(self) -> Self {
        if self.is_slow() {
            return self;
        }
        if self.strikes + 1 < STRIKES {
            return Self { strikes: self.strikes + 1, ..self };
        }
        // The next attempt needs one slow wait, not three.
        let waits_left = FIRST_PAUSE << self.doublings;
        Self { waits_left, strikes: STRIKES - 1, doublings: (self.doublings + 1).min(DOUBLINGS), ..self }
    }

    /// With so many before one who comes to wait.
    fn with_line(self, ahead: usize, cpus: usize) -> Self {
        let waiters_per_cpu = if self.is_long { SHORT_PER_CPU } else { LONG_PER_CPU };
        Self { is_long: ahead >= waiters_per_cpu * cpus, ..self }
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::*;

    fn after_slow_waits(n: usize) -> State {
        (0..n).fold(State::QUICK, |state, _| state.after_a_slow_wait())
    }

    /// How many waits it counts as slow, and what is left then.
    fn sleep_through(mut state: State) -> (usize, State) {
        let mut waits = 0;
        while state.is_slow() {
            state = state.after_a_wait();
            waits += 1;
        }
        (waits, state)
    }

    #[test]
    fn hand_overs_are_slow_that_take_longer_than_a_wake_up() {
        let micros = Duration::from_micros;
        assert!(!is_slow(micros(299), 0), "too early to tell");
        assert!(is_slow(micros(300), 0));
        assert!(!is_slow(micros(300), 11), "25 us each");
        assert!(is_slow(micros(301), 11));
        assert!(!is_slow(micros(480), 31), "a long queue on an idle machine");
        assert!(is_slow(micros(450), 11), "16 threads, 4 permits, held for 100 us of sleep");
        assert!(is_slow(micros(400), -1), "tickets were given back meanwhile");
    }

    #[test]
    fn three_slow_waits_in_a_row_make_a_queue_slow() {
        assert!(!after_slow_waits(2).is_slow());
        assert!(after_slow_waits(3).is_slow());
        let with_a_quick_one = after_slow_waits(2).after_a_quick_wait().after_a_slow_wait();
        assert!(!with_a_quick_one.is_slow(), "not in a row");
    }

    #[test]
    fn a_queue_that_stays_slow_is_tried_less_and_less_often() {
        let mut state = after_slow_waits(3);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let (waits, awake) = sleep_through(state);
            pauses.push(waits);
            state = awake.after_a_slow_wait();
        }
        assert_eq!(pauses, [64, 128, 256, 512, 1024, 2048, 2048, 2048]);
    }

    #[test]
    fn two_quick_waits_and_it_is_as_if_it_had_never_been_slow() {
        let (_, awake) = sleep_through(after_slow_waits(3));
        assert_eq!(awake.after_a_quick_wait().after_a_quick_wait(), State::QUICK);
    }

    #[test]
    fn who_began_before_it_was_slow_changes_nothing() {
        let slow = after_slow_waits(3);
        assert_eq!(slow.after_a_quick_wait(), slow);
        assert_eq!(slow.after_a_slow_wait(), slow);
    }

    #[test]
    fn a_queue_is_long_until_it_is_clearly_shorter() {
        let pace = Pace(AtomicU32::new(0));
        let lines = [27, 28, 27, 24, 23, 24, 27, 28];
        let long = lines.map(|ahead| pace.is_long_for_a_waiter(ahead, 2));
        assert_eq!(long, [false, true, true, true, false, false, false, true]);
        assert!(!pace.is_quick_and_short());
    }

    #[test]
    fn a_long_queue_is_slow_or_quick_like_any_other() {
        let long = State { is_long: true, ..State::QUICK };
        let slow = (0..3).fold(long, |state, _| state.after_a_slow_wait());
        assert!(slow.is_slow() && slow.is_long);
        let (waits, awake) = sleep_through(slow);
        assert_eq!((waits, awake.after_a_quick_wait().after_a_quick_wait()), (64, long));
        assert_eq!(State::from_bits(slow.bits()), slow);
    }

    #[test]
    fn an_entry_keeps_what_it_is_told() {
        let pace = Pace(AtomicU32::new(0));
        (0..3).for_each(|_| pace.note_slow_wait());
        assert!(pace.is_slow() && pace.is_slow_for_a_waiter());
        assert_eq!(pace.get(), after_slow_waits(3).after_a_wait());
        assert_eq!(State::from_bits(pace.get().bits()), pace.get());
    }
}
