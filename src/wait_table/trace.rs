//! What an element says about its owner, for reports: who it is, since when it waits, and whether it still does.
//!
//! Nothing of the protocol depends on it. The fields are atomics because the owner writes some of them while the element
//! is published; the orders are relaxed but for the pair at the gate: the owner stamps the time, then releases by the
//! compare-and-swap to `SLEEPING`; who reads `SLEEPING` with acquire reads the stamp. Models do not see them:
//! they would explore them at great cost, and find only that a report may be a moment old.
use crate::sync::{
    atomic::Ordering,
    unchecked_atomic::{AtomicBool, AtomicUsize},
};
use crate::sys::{clock, thread_id};
use core::time::Duration;

/// When a wait first slept, by [`clock::coarse_millis`]; 0 if it has not, or there is no clock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(usize);

impl Stamp {
    pub(super) const NONE: Self = Self(0);

    /// How long ago that was.
    pub(super) fn age(self) -> Option<Duration> {
        let millis = clock::coarse_millis().wrapping_sub(self.0);
        (self != Self::NONE).then(|| Duration::from_millis(millis as u64))
    }
}

/// A time by [`clock::coarse_millis`], in 32 bits: of more than 49 days only the rest is told. 0 as in [`Stamp`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Millis(pub(super) u32);

impl Millis {
    pub(super) fn now() -> Self {
        Self(clock::coarse_millis() as u32)
    }

    /// How long ago that was.
    pub(super) fn age(self) -> Option<Duration> {
        let millis = Self::now().0.wrapping_sub(self.0);
        (self.0 != 0).then(|| Duration::from_millis(millis.into()))
    }
}

pub(super) struct Trace {
    thread: AtomicUsize,
    since: AtomicUsize,
    /// Whether the owner is in a wait, or checks its condition; if not, the element only lingers.
    attended: AtomicBool,
    /// The element's number among those of its chain, by the first report that met it; 0 before. Only for those who have
    /// the element in their hands.
    number: AtomicUsize,
}

impl Trace {
    /// Of an element that is not published yet.
    pub(super) const fn unwritten() -> Self {
        Self {
            thread: AtomicUsize::new(0),
            since: AtomicUsize::new(0),
            attended: AtomicBool::new(false),
            number: AtomicUsize::new(0),
        }
    }

    /// Of an element that is about to be published for the first time, as in [`begin`](Self::begin).
    #[inline]
    pub(super) fn begun(since: Stamp, attended: bool) -> Self {
        Self {
            thread: AtomicUsize::new(thread_id::current()),
            since: AtomicUsize::new(since.0),
            attended: AtomicBool::new(attended),
            ..Self::unwritten()
        }
    }

    /// By the owner, before it publishes: `since` if the wait has slept before, `attended` if it stays.
    #[inline]
    pub(super) fn begin(&self, since: Stamp, attended: bool) {
        self.thread.store(thread_id::current(), Ordering::Relaxed);
        self.since.store(since.0, Ordering::Relaxed);
        self.attended.store(attended, Ordering::Relaxed);
        self.number.store(0, Ordering::Relaxed);
    }

    /// By the owner, before it sleeps.
    #[inline]
    pub(super) fn stamp(&self) {
        if self.since() == Stamp::NONE {
            self.since.store(clock::coarse_millis(), Ordering::Relaxed);
        }
    }

    /// By the owner of an element that may linger, when a wait on it begins.
    #[inline]
    pub(super) fn attend(&self) {
        self.since.store(0, Ordering::Relaxed);
        self.attended.store(true, Ordering::Relaxed);
    }

    /// By the same, when the wait is over.
    #[inline]
    pub(super) fn leave(&self) {
        self.attended.store(false, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn since(&self) -> Stamp {
        Stamp(self.since.load(Ordering::Relaxed))
    }

    pub(super) fn thread(&self) -> usize {
        self.thread.load(Ordering::Relaxed)
    }

    pub(super) fn is_attended(&self) -> bool {
        self.attended.load(Ordering::Relaxed)
    }

    /// For a thread that has the element in hand.
    pub(super) fn number(&self) -> Option<usize> {
        Some(self.number.load(Ordering::Relaxed)).filter(|&number| number != 0)
    }

    /// For a thread that has the element in hand.
    pub(super) fn set_number(&self, number: usize) {
        self.number.store(number, Ordering::Relaxed);
    }
}
