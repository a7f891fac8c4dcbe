//! Spin-then-park: how long a waiter looks before it sleeps, and when it must not look at all.
//!
//! A hand-over to a thread that is looking costs a cache miss; one to a sleeper costs two system calls and, on an idle
//! CPU, the way out of its idle state. So a waiter looks for about as long as a sleep and a wake-up would cost, and lets
//! others run meanwhile. Only whoever knows that it is next in line spins, unless that takes the CPU from the thread it waits
//! for: with as many spinners as CPUs it sleeps at once. With one CPU nobody looks twice.
//!
//! What other processes do to the CPUs cannot be seen, but it can be felt: a thread whose spinning has not paid several
//! times in a row sleeps at once too, and only tries again now and then.

use crate::sync::{hint, thread};
use core::sync::atomic::{AtomicUsize, Ordering};
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

/// Threads that spin at this moment.
static SPINNERS: AtomicUsize = AtomicUsize::new(0);

/// A thread's place among the spinners, given up on drop.
struct Crowd(());

/// Counts the calling thread as a spinner.
fn join_crowd() -> Crowd {
    // Ordering: relaxed, here and below; the count is advice.
    SPINNERS.fetch_add(1, Ordering::Relaxed);
    Crowd(())
}

/// In the child of a fork, which has none of its parent's spinners.
#[cfg(all(unix, not(any(layby_loom, layby_shuttle))))]
pub(crate) fn forget_crowd() {
    SPINNERS.store(0, Ordering::Relaxed);
}

impl Crowd {
    /// Whether every CPU may be taken by a spinner, so that the thread they wait for may have none.
    fn fills_the_machine(&self) -> bool {
        SPINNERS.load(Ordering::Relaxed) >= super::cpus::count()
    }

    /// Lets another thread run if the spinners fill the machine.
    fn give_way(&self) {
        if cfg!(any(layby_loom, layby_shuttle)) || self.fills_the_machine() {
            thread::yield_now();
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // Saturating: a fork may have come between, in a condition that is looked at here.
        let _ = SPINNERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
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

std::thread_local! {
    /// How often the thread has spun, or would have spun, in vain since it last paid.
    static IN_VAIN: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

/// Looks as often as it is told, with a PAUSE after each look; `true` if that paid.
fn look(times: u32, mut ready: impl FnMut() -> bool) -> bool {
    for _ in 0..times {
        if ready() {
            IN_VAIN.set(0);
            return true;
        }
        hint::spin_loop();
    }
    false
}

/// Looks until `ready`, until the deadline, or until it does not pay any more; returns the last look.
///
/// After the first looks it lets others run between them: it may be for one of these that it waits.
pub(crate) fn look_until(deadline: Option<Instant>, ready: impl FnMut() -> bool) -> bool {
    stay_awake(deadline, &ALONE, ready, || false)
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
    if cfg!(any(layby_loom, layby_shuttle)) || super::cpus::count() == 1 {
        return ready();
    }
    if look(pace.first_looks, &mut ready) {
        return true;
    }
    let in_vain = IN_VAIN.get();
    if in_vain >= VAIN_LIMIT && !in_vain.is_multiple_of(TRY_AGAIN) {
        IN_VAIN.set(in_vain.wrapping_add(1));
        return ready();
    }
    let (mut start, mut limit) = (Instant::now(), pace.limit);
    let mut crowd = None;
    loop {
        if next() {
            let crowd = crowd.get_or_insert_with(|| {
                (start, limit) = (Instant::now(), SPIN_TIME);
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
            thread::yield_now();
            if look(pace.looks_between_yields, &mut ready) {
                return true;
            }
        }
        let now = Instant::now();
        if now.duration_since(start) >= limit {
            IN_VAIN.set(in_vain.wrapping_add(1));
            return ready();
        }
        if deadline.is_some_and(|at| at <= now) {
            return ready();
        }
    }
}
