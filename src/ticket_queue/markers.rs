//! Markers of tickets that were abandoned in the middle of a queue, in cells that are never freed.
//!
//! A marker says: the tickets `first..=last` of the queue at this address have no owner. The thread that takes a marker out
//! takes these tickets over (see [`super::abandoned`]). Neighbouring tickets share one marker, unless they were abandoned at
//! the same moment; so a queue seldom has more markers than it has waiting threads.
//!
//! Cells stand in shards, chosen by the queue's address. A marker is an alert of the queue's table, so that a post, which
//! must look for one each time, pays one load when there are none. A shard whose cells are all taken grows by a block that
//! is never freed; only a thread that gives up ever allocates here.
//!
//! # A cell
//!
//! | state | meaning | next |
//! |---|---|---|
//! | version, `FREE` | no marker | `CLAIMED` by compare-and-swap, with the next version |
//! | version, `CLAIMED` | its claimer writes the fields | `FULL`, stored by the claimer |
//! | version, `FULL` | a marker | `FREE` by compare-and-swap, by the thread that takes it |
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
/// The bits of a cell's state; those above are its version.
const STATE: usize = 3;
/// From one version to the next.
const VERSION: usize = 4;

/// One marker, or room for one.
struct Cell {
    /// Its version and state: the table in the module's documentation.
    state: AtomicUsize,
    /// The queue's address.
    queue: AtomicUsize,
    first: AtomicWord,
    last: AtomicWord,
}

impl Cell {
    const_outside_models! {
        fn new() -> Self {
            Self {
                state: AtomicUsize::new(FREE),
                queue: AtomicUsize::new(0),
                first: AtomicWord::new(0),
                last: AtomicWord::new(0),
            }
        }
    }

    fn try_fill(&self, queue: usize, span: Span) -> bool {
        // Ordering: relaxed; the compare-and-swap decides.
        let seen = self.state.load(Ordering::Relaxed);
        if seen & STATE != FREE {
            return false;
        }
        let version = (seen & !STATE).wrapping_add(VERSION);
        // Ordering: acquire; the last taker's reads of the fields lie before our writes.
        if self.state.compare_exchange(seen, version | CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // Ordering: relaxed; released by the store of FULL.
        self.queue.store(queue, Ordering::Relaxed);
        self.first.store(span.first, Ordering::Relaxed);
        self.last.store(span.last, Ordering::Relaxed);
        // Ordering: SeqCst; the publication of pairs M1 and M2 in `abandoned`.
        self.state.store(version | FULL, Ordering::SeqCst);
        true
    }

    /// Forgets a marker of the parent process, or what one of its threads was in the middle of. Nobody else looks at the
    /// cell meanwhile.
    fn forget(&self) {
        let seen = self.state.load(Ordering::Relaxed);
        self.state.store((seen & !STATE) | FREE, Ordering::Relaxed);
    }

    /// The marker, if there is one of this queue, and the state in which it was seen.
    fn peek(&self, queue: usize) -> Option<(usize, Span)> {
        // Ordering: SeqCst; the search of pairs M1 and M2 in `abandoned`. Acquires the fields.
        let seen = self.state.load(Ordering::SeqCst);
        let is_ours = seen & STATE == FULL && self.queue.load(Ordering::Relaxed) == queue && generation().is_current();
        if !is_ours {
            return None;
        }
        Some((seen, Span { first: self.first.load(Ordering::Relaxed), last: self.last.load(Ordering::Relaxed) }))
    }

    /// Takes the marker out if `wanted`.
    fn try_take(&self, queue: usize, wanted: &impl Fn(Span) -> bool) -> Option<Span> {
        let (seen, span) = self.peek(queue).filter(|(_, span)| wanted(*span))?;
        let free = (seen & !STATE) | FREE;
        // Ordering: release; our reads of the fields lie before the next claimer's writes.
        self.state.compare_exchange(seen, free, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        Some(span)
    }
}

/// Cells of a shard's first block, and of each that it grows by. Arbitrary: more threads than that seldom give up on
/// queues of one shard at the same time.
const CELLS: usize = if IN_A_MODEL { 1 } else { 15 };

/// Cells, and more cells once they have all been taken.
struct Block {
    cells: [Cell; CELLS],
    /// If several threads make one at the same time, one of them wins. Not std's `OnceLock`, where the others wait for it: a
    /// child that was forked meanwhile would wait forever.
    more: OnceBox<Block>,
    /// Not 0 once there is more. Whether a search goes on to the next block is part of the search of pairs M1 and M2, and
    /// must be in one order with the searcher's change; the `OnceBox`'s own acquire is not.
    has_more: AtomicUsize,
}

impl Block {
    const_outside_models! {
        fn new() -> Self {
            Self { cells: cells(), more: OnceBox::new(), has_more: AtomicUsize::new(0) }
        }
    }

    fn fill(&self, queue: usize, span: Span) {
        if !self.cells.iter().any(|cell| cell.try_fill(queue, span)) {
            let more = self.more.get_or_init(|| Box::new(Self::new()));
            // Ordering: SeqCst, before the publication itself.
            self.has_more.store(1, Ordering::SeqCst);
            more.fill(queue, span);
        }
    }

    /// The next block, if there is one.
    fn next(&self) -> Option<&Self> {
        // Ordering: SeqCst, like the load of a cell's state. Acquires `more`.
        if self.has_more.load(Ordering::SeqCst) != 0 { self.more.get() } else { None }
    }

    fn all_cells(&self) -> impl Iterator<Item = &Cell> {
        iter::successors(Some(self), |block| block.next()).flat_map(|block| &block.cells)
    }

    fn take(&self, queue: usize, wanted: &impl Fn(Span) -> bool) -> Option<Span> {
        self.all_cells().find_map(|cell| cell.try_take(queue, wanted))
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

/// The markers of the queues whose addresses fall here. Aligned so that a shard in use does not disturb its neighbours.
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
    pub(super) fn publish(&self, queue: usize, span: Span) {
        generation().enter(|| shards().iter().flat_map(|shard| shard.block.all_cells()).for_each(Cell::forget));
        self.block.fill(queue, span);
    }

    /// Takes out a marker with any of these tickets.
    pub(super) fn take_overlapping(&self, queue: usize, tickets: Span) -> Option<Span> {
        self.block.take(queue, &|span| span.overlaps(tickets))
    }

    /// Takes out a marker that stands next to these tickets, and joins them.
    pub(super) fn take_neighbour(&self, queue: usize, tickets: Span) -> Option<Span> {
        let neighbour = self.block.take(queue, &|span| span.joined(tickets).is_some())?;
        neighbour.joined(tickets)
    }

    /// How many tickets the queue's markers have, at this moment.
    pub(super) fn count(&self, queue: usize) -> Word {
        let spans = self.block.all_cells().filter_map(|cell| cell.peek(queue));
        spans.fold(0, |sum, (_, span)| sum.wrapping_add(span.len()))
    }

    /// Takes out the marker that ends with this ticket.
    pub(super) fn take_ending_with(&self, queue: usize, last: Word) -> Option<Span> {
        self.block.take(queue, &|span| span.last == last)
    }
}

/// A power of two. Arbitrary: 64 shards of 512 bytes.
const SHARDS: usize = if IN_A_MODEL { 1 } else { 64 };

world_static! {
    /// Every queue's abandoned tickets.
    pub(crate) fn shards() -> &'static [Shard; SHARDS] {
        const { [const { Shard::new() }; SHARDS] }
        model { core::array::from_fn(|_| shard_with_blocks()) }
    }
}

world_static! {
    /// Whose markers the cells hold: a child has a copy of its parent's, whose queues may be gone.
    fn generation() -> &'static Generation {
        const { Generation::new() }
        model { Generation::current() }
    }
}

/// A shard whose blocks are made in advance: a model has few threads, and loom does not know that a `OnceBox` makes visible
/// what it holds.
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

/// The shard of the queue at this address.
#[inline]
pub(super) fn shard(queue: usize) -> &'static Shard {
    // A queue is 16 bytes, so its low four address bits say little.
    &shards()[(queue >> 4) & (SHARDS - 1)]
}
