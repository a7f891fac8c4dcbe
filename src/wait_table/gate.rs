//! The word that a waiting thread spins and sleeps on: an element's own, or that of a [group](super::group) of elements.
//!
//! | gate | the owner | the element |
//! |---|---|---|
//! | `WAITING` | runs: it publishes, checks its condition, spins, or has left the element lingering | on a chain or in somebody's hands, or about to be |
//! | `SLEEPING` | sleeps, or is on its way to or from sleep | on a chain, or in somebody's hands |
//! | `IN_CROWD` | the same, but on the word of its [crowd](super::crowd) | the same |
//! | `NOTIFIED` | may go | its owner's alone |
//!
//! | transition | by | how |
//! |---|---|---|
//! | any → `WAITING` | the owner, while the element is on no chain | plain store |
//! | `WAITING` → `SLEEPING`, `IN_CROWD` | the owner, before it sleeps | compare-and-swap |
//! | `SLEEPING`, `IN_CROWD` → `WAITING` | the owner, when its deadline has passed | compare-and-swap |
//! | `WAITING`, `SLEEPING`, `IN_CROWD` → `NOTIFIED` | the one notifier that took the element off its chain; of a group, the first of them | swap |
//!
//! The states of a sleeper are what saves system calls: a notifier that finds `WAITING` need not call the kernel, for the owner
//! will check the gate before it sleeps.

#![allow(unsafe_code)]

use super::crowd::Crowd;
use crate::deadline::Deadline;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::{
    atomic::{AtomicU32, Ordering},
    const_outside_models,
};
use crate::sys::Backend;

const WAITING: u32 = 0;
const SLEEPING: u32 = 1;
const NOTIFIED: u32 = 2;
const IN_CROWD: u32 = 3;

/// The word.
pub(super) struct Gate(AtomicU32);

impl Gate {
    const_outside_models! {
        /// A gate that is closed.
        pub(super) fn new() -> Self {
            Self(AtomicU32::new(WAITING))
        }
    }

    /// By the owner, while nobody else can reach it.
    pub(super) fn close(&self) {
        // Ordering: relaxed; the push that follows releases it.
        self.0.store(WAITING, Ordering::Relaxed);
    }

    /// Whether a notifier has opened it.
    #[inline]
    pub(super) fn is_notified(&self) -> bool {
        // Ordering: acquire; matches the swap in `open`. What the notifier did before is visible, and its last access
        // to the element lies in the past.
        self.0.load(Ordering::Acquire) == NOTIFIED
    }

    /// Whether the owner sleeps, or is on its way to or from sleep; for reports.
    pub(super) fn is_asleep(&self) -> bool {
        // Ordering: acquire; matches the release in `wait`: the time is stamped.
        [SLEEPING, IN_CROWD].contains(&self.0.load(Ordering::Acquire))
    }

    /// Waits until notified (`true`) or until the deadline has passed (`false`). Before it sleeps it spins as `spin`
    /// says, and calls `before_sleep`, which may know a crowd to sleep in. Only for the owner.
    ///
    /// A wake by address may be late, and meant for whoever had this memory before: only the word says what has happened.
    #[inline(always)]
    pub(super) fn wait<B: Backend>(
        &self,
        deadline: Deadline,
        spin: SpinFirst,
        before_sleep: impl FnOnce() -> Option<&'static Crowd>,
    ) -> bool {
        let spin = if B::SPINS { spin } else { spin.only_yielding() };
        if spin_policy::spin_until(spin, deadline, || self.is_notified()) {
            return true;
        }
        let crowd = before_sleep();
        let asleep = if crowd.is_some() { IN_CROWD } else { SLEEPING };
        // Ordering: release, for `is_asleep` alone; acquire on failure, as in `is_notified`.
        if self.0.compare_exchange(WAITING, asleep, Ordering::Release, Ordering::Acquire).is_err() {
            return true;
        }
        loop {
            match crowd {
                None => B::wait(&self.0, SLEEPING, deadline.instant()),
                Some(crowd) => self.wait_in::<B>(crowd, deadline),
            }
            if self.is_notified() {
                return true;
            }
            if deadline.has_passed() {
                // If this comes first, the notifier will find WAITING and spare the system call. If the notifier came
                // first, the wake-up counts and the timeout does not. Ordering: acquire on failure, as in `is_notified`.
                return self.0.compare_exchange(asleep, WAITING, Ordering::Relaxed, Ordering::Acquire).is_err();
            }
        }
    }

    /// Sleeps until the crowd is woken, or the deadline has passed; may return early.
    #[cold]
    fn wait_in<B: Backend>(&self, crowd: &Crowd, deadline: Deadline) {
        let wakes = crowd.wakes();
        // Now, and not before (Q1).
        if !self.is_notified() {
            B::wait(crowd.word(), wakes, deadline.instant());
        }
    }

    /// By a notifier. The swap is its last access: the gate's memory may be another's before the next line. So the word's
    /// address is taken before, and [`Backend::wake`] uses it as a name only. A swap, and not a load of the state
    /// followed by a store: the owner may fall asleep between the two, and nobody would wake it.
    ///
    /// # Safety
    /// The gate is there until it is open.
    #[inline]
    pub(super) unsafe fn open(gate: *const Self, order: Ordering) -> Opened {
        // SAFETY: by the caller's promise.
        let word = unsafe { &raw const (*gate).0 };
        // SAFETY: as above; nobody frees the gate before the swap has taken place.
        let before = unsafe { (*word).swap(NOTIFIED, order) };
        Opened { word, before }
    }
}

/// A gate that a notifier has opened, by name.
pub(super) struct Opened {
    word: *const AtomicU32,
    before: u32,
}

impl Opened {
    #[inline]
    pub(super) fn was_open(&self) -> bool {
        self.before == NOTIFIED
    }

    /// Whether its owner sleeps in a crowd.
    #[inline]
    pub(super) fn was_in_crowd(&self) -> bool {
        self.before == IN_CROWD
    }

    /// Who sleeps on it, to be woken by `wake`.
    #[inline]
    pub(super) fn sleeper(&self, wake: fn(*const AtomicU32)) -> Option<Sleeper> {
        (self.before == SLEEPING).then(|| Sleeper::on(self.word, wake))
    }
}

/// A thread that sleeps on a gate that is open.
#[must_use = "a sleeper must be woken"]
#[derive(Clone, Copy)]
pub(super) struct Sleeper {
    word: *const AtomicU32,
    wake: fn(*const AtomicU32),
}

impl Sleeper {
    /// The one that sleeps on this word, to be woken by `wake`.
    #[inline]
    pub(super) fn on(word: *const AtomicU32, wake: fn(*const AtomicU32)) -> Self {
        Self { word, wake }
    }

    #[inline]
    pub(super) fn wake(&self) {
        (self.wake)(self.word);
    }
}
