//! Where a table's slots live, in a static or on the heap, and what a table has besides them.

use super::pop_stack::Slot;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sys::fork::Generation;

/// Slots in a static, for a [`WaitTable`](super::WaitTable) that needs no heap: page-aligned, as in the paper.
///
/// They are for one table. Tables that share slots wake each other's waiters or do not, as it happens.
///
/// ```
/// use layby::sys::Native;
/// use layby::wait_table::{Slots, WaitTable};
///
/// static SLOTS: Slots<256> = Slots::new();
/// static TABLE: WaitTable<Native> = WaitTable::from_slots(&SLOTS);
/// assert_eq!(TABLE.wake_all(&TABLE), 0);
/// ```
#[cfg(not(layby_model))]
#[repr(align(4096))]
pub struct Slots<const N: usize>([Slot; N]);

#[cfg(not(layby_model))]
impl<const N: usize> Slots<N> {
    /// Empty slots. `N` must be a power of two; anything else does not compile.
    #[allow(clippy::new_without_default, reason = "a static has no use for `Default`")]
    pub const fn new() -> Self {
        const { assert!(N.is_power_of_two(), "the number of slots must be a power of two") };
        Self([const { Slot::new() }; N])
    }

    /// The notifier's peek, in a static of known size: no load but that of the slot.
    #[inline(always)]
    pub(super) fn is_occupied(&self, hash: u32) -> bool {
        self.0[hash as usize & (N - 1)].is_occupied()
    }
}

#[cfg(not(layby_model))]
impl<const N: usize> core::fmt::Debug for Slots<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Slots").field("len", &N).finish_non_exhaustive()
    }
}

/// A table's slots; their number is a power of two.
pub(super) enum Bank {
    #[cfg(not(layby_model))]
    Static(&'static [Slot]),
    Owned(Box<[Slot]>),
}

impl Bank {
    #[cfg(not(layby_model))]
    pub(super) const fn in_static<const N: usize>(slots: &'static Slots<N>) -> Self {
        Self::Static(&slots.0)
    }

    pub(super) fn owned(slots: usize) -> Self {
        assert!(slots.is_power_of_two(), "the number of slots must be a power of two, not {slots}");
        Self::Owned((0..slots).map(|_| Slot::new()).collect())
    }

    #[inline(always)]
    pub(super) fn slots(&self) -> &[Slot] {
        match self {
            #[cfg(not(layby_model))]
            Self::Static(slots) => slots,
            Self::Owned(slots) => slots,
        }
    }
}

/// What a table has besides slots.
pub(super) struct State {
    generation: Generation,
    alerts: AtomicUsize,
}

impl State {
    /// For a table that has existed since before any fork.
    #[cfg(not(layby_model))]
    pub(super) const fn new() -> Self {
        Self { generation: Generation::new(), alerts: AtomicUsize::new(0) }
    }

    pub(super) fn current() -> Self {
        Self { generation: Generation::current(), alerts: AtomicUsize::new(0) }
    }

    /// Makes the table fit for publishing: a child's first use empties it of its parent's elements and alerts.
    #[inline]
    pub(super) fn enter(&self, slots: &[Slot]) {
        self.generation.enter(|| {
            slots.iter().for_each(Slot::forget_all);
            self.alerts.store(0, Ordering::Relaxed);
        });
    }

    /// Whether the elements in the slots are this process's own. If they are not, nobody waits.
    #[inline]
    pub(super) fn is_current(&self) -> bool {
        self.generation.is_current()
    }

    /// The number of markers in this table's ticket queues. Non-zero sends every post to its slow path.
    #[inline(always)]
    pub(super) fn alerts(&self) -> usize {
        // Ordering: SeqCst, as the peek at a slot.
        self.alerts.load(Ordering::SeqCst)
    }

    pub(super) fn raise_alert(&self) {
        // Ordering: SeqCst; in one order with the peeks.
        self.alerts.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn lower_alert(&self) {
        // Ordering: relaxed; an alert that is seen for too long costs a search.
        self.alerts.fetch_sub(1, Ordering::Relaxed);
    }
}
