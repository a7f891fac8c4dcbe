//! Markers of tickets that were abandoned in the middle of a queue: a bit each, and found at the same cost however many there are.
//!
//! A marker says: this ticket of this queue has no owner. The thread that takes it out takes the ticket over (see
//! [`super::abandoned`]). The markers of neighbours are in one *cell*, those of a *block* of tickets, so that a run of them is found, and
//! taken out, at once.
//!
//! # A cell
//!
//! One word has the bits and says whose they are, together with fields that do not change as long as there are bits:
//!
//! | state | meaning | next |
//! |---|---|---|
//! | version, no bits | free | `CLAIMED`, by compare-and-swap |
//! | version, `CLAIMED` | its claimer writes the fields | the first bits, stored by the claimer |
//! | version, bits | markers | more bits, by compare-and-swap; or fewer, and the next version; with none it is free |
//!
//! Whoever puts bits in, or takes them out, reads the fields, and what else the decision rests on, between its load of the state and its
//! compare-and-swap. If that succeeds nothing has been taken out in between: the fields are those of these bits, since they are rewritten
//! only when there are none, and the bits are the very markers that were seen. Wrong, if a bit that comes back made the same
//! state:
//!
//! ```text
//! 2 and 3 are drawn; 2 is abandoned                         draws the next ticket, and has loaded it: 2
//!                                                           sees a marker for 2
//! 3 gives up: 3 and 2 are given back, the marker is gone
//!                                                           2 is not drawn: another queue has left its marker
//! 2 and 3 are drawn again, 2 is abandoned: the same bits
//!                                                           takes it out, and forgets it
//! (a permit for 2 is lost)
//! ```
//!
//! A thread that only looks loads the state once more instead.
//!
//! (The version has 31 bits, or 27 where a word has 32: a thread that stops between the two while markers are taken out of this cell just
//! as many times would be deceived.)
//!
//! Two threads may claim a cell each for the same block. A marker is in one of them, and all are looked at.
//!
//! # Levels
//!
//! A line may be long, and most of its tickets abandoned: two threads that overlap, each giving up while the other holds a later ticket,
//! abandon one in each round. So a block that would be full is not kept: whoever has its last bit to put there takes the others out instead,
//! has all of these tickets in hand, and puts one bit for all of them into a block of the next *level*. There, too, a full block goes one level up.
//! So the room that markers take grows with the logarithm of their number where they are neighbours.
//!
//! (Two cells of one block never become full. They do not come one after the other: both claimers must find none at the same moment.)
//!
//! Where a holder takes one ticket or `ALL`, its `ALL` tickets are one bit, that of the first, in a block of *wholes*.
//!
//! # Where a cell is
//!
//! In the bucket of its block. Consecutive blocks have consecutive buckets, from a place that the queue's address gives, until they have gone
//! through all; from there on they begin at another place. So a long line with many markers goes to a bank of as many buckets, and blocks that are
//! far from each other, as those of writers are, meet by chance alone. A
//! bucket without room also sends a block on to the next bank, which is larger. Only a thread that gives up ever allocates here, and a bank is
//! never freed. Each bank says how many cells are in use, so that nobody looks there when there are none: a storm costs
//! memory, and no time afterwards.
//!
//! A cell in use is an alert of the queue's table, so that a post, which must look for a marker each time, pays one load when there are
//! none. It belongs to the table, too: a queue of another one that was made in the same place does not see it.
//!
//! After a fork the child has a copy of all cells, and none of the threads that would take the markers out. The first of its
//! own threads that leaves a marker empties them; until then they are not looked at (see [`crate::sys::fork`]).

use super::{
    counts::Counts,
    levels::{BITS, Level, Piece, Span, run_of},
    marker_banks::{Bank, above_singles, banks, claim, likely_bank, top_level},
    word::{AtomicWord, Word, before},
};
use crate::counters::{self, Event};
use crate::sync::{
    atomic::{AtomicUsize, Ordering},
    const_outside_models, world_static,
};
use crate::sys::fork::Generation;
use crate::wait_table::{Home, Invariant, table_of};
use core::{marker::PhantomData, ptr};

/// The bits of a state that are markers. Above them are `CLAIMED` and the version.
const MARKERS: Word = (1 << BITS) - 1;
const CLAIMED: Word = MARKERS + 1;
/// From one version to the next.
const VERSION: Word = CLAIMED << 1;

/// The markers of one block, or room for them.
pub(super) struct Cell {
    /// The version and the bits: the table in the module's documentation.
    state: AtomicWord,
    /// The address of the queue's table, and one more if these are wholes.
    table: AtomicUsize,
    /// The queue's address.
    queue: AtomicUsize,
    /// The block's name.
    block: AtomicWord,
}

/// The version of a cell that the caller has claimed.
pub(super) struct Claim<'a> {
    cell: &'a Cell,
    version: Word,
}

impl Cell {
    const_outside_models! {
        pub(super) fn new() -> Self {
            Self {
                state: AtomicWord::new(0),
                table: AtomicUsize::new(0),
                queue: AtomicUsize::new(0),
                block: AtomicWord::new(0),
            }
        }
    }

    pub(super) fn try_claim(&self) -> Option<Claim<'_>> {
        // Ordering: relaxed; the compare-and-swap decides.
        let seen = self.state.load(Ordering::Relaxed);
        if seen & (MARKERS | CLAIMED) != 0 {
            return None;
        }
        // Ordering: relaxed; the writes that follow are releases, so that the last taker's reads of the fields lie before them.
        self.state.compare_exchange(seen, seen | CLAIMED, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        Some(Claim { cell: self, version: seen })
    }

    /// Forgets the markers of the parent process, or what one of its threads was in the middle of. Nobody else looks at the
    /// cell meanwhile.
    pub(super) fn forget(&self) {
        let seen = self.state.load(Ordering::Relaxed);
        // Not where there is nothing: the child would copy the page.
        if seen & (MARKERS | CLAIMED) != 0 {
            self.state.store((seen & !(MARKERS | CLAIMED)).wrapping_add(VERSION), Ordering::Relaxed);
        }
    }

    #[cfg(all(test, not(layby_model)))]
    pub(super) fn is_free(&self) -> bool {
        self.state.load(Ordering::Relaxed) & (MARKERS | CLAIMED) == 0
    }

    /// The state and the name of the block, if there are markers.
    #[inline]
    pub(super) fn peek(&self) -> Option<(Word, Word)> {
        counters::count(Event::MarkerLook);
        // Ordering: SeqCst; the search of pairs M1 to M3 in `abandoned`. Acquires the fields.
        let seen = self.state.load(Ordering::SeqCst);
        // Ordering: acquire, and so below; the load of the state in `is_unchanged` comes after them.
        (seen & MARKERS != 0).then(|| (seen, self.block.load(Ordering::Acquire)))
    }

    /// Whether they are markers of this queue, and of this process.
    #[inline]
    fn is_of(&self, table: usize, queue: usize) -> bool {
        self.queue.load(Ordering::Acquire) == queue
            && self.table.load(Ordering::Acquire) == table
            && generation().is_current()
    }

    /// Whether the fields that have been read are those of this state.
    #[inline]
    fn is_unchanged(&self, seen: Word) -> bool {
        self.state.load(Ordering::Relaxed) == seen
    }

    /// Puts these bits in beside those that have been seen, if nothing has changed.
    #[inline]
    pub(super) fn try_mark(&self, seen: Word, bits: Word) -> bool {
        self.try_change(seen, seen | bits)
    }

    /// Takes these bits out of those that have been seen, if nothing has changed.
    #[inline]
    pub(super) fn try_take(&self, seen: Word, bits: Word) -> bool {
        self.try_change(seen, (seen & !bits).wrapping_add(VERSION))
    }

    #[inline]
    fn try_change(&self, seen: Word, state: Word) -> bool {
        // Ordering: SeqCst; the publication of pairs M1 to M3 in `abandoned`. Release; our reads of the fields lie before the next
        // claimer's writes.
        self.state.compare_exchange(seen, state, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }
}

impl Claim<'_> {
    pub(super) fn fill(self, table: usize, queue: usize, block: Word, bits: Word) {
        // Ordering: release, all three; match the loads in `peek` and `is_of`: who reads one of these sees that the cell was claimed. For who
        // finds the bits, the store of the state releases them.
        self.cell.table.store(table, Ordering::Release);
        self.cell.queue.store(queue, Ordering::Release);
        self.cell.block.store(block, Ordering::Release);
        // Ordering: SeqCst; the publication of pairs M1 to M3 in `abandoned`.
        self.cell.state.store(self.version | bits, Ordering::SeqCst);
    }
}

/// What became of a piece that was to be marked.
pub(super) enum Marked {
    Yes,
    /// It was the last of its block. The caller has all tickets of that in hand.
    Full(Span),
}

/// Tickets whose markers have been taken out.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    /// How many.
    pub(super) tickets: Word,
    /// The last of them, or if they were in several cells, of those in one, whichever: what is in hand behind `grant` has no gap.
    pub(super) last: Word,
}

impl Taken {
    #[inline]
    pub(super) fn and(self, others: Self) -> Self {
        let last = if self.tickets == 0 { others.last } else { self.last };
        Self { tickets: self.tickets.wrapping_add(others.tickets), last }
    }
}

/// Markers of one block that have been seen, and where.
#[derive(Clone, Copy)]
struct Seen {
    bank: &'static Bank,
    cell: &'static Cell,
    level: Level,
    state: Word,
    block: Word,
}

impl Seen {
    #[inline]
    fn bits(self) -> Word {
        self.state & MARKERS
    }

    /// What follows for who only looks: the fields may not be those of the state any more.
    fn decide<R>(self, is_found: bool, found: impl FnOnce() -> R) -> Look<R> {
        if !self.cell.is_unchanged(self.state) {
            Look::Again
        } else if is_found {
            Look::Ends(found())
        } else {
            Look::Elsewhere
        }
    }
}

/// How a search goes on that has looked at a cell.
enum Look<R> {
    Ends(R),
    Elsewhere,
    /// The cell has changed.
    Again,
}

/// The markers of one queue, which may be gone.
pub(super) struct Markers<H: Home, const ALL: Word> {
    queue: usize,
    home: Invariant<H>,
}

impl<H: Home, const ALL: Word> Clone for Markers<H, ALL> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: Home, const ALL: Word> Copy for Markers<H, ALL> {}

impl<H: Home, const ALL: Word> Markers<H, ALL> {
    #[inline]
    pub(super) fn of(queue: *const Counts) -> Self {
        Self { queue: queue.addr(), home: PhantomData }
    }

    /// Leaves the marker of a ticket in a cell that has others of its block, where most are, and does not fill that: what
    /// most do, and all that there is to it then. `false` if it cannot.
    #[inline]
    pub(super) fn mark_beside_others(self, ticket: Word) -> bool {
        let block = Level::SINGLE.block_of(ticket);
        for cell in likely_bank().bucket(self.queue, Level::SINGLE, block) {
            if let Some((state, name)) = cell.peek()
                && name == Level::SINGLE.name_of(block)
                && cell.is_of(Self::table(Level::SINGLE), self.queue)
            {
                let bit = 1 << Level::SINGLE.bit_of(ticket);
                return (state | bit) & MARKERS != MARKERS && cell.try_mark(state, bit);
            }
        }
        false
    }

    /// Leaves markers. If they fill a block, it `may_be_joined`; `line` is for how long a line there should be room.
    pub(super) fn mark(
        self,
        piece: Piece,
        may_be_joined: impl Fn(Span) -> bool,
        line: impl FnOnce() -> Word,
    ) -> Marked {
        generation().enter(Bank::forget_all);
        let (level, first) = (piece.level, piece.span.first);
        let marked = self.find_of(level, first, |seen| {
            let all = seen.bits() | piece.bits();
            let block = || level.span(seen.block, 0, BITS);
            if all == MARKERS && level.above().is_some() && may_be_joined(block()) {
                if Self::take(seen, seen.bits()) { Look::Ends(Marked::Full(block())) } else { Look::Again }
            } else if seen.cell.try_mark(seen.state, piece.bits()) {
                Look::Ends(Marked::Yes)
            } else {
                Look::Again
            }
        });
        marked.unwrap_or_else(|| {
            self.mark_in_a_new_cell(piece, line());
            Marked::Yes
        })
    }

    fn mark_in_a_new_cell(self, piece: Piece, line: Word) {
        if let Level::Tickets(level @ 1..) = piece.level {
            // Ordering: relaxed; released by the addition.
            top_level().fetch_max(level as usize, Ordering::Relaxed);
            // Ordering: SeqCst, before the publication itself; and so below.
            above_singles().fetch_add(1, Ordering::SeqCst);
        }
        // Before the marker, so that the thread that takes it out has an alert to lower.
        table_of::<H>().raise_alert();
        let block = piece.level.block_of(piece.span.first);
        let name = piece.level.name_of(block);
        claim(self.queue, piece.level, block, line).fill(Self::table(piece.level), self.queue, name, piece.bits());
    }

    /// Takes out the marker of a ticket, and those that follow it in its cell. Only such as stand for tickets before `behind`, which
    /// is asked for when they have been seen.
    pub(super) fn take_from(self, ticket: Word, behind: impl Fn() -> Word) -> Option<Span> {
        self.find_at(ticket, |seen| {
            let bit = seen.level.bit_of(ticket);
            let own = seen.bits() & (1 << bit);
            let run = own | seen.level.run_behind(seen.bits(), own);
            let run = if own == 0 { 0 } else { seen.level.bits_before(behind(), seen.block, run) };
            if run == 0 {
                return Look::Elsewhere;
            }
            let span = seen.level.span(seen.block, bit, run.count_ones());
            if Self::take(seen, run) { Look::Ends(span) } else { Look::Again }
        })
    }

    /// Takes out the markers in one cell that end with this ticket: the whole run, if no more than its first ticket is before `granted`, or
    /// else that part of it of which none is.
    pub(super) fn take_up_to(self, last: Word, granted: impl Fn() -> Word) -> Option<Span> {
        let taken = self.find_ending_with(last, |seen, bit| {
            let run = (seen.bits() << (Word::BITS - 1 - bit)).leading_ones();
            let mut count = if seen.level.is_whole() { run.min(1) } else { run };
            if count == 0 {
                return Look::Elsewhere;
            }
            let (span, granted) = (|count| seen.level.span(seen.block, bit + 1 - count, count), granted());
            if before(span(count).first.wrapping_add(1), granted) {
                while count != 0 && before(span(count).first, granted) {
                    count -= 1;
                }
            }
            if count == 0 {
                seen.decide(true, || None)
            } else if Self::take(seen, run_of(count) << (bit + 1 - count)) {
                Look::Ends(Some(span(count)))
            } else {
                Look::Again
            }
        });
        taken.flatten()
    }

    /// Takes out the markers of a ticket, of the one before, and those that follow it in its cell. Only such as stand for tickets before
    /// `behind`, as above. Each post looks: most often all is in one block, and no level above is in use.
    #[inline]
    pub(super) fn take_at(self, ticket: Word, behind: impl Fn() -> Word) -> Taken {
        let (block, bit) = (Level::SINGLE.block_of(ticket), Level::SINGLE.bit_of(ticket));
        if bit == 0 {
            return self.take_among(Span::of(ticket.wrapping_sub(1), 2), behind);
        }
        let (mut taken, pair) = (Taken::default(), 0b11 << (bit - 1));
        self.find_any_of(Level::SINGLE, block, pair, |seen| {
            Self::take_run(seen, seen.bits() & pair, ticket, behind(), &mut taken)
        });
        if ALL == 0 && highest_level() == 0 {
            return taken;
        }
        self.take_above(Span::of(ticket.wrapping_sub(1), 2), behind, taken)
    }

    /// Takes out the markers of these tickets, and those that follow the last of them in its cell. Only such as stand for tickets before
    /// `behind`, as above.
    #[inline(never)]
    pub(super) fn take_among(self, tickets: Span, behind: impl Fn() -> Word) -> Taken {
        let mut taken = Taken::default();
        self.for_each_at(Level::SINGLE, tickets, &mut |seen, among| {
            Self::take_run(seen, among, tickets.last, behind(), &mut taken)
        });
        self.take_above(tickets, behind, taken)
    }

    /// The same, in the levels above.
    #[inline(never)]
    fn take_above(self, tickets: Span, behind: impl Fn() -> Word, mut taken: Taken) -> Taken {
        Self::levels_above().for_each(|level| {
            self.for_each_at(level, tickets, &mut |seen, among| {
                Self::take_run(seen, among, tickets.last, behind(), &mut taken)
            });
        });
        taken
    }

    /// Takes out these markers of a cell, and if that of the ticket `last` is one of them, those that follow it. Only such as stand for
    /// tickets before `behind`.
    #[inline]
    fn take_run(seen: Seen, among: Word, last: Word, behind: Word, taken: &mut Taken) -> Look<()> {
        if among == 0 {
            return Look::Elsewhere;
        }
        // In a block before that of the last the run ends with the block.
        let has_last = among >> seen.level.bit_of(last) & 1 != 0;
        let run = if has_last { seen.level.run_behind(seen.bits(), among) } else { 0 };
        let chosen = seen.level.bits_before(behind, seen.block, among | run);
        if chosen == 0 {
            return Look::Elsewhere;
        }
        if !Self::take(seen, chosen) {
            return Look::Again;
        }
        *taken = taken.and(Taken {
            tickets: Word::from(chosen.count_ones()) * seen.level.len(),
            last: seen.level.span(seen.block, chosen.ilog2(), 1).last,
        });
        Look::Elsewhere
    }

    /// Takes out the markers of these tickets, unless the last ticket for which one stands `is_own`.
    pub(super) fn drop_among(self, tickets: Span, mut is_own: impl FnMut(Word) -> bool) {
        self.for_each_among(tickets, |seen, among| {
            let bits = (0..BITS).filter(|bit| among >> bit & 1 != 0);
            let others = bits.filter(|&bit| !is_own(seen.level.span(seen.block, bit, 1).last));
            let others = others.fold(0, |others, bit| others | 1 << bit);
            if others == 0 || Self::take(seen, others) { Look::Elsewhere } else { Look::Again }
        });
    }

    /// For how many tickets the markers stand of these tickets. Advice.
    pub(super) fn count_among(self, tickets: Span) -> Word {
        let mut sum: Word = 0;
        self.for_each_among(tickets, |seen, among| {
            sum = sum.wrapping_add(Word::from(among.count_ones()).wrapping_mul(seen.level.len()));
            Look::Elsewhere
        });
        sum
    }

    /// Whether there is a marker of this ticket. In a queue without wholes, as the next two.
    pub(super) fn has(self, ticket: Word) -> bool {
        self.find_at(ticket, |seen| seen.decide(seen.bits() >> seen.level.bit_of(ticket) & 1 != 0, || ())).is_some()
    }

    /// The first ticket from this one on of which there is no marker.
    pub(super) fn behind_run_from(self, mut ticket: Word) -> Word {
        let run_at = |ticket| {
            self.find_at(ticket, |seen| {
                let bit = seen.level.bit_of(ticket);
                let run = (seen.bits() >> bit).trailing_ones();
                seen.decide(run != 0, || seen.level.span(seen.block, bit, run))
            })
        };
        while let Some(run) = run_at(ticket) {
            ticket = run.behind();
        }
        ticket
    }

    /// Whether there are markers of all tickets from `first` to `last`.
    pub(super) fn has_all(self, first: Word, mut last: Word) -> bool {
        let run_to = |last| {
            self.find_at(last, |seen| {
                let bit = seen.level.bit_of(last);
                let run = (seen.bits() << (Word::BITS - 1 - bit)).leading_ones();
                seen.decide(run != 0, || seen.level.span(seen.block, bit + 1 - run, run))
            })
        };
        loop {
            match run_to(last) {
                Some(run) if before(first, run.first) => last = run.before(),
                found => return found.is_some(),
            }
        }
    }

    /// Takes bits out of a cell; `false` if it has changed.
    #[inline]
    fn take(seen: Seen, bits: Word) -> bool {
        let taken = seen.cell.try_take(seen.state, bits);
        if taken && seen.bits() == bits {
            if let Level::Tickets(1..) = seen.level {
                // Ordering: relaxed; levels that are searched for too long cost a look.
                above_singles().fetch_sub(1, Ordering::Relaxed);
            }
            table_of::<H>().lower_alert();
            seen.bank.note_end();
        }
        taken
    }

    /// Looks at all cells in which the marker of a ticket may be.
    #[inline]
    fn find_at<R>(self, ticket: Word, mut look: impl FnMut(Seen) -> Look<R>) -> Option<R> {
        let found = self.find_of(Level::SINGLE, ticket, &mut look);
        found.or_else(|| Self::levels_above().find_map(|level| self.find_of(level, ticket, &mut look)))
    }

    /// Looks at all cells in which a marker may be whose last ticket is this, with the place of its bit there.
    fn find_ending_with<R>(self, last: Word, look: impl Fn(Seen, u32) -> Look<R>) -> Option<R> {
        Self::levels().find_map(|level| {
            let first = last.wrapping_add(1).wrapping_sub(level.len());
            let bit = level.bit_of(first);
            let is_there = level.ticket_at(level.block_of(first), bit) == first;
            if is_there { self.find_of(level, first, |seen| look(seen, bit)) } else { None }
        })
    }

    /// Looks at all cells in which the block of a ticket may be.
    #[inline]
    fn find_of<R>(self, level: Level, ticket: Word, look: impl FnMut(Seen) -> Look<R>) -> Option<R> {
        self.find_any_of(level, level.block_of(ticket), MARKERS, look)
    }

    /// Looks at all cells in which the block may be, and at least one of these bits of it is.
    #[inline]
    fn find_any_of<R>(self, level: Level, block: Word, bits: Word, mut look: impl FnMut(Seen) -> Look<R>) -> Option<R> {
        let name = level.name_of(block);
        for bank in banks() {
            for cell in bank.bucket(self.queue, level, block) {
                while let Some((state, its)) = cell.peek()
                    && state & bits != 0
                    && its == name
                    && cell.is_of(Self::table(level), self.queue)
                {
                    match look(Seen { bank, cell, level, state, block }) {
                        Look::Ends(found) => return Some(found),
                        Look::Elsewhere => break,
                        Look::Again => {}
                    }
                }
            }
        }
        None
    }

    /// Looks at all cells in which markers of these tickets may be, and says which of the bits there are theirs.
    #[inline]
    fn for_each_among(self, tickets: Span, mut look: impl FnMut(Seen, Word) -> Look<()>) {
        self.for_each_at(Level::SINGLE, tickets, &mut look);
        Self::levels_above().for_each(|level| self.for_each_at(level, tickets, &mut look));
    }

    #[inline(always)]
    fn for_each_at(self, level: Level, tickets: Span, look: &mut impl FnMut(Seen, Word) -> Look<()>) {
        let (start, more) = (level.block_of(tickets.first), level.blocks_between(tickets.first, tickets.last));
        for bank in banks() {
            // In a bank with fewer buckets than there are blocks, in all.
            let is_each_looked_for = more < bank.len() as Word;
            let buckets = if is_each_looked_for { more + 1 } else { bank.len() as Word };
            for nth in 0..buckets {
                let wanted = level.block_behind(start, nth);
                let bucket =
                    if is_each_looked_for { bank.bucket(self.queue, level, wanted) } else { bank.nth(nth as usize) };
                for cell in bucket {
                    // Other blocks may be there as well, which have their turn, or have had it.
                    while let Some((state, name)) = cell.peek()
                        && let Some(block) = level.block_named(name)
                        && (block == wanted || !is_each_looked_for)
                        && cell.is_of(Self::table(level), self.queue)
                    {
                        let seen = Seen { bank, cell, level, state, block };
                        let among = level.bits_among(block, tickets.first, tickets.last) & seen.bits();
                        if !matches!(look(seen, among), Look::Again) {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Where markers may be.
    fn levels() -> impl Iterator<Item = Level> {
        core::iter::once(Level::SINGLE).chain(Self::levels_above())
    }

    #[inline]
    fn levels_above() -> impl Iterator<Item = Level> {
        let whole = (ALL != 0).then_some(Level::Whole(ALL));
        (1..=highest_level()).map(Level::Tickets).chain(whole)
    }

    /// What cells have as the table.
    #[inline]
    fn table(level: Level) -> usize {
        ptr::from_ref(table_of::<H>()).addr() | usize::from(level.is_whole())
    }
}

#[inline]
fn highest_level() -> u32 {
    // Ordering: SeqCst; part of the search of pairs M1 to M3 in `abandoned`.
    if above_singles().load(Ordering::SeqCst) == 0 {
        return 0;
    }
    // Ordering: relaxed; the load above has acquired it.
    top_level().load(Ordering::Relaxed) as u32
}

world_static! {
    /// Whose markers the cells hold: a child has a copy of its parent's, whose queues may be gone.
    fn generation() -> &'static Generation {
        const { Generation::new() }
        model { Generation::current() }
    }
}
