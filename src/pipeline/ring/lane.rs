//! A count of entries with one writer at a time, on a cache line of its own, and how its readers wait for it. That of several
//! producers is worked out by those who look at it: `draws.rs`.
//!
//! # The protocol
//!
//! A count that is advanced by a plain store, and a word beside it, `wanted`: the smallest count that anybody sleeps for.
//!
//! Wrong, if the sleeper looked at the count before it says what it wants:
//!
//! ```text
//! sleeper, for 5                      writer
//! count >= 5? no
//!                                     count = 5
//!                                     5 >= wanted? no, nobody wants anything
//! wanted = 5, sleep                   (forever)
//! ```
//!
//! Right:
//!
//! ```text
//! sleeper, for 5                      writer
//! resets? r                           count = 5
//! wanted = min(wanted, 5)             light fence
//! heavy fence                         5 >= wanted? yes:
//! count >= 5? no: publish             wanted = NOBODY
//! fence A                             resets = r + 1
//! count >= 5, or resets not r?        fence B
//! no: sleep                           wake all sleepers of this lane
//! ```
//!
//! The resets are counted, because `wanted` does not tell that there was one. Wrong, if a sleeper asks only whether it is still low enough:
//!
//! ```text
//! sleeper s, for 2                    another, t                      writer
//!                                     wanted = 1                      count = 1
//!                                                                     1 >= wanted? yes:
//! wanted is 1: low enough
//! heavy fence; count is 1: publish                                    wanted = NOBODY; wakes t
//! fence A; count >= 2? no
//!                                                                     count = 2; nobody wants anything
//!                                     wanted = 2, on its own account
//! wanted > 2? no: sleep (forever)     heavy fence; count is 2
//! ```
//!
//! - **W1.** A writer that has stored `c` goes to the wait table if `wanted` was announced, with a heavy fence after it, as at
//!   most `c`, unless the sleeper sees `c` itself: the argument of `wait_table/asymmetric.rs`.
//! - **W2.** A writer that goes there resets `wanted` before it wakes, so that its next advances are cheap again, and wakes
//!   everybody on the lane. A sleeper whose count has not come announces itself anew. One that read the number of resets before this
//!   one, and is not on its chain yet, sees the new number when it is: of fences A and B one comes first. One that read the new
//!   number has announced itself after the reset (release and acquire). And if there was none since it read the number, `wanted` has
//!   only been lowered since, and its own heavy fence has followed (W1). Of several producers any may
//!   go there, if the count has come to what is wanted (D3), and two may go there at once, or late: that wakes too many, and nobody too few.
//! - **W3.** Whoever closes the graph wakes all lanes, whatever is wanted; sleepers ask for that, too, after fence A.
//!
//! Fence A comes after the announcement, too, and where the light fence is a `SeqCst` fence it would do for the heavy one. Where the
//! light fence is free, it would not.
//!
//! Tasks do it in another order: W4, in `task.rs`.
//!
//! What is wanted may be out of date: a sleeper that gave up leaves it there. Then a writer goes to the table once for nothing.

#![forbid(unsafe_code)]

use super::super::{Reason, WaitStrategy, control::Control, meter::Meter};
use super::draws::Draws;
use crate::deadline::Deadline;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::wait_table::{AsymmetricFences, Key, Limit, global};
use std::sync::{Arc, OnceLock};

/// Above the count: no more will come. A word with it is larger than any count, so that nobody waits any more.
const FINISHED: u64 = 1 << 63;

/// The largest count: at a billion entries a second it lasts for 146 years.
pub(crate) const MAX: u64 = (1 << 62) - 1;

/// Larger than any word.
const NOBODY: u64 = u64::MAX;

/// A count and whether it is final, as they were when they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reached(u64);

impl Reached {
    #[inline]
    pub(crate) fn count(self) -> u64 {
        self.0 & !FINISHED
    }

    /// Whether a wait for `count` would not be over.
    #[inline]
    pub(crate) fn is_below(self, count: u64) -> bool {
        self.0 < count
    }

    /// Whether no more will come.
    #[inline]
    pub(crate) fn is_final(self) -> bool {
        self.0 & FINISHED != 0
    }
}

/// Why a wait ended without what was waited for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    TimedOut,
    Closed,
}

pub(crate) struct Lane {
    line: Line,
    /// Of several producers.
    draws: OnceLock<Arc<Draws>>,
    index: u64,
    /// Those of `control`.
    fences: AsymmetricFences,
    pub(crate) meter: Option<Box<Meter>>,
    /// Of the places that come right before this one.
    pub(crate) before: Box<[Arc<Lane>]>,
    pub(crate) name: Arc<str>,
    pub(crate) control: Arc<Control>,
}

/// What changes. The lanes of a graph are written at the same time, by different threads.
#[repr(align(128))]
struct Line {
    /// The count, and [`FINISHED`]; not of several producers.
    word: AtomicU64,
    wanted: AtomicU64,
    /// How often `wanted` was reset (W2).
    resets: AtomicU64,
}

impl Lane {
    pub(crate) fn new(
        index: u64,
        name: Arc<str>,
        before: Box<[Arc<Self>]>,
        control: Arc<Control>,
        meter: Option<Meter>,
    ) -> Self {
        let line = Line { word: AtomicU64::new(0), wanted: AtomicU64::new(NOBODY), resets: AtomicU64::new(0) };
        let draws = OnceLock::new();
        Self { line, draws, index, fences: control.fences, meter: meter.map(Box::new), before, name, control }
    }

    /// Before there are several producers.
    pub(super) fn set_draws(&self, draws: &Arc<Draws>) {
        let is_set = self.draws.set(draws.clone());
        debug_assert!(is_set.is_ok(), "their lane had several producers already");
    }

    #[inline]
    pub(crate) fn reached(&self) -> Reached {
        match self.draws.get() {
            // Ordering: acquire; matches the release in `store`: what was done to the entries is visible.
            None => Reached(self.line.word.load(Ordering::Acquire)),
            Some(draws) => Reached(draws.count_up()),
        }
    }

    /// Sets the count, which must have grown, and wakes those who sleep for it. One thread at a time (R3).
    #[inline]
    pub(super) fn advance_to(&self, count: u64) {
        if self.meter.is_some() {
            self.measure(self.reached().count(), count);
        }
        self.store(count);
    }

    /// Measures the entries from `first` to before `end`, which are about to be passed on, if the graph is measured.
    #[inline]
    pub(super) fn measure(&self, first: u64, end: u64) {
        if let Some(meter) = &self.meter {
            meter.note(&self.before, first, end);
        }
    }

    /// Says that this is all. One thread at a time (R3), the last.
    pub(super) fn finish_at(&self, count: u64) {
        let word = count | FINISHED;
        match self.draws.get() {
            None => self.store(word),
            Some(draws) => {
                draws.set_last(word);
                self.wake_if_wanted(word);
            }
        }
    }

    #[inline]
    fn store(&self, word: u64) {
        // Ordering: release; matches the acquire in `reached`.
        self.line.word.store(word, Ordering::Release);
        self.wake_if_wanted(word);
    }

    /// By who has stored `word`, or marked the entries before it: wakes those who sleep for what has been reached so.
    #[inline]
    pub(super) fn wake_if_wanted(&self, word: u64) {
        self.fences.light();
        // Ordering: relaxed; ordered by the fences (W1).
        let wanted = self.line.wanted.load(Ordering::Relaxed);
        if word >= wanted {
            self.wake_if_reached(wanted);
        }
    }

    /// Among several producers somebody else may have to mark an entry first (D3).
    #[cold]
    fn wake_if_reached(&self, wanted: u64) {
        if self.reached().is_below(wanted) {
            return;
        }
        // Ordering: relaxed; released by the next.
        self.line.wanted.store(NOBODY, Ordering::Relaxed);
        // Ordering: release; matches the acquire in `sleep`. Before fence B, which is in `wake_all` (W2).
        self.line.resets.fetch_add(1, Ordering::Release);
        global().wake_all(self.key());
    }

    /// Waits until the count is at least `count`, or final; then it may be less.
    #[inline]
    pub(crate) fn wait_at_least(&self, count: u64, deadline: Deadline) -> Result<Reached, Ended> {
        let reached = self.reached();
        if reached.0 >= count { Ok(reached) } else { self.wait(count, deadline) }
    }

    #[cold]
    fn wait(&self, count: u64, deadline: Deadline) -> Result<Reached, Ended> {
        let is_over = || self.is_over(count);
        let in_time = match self.control.strategy {
            WaitStrategy::SpinThenSleep => {
                spin_policy::spin_until(self.control.spin_first(), deadline, is_over) || self.sleep(count, deadline)
            }
            WaitStrategy::Sleep => self.sleep(count, deadline),
            WaitStrategy::Spin => {
                spin_policy::spin_forever_until(self.line_of(count), || is_over() || deadline.has_passed());
                is_over()
            }
        };
        self.outcome(count).unwrap_or_else(|| {
            debug_assert!(!in_time);
            Err(Ended::TimedOut)
        })
    }

    /// What is written when the count comes to `count`.
    fn line_of(&self, count: u64) -> spin_policy::Line<'_> {
        match self.draws.get() {
            None => spin_policy::Line::of(&self.line.word),
            Some(draws) => spin_policy::Line::of(draws.mark_of(count - 1)),
        }
    }

    fn is_over(&self, count: u64) -> bool {
        self.reached().0 >= count || self.control.is_closed()
    }

    /// How a wait for `count` ends, if it is over.
    pub(super) fn outcome(&self, count: u64) -> Option<Result<Reached, Ended>> {
        let reached = self.reached();
        if self.control.is_closed() { Some(Err(Ended::Closed)) } else { (reached.0 >= count).then_some(Ok(reached)) }
    }

    /// Sleeps until the wait is over (`true`) or the deadline has passed.
    fn sleep(&self, count: u64, deadline: Deadline) -> bool {
        loop {
            // Ordering: acquire; matches the release in `wake_if_reached`: what is announced next comes after that reset.
            let resets = self.line.resets.load(Ordering::Acquire);
            let announced = self.announce_and_fence(count);
            // Ordering: relaxed; after fence A (W2).
            let is_forgotten = || self.line.resets.load(Ordering::Relaxed) != resets;
            let ends = || self.is_over(announced) || is_forgotten();
            let in_time = global().wait_until_at(self.key(), &Limit::at(deadline), ends, SpinFirst::No).is_ok();
            if !in_time || self.is_over(count) {
                return in_time;
            }
        }
    }

    /// What those who sleep for it wait on.
    pub(super) fn key(&self) -> Key {
        self.control.key(self.index)
    }

    /// Lowers `wanted` to `count`; what is looked at next is as of then, or later (W1). Of several producers only to the first number before
    /// `count` that they have not reached (D3). Returns to what.
    pub(super) fn announce_and_fence(&self, count: u64) -> u64 {
        loop {
            let has_several_writers = self.draws.get().is_some();
            let next = self.reached().count() + 1;
            let announced = if has_several_writers { count.min(next) } else { count };
            let mut wanted = self.line.wanted.load(Ordering::Relaxed);
            while wanted > announced {
                // Ordering: relaxed, both; the heavy fence follows.
                match self.line.wanted.compare_exchange_weak(wanted, announced, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => break,
                    Err(now) => wanted = now,
                }
            }
            self.fences.heavy();
            if announced == count || self.reached().is_below(announced) {
                return announced;
            }
        }
    }

    /// Closes the graph on account of whoever writes this lane.
    pub(crate) fn close(&self, reason: fn(Arc<str>) -> Reason) {
        self.control.close(reason(self.name.clone()));
    }
}
