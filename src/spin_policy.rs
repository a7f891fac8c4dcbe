//! Spin-then-park: how long a waiter polls before it sleeps, and when it must not poll at all.
//!
//! A hand-over to a thread that polls costs a cache miss; one to a sleeper costs two system calls and, on an idle CPU, the
//! way out of its idle state. So a waiter polls for about as long as a sleep and a wake-up would cost:
//!
//! | a waiter that | between two polls |
//! |---|---|
//! | is next in line | spins: PAUSE |
//! | may be anywhere | yields, for it may be the next thread to run that it waits for |
//! | waits for a word that is written all the time | lets some time pass, for each look takes the word's cache line from the writer |
//!
//! A waiter whose backend does not [spin](crate::sys::Backend::SPINS) yields once or twice, and sleeps.
//!
//! The others sleep after a few polls, on one CPU after a single one, because more would not pay,
//!
//! - on a machine with one CPU;
//! - when the spinners fill the machine, and the thread that they wait for may have no CPU ([`spinners`]);
//! - when the thread's own polling has failed several times in a row: then it tries again only now and then. A mutex makes fewer
//!   attempts for the same reason;
//! - on a busy machine ([`busyness`]).

use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::sync::{IN_A_MODEL, hint, now, thread, world_thread_local};
#[cfg(feature = "mutex")]
use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicU32};
#[cfg(feature = "mutex")]
pub(crate) use crate::sys::clock::millis;
use crate::sys::{
    busyness, cpus,
    spinners::{self, Spinner},
};
pub(crate) use crate::sys::{busyness::machine_is_busy, polite_wait::Line, spinners::spin_forever_until};
use core::cell::Cell;
use std::time::{Duration, Instant};

/// What a waiter does before it sleeps on its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpinFirst {
    /// Nothing: it has polled for long enough.
    No,
    /// It polls for a while.
    Briefly,
    /// It polls for a while, and seldom at first: the word that it looks at may be written again and again meanwhile.
    Seldom,
    /// It polls for longer: it stands in a queue, and others come before it.
    WhileQueued,
    /// It yields once or twice.
    Yielding,
}

impl SpinFirst {
    /// For one of `members` that wait for each other's counts. If each can have a CPU, whoever is waited for runs, and counts on. If
    /// not, it may be waiting for the waiter's.
    pub(crate) fn among(members: usize) -> Self {
        if members <= cpus::count() { Self::Seldom } else { Self::Briefly }
    }

    /// The same for a waiter that does not spin.
    pub(crate) fn only_yielding(self) -> Self {
        if self == Self::No { Self::No } else { Self::Yielding }
    }
}

/// Whether so many threads that wait for one thing are more than can run at once.
pub(crate) fn fill_the_machine(threads: u32) -> bool {
    threads as usize > cpus::count()
}

/// How a waiter polls.
struct Pace {
    /// How often before it lets others run for the first time.
    first_polls: u32,
    /// How long it waits between these; not at all but for a PAUSE if it is zero.
    between_first_polls: Duration,
    /// How often each time it has let others run.
    polls_per_yield: u32,
    /// When it gives up and sleeps.
    limit: Duration,
}

/// How long a waiter spins before it sleeps. See DESIGN.md, "Spin-then-park", and
/// docs/measurements.md, "Hand-over between two threads".
const SPIN_TIME: Duration = Duration::from_micros(50);

/// Outside a queue. See docs/measurements.md, "Polls between yields".
const BRIEFLY: Pace =
    Pace { first_polls: 8, between_first_polls: Duration::ZERO, polls_per_yield: 4, limit: SPIN_TIME };

/// Behind a writer. See docs/measurements.md, "Looks at a count that is written all the time".
const SELDOM: Pace = Pace { first_polls: 4, between_first_polls: Duration::from_nanos(250), ..BRIEFLY };

/// In a queue. See docs/measurements.md, "Near and far".
const QUEUED: Pace =
    Pace { first_polls: 0, between_first_polls: Duration::ZERO, polls_per_yield: 1, limit: Duration::from_micros(500) };

/// For its CPU's sake. A queue of some thousand that moves fast has moved on by then.
const KEEPING: Pace = Pace { limit: Duration::from_millis(10), ..QUEUED };

/// Next in a queue: a holder that runs hands over sooner than the clock is read, or a spinner counted. As above.
const NEXT_IN_QUEUE: Pace = Pace { first_polls: 32, ..QUEUED };

/// Polls until `ready`, until the deadline, or until it does not pay any more; returns whether it was ready when last polled.
#[inline]
pub(crate) fn spin_until(spin: SpinFirst, deadline: Deadline, ready: impl FnMut() -> bool) -> bool {
    spin != SpinFirst::No && spin_as(spin, deadline, ready)
}

#[inline(never)]
fn spin_as(spin: SpinFirst, deadline: Deadline, ready: impl FnMut() -> bool) -> bool {
    match spin {
        SpinFirst::No => false,
        SpinFirst::Briefly => stay_awake(deadline, &BRIEFLY, ready, || false, |_| false),
        SpinFirst::Seldom => stay_awake(deadline, &SELDOM, ready, || false, |_| false),
        SpinFirst::WhileQueued => stay_awake(deadline, &QUEUED, ready, || false, |_| false),
        SpinFirst::Yielding => yield_until(ready),
    }
}

/// Before a look at a count that is known to be written all the time: lets its writer get ahead, if each of them can have a CPU.
pub(crate) fn let_get_ahead(spin: SpinFirst) {
    if spin == SpinFirst::Seldom && !IN_A_MODEL {
        pause_for(SELDOM.between_first_polls);
    }
}

/// How often a waiter yields that does not spin. See docs/measurements.md, "Yields before a sleep".
const YIELDS: u32 = 2;

/// Lets others run once or twice, as long as that helps; returns whether it was ready when last polled. The thread that is
/// waited for may be the next to run on this CPU: then both go on without a system call that sleeps or wakes. That is so on a
/// machine with one CPU, too.
pub(crate) fn yield_until(mut ready: impl FnMut() -> bool) -> bool {
    if IN_A_MODEL || skips_this_time() || machine_is_busy() {
        return ready();
    }
    for _ in 0..YIELDS {
        let started = now();
        counters::count(Event::Yield);
        thread::yield_now();
        if poll(1, &mut ready) {
            return true;
        }
        // Not if it has helped: however long it took, the thread that was waited for has run.
        busyness::note_yield(now().duration_since(started));
    }
    note_failure();
    false
}

/// Like [`spin_until`], for a thread in a queue: it spins whenever it is `next`, and yields for longer when it is not. It gives up
/// when it is `in_vain`, which is told how long it has been awake.
pub(crate) fn spin_in_queue_until(
    deadline: Deadline,
    ready: impl FnMut() -> bool,
    mut next: impl FnMut() -> bool,
    in_vain: impl FnMut(Duration) -> bool,
) -> bool {
    let pace = if next() { &NEXT_IN_QUEUE } else { &QUEUED };
    stay_awake(deadline, pace, ready, next, in_vain)
}

/// Like [`spin_in_queue_until`], for a thread that keeps its CPU from going idle: it yields all the time, next or not.
pub(crate) fn yield_in_queue_until(
    deadline: Deadline,
    ready: impl FnMut() -> bool,
    in_vain: impl FnMut(Duration) -> bool,
) -> bool {
    stay_awake(deadline, &KEEPING, ready, || false, in_vain)
}

fn stay_awake(
    deadline: Deadline,
    pace: &Pace,
    mut ready: impl FnMut() -> bool,
    mut next: impl FnMut() -> bool,
    mut in_vain: impl FnMut(Duration) -> bool,
) -> bool {
    if IN_A_MODEL || cpus::count_with_this_thread() == 1 {
        return ready();
    }
    if first_polls(pace, &mut ready) {
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
        if in_vain(watch.last_read.duration_since(watch.begun)) {
            counters::count(Event::SpinFailed);
            return ready();
        }
        if deadline.is_past_at(watch.last_read) {
            return ready();
        }
    }
}

/// The polls before it lets others run for the first time.
fn first_polls(pace: &Pace, mut ready: impl FnMut() -> bool) -> bool {
    if pace.between_first_polls.is_zero() {
        return poll(pace.first_polls, ready);
    }
    (0..pace.first_polls).any(|_| {
        pause_for(pace.between_first_polls);
        poll(1, &mut ready)
    })
}

fn pause_for(time: Duration) {
    let started = now();
    while now().duration_since(started) < time {
        hint::spin_loop();
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
    busyness::note_yield(now().duration_since(watch.last_read));
    succeeded
}

/// For how long a waiter has been awake.
struct Watch {
    begun: Instant,
    /// From when on `limit` counts.
    started: Instant,
    limit: Duration,
    last_read: Instant,
}

impl Watch {
    fn start(limit: Duration) -> Self {
        let begun = now();
        Self { begun, started: begun, limit, last_read: begun }
    }

    /// Counts from now on, with another limit; the rest stays.
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

/// How a thread has fared of late: how often it has polled for nothing, or skipped polling, since it last succeeded.
struct Luck(Cell<u32>);

impl Luck {
    const fn new() -> Self {
        Self(Cell::new(0))
    }

    /// Whether it has failed so often that it does not poll this time.
    fn skips_this_time(&self) -> bool {
        let failures = self.0.get();
        let skips = failures >= FAILURE_LIMIT && !failures.is_multiple_of(RETRY_EVERY);
        if skips {
            self.note_failure();
        }
        skips
    }

    fn note_success(&self) {
        self.0.set(0);
    }

    fn note_failure(&self) {
        self.0.set(self.0.get().wrapping_add(1));
    }
}

world_thread_local! {
    /// The thread's, with polls of a word.
    static POLLING: Luck = Luck::new();
}

fn skips_this_time() -> bool {
    POLLING.with(Luck::skips_this_time)
}

fn note_success() {
    POLLING.with(Luck::note_success);
    counters::count(Event::SpinSucceeded);
}

fn note_failure() {
    POLLING.with(Luck::note_failure);
    counters::count(Event::SpinFailed);
}

#[cfg(feature = "mutex")]
world_thread_local! {
    /// The thread's, with attempts at a lock that lets others overtake: apart, for what helps with the one may not with the other.
    static BARGING: Luck = Luck::new();
}

/// How often a thread tries for such a lock before it sleeps: `most` times, or if that has not helped it of late, `least` times.
#[cfg(feature = "mutex")]
pub(crate) fn attempts(least: u32, most: u32) -> u32 {
    if !IN_A_MODEL && BARGING.with(Luck::skips_this_time) { least } else { most }
}

/// A thread has tried `most` times for nothing; or it has succeeded, and not at once.
#[cfg(feature = "mutex")]
pub(crate) fn note_attempts(succeeded: bool) {
    if !IN_A_MODEL {
        BARGING.with(if succeeded { Luck::note_success } else { Luck::note_failure });
    }
}

/// One in this many polls again then. See docs/measurements.md, "A mutex held for a while".
#[cfg(feature = "mutex")]
const RETRY_KEPT_EVERY: u32 = 8;

/// How the threads of a process have fared of late that polled for a lock which nobody else would take: apart from [`Luck`], for a thread
/// seldom is the one, and whose polls succeed now and then is not lucky. Advice: loads and stores will do.
#[cfg(feature = "mutex")]
struct Odds {
    /// How many more polls have failed than succeeded, from 0 to [`FAILURE_LIMIT`].
    failures: AtomicU32,
    skipped: AtomicU32,
}

#[cfg(feature = "mutex")]
impl Odds {
    const fn new() -> Self {
        Self { failures: AtomicU32::new(0), skipped: AtomicU32::new(0) }
    }

    fn are_bad(&self) -> bool {
        self.failures.load(Ordering::Relaxed) == FAILURE_LIMIT
    }

    /// Whether not to poll this time: as [`Luck::skips_this_time`].
    fn skip_this_time(&self) -> bool {
        let skipped = self.skipped.load(Ordering::Relaxed).wrapping_add(1);
        let skips = self.are_bad() && !skipped.is_multiple_of(RETRY_KEPT_EVERY);
        if self.are_bad() {
            self.skipped.store(skipped, Ordering::Relaxed);
        }
        skips
    }

    fn note(&self, succeeded: bool) {
        let failures = self.failures.load(Ordering::Relaxed);
        let failures = if succeeded { failures.saturating_sub(1) } else { FAILURE_LIMIT.min(failures + 1) };
        self.failures.store(failures, Ordering::Relaxed);
    }
}

#[cfg(feature = "mutex")]
static KEPT_LOCKS: Odds = Odds::new();

/// Like [`spin_until`], for a lock that nobody else will take: it is free when its holder is done. If that has taken too long of late,
/// it does not poll.
#[cfg(feature = "mutex")]
pub(crate) fn spin_for_kept_lock(deadline: Deadline, ready: impl FnMut() -> bool) -> bool {
    if IN_A_MODEL {
        return spin_until(SpinFirst::Briefly, deadline, ready);
    }
    if KEPT_LOCKS.skip_this_time() {
        return false;
    }
    let succeeded = spin_until(SpinFirst::Briefly, deadline, ready);
    KEPT_LOCKS.note(succeeded);
    succeeded
}

/// Whether locks are held for longer in this process, of late, than a thread polls that has one kept for it.
#[cfg(feature = "mutex")]
pub(crate) fn locks_are_slow() -> bool {
    !IN_A_MODEL && KEPT_LOCKS.are_bad()
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::*;

    #[test]
    fn who_has_failed_three_times_in_a_row_tries_again_now_and_then() {
        let luck = Luck::new();
        for _ in 0..FAILURE_LIMIT {
            assert!(!luck.skips_this_time());
            luck.note_failure();
        }
        let skipped = || (0..).take_while(|_| luck.skips_this_time()).count();
        assert_eq!(skipped(), 61, "the 64th time it polls");
        luck.note_failure();
        assert_eq!(skipped(), 63);
        luck.note_success();
        assert!(!luck.skips_this_time());
    }

    #[cfg(feature = "mutex")]
    #[test]
    fn luck_with_locks_is_not_luck_with_polls() {
        (0..FAILURE_LIMIT).for_each(|_| note_attempts(false));
        assert_eq!((attempts(2, 10), skips_this_time()), (2, false));
        note_attempts(true);
        assert_eq!(attempts(2, 10), 10);
    }

    #[cfg(feature = "mutex")]
    #[test]
    fn who_fails_two_times_of_three_polls_now_and_then() {
        let odds = Odds::new();
        let polls = (0..1000).filter(|_| !odds.skip_this_time()).inspect(|poll| odds.note(poll % 3 == 0)).count();
        assert!((100..300).contains(&polls), "{polls}");
        (0..2 * RETRY_KEPT_EVERY).for_each(|_| {
            if !odds.skip_this_time() {
                odds.note(true)
            }
        });
        assert!(!odds.are_bad(), "succeeds again");
    }

    #[cfg(feature = "mutex")]
    #[test]
    fn who_fails_now_and_then_polls() {
        let odds = Odds::new();
        for poll in 0..1000 {
            assert!(!odds.skip_this_time());
            odds.note(poll % 3 != 0);
        }
    }
}
