//! A count of entries with one writer at a time, or several who take turns by compare-and-swap, on a cache line of its own, and how its
//! readers wait for it.
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
//! wanted = min(wanted, 5)             count = 5
//! heavy fence                         light fence
//! count >= 5? no: publish             5 >= wanted? yes:
//! fence A                             wanted = NOBODY
//! count >= 5 or wanted > 5?           fence B
//! no: sleep                           wake all sleepers of this lane
//! ```
//!
//! - **W1.** A writer that has stored `c` goes to the wait table if `wanted` was announced, with a heavy fence after it, as at
//!   most `c`, unless the sleeper sees `c` itself: the argument of `wait_table/asymmetric.rs`.
//! - **W2.** A writer that goes there resets `wanted` before it wakes, so that its next advances are cheap again, and wakes
//!   everybody on the lane. A sleeper whose count has not come announces itself anew. One that has announced itself just before the
//!   reset, and is not on its chain yet, sees the reset when it is: of fences A and B one comes first. Of several producers any may be
//!   the writer, and two may go there at once, or late: that wakes too many, and nobody too few.
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
use crate::deadline::Deadline;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::wait_table::{AsymmetricFences, Key, Limit, global};
use std::sync::Arc;

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
    /// The count, and [`FINISHED`].
    word: AtomicU64,
    wanted: AtomicU64,
}

impl Lane {
    pub(crate) fn new(
        index: u64,
        name: Arc<str>,
        before: Box<[Arc<Self>]>,
        control: Arc<Control>,
        meter: Option<Meter>,
    ) -> Self {
        let line = Line { word: AtomicU64::new(0), wanted: AtomicU64::new(NOBODY) };
        Self { line, index, fences: control.fences, meter: meter.map(Box::new), before, name, control }
    }

    #[inline]
    pub(crate) fn reached(&self) -> Reached {
        // Ordering: acquire; matches the release in `store`: what was done to the entries is visible.
        Reached(self.line.word.load(Ordering::Acquire))
    }

    /// Sets the count, which must have grown, and wakes those who sleep for it. One thread at a time (R3).
    #[inline]
    pub(super) fn advance_to(&self, count: u64) {
        if self.meter.is_some() {
            self.measure(self.reached().count(), count);
        }
        self.store(count);
    }

    /// Raises the count, if it is `from`, and wakes those who sleep for it; whether it was. For several threads at a time, who have
    /// [measured](Self::measure) their entries before.
    #[inline]
    pub(super) fn advance_from(&self, from: u64, to: u64) -> bool {
        // Ordering: release; matches the acquire in `reached`. SeqCst; see fence D in `draws.rs`.
        let raised = self.line.word.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if raised {
            self.wake_if_wanted(to);
        }
        raised
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
        self.store(count | FINISHED);
    }

    #[inline]
    fn store(&self, word: u64) {
        // Ordering: release; matches the acquire in `reached`.
        self.line.word.store(word, Ordering::Release);
        self.wake_if_wanted(word);
    }

    #[inline]
    fn wake_if_wanted(&self, word: u64) {
        self.fences.light();
        // Ordering: relaxed; ordered by the fences (W1).
        if word >= self.line.wanted.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // Ordering: relaxed; before fence B, which is in `wake_all` (W2).
        self.line.wanted.store(NOBODY, Ordering::Relaxed);
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
                spin_policy::spin_until(SpinFirst::Briefly, deadline, is_over) || self.sleep(count, deadline)
            }
            WaitStrategy::Sleep => self.sleep(count, deadline),
            WaitStrategy::Spin => {
                spin_policy::spin_forever_until(|| is_over() || deadline.has_passed());
                is_over()
            }
        };
        self.outcome(count).unwrap_or_else(|| {
            debug_assert!(!in_time);
            Err(Ended::TimedOut)
        })
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
            self.announce_and_fence(count);
            // Ordering: relaxed; after fence A (W2).
            let is_forgotten = || self.line.wanted.load(Ordering::Relaxed) > count;
            let ends = || self.is_over(count) || is_forgotten();
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

    /// Lowers `wanted` to `count`; what is looked at next is as of then, or later (W1).
    pub(super) fn announce_and_fence(&self, count: u64) {
        let mut wanted = self.line.wanted.load(Ordering::Relaxed);
        while wanted > count {
            // Ordering: relaxed, both; the heavy fence follows.
            match self.line.wanted.compare_exchange_weak(wanted, count, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => wanted = now,
            }
        }
        self.fences.heavy();
    }

    /// Closes the graph on account of whoever writes this lane.
    pub(crate) fn close(&self, reason: fn(Arc<str>) -> Reason) {
        self.control.close(reason(self.name.clone()));
    }
}
