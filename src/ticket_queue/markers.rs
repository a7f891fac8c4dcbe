//! Who has left a line without being last in it: markers of abandoned tickets, in cells that are never freed.
//!
//! A marker says: the tickets `first..=last` of the line at this address have no owner. Whoever takes a marker out takes
//! these tickets over (see [`super::abandoned`]). Neighbouring tickets share one marker, unless they were abandoned at the
//! same moment; so a line seldom has more markers than it has waiting threads.
//!
//! Cells stand in shards, chosen by the line's address. A marker is an alert of the line's table, so that a post, which
//! must look for one each time, pays one load when there are none. A shard whose cells are all taken grows by a block that is
//! never freed; only a thread that gives up ever allocates here.
//!
//! # A cell
//!
//! | state | meaning | next |
//! |---|---|---|
//! | version, `FREE` | no marker | `CLAIMED` by compare-and-swap, with the next version |
//! | version, `CLAIMED` | its claimer writes the fields | `FULL`, stored by the claimer |
//! | version, `FULL` | a marker | `FREE` by compare-and-swap, by whoever takes it |
//!
//! A taker reads the fields between its load of the state and its compare-and-swap. If that succeeds the fields are those
//! of this version: they are rewritten only after a claim of the next version, which follows a take of this one, and two
//! compare-and-swaps cannot both succeed on one `FULL`.
//!
//! After a fork the child has a copy of all cells, and none of the threads that would take the markers out. The first of its
//! own threads that leaves a marker empties them; until then they are not looked at (see [`crate::sys::fork`]).

use super::word::{AtomicWord, Word, before};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicUsize, Ordering},
    const_outside_models, world_static,
};
use crate::sys::fork::Generation;
use core::iter;
use once_cell::race::OnceBox;

/// Tickets without an owner, from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: Word,
    pub(super) last: Word,
}

impl Span {
    pub(super) fn len(self) -> Word {
        self.last.wrapping_sub(self.first).wrapping_add(1)
    }

    fn overlaps(self, other: Self) -> bool {
        !before(self.last, other.first) && !before(other.last, self.first)
    }

    /// The tickets of both, if they stand side by side.
    fn joined(self, other: Self) -> Option<Self> {
        if self.last.wrapping_add(1) == other.first {
            Some(Self { first: self.first, last: other.last })
        } else if other.last.wrapping_add(1) == self.first {
            Some(Self { first: other.first, last: self.last })
        } else {
            None
        }
    }
}

const FREE: usize = 0;
const CLAIMED: usize = 1;
const FULL: usize = 2;
const STATE: usize = 3;
const VERSION: usize = 4;

struct Cell {
    state: AtomicUsize,
    line: AtomicUsize,
    first: AtomicWord,
    last: AtomicWord,
}

impl Cell {
    const_outside_models! {
        fn new() -> Self {
            Self {
                state: AtomicUsize::new(FREE),
                line: AtomicUsize::new(0),
                first: AtomicWord::new(0),
                last: AtomicWord::new(0),
            }
        }
    }

    fn try_fill(&self, line: usize, span: Span) -> bool {
        // Ordering: relaxed; the compare-and-swap decides.
        let seen = self.state.load(Ordering::Relaxed);
        if seen & STATE != FREE {
            return false;
        }
        let version = (seen & !STATE).wrapping_add(VERSION);
        // Ordering: acquire; the last taker's reads of the fields lie before our writes.
        let order = Ordering::Acquire;
        if self.state.compare_exchange(seen, version | CLAIMED, order, Ordering::Relaxed).is_err() {
            return false;
        }
        // Ordering: relaxed; released by the store of FULL.
        self.line.store(line, Ordering::Relaxed);
        self.first.store(span.first, Ordering::Relaxed);
        self.last.store(span.last, Ordering::Relaxed);
        // Ordering: SeqCst; the publication of pairs M1 and M2 in `abandoned`.
        self.state.store(version | FULL, Ordering::SeqCst);
        true
    }

    /// Forgets a marker of a parent process, or what a thread of it was in the middle of. Nobody else looks at the cell
    /// meanwhile.
    fn forget(&self) {
        let seen = self.state.load(Ordering::Relaxed);
        self.state.store((seen & !STATE) | FREE, Ordering::Relaxed);
    }

    /// The marker, if there is one of this line, and the state in which it was seen.
    fn look(&self, line: usize) -> Option<(usize, Span)> {
        // Ordering: SeqCst; the look of pairs M1 and M2 in `abandoned`. Acquires the fields.
        let seen = self.state.load(Ordering::SeqCst);
        let is_ours = seen & STATE == FULL && self.line.load(Ordering::Relaxed) == line && generation().is_current();
        if !is_ours {
            return None;
        }
        Some((seen, Span { first: self.first.load(Ordering::Relaxed), last: self.last.load(Ordering::Relaxed) }))
    }

    /// Takes the marker out if `wanted`.
    fn try_take(&self, line: usize, wanted: &impl Fn(Span) -> bool) -> Option<Span> {
        let (seen, span) = self.look(line).filter(|(_, span)| wanted(*span))?;
        // Ordering: release; our reads of the fields lie before the next claimer's writes.
        let order = Ordering::AcqRel;
        let taken = self.state.compare_exchange(seen, (seen & !STATE) | FREE, order, Ordering::Relaxed).is_ok();
        taken.then_some(span)
    }
}

/// Cells of a shard's first block, and of each that it grows by. Arbitrary: more threads than that seldom give up on
/// lines of one shard at the same time.
const CELLS: usize = if IN_A_MODEL { 1 } else { 15 };

/// Cells, and more cells once they have all been taken.
struct Block {
    cells: [Cell; CELLS],
    /// Of threads that make one at the same time, one wins. Not std's `OnceLock`, where the others wait for it: a child that
    /// was forked meanwhile would wait for ever.
    more: OnceBox<Block>,
    /// Not 0 once there is more. Whether a look goes on to the next block is part of the look of pairs M1 and M2, and
    /// must be in one order with the looker's change; the `OnceBox`' own acquire is not.
    has_more: AtomicUsize,
}

impl Block {
    const_outside_models! {
        fn new() -> Self {
            Self { cells: cells(), more: OnceBox::new(), has_more: AtomicUsize::new(0) }
        }
    }

    fn fill(&self, line: usize, span: Span) {
        if !self.cells.iter().any(|cell| cell.try_fill(line, span)) {
            let more = self.more.get_or_init(|| Box::new(Self::new()));
            // Ordering: SeqCst, before the publication itself.
            self.has_more.store(1, Ordering::SeqCst);
            more.fill(line, span);
        }
    }

    /// The next block, if there is one.
    fn next(&self) -> Option<&Self> {
        // Ordering: SeqCst, as the look at a cell. Acquires `more`.
        let has_more = self.has_more.load(Ordering::SeqCst) != 0;
        if has_more { self.more.get() } else { None }
    }

    fn all_cells(&self) -> impl Iterator<Item = &Cell> {
        iter::successors(Some(self), |block| block.next()).flat_map(|block| &block.cells)
    }

    fn take(&self, line: usize, wanted: &impl Fn(Span) -> bool) -> Option<Span> {
        self.all_cells().find_map(|cell| cell.try_take(line, wanted))
    }
}

#[cfg(not(layby_model))]
const fn cells() -> [Cell; CELLS] {
    [const { Cell::new() }; CELLS]
}

#[cfg(layby_model)]
fn cells() -> [Cell; CELLS] {
    core::array::from_fn(|_| Cell::new())
}

/// The markers of the lines whose addresses fall here. Aligned so that a shard in use does not disturb its neighbours.
#[repr(align(128))]
pub(crate) struct Shard {
    block: Block,
}

impl Shard {
    const_outside_models! {
        fn new() -> Self {
            Self { block: Block::new() }
        }
    }

    /// Leaves a marker. The caller has raised the alert before.
    pub(super) fn publish(&self, line: usize, span: Span) {
        generation().enter(|| shards().iter().flat_map(|shard| shard.block.all_cells()).for_each(Cell::forget));
        self.block.fill(line, span);
    }

    /// Takes out a marker with any of these tickets.
    pub(super) fn take_overlapping(&self, line: usize, tickets: Span) -> Option<Span> {
        self.block.take(line, &|span| span.overlaps(tickets))
    }

    /// Takes out a marker that stands next to these tickets, and joins them.
    pub(super) fn take_neighbour(&self, line: usize, tickets: Span) -> Option<Span> {
        let neighbour = self.block.take(line, &|span| span.joined(tickets).is_some())?;
        neighbour.joined(tickets)
    }

    /// How many tickets the line's markers have, at this moment.
    pub(super) fn count(&self, line: usize) -> Word {
        let spans = self.block.all_cells().filter_map(|cell| cell.look(line));
        spans.fold(0, |sum, (_, span)| sum.wrapping_add(span.len()))
    }

    /// Takes out the marker that ends with this ticket.
    pub(super) fn take_ending_with(&self, line: usize, last: Word) -> Option<Span> {
        self.block.take(line, &|span| span.last == last)
    }
}

/// A power of two. Arbitrary: 64 shards of 512 bytes.
const SHARDS: usize = if IN_A_MODEL { 1 } else { 64 };

world_static! {
    /// Every line's abandoned tickets.
    pub(crate) fn shards() -> &'static [Shard; SHARDS] {
        const { [const { Shard::new() }; SHARDS] }
        model { core::array::from_fn(|_| shard_with_blocks()) }
    }
}

world_static! {
    /// Whose markers the cells hold: a child has a copy of its parent's, whose lines may be gone.
    fn generation() -> &'static Generation {
        const { Generation::new() }
        model { Generation::current() }
    }
}

/// A shard whose blocks are made in advance, for a model has few threads, and loom does not know that a `OnceBox` makes
/// visible what it holds.
#[cfg(layby_model)]
fn shard_with_blocks() -> Shard {
    const BLOCKS: usize = 4;
    let shard = Shard::new();
    let mut block = &shard.block;
    for _ in 1..BLOCKS {
        block = block.more.get_or_init(|| Box::new(Block::new()));
    }
    shard
}

/// The shard of the line at this address.
#[inline]
pub(super) fn shard(line: usize) -> &'static Shard {
    // A line is 16 bytes, so its low four address bits say little.
    &shards()[(line >> 4) & (SHARDS - 1)]
}
