//! Where tasks' elements wait: banks of slots, apart from those of threads.
//!
//! Apart, so that a table without tasks keeps what it promises of signal handlers, allocation and the end of threads: a waker
//! is foreign code, and a picker may have to call those of its slot. A bank is made by the first task that waits, and a
//! larger one when that is crowded:
//!
//! - **K1.** A notifier loads the list of banks after fence B, or after its `SeqCst` change.
//! - **K2.** It looks at every bank. A waiter may publish in any bank that it knows, and takes the newest.
//! - **K3.** An element is withdrawn from the slot where it was published: it knows its bank, and nothing is ever moved.
//! - **K4.** A wake of one chooses one in all banks. Only one that it has chosen itself counts: after a flush in one bank it
//!   goes on and chooses in the next.
//!
//! # Why a notifier sees the bank
//!
//! The waiter has read that the bank is there, or put it there itself, before fence A. If fence A comes before fence B, what
//! the notifier reads after B is not older than what the waiter read before A: the bank, and its element in it. If B comes
//! first, the waiter's check sees the change. The same goes for the flag that tells a notifier to look for banks at all.
//!
//! # When it grows
//!
//! A waiter that finds its slot occupied looks at a few others, now and then. If most of them are occupied, the bank is
//! crowded; if only its own is, then it is the key that is: one key with ten thousand waiters does not make a table
//! grow. A bank is sixteen times larger than the one before, so that there are few to look at; the first has as
//! many slots as the table has for threads. A table of one slot stays as it is: its user wants every collision.
//!
//! With 4,096 slots (32 KiB) the second bank (0.5 MiB) comes with some 6,000 tasks at once, the third (8 MiB) with 100,000, the
//! fourth (128 MiB, the last) with 1.5 million: between 6 and 90 bytes for each task that waits. They stay until the table is
//! dropped. A fork's child forgets its parent's and starts with none; their memory is not given back.
//!
//! # In a row
//!
//! Consecutive tickets have consecutive slots, eight of them on a cache line, and so eight words of an array are on one; those of threads
//! are apart. Threads that wait are few, and each looks at its slot while others change theirs. Tasks may be a million, whose slots are in
//! no cache: those who come and go in order, or in the order in which what they wait on was made, then wait for memory once for several
//! of them.
//!
//! # What one key costs
//!
//! The elements of one key are in one slot of each bank. To leave, or to wake one of them, takes time in proportion to their
//! number, as it does for threads; waking all does not. A primitive that is waited on by very many at a time gives each a key
//! of its own, as the semaphore and the event count do with their tickets.

#![allow(unsafe_code)]

use super::super::{key::Row, pop_stack};
use super::element::TaskElement;
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicPtr, Ordering},
};
use core::{ops::Range, ptr};
#[cfg(not(any(layby_model, layby_coherence)))]
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

/// A slot for tasks.
pub(in super::super) type TaskSlot = pop_stack::Slot<TaskElement>;

/// How many banks a table has at most. With 4,096 slots for threads the limit of slots comes first.
const BANKS: usize = if IN_A_MODEL { 2 } else { 6 };

/// How much larger than the one before a bank is, as a power of two. Arbitrary: few banks, and not too much too soon.
const GROWTH: usize = if IN_A_MODEL { 0 } else { 4 };

/// No bank is larger. Arbitrary: 128 MiB.
const MOST_SLOTS: usize = 1 << 24;

/// A waiter looks at so many slots to tell whether a bank is crowded: if three of four are occupied, there are 1.4 waiters
/// for each slot. One waiter of so many that find their slot occupied does. Both arbitrary.
const SAMPLES: u32 = if IN_A_MODEL { 1 } else { 16 };
const ONE_OF: u32 = if IN_A_MODEL { 1 } else { 16 };

/// The banks of a table, the oldest and smallest first.
pub(in super::super) struct TaskBanks {
    banks: [AtomicPtr<TaskSlot>; BANKS],
    /// Of each one that there is or will be, what is left of a row's number: one less than it has slots.
    masks: [usize; BANKS],
}

impl TaskBanks {
    /// How many there are at most.
    pub(super) const MOST: usize = BANKS;

    #[cfg(not(layby_model))]
    pub(in super::super) const fn new(smallest: usize) -> Self {
        Self { banks: [const { AtomicPtr::new(ptr::null_mut()) }; BANKS], masks: masks_from(smallest) }
    }

    #[cfg(layby_model)]
    pub(in super::super) fn new(smallest: usize) -> Self {
        Self { banks: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())), masks: masks_from(smallest) }
    }

    #[inline]
    fn len_of(&self, bank: usize) -> usize {
        self.masks[bank] + 1
    }

    #[inline]
    fn may_have(&self, bank: usize) -> bool {
        bank == 0 || (bank < BANKS && self.len_of(0) > 1 && self.len_of(bank) <= MOST_SLOTS)
    }

    #[inline]
    fn bank(&self, bank: usize) -> Option<&[TaskSlot]> {
        // Ordering: SeqCst, as the peek at a slot, and acquire: matches the release in `add`.
        let slots = self.banks[bank].load(Ordering::SeqCst);
        // SAFETY: null, or as many slots as `add` has made, which are there until the banks are dropped.
        (!slots.is_null()).then(|| unsafe { core::slice::from_raw_parts(slots, self.len_of(bank)) })
    }

    /// All banks that there are (K2).
    #[inline]
    pub(in super::super) fn all(&self) -> impl Iterator<Item = &[TaskSlot]> {
        self.where_tasks_may_wait().map_while(|bank| self.bank(bank))
    }

    #[inline]
    fn where_tasks_may_wait(&self) -> Range<usize> {
        0..BANKS
    }

    /// The slots of a key in this row (K2).
    #[inline]
    pub(in super::super) fn slots_of(&self, row: Row) -> impl Iterator<Item = &TaskSlot> {
        self.all().map(move |slots| slot_of(slots, row))
    }

    /// The slot of a key in this row, in a bank that is there (K3).
    #[inline]
    pub(in super::super) fn slot_in(&self, bank: usize, row: Row) -> Option<&TaskSlot> {
        // Ordering: relaxed; who has published there has seen the bank.
        let slots = self.banks[bank].load(Ordering::Relaxed);
        // SAFETY: as in `bank`, and the mask is less than their number.
        (!slots.is_null()).then(|| unsafe { &*slots.add(row.0 as usize & self.masks[bank]) })
    }

    /// Where to publish an element of a key in this row; makes a bank if it must. `chance` is a number that differs
    /// from waiter to waiter.
    #[inline(always)]
    pub(in super::super) fn place_for(&self, row: Row, chance: impl FnOnce() -> u32) -> (usize, &TaskSlot) {
        // Most tables have one bank: to look from the first on is shorter.
        let newest = (0..BANKS).map_while(|bank| Some((bank, self.bank(bank)?))).last();
        let (bank, slots) = match newest {
            Some((bank, slots)) if !self.must_grow(bank, slots, row, chance) => (bank, slots),
            Some((bank, _)) => (bank + 1, self.add(bank + 1)),
            None => (0, self.add(0)),
        };
        (bank, slot_of(slots, row))
    }

    #[inline]
    fn must_grow(&self, bank: usize, slots: &[TaskSlot], row: Row, chance: impl FnOnce() -> u32) -> bool {
        slot_of(slots, row).is_occupied()
            && chance().is_multiple_of(ONE_OF)
            && self.may_have(bank + 1)
            && is_crowded(slots, row)
    }

    /// Adds a bank, if nobody else has.
    #[cold]
    fn add(&self, bank: usize) -> &[TaskSlot] {
        let len = self.len_of(bank);
        let new = Box::into_raw(new_slots(len)).cast();
        // Ordering: release; matches the acquire in `bank`: the slots are empty. Acquire on failure, as there. That a notifier
        // sees the bank is fence A's work, which follows.
        let there = self.banks[bank].compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Acquire);
        if there.is_err() {
            // SAFETY: we have just made it, and nobody has seen it.
            drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(new, len)) });
        }
        let slots = there.map_or_else(|others| others, |_| new);
        // SAFETY: as in `bank`.
        unsafe { core::slice::from_raw_parts(slots, len) }
    }

    /// Forgets all banks: those of a parent process. A thread of this one may be about to look at them, so they stay.
    pub(in super::super) fn forget_all(&self) {
        self.banks.iter().for_each(|bank| bank.store(ptr::null_mut(), Ordering::Relaxed));
    }
}

impl Drop for TaskBanks {
    fn drop(&mut self) {
        for bank in 0..BANKS {
            // Ordering: relaxed; whoever added it was done before we got the `&mut`.
            let slots = self.banks[bank].load(Ordering::Relaxed);
            if !slots.is_null() {
                // SAFETY: made by `add` with this length. Nobody waits in a table that is dropped: its futures borrow it.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(slots, self.len_of(bank))) });
            }
        }
    }
}

/// Of banks the first of which has so many slots, a power of two.
const fn masks_from(smallest: usize) -> [usize; BANKS] {
    let (mut masks, mut bank) = ([0; BANKS], 0);
    while bank < BANKS {
        let bits = GROWTH * bank;
        // One that could not be numbered is too large to be made.
        masks[bank] = if bits < smallest.leading_zeros() as usize { (smallest << bits) - 1 } else { usize::MAX - 1 };
        bank += 1;
    }
    masks
}

#[inline]
fn slot_of(slots: &[TaskSlot], row: Row) -> &TaskSlot {
    &slots[row.0 as usize & (slots.len() - 1)]
}

/// Whether most of a few slots are occupied.
#[cold]
fn is_crowded(slots: &[TaskSlot], row: Row) -> bool {
    // Spreads them over the bank: Knuth's multiplicative hashing.
    let sample = |nth: u32| slot_of(slots, Row(row.0.wrapping_add(nth.wrapping_mul(0x9e37_79b9))));
    let occupied = (0..SAMPLES).filter(|nth| sample(*nth).is_occupied()).count();
    occupied * 4 >= SAMPLES as usize * 3
}

/// Empty slots. The operating system has pages of zeros, and gives each when it is first touched.
#[cfg(not(any(layby_model, layby_coherence)))]
fn new_slots(len: usize) -> Box<[TaskSlot]> {
    assert_ne!(len, 0, "a bank has slots");
    let layout = Layout::array::<TaskSlot>(len).expect("a bank fits into memory");
    // SAFETY: the layout has a size.
    let slots = unsafe { alloc_zeroed(layout) }.cast::<TaskSlot>();
    if slots.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: allocated with the layout of such a box. A slot is an atomic pointer, and an empty one is null.
    unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(slots, len)) }
}

#[cfg(any(layby_model, layby_coherence))]
fn new_slots(len: usize) -> Box<[TaskSlot]> {
    (0..len).map(|_| TaskSlot::new()).collect()
}
