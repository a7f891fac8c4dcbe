//! Markers of tickets that were abandoned in the middle of a queue: found by their first and by their last ticket, at the same
//! cost however many there are.
//!
//! A marker says: the tickets `first..=last` of the queue at this address have no owner. The thread that takes a marker out
//! takes these tickets over (see [`super::abandoned`]). Neighbouring tickets share one marker; so a queue has no more markers
//! than it has waiting threads, but for those that are just being joined.
//!
//! A marker is an alert of the queue's table, so that a post, which must look for one each time, pays one load when there are
//! none.
//!
//! # Where a marker is
//!
//! In a cell of the bucket of its first ticket; and the bucket of its last ticket, which may be another, has a *hint*: the
//! cell's number. The cell is the one authority: it is filled by one store and emptied by one compare-and-swap. A hint is
//! there before its cell is filled, and until it has been emptied; who follows it looks whether the cell has what it wants.
//!
//! - **N1.** A marker has a hint. A hint is a number in a place that was 0, put there by the thread that has claimed the cell,
//!   before it fills it. The thread that empties the cell then clears one place *of the same bucket* that has this number.
//!   If the cell is filled again meanwhile, with a hint in that bucket, there are two such places, and it does not matter which
//!   of them is cleared by whom: there are as many as there are markers that need one, and emptied cells whose emptier is
//!   still on its way.
//!
//! Four consecutive tickets of a queue share a bucket, and the next four have the next one, as the queue's tickets march
//! through the buckets from a place that its address gives. So neighbours are found close by, and one queue does not collide
//! with itself before it has gone through all of them: a long one with many markers goes to a bank of as many. A bucket without room also sends a
//! marker on to the next bank, which is larger. Only a thread that gives up ever allocates here, and a bank is never freed.
//! Each bank but the first says how many markers it has, so that nobody looks there when there are none: a storm costs
//! memory, and no time afterwards.
//!
//! # A cell
//!
//! | state | meaning | next |
//! |---|---|---|
//! | version, `FREE` | no marker | `CLAIMED` by compare-and-swap, with the next version |
//! | version, `CLAIMED` | its claimer writes the fields | `FULL`, stored by the claimer; `FREE`, if there is no room for the hint |
//! | version, `FULL` | a marker | `FREE` by compare-and-swap, by the thread that takes it |
//!
//! A taker reads the fields between its load of the state and its compare-and-swap. If that succeeds the fields are those
//! of this version: they are rewritten only after a claim of the next version, which follows a take of this one, and two
//! compare-and-swaps cannot both succeed on one `FULL`.
//!
//! After a fork the child has a copy of all cells, and none of the threads that would take the markers out. The first of its
//! own threads that leaves a marker empties them; until then they are not looked at (see [`crate::sys::fork`]).

use super::{
    marker_banks::{Bank, banks, elsewhere, first_bank},
    word::{AtomicWord, Word},
};
use crate::counters::{self, Event};
use crate::sync::{
    atomic::{AtomicUsize, Ordering},
    const_outside_models, world_static,
};
use crate::sys::fork::Generation;

/// Tickets without an owner, from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: Word,
    pub(super) last: Word,
}

impl Span {
    /// The `n` tickets from `first` on.
    #[inline]
    pub(super) fn of(first: Word, n: Word) -> Self {
        Self { first, last: first.wrapping_add(n - 1) }
    }

    #[inline]
    pub(super) fn len(self) -> Word {
        self.last.wrapping_sub(self.first).wrapping_add(1)
    }

    /// The ticket before the first.
    #[inline]
    pub(super) fn before(self) -> Word {
        self.first.wrapping_sub(1)
    }

    /// The ticket behind the last.
    #[inline]
    pub(super) fn behind(self) -> Word {
        self.last.wrapping_add(1)
    }
}

const FREE: usize = 0;
const CLAIMED: usize = 1;
const FULL: usize = 2;
/// The bits of a cell's state; those above are its version.
const STATE: usize = 3;
/// From one version to the next.
const VERSION: usize = 4;

/// One marker, or room for one.
pub(super) struct Cell {
    /// Its version and state: the table in the module's documentation.
    state: AtomicUsize,
    /// The queue's address.
    queue: AtomicUsize,
    first: AtomicWord,
    last: AtomicWord,
}

/// The version of a cell that the caller has claimed.
pub(super) struct Claim<'a> {
    cell: &'a Cell,
    version: usize,
}

impl Cell {
    const_outside_models! {
        pub(super) fn new() -> Self {
            Self {
                state: AtomicUsize::new(FREE),
                queue: AtomicUsize::new(0),
                first: AtomicWord::new(0),
                last: AtomicWord::new(0),
            }
        }
    }

    pub(super) fn try_claim(&self) -> Option<Claim<'_>> {
        // Ordering: relaxed; the compare-and-swap decides.
        let seen = self.state.load(Ordering::Relaxed);
        if seen & STATE != FREE {
            return None;
        }
        let version = (seen & !STATE).wrapping_add(VERSION);
        // Ordering: acquire; the last taker's reads of the fields lie before our writes.
        self.state.compare_exchange(seen, version | CLAIMED, Ordering::Acquire, Ordering::Relaxed).ok()?;
        Some(Claim { cell: self, version })
    }

    /// Forgets a marker of the parent process, or what one of its threads was in the middle of. Nobody else looks at the
    /// cell meanwhile.
    pub(super) fn forget(&self) {
        let seen = self.state.load(Ordering::Relaxed);
        self.state.store((seen & !STATE) | FREE, Ordering::Relaxed);
    }

    #[cfg(all(test, not(layby_model)))]
    pub(super) fn is_free(&self) -> bool {
        self.state.load(Ordering::Relaxed) & STATE == FREE
    }

    /// The marker, if there is one of this queue, and the state in which it was seen.
    fn peek(&self, queue: usize) -> Option<(usize, Span)> {
        counters::count(Event::MarkerLook);
        // Ordering: SeqCst; the search of pairs M1 to M3 in `abandoned`. Acquires the fields.
        let seen = self.state.load(Ordering::SeqCst);
        let is_ours = seen & STATE == FULL && self.queue.load(Ordering::Relaxed) == queue && generation().is_current();
        if !is_ours {
            return None;
        }
        Some((seen, Span { first: self.first.load(Ordering::Relaxed), last: self.last.load(Ordering::Relaxed) }))
    }
}

impl Claim<'_> {
    pub(super) fn fill(self, queue: usize, span: Span) {
        // Ordering: relaxed; released by the store of FULL.
        self.cell.queue.store(queue, Ordering::Relaxed);
        self.cell.first.store(span.first, Ordering::Relaxed);
        self.cell.last.store(span.last, Ordering::Relaxed);
        // Ordering: SeqCst; the publication of pairs M1 to M3 in `abandoned`.
        self.cell.state.store(self.version | FULL, Ordering::SeqCst);
    }

    pub(super) fn give_up(self) {
        // Ordering: release; passes on what the claim has acquired.
        self.cell.state.store(self.version | FREE, Ordering::Release);
    }
}

/// A marker that was found: where, in which state of its cell, and its tickets.
pub(super) struct Found {
    bank: &'static Bank,
    number: u32,
    seen: usize,
    queue: usize,
    pub(super) span: Span,
}

impl Found {
    fn at(bank: &'static Bank, number: u32, queue: usize) -> Option<Self> {
        let (seen, span) = bank.cell(number).peek(queue)?;
        Some(Self { bank, number, seen, queue, span })
    }

    /// Takes the marker out; `None` if somebody else was faster.
    pub(super) fn take_out(self) -> Option<Span> {
        let cell = self.bank.cell(self.number);
        let free = (self.seen & !STATE) | FREE;
        // Ordering: release; our reads of the fields lie before the next claimer's writes.
        cell.state.compare_exchange(self.seen, free, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        self.bank.clear_hint(self.queue, self.span.last, self.number);
        self.bank.note_end();
        Some(self.span)
    }
}

/// Leaves a marker. The caller has raised the alert before. `line` is for how long a line there should be room.
pub(super) fn publish(queue: usize, span: Span, line: Word) {
    generation().enter(Bank::forget_all);
    let mut bank = first_bank();
    loop {
        if bank.is_large_enough_for(line) {
            bank.note_publication();
            if bank.try_fill(queue, span) {
                return;
            }
            bank.note_end();
        }
        bank = bank.next_for(line);
    }
}

/// Whether there are markers, of whatever queue and table.
#[inline]
pub(super) fn are_there() -> bool {
    // Ordering: relaxed; for markers of queues that are gone, which whoever has the place now has seen go.
    first_bank().is_in_use_at_all() || elsewhere().load(Ordering::Relaxed) != 0
}

/// The marker whose first ticket is this.
pub(super) fn starting_with(queue: usize, first: Word) -> Option<Found> {
    starting_among(queue, first, 1).next()
}

/// The markers whose first ticket is one of the `n` from `first` on.
pub(super) fn starting_among(queue: usize, first: Word, n: Word) -> impl Iterator<Item = Found> {
    let is_among = move |found: &Found| found.span.first.wrapping_sub(first) < n;
    let cells = banks().flat_map(move |bank| bank.cells_of(queue, first, n).map(move |number| (bank, number)));
    cells.filter_map(move |(bank, number)| Found::at(bank, number, queue)).filter(is_among)
}

/// The marker whose last ticket is this.
pub(super) fn ending_with(queue: usize, last: Word) -> Option<Found> {
    let hinted = banks().flat_map(|bank| bank.hinted(queue, last).map(move |number| (bank, number)));
    hinted.filter_map(|(bank, number)| Found::at(bank, number, queue)).find(|found| found.span.last == last)
}

world_static! {
    /// Whose markers the cells hold: a child has a copy of its parent's, whose queues may be gone.
    fn generation() -> &'static Generation {
        const { Generation::new() }
        model { Generation::current() }
    }
}
