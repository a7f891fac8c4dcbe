//! Spin-then-park: how long a waiter polls before it sleeps, and when it must not poll at all.
//!
//! A hand-over to a thread that polls costs a cache miss; one to a sleeper costs two system calls and, on an idle CPU, the
//! way out of its idle state. So a waiter polls for about as long as a sleep and a wake-up would cost:
//!
//! | a waiter that | between two polls |
//! |---|---|
//! | is next in line | spins: PAUSE |
//! | may be anywhere | yields, for it may be the next thread to run that it waits for |
//!
//! It sleeps after a few polls, on one CPU after a single one, because more would not pay,
//!
//! - on a machine with one CPU;
//! - when the spinners fill the machine, and the thread that they wait for may have no CPU ([`spinners`]);
//! - when the thread's own polling has failed several times in a row: then it tries again only now and then;
//! - when a yield came back late: another program had the CPU, and for a while nobody in the process polls.

use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::sync::{IN_A_MODEL, advice::AtomicUsize, atomic::Ordering, hint, now, thread, world_thread_local};
pub(crate) use crate::sys::spinners::spin_forever_until;
use crate::sys::{
    clock, cpus,
    spinners::{self, Spinner},
};
use core::cell::Cell;
use std::time::{Duration, Instant};

/// What a waiter does before it sleeps on its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpinFirst {
    /// Nothing: it has polled for long enough.
    No,
    /// It polls for a while.
    Briefly,
    /// It polls for longer: it stands in a queue, and others come before it.
    WhileQueued,
}

/// How a waiter polls.
struct Pace {
    /// How often before it reads the clock for the first time.
    first_polls: u32,
    /// How often each time it has let others run.
    polls_per_yield: u32,
    /// When it gives up and sleeps.
    limit: Duration,
}

/// How long a waiter spins before it sleeps. See DESIGN.md, "Spin-then-park", and
/// docs/measurements.md, "Hand-over between two threads".
const SPIN_TIME: Duration = Duration::from_micros(50);

/// Outside a queue. See docs/measurements.md, "Polls between yields".
const BRIEFLY: Pace = Pace { first_polls: 8, polls_per_yield: 4, limit: SPIN_TIME };

/// In a queue. See docs/measurements.md, "Near and far".
const QUEUED: Pace = Pace { first_polls: 0, polls_per_yield: 1, limit: Duration::from_micros(500) };

/// Next in a queue: a holder that runs hands over sooner than the clock is read, or a spinner counted. As above.
const NEXT_IN_QUEUE: Pace = Pace { first_polls: 32, ..QUEUED };

/// Polls until `ready`, until the deadline, or until it does not pay any more; returns whether it was ready when last polled.
pub(crate) fn spin_until(spin: SpinFirst, deadline: Deadline, ready: impl FnMut() -> bool) -> bool {
    match spin {
        SpinFirst::No => false,
        SpinFirst::Briefly => stay_awake(deadline, &BRIEFLY, ready, || false),
        SpinFirst::WhileQueued => stay_awake(deadline, &QUEUED, ready, || false),
    }
}

/// Like [`spin_until`], for a thread in a queue: it spins whenever it is `next`, and yields for longer when it is not.
pub(crate) fn spin_in_queue_until(
    deadline: Deadline,
    ready: impl FnMut() -> bool,
    mut next: impl FnMut() -> bool,
) -> bool {
    let pace = if next() { &NEXT_IN_QUEUE } else { &QUEUED };
    stay_awake(deadline, pace, ready, next)
}

fn stay_awake(
    deadline: Deadline,
    pace: &Pace,
    mut ready: impl FnMut() -> bool,
    mut next: impl FnMut() -> bool,
) -> bool {
    if IN_A_MODEL || cpus::count() == 1 {
        return ready();
    }
    if poll(pace.first_polls, &mut ready) {
        return true;
    }
    if skips_this_time() || machine_is_busy() {
        return ready();
    }
    let mut watch = Watch::start(pace.limit);
    let mut spinner = None;
    loop {
        if next() {
            let spinner = spinner.get_or_insert_with(|| {
                watch.restart(SPIN_TIME);
                Spinner::join()
            });
            if poll(spinners::POLLS_PER_CHECK, &mut ready) {
                return true;
            }
            // Not before the first polls: of two threads that hand over to each other, one often starts to spin before the
            // other has seen that it may stop.
            if spinner.should_make_room() {
                return ready();
            }
        } else if yield_and_poll(pace, &watch, &mut ready) {
            return true;
        }
        watch.read();
        if watch.has_run_out() {
            note_failure();
            return ready();
        }
        if deadline.is_past_at(watch.last_read) {
            return ready();
        }
    }
}

/// Polls `times` times, with a PAUSE after each; `true` if it succeeded.
fn poll(times: u32, mut ready: impl FnMut() -> bool) -> bool {
    for _ in 0..times {
        if ready() {
            note_success();
            return true;
        }
        hint::spin_loop();
    }
    false
}

/// Lets others run, then polls; notes how long the others ran.
fn yield_and_poll(pace: &Pace, watch: &Watch, ready: impl FnMut() -> bool) -> bool {
    counters::count(Event::Yield);
    thread::yield_now();
    let succeeded = poll(pace.polls_per_yield, ready);
    note_yield(now().duration_since(watch.last_read));
    succeeded
}

/// For how long a waiter has been awake.
struct Watch {
    started: Instant,
    limit: Duration,
    last_read: Instant,
}

impl Watch {
    fn start(limit: Duration) -> Self {
        let started = now();
        Self { started, limit, last_read: started }
    }

    /// Counts from now on, with another limit; `last_read` stays.
    fn restart(&mut self, limit: Duration) {
        (self.started, self.limit) = (now(), limit);
    }

    fn read(&mut self) {
        self.last_read = now();
    }

    fn has_run_out(&self) -> bool {
        self.last_read.duration_since(self.started) >= self.limit
    }
}

/// A thread that has failed this often in a row stops polling. Arbitrary: one failure may be bad luck.
const FAILURE_LIMIT: u32 = 3;

/// One in this many of that thread's waits polls again: that costs limit / 64 a wait, 0.8 us outside a queue and at most 7.8 us
/// in one. Arbitrary.
const RETRY_EVERY: u32 = 64;

world_thread_local! {
    /// How often the thread has polled for nothing, or skipped polling, since it last succeeded.
    static FAILURES: Cell<u32> = Cell::new(0);
}

/// Whether the thread has failed so often that it does not poll this time.
fn skips_this_time() -> bool {
    let failures = FAILURES.with(Cell::get);
    let skips = failures >= FAILURE_LIMIT && !failures.is_multiple_of(RETRY_EVERY);
    if skips {
        FAILURES.with(|count| count.set(failures.wrapping_add(1)));
    }
    skips
}

fn note_success() {
    FAILURES.with(|count| count.set(0));
    counters::count(Event::SpinSucceeded);
}

fn note_failure() {
    FAILURES.with(|count| count.set(count.get().wrapping_add(1)));
    counters::count(Event::SpinFailed);
}

/// Until when, by [`clock::millis`], nobody polls, because other programs have the CPUs; 0 if they do not.
static NO_SPIN_UNTIL: AtomicUsize = AtomicUsize::new(0);

/// A yield that takes longer than this gave the CPU to another program, for one of its slices. Arbitrary, but threads that
/// yield to each other seldom take as long.
const LATE: Duration = Duration::from_millis(1);

/// Longer slices than this are not those of another program: the machine slept, or the process was stopped. Arbitrary.
const LONGEST_SLICE: Duration = Duration::from_millis(20);

/// Nobody polls for this many times as long as a yield was late, so that late yields cost at most an eighth of the time. See
/// docs/measurements.md, "Busy machines".
const NO_SPIN_FACTOR: usize = 8;

fn machine_is_busy() -> bool {
    // Ordering: relaxed, here and below; it is advice.
    let until = NO_SPIN_UNTIL.load(Ordering::Relaxed);
    if until == 0 {
        return false;
    }
    let is_busy = until.wrapping_sub(clock::millis()).cast_signed() > 0;
    if !is_busy {
        NO_SPIN_UNTIL.store(0, Ordering::Relaxed);
    }
    is_busy
}

/// Called after every yield, with how long it took.
fn note_yield(took: Duration) {
    if took < LATE {
        return;
    }
    let now = clock::millis();
    // 0: there is no such clock, and the pause would never end.
    if now != 0 {
        let pause = took.min(LONGEST_SLICE).as_millis() as usize * NO_SPIN_FACTOR;
        NO_SPIN_UNTIL.store(now.wrapping_add(pause).max(1), Ordering::Relaxed);
    }
}
