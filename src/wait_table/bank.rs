//! Where a table's slots live, in a static or on the heap, and what a table has besides them.

#[cfg(not(layby_model))]
use super::Invariant;
use super::{
    element::Element,
    key::Row,
    pop_stack,
    task::{TaskBanks, TaskSlot},
};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sys::fork::Generation;
#[cfg(not(layby_model))]
use crate::sys::{Backend, Native};
#[cfg(not(layby_model))]
use core::marker::PhantomData;

/// A slot for threads.
pub(super) type Slot = pop_stack::Slot<Element>;

/// Slots in a static, for a [`WaitTable`](super::WaitTable) that needs no heap: page-aligned, as in the paper.
///
/// They are for one table. Two tables over the same slots wake each other's waiters, but not after a fork: a table of the
/// child empties its slots when it is first used, and forgets who waits in the other; they wait forever. (That is not checked:
/// a mark in the slots would cost a page.)
///
/// ```
/// use layby::sys::Native;
/// use layby::wait_table::{Slots, WaitTable};
///
/// static SLOTS: Slots<256> = Slots::new();
/// static TABLE: WaitTable<Native> = WaitTable::from_slots(&SLOTS);
/// assert_eq!(TABLE.wake_all(&TABLE), 0);
/// ```
///
/// The backend is part of their type: a waiter that sleeps by one backend is not woken by another.
///
/// ```compile_fail,E0308
/// use layby::sys::{Park, Spin};
/// use layby::wait_table::{Slots, WaitTable};
///
/// static SLOTS: Slots<256, Park> = Slots::new();
/// static TABLE: WaitTable<Park> = WaitTable::from_slots(&SLOTS);
/// static ANOTHER: WaitTable<Spin> = WaitTable::from_slots(&SLOTS);
/// ```
#[cfg(not(layby_model))]
#[repr(align(4096))]
pub struct Slots<const N: usize, B: Backend = Native>([Slot; N], Invariant<B>);

#[cfg(not(layby_model))]
impl<const N: usize, B: Backend> Slots<N, B> {
    /// Empty slots. `N` must be a power of two; anything else does not compile.
    #[allow(clippy::new_without_default, reason = "a static has no use for `Default`")]
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N.is_power_of_two(), "the number of slots must be a power of two") };
        Self([const { Slot::new() }; N], PhantomData)
    }

    /// The notifier's peek, in a static of known size: no load but that of the slot.
    #[inline(always)]
    pub(super) fn is_occupied(&self, hash: u32) -> bool {
        self.0[hash as usize & (N - 1)].is_occupied()
    }
}

#[cfg(not(layby_model))]
impl<const N: usize, B: Backend> core::fmt::Debug for Slots<N, B> {
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
    pub(super) const fn in_static<const N: usize, B: Backend>(slots: &'static Slots<N, B>) -> Self {
        Self::Static(&slots.0)
    }

    #[track_caller]
    pub(super) fn owned(slots: usize) -> Self {
        assert!(slots.is_power_of_two(), "layby: the number of slots must be a power of two, not {slots}");
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

/// What a table has besides slots. Aligned so that what a notifier looks at, up to whether there are banks of tasks, is on one cache
/// line.
#[repr(C, align(32))]
pub(super) struct State {
    generation: Generation,
    /// Two for each cell with markers, and one if tasks have waited.
    alerts: AtomicUsize,
    tasks: TaskBanks,
}

const TASKS: usize = 1;
const MARKER: usize = 2;

impl State {
    /// For a table that has existed since before any fork.
    #[cfg(not(layby_model))]
    pub(super) const fn new(slots: usize) -> Self {
        Self { generation: Generation::new(), alerts: AtomicUsize::new(0), tasks: TaskBanks::new(slots) }
    }

    pub(super) fn current(slots: usize) -> Self {
        Self { generation: Generation::current(), alerts: AtomicUsize::new(0), tasks: TaskBanks::new(slots) }
    }

    /// Makes the table fit for publishing: a child's first use empties it of its parent's elements, alerts and banks.
    #[inline]
    pub(super) fn enter(&self, bank: &Bank) {
        self.generation.enter(|| {
            bank.slots().iter().for_each(Slot::forget_all);
            self.alerts.store(0, Ordering::Relaxed);
            self.tasks.forget_all();
        });
    }

    /// Whether the elements in the slots are this process's own. If they are not, nobody waits.
    #[inline]
    pub(super) fn is_current(&self) -> bool {
        self.generation.is_current()
    }

    /// Whether a notifier must look at more than the slots of threads: there are markers in this table's ticket queues, or
    /// tasks wait here, or have waited.
    ///
    /// One word for both: a post looks at it anyway, and where a wake did not, it is one load more of a line that nobody
    /// writes. (The alternative, a flag in the slot of the threads, would cost every task that waits a second line.)
    #[inline(always)]
    pub(super) fn is_alert(&self) -> bool {
        self.seen_alerts() != 0
    }

    /// Whether tasks wait here, or have waited.
    #[inline]
    pub(super) fn has_tasks(&self) -> bool {
        self.seen_alerts() & TASKS != 0
    }

    /// The number of cells with markers of this table's ticket queues.
    #[inline(always)]
    pub(super) fn markers(&self) -> usize {
        self.seen_alerts() / MARKER
    }

    #[inline(always)]
    fn seen_alerts(&self) -> usize {
        // Ordering: SeqCst, as the peek at a slot.
        self.alerts.load(Ordering::SeqCst)
    }

    #[inline]
    pub(super) fn raise_alert(&self) {
        // Ordering: SeqCst; in one order with the peeks.
        self.alerts.fetch_add(MARKER, Ordering::SeqCst);
    }

    #[inline]
    pub(super) fn lower_alert(&self) {
        // Ordering: relaxed; an alert that is seen for too long costs a search.
        self.alerts.fetch_sub(MARKER, Ordering::Relaxed);
    }

    /// The banks of tasks, for a task that will publish: it is seen from now on that there are some.
    #[inline]
    pub(super) fn tasks_to_come(&self) -> &TaskBanks {
        // Ordering: relaxed, both; fence A follows. See `task/banks.rs`, "Why a notifier sees the bank".
        if self.alerts.load(Ordering::Relaxed) & TASKS == 0 {
            self.alerts.fetch_or(TASKS, Ordering::Relaxed);
        }
        &self.tasks
    }

    /// The banks of tasks.
    #[inline]
    pub(super) fn tasks(&self) -> &TaskBanks {
        &self.tasks
    }

    /// The slots of tasks where somebody may wait for a key in this row. For a notifier that has put fence B, or a `SeqCst`
    /// change of the condition, before it.
    #[inline]
    pub(super) fn task_slots_of(&self, row: Row) -> impl Iterator<Item = &TaskSlot> {
        // The generation is read after the place.
        self.tasks.slots_of(row).filter(|slot| slot.is_occupied() && self.is_current())
    }

    /// All slots of tasks where somebody may wait, and their numbers in their banks. As above.
    pub(super) fn occupied_task_slots(&self) -> impl Iterator<Item = (usize, &TaskSlot)> {
        let slots = self.tasks.all().flat_map(|slots| slots.iter().enumerate());
        slots.filter(|(_, slot)| slot.is_occupied() && self.is_current())
    }
}
