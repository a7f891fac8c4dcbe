//! Spin-then-park: how long a waiter looks before it sleeps, and when it must not look at all.
//!
//! A hand-over to a thread that is looking costs a cache miss; one to a sleeper costs two system calls and, on an idle
//! CPU, the way out of its idle state. So a waiter looks for about as long as a sleep and a wake-up would cost, and lets
//! others run meanwhile. Only whoever knows that it is next in line spins, unless that takes the CPU from the thread it waits
//! for: with as many spinners as CPUs it sleeps at once. With one CPU nobody looks twice.
//!
//! What other processes do to the CPUs cannot be seen, but it can be felt: a thread whose spinning has not paid several
//! times in a row sleeps at once too, and only tries again now and then; and when a yield came back late, because another
//! program had the CPU meanwhile, nobody in the process stays awake for a while.

use super::{clock, fork};
use crate::counters::{self, Event};
use crate::sync::{atomic::Ordering, hint, now, thread, unchecked_atomic::AtomicUsize, world_thread_local};
use core::cell::Cell;
use std::time::{Duration, Instant};

/// How many PAUSEs lie between two looks at the clock. Arbitrary: enough to make the clock's 25 ns a small part.
const PAUSES_PER_LOOK: u32 = 16;

/// How long a waiter looks before it sleeps. See DESIGN.md, "Spin-then-park", for the measurement.
const SPIN_TIME: Duration = Duration::from_micros(50);

/// How a waiter that is not known to be next stays awake.
struct Pace {
    /// How often it looks before it asks the clock for the first time.
    first_looks: u32,
    /// How often it looks each time it has let others run.
    looks_between_yields: u32,
    /// When it sleeps.
    limit: Duration,
}

/// Without a line. See DESIGN.md, "Spin-then-park", for the measurement.
const ALONE: Pace = Pace { first_looks: 8, looks_between_yields: 4, limit: SPIN_TIME };

/// In a line. See DESIGN.md, "Near and far", for the measurement.
const IN_LINE: Pace = Pace { first_looks: 0, looks_between_yields: 1, limit: Duration::from_micros(500) };

/// Next in line: a thread that runs hands over sooner than the clock is read, or a spinner counted. As above.
const NEXT_IN_LINE: Pace = Pace { first_looks: 32, ..IN_LINE };

/// Threads that spin at this moment. Aligned: it changes with every spin, and its neighbours in memory do not.
static SPINNERS: Spinners = Spinners(AtomicUsize::new(0));

#[repr(align(128))]
struct Spinners(AtomicUsize);

/// A thread's place among the spinners, given up on drop.
///
/// Whoever spins looks at the count when it joins, and then only while it found the machine full: if all looked again and
/// again, each thread that comes or goes would have every spinner fetch the count's line anew. See DESIGN.md, "What the
/// model changed".
struct Crowd {
    /// Whether there were as many spinners as CPUs, this one included, when it last looked. Of those who have not seen that,
    /// there are fewer than CPUs: the last to join of them has counted the others.
    was_full: Cell<bool>,
    generation: u32,
}

/// Counts the calling thread as a spinner.
fn join_crowd() -> Crowd {
    // Ordering: relaxed, here and below; the count is advice.
    let spinners = SPINNERS.0.fetch_add(1, Ordering::Relaxed) + 1;
    Crowd { was_full: Cell::new(spinners >= super::cpus::count()), generation: fork::generation() }
}

/// In the child of a fork, which has none of its parent's spinners.
#[cfg(all(unix, not(layby_model)))]
pub(crate) fn forget_crowd() {
    SPINNERS.0.store(0, Ordering::Relaxed);
}

impl Crowd {
    /// Whether every CPU may be taken by a spinner, so that the thread they wait for may have none, and this is one of
    /// those who should make room.
    fn fills_the_machine(&self) -> bool {
        if self.was_full.get() {
            self.was_full.set(SPINNERS.0.load(Ordering::Relaxed) >= super::cpus::count());
        }
        self.was_full.get()
    }

    /// Lets another thread run if the spinners fill the machine.
    fn give_way(&self) {
        if cfg!(layby_model) || self.fills_the_machine() {
            counters::count(Event::Yield);
            thread::yield_now();
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // A fork may have come between, in a condition that is looked at here: the child has forgotten us.
        if self.generation == fork::generation() {
            SPINNERS.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Looks until `ready`, without ever sleeping; yields when the spinners fill the machine.
pub(crate) fn spin_for_ever_until(mut ready: impl FnMut() -> bool) {
    let crowd = join_crowd();
    loop {
        for _ in 0..PAUSES_PER_LOOK {
            if ready() {
                return;
            }
            hint::spin_loop();
        }
        crowd.give_way();
    }
}

/// A thread that has spun in vain this often in a row stops spinning. Arbitrary: one may be bad luck.
const VAIN_LIMIT: u32 = 3;

/// Of that thread's waits, one in so many spins again: at worst it then spends SPIN_TIME / 64, 0.8 us, a wait. Arbitrary.
const TRY_AGAIN: u32 = 64;

world_thread_local! {
    /// How often the thread has spun, or would have spun, in vain since it last paid.
    static IN_VAIN: Cell<u32> = Cell::new(0);
}

/// Until when, by [`clock::millis`], nobody stays awake: other programs have the CPUs. 0 if they do not.
static SLEEP_UNTIL: AtomicUsize = AtomicUsize::new(0);

/// A yield that takes longer than this gave the CPU to another program, for one of its slices. Arbitrary, but threads that yield
/// to each other seldom take as long.
const LATE: Duration = Duration::from_millis(1);

/// Longer slices than this are not those of another program: the machine slept, or the process was stopped. Arbitrary.
const LONGEST_SLICE: Duration = Duration::from_millis(20);

/// For so many times as long as a yield was late nobody stays awake, so that the next one costs an eighth of the time at the
/// most. See DESIGN.md, "Busy machines", for the measurement.
const SLEEPS_FOR: usize = 8;

fn others_have_the_cpus() -> bool {
    // Ordering: relaxed, here and below; it is advice.
    let until = SLEEP_UNTIL.load(Ordering::Relaxed);
    if until == 0 {
        return false;
    }
    let they_do = until.wrapping_sub(clock::millis()).cast_signed() > 0;
    if !they_do {
        SLEEP_UNTIL.store(0, Ordering::Relaxed);
    }
    they_do
}

/// After a yield that took so long.
fn came_back_after(yielded: Duration) {
    if yielded < LATE {
        return;
    }
    let now = clock::millis();
    // Where there is no such clock it would never end.
    if now != 0 {
        let pause = yielded.min(LONGEST_SLICE).as_millis() as usize * SLEEPS_FOR;
        SLEEP_UNTIL.store(now.wrapping_add(pause).max(1), Ordering::Relaxed);
    }
}

/// Looks as often as it is told, with a PAUSE after each look; `true` if that paid.
fn look(times: u32, mut ready: impl FnMut() -> bool) -> bool {
    for _ in 0..times {
        if ready() {
            IN_VAIN.with(|in_vain| in_vain.set(0));
            counters::count(Event::SpinPaid);
            return true;
        }
        hint::spin_loop();
    }
    false
}

/// What a waiter does before it sleeps on its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awake {
    /// Nothing: it has looked for long enough.
    Not,
    /// It looks for a while.
    Alone,
    /// It looks for longer: it stands in a line, and others come before it.
    InLine,
}

/// Looks until `ready`, until the deadline, or until it does not pay any more; returns the last look, if it looked.
///
/// After the first looks it lets others run between them: it may be for one of these that it waits.
pub(crate) fn look_until(awake: Awake, deadline: Option<Instant>, ready: impl FnMut() -> bool) -> bool {
    match awake {
        Awake::Not => false,
        Awake::Alone => stay_awake(deadline, &ALONE, ready, || false),
        Awake::InLine => stay_awake(deadline, &IN_LINE, ready, || false),
    }
}

/// As [`look_until`], for one who stands in line: it does not let others run when it is `next`, and does so for longer
/// when it is not.
pub(crate) fn look_in_line_until(
    deadline: Option<Instant>,
    ready: impl FnMut() -> bool,
    mut next: impl FnMut() -> bool,
) -> bool {
    let pace = if next() { &NEXT_IN_LINE } else { &IN_LINE };
    stay_awake(deadline, pace, ready, next)
}

fn stay_awake(
    deadline: Option<Instant>,
    pace: &Pace,
    mut ready: impl FnMut() -> bool,
    mut next: impl FnMut() -> bool,
) -> bool {
    if cfg!(layby_model) || super::cpus::count() == 1 {
        return ready();
    }
    if look(pace.first_looks, &mut ready) {
        return true;
    }
    let times = IN_VAIN.with(Cell::get);
    if times >= VAIN_LIMIT && !times.is_multiple_of(TRY_AGAIN) {
        IN_VAIN.with(|in_vain| in_vain.set(times.wrapping_add(1)));
        return ready();
    }
    if others_have_the_cpus() {
        return ready();
    }
    let (mut start, mut limit) = (now(), pace.limit);
    let mut before = start;
    let mut crowd = None;
    loop {
        if next() {
            let crowd = crowd.get_or_insert_with(|| {
                (start, limit) = (now(), SPIN_TIME);
                join_crowd()
            });
            if look(PAUSES_PER_LOOK, &mut ready) {
                return true;
            }
            // Not before the first looks: of two threads that hand over to each other one often starts to spin before
            // the other has seen that it may stop.
            if crowd.fills_the_machine() {
                return ready();
            }
        } else {
            counters::count(Event::Yield);
            thread::yield_now();
            let seen = look(pace.looks_between_yields, &mut ready);
            came_back_after(now().duration_since(before));
            if seen {
                return true;
            }
        }
        let now = now();
        before = now;
        if now.duration_since(start) >= limit {
            IN_VAIN.with(|in_vain| in_vain.set(times.wrapping_add(1)));
            counters::count(Event::SpinInVain);
            return ready();
        }
        if deadline.is_some_and(|at| at <= now) {
            return ready();
        }
    }
}
