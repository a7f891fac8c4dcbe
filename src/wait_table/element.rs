//! One waiting thread: its gate, its link in a chain, and what it waits for.
//!
//! # The gate
//!
//! | gate | the owner | the element |
//! |---|---|---|
//! | `WAITING` | runs: it publishes, checks its condition, spins, or has left the element lingering | on a chain or in somebody's hands, or about to be |
//! | `SLEEPING` | sleeps, or is on its way to or from sleep | on a chain, or in somebody's hands |
//! | `NOTIFIED` | may go | its owner's alone |
//!
//! | transition | by | how |
//! |---|---|---|
//! | any → `WAITING` | the owner, while the element is on no chain | plain store |
//! | `WAITING` → `SLEEPING` | the owner, before it sleeps | compare-and-swap |
//! | `SLEEPING` → `WAITING` | the owner, when its deadline has passed | compare-and-swap |
//! | `WAITING`, `SLEEPING` → `NOTIFIED` | the one notifier that took the element off its chain | swap |
//!
//! The third state is what saves system calls: a notifier that finds `WAITING` need not call the kernel, for the owner
//! will check the gate before it sleeps.

#![allow(unsafe_code)]

use super::{
    Key,
    trace::{Stamp, Trace},
};
use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicPtr, AtomicU32, Ordering},
    cell::UnsafeCell,
    const_outside_models,
};
use crate::sys::Backend;
use core::ptr;

const WAITING: u32 = 0;
const SLEEPING: u32 = 1;
const NOTIFIED: u32 = 2;

/// What an element waits for.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) key: Key,
    /// Whether a wake of one may choose this element as the one. A lingering element must not be: nobody may be waiting
    /// behind it.
    pub(super) selectable: bool,
}

/// One waiting thread. Aligned as in the paper: the spinning owner and its neighbours in memory do not disturb each
/// other, and two low bits of its address are free. In this order: a notifier needs the gate and the link, and finds
/// both on one cache line.
#[repr(C, align(128))]
pub(super) struct Element {
    gate: AtomicU32,
    /// The next older element of the chain. The pop-stack's, once published.
    pub(super) succ: AtomicPtr<Element>,
    label: UnsafeCell<Option<Label>>,
    pub(super) trace: Trace,
}

// SAFETY: `label` is written only by the owner while the element is on no chain, and read only by a thread that has the
// element in its hands. Pushing releases the write and detaching acquires it; setting the gate, or putting back, releases
// the reads, and the owner acquires them before it writes again. The rest is atomic.
unsafe impl Sync for Element {}

impl Element {
    const_outside_models! {
        /// An element that is on no chain.
        pub(super) fn new(label: Option<Label>) -> Self {
            Self {
                gate: AtomicU32::new(WAITING),
                succ: AtomicPtr::new(ptr::null_mut()),
                label: UnsafeCell::new(label),
                trace: Trace::unwritten(),
            }
        }
    }

    /// Makes the element ready to be published again.
    ///
    /// # Safety
    /// The caller is the owner, and the element is on no chain and in nobody's hands.
    pub(super) unsafe fn rearm(&self, label: Label) {
        // Ordering: relaxed; the push that follows releases it.
        self.gate.store(WAITING, Ordering::Relaxed);
        // SAFETY: by the caller's promise nobody else can reach the element.
        self.label.with_mut(|slot| unsafe { *slot = Some(label) });
        self.trace.begin(Stamp::NONE, false);
    }

    /// What the element waits for.
    ///
    /// # Safety
    /// The caller is the owner, or has the element in its hands: detached from its chain and not yet notified.
    pub(super) unsafe fn label(&self) -> Option<Label> {
        // SAFETY: by the caller's promise the owner does not write it now.
        self.label.with(|label| unsafe { *label })
    }

    /// Whether a notifier has released the element to its owner.
    pub(super) fn is_notified(&self) -> bool {
        // Ordering: acquire; matches the swap in `notify`. What the notifier did before is visible, and its last access
        // to the element lies in the past.
        self.gate.load(Ordering::Acquire) == NOTIFIED
    }

    /// Whether the owner sleeps, or is on its way to or from sleep; for reports.
    pub(super) fn is_asleep(&self) -> bool {
        // Ordering: acquire; matches the release in `wait`: the time is stamped.
        self.gate.load(Ordering::Acquire) == SLEEPING
    }

    /// Waits until notified (`true`) or until the deadline has passed (`false`); before it sleeps
    /// it spins as `spin` says.
    ///
    /// Only the owner calls it, and only once the element is published.
    pub(super) fn wait<B: Backend>(&self, deadline: Deadline, spin: SpinFirst) -> bool {
        if spin_policy::spin_until(spin, deadline, || self.is_notified()) {
            return true;
        }
        self.trace.stamp();
        // Ordering: release, for `is_asleep` alone; acquire on failure, as in `is_notified`.
        if self.gate.compare_exchange(WAITING, SLEEPING, Ordering::Release, Ordering::Acquire).is_err() {
            return true;
        }
        loop {
            B::wait(&self.gate, SLEEPING, deadline.instant());
            if self.is_notified() {
                return true;
            }
            if deadline.has_passed() {
                // If this comes first, the notifier will find WAITING and spare the system call. If the notifier came
                // first, the wake-up counts and the timeout does not. Ordering: acquire on failure, as in `is_notified`.
                return self.gate.compare_exchange(SLEEPING, WAITING, Ordering::Relaxed, Ordering::Acquire).is_err();
            }
        }
    }

    /// Releases the element to its owner and wakes it if it sleeps.
    ///
    /// The swap is the last access: the owner may return, and the element's memory may be another's, before the next
    /// line. So the gate's address is taken before, and [`Backend::wake`] uses it as a name only. A swap, and not a
    /// load of the state followed by a store: the owner may fall asleep between the two, and nobody would wake it.
    ///
    /// # Safety
    /// The caller has the element in its hands, and gives it up with this call.
    pub(super) unsafe fn notify<B: Backend>(element: *const Self) {
        // SAFETY: an element in somebody's hands is alive (by invariant I2).
        let gate = unsafe { &raw const (*element).gate };
        // Ordering: release; matches the acquire of the owner. Whatever we read of the element we have read.
        // SAFETY: as above; the element is alive until the swap has taken place.
        let before = unsafe { (*gate).swap(NOTIFIED, Ordering::Release) };
        counters::count(Event::Wake);
        if cfg!(debug_assertions) || IN_A_MODEL {
            assert_ne!(before, NOTIFIED, "an element was notified twice");
        }
        if before == SLEEPING {
            B::wake(gate);
        }
    }
}
