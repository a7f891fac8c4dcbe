//! Where markers live: banks of buckets, each larger than the one before. See [`super::markers`].

use super::{
    counts::Counts,
    markers::{Cell, Span},
    word::Word,
};
use crate::counters::{self, Event};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicU32, AtomicUsize, Ordering},
    const_outside_models, world_static,
};
use crate::wait_table::Key;
use core::{iter, ptr};
use once_cell::race::OnceBox;

/// Two more than a queue needs of each for four tickets whose markers are joined: two queues may meet. A bucket is 128 bytes.
const CELLS: usize = if IN_A_MODEL { 1 } else { 3 };
const HINTS: usize = if IN_A_MODEL { 1 } else { 8 };

/// Four tickets share a bucket.
const TICKET_BITS: u32 = 2;

/// Of the first bank, which is static: 32 KiB. Few under Miri, which goes through all of them whenever a reference is passed on.
const BUCKETS: usize = if IN_A_MODEL {
    1
} else if cfg!(miri) {
    16
} else {
    256
};

/// So many markers find room in the first bank, however long their line is. Arbitrary.
pub(super) const FEW_MARKERS: usize = BUCKETS / 4;

/// By how much a bank is larger than the one before, at least. Arbitrary.
const GROWTH: usize = 4;

/// A bank is made for a line of up to a million tickets at once: 32 MiB. A longer one finds room in several. A model's banks
/// are all of one size.
const LARGEST_LEAP: usize = if IN_A_MODEL { BUCKETS } else { 1 << 18 };

/// Room for the markers that start with certain tickets, and hints at those that end with them. Aligned so that a bucket
/// in use does not disturb its neighbours.
#[repr(align(128))]
struct Bucket {
    cells: [Cell; CELLS],
    /// Numbers of cells of the same bank, or 0.
    hints: [AtomicU32; HINTS],
}

impl Bucket {
    #[cfg(not(layby_model))]
    const fn new() -> Self {
        Self { cells: [const { Cell::new() }; CELLS], hints: [const { AtomicU32::new(0) }; HINTS] }
    }

    #[cfg(layby_model)]
    fn new() -> Self {
        Self { cells: core::array::from_fn(|_| Cell::new()), hints: core::array::from_fn(|_| AtomicU32::new(0)) }
    }
}

enum Buckets {
    #[cfg(not(layby_model))]
    Static(&'static [Bucket]),
    Owned(Box<[Bucket]>),
}

/// Some buckets; more are in the banks beyond.
pub(crate) struct Bank {
    /// A power of two.
    buckets: Buckets,
    /// If several threads make one at the same time, one of them wins. Not std's `OnceLock`, where the others wait for it: a
    /// child that was forked meanwhile would wait forever.
    next: OnceBox<Bank>,
    /// How many markers there are here, from before they are published until after they are taken out.
    here: AtomicUsize,
}

impl Bank {
    const_outside_models! {
        fn of(buckets: Buckets) -> Self {
            Self { buckets, next: OnceBox::new(), here: AtomicUsize::new(0) }
        }
    }

    fn with_buckets(buckets: usize) -> Self {
        Self::of(Buckets::Owned((0..buckets).map(|_| Bucket::new()).collect()))
    }

    fn buckets(&self) -> &[Bucket] {
        match &self.buckets {
            #[cfg(not(layby_model))]
            Buckets::Static(buckets) => buckets,
            Buckets::Owned(buckets) => buckets,
        }
    }

    /// The number of the bucket of a queue's ticket.
    fn place_of(&self, queue: usize, ticket: Word) -> usize {
        let start = Key::of_primitive(ptr::without_provenance::<Counts>(queue)).hash() as usize;
        start.wrapping_add((ticket >> TICKET_BITS) as usize) & (self.buckets().len() - 1)
    }

    /// The numbers of the cells in which a marker can be that starts with one of these tickets.
    pub(super) fn cells_of(&self, queue: usize, first: Word, n: Word) -> impl Iterator<Item = u32> {
        let last = first.wrapping_add(n - 1);
        let more = (last >> TICKET_BITS).wrapping_sub(first >> TICKET_BITS) & (Word::MAX >> TICKET_BITS);
        let places = self.buckets().len();
        let count = usize::try_from(more).map_or(places, |more| places.min(more.saturating_add(1)));
        let start = self.place_of(queue, first);
        (0..count).flat_map(move |nth| numbers_in(start.wrapping_add(nth) & (places - 1)))
    }

    /// The numbers of the cells that may have a marker that ends with this ticket.
    pub(super) fn hinted(&self, queue: usize, last: Word) -> impl Iterator<Item = u32> {
        counters::count(Event::MarkerLook);
        let hints = &self.buckets()[self.place_of(queue, last)].hints;
        hints.iter().map(number_at).filter(|&number| number != 0)
    }

    #[allow(clippy::modulo_one, reason = "a bucket has one cell in a model")]
    pub(super) fn cell(&self, number: u32) -> &Cell {
        let index = number as usize - 1;
        let place = index / CELLS;
        &self.buckets()[place].cells[index - place * CELLS]
    }

    /// Leaves a marker here, if there is room for it and for its hint.
    pub(super) fn try_fill(&self, queue: usize, span: Span) -> bool {
        let mut numbers = numbers_in(self.place_of(queue, span.first));
        let claimed = numbers.find_map(|number| Some((number, self.cell(number).try_claim()?)));
        let Some((number, claim)) = claimed else {
            return false;
        };
        let hints = &self.buckets()[self.place_of(queue, span.last)].hints;
        // Ordering: SeqCst, before the publication itself.
        let hinted =
            hints.iter().any(|hint| hint.compare_exchange(0, number, Ordering::SeqCst, Ordering::Relaxed).is_ok());
        if hinted {
            claim.fill(queue, span)
        } else {
            claim.give_up()
        }
        hinted
    }

    /// Clears the hint of a marker that has been taken out: N1 in [`super::markers`].
    pub(super) fn clear_hint(&self, queue: usize, last: Word, number: u32) {
        let hints = &self.buckets()[self.place_of(queue, last)].hints;
        // Ordering: relaxed; a hint that is seen for too long costs a look. More than one round only if others clear and hint
        // with the same number meanwhile.
        let clear = |hint: &AtomicU32| hint.compare_exchange(number, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        while !hints.iter().any(clear) {}
    }

    /// Whether a line of this length has room here, if it is alone.
    pub(super) fn is_large_enough_for(&self, line: Word) -> bool {
        places_for(line) <= self.buckets().len()
    }

    /// The next bank; it is made if it does not exist, for a line of this length.
    pub(super) fn next_for(&self, line: Word) -> &Self {
        let places = || places_for(line).max(GROWTH * self.buckets().len());
        self.next.get_or_init(|| Box::new(Self::with_buckets(places())))
    }

    fn is_in_use(&self) -> bool {
        // Ordering: SeqCst; part of the search of pairs M1 to M3 in `abandoned`.
        self.here.load(Ordering::SeqCst) != 0
    }

    /// Like [`is_in_use`](Self::is_in_use), of markers that have been there for long.
    #[inline]
    pub(super) fn is_in_use_at_all(&self) -> bool {
        self.here.load(Ordering::Relaxed) != 0
    }

    /// Before a marker is published here.
    pub(super) fn note_publication(&self) {
        // Ordering: SeqCst, before the publication itself; and so below.
        self.here.fetch_add(1, Ordering::SeqCst);
        if !ptr::eq(self, first_bank()) {
            elsewhere().fetch_add(1, Ordering::SeqCst);
        }
    }

    /// After a marker has been taken out, or there was no room for it.
    pub(super) fn note_end(&self) {
        // Ordering: relaxed; a bank that is searched for too long costs a look.
        if !ptr::eq(self, first_bank()) {
            elsewhere().fetch_sub(1, Ordering::Relaxed);
        }
        self.here.fetch_sub(1, Ordering::Relaxed);
    }

    /// Empties all banks of what is the parent process's. Nobody else looks at them meanwhile.
    pub(super) fn forget_all() {
        elsewhere().store(0, Ordering::Relaxed);
        for bank in all_banks() {
            bank.here.store(0, Ordering::Relaxed);
            for bucket in bank.buckets() {
                bucket.cells.iter().for_each(Cell::forget);
                bucket.hints.iter().for_each(|hint| hint.store(0, Ordering::Relaxed));
            }
        }
    }
}

/// The numbers of the cells of a bucket. No number is 0.
fn numbers_in(place: usize) -> impl Iterator<Item = u32> {
    let first = place * CELLS + 1;
    (first..first + CELLS).map(|number| number as u32)
}

/// How many buckets a line of this length goes through, if that is not too many.
fn places_for(line: Word) -> usize {
    usize::try_from(line >> TICKET_BITS).map_or(LARGEST_LEAP, |places| places.min(LARGEST_LEAP)).next_power_of_two()
}

/// The banks in which there may be markers.
pub(super) fn banks() -> impl Iterator<Item = &'static Bank> {
    let beyond = iter::successors(second_bank_if_in_use(), |bank| bank.next.get());
    iter::once(first_bank()).chain(beyond).filter(|bank| bank.is_in_use())
}

fn second_bank_if_in_use() -> Option<&'static Bank> {
    // Ordering: SeqCst, like the load of a cell's state: whether a search goes on is part of it. Acquires the banks.
    if elsewhere().load(Ordering::SeqCst) != 0 { first_bank().next.get() } else { None }
}

fn number_at(hint: &AtomicU32) -> u32 {
    // Ordering: SeqCst; part of the search of pairs M1 to M3 in `abandoned`.
    hint.load(Ordering::SeqCst)
}

fn all_banks() -> impl Iterator<Item = &'static Bank> {
    iter::successors(Some(first_bank()), |bank| bank.next.get())
}

world_static! {
    /// How many markers there are in other banks than the first.
    pub(crate) fn elsewhere() -> &'static AtomicUsize {
        const { AtomicUsize::new(0) }
        model { AtomicUsize::new(0) }
    }
}

#[cfg(not(layby_model))]
static FIRST: [Bucket; BUCKETS] = [const { Bucket::new() }; BUCKETS];

world_static! {
    /// Every queue's markers.
    pub(crate) fn first_bank() -> &'static Bank {
        const { Bank::of(Buckets::Static(&FIRST)) }
        model { banks_of_a_model() }
    }
}

/// Banks that are made in advance: a model has few threads, and loom does not know that a `OnceBox` makes visible what it
/// holds.
#[cfg(layby_model)]
fn banks_of_a_model() -> Bank {
    const BANKS: usize = 4;
    let first = Bank::with_buckets(BUCKETS);
    let mut bank = &first;
    for _ in 1..BANKS {
        bank = bank.next.get_or_init(|| Box::new(Bank::with_buckets(BUCKETS)));
    }
    first
}

/// Whether no cell and no hint is in use.
#[cfg(all(test, not(layby_model)))]
pub(super) fn are_empty() -> bool {
    let is_empty = |bucket: &Bucket| {
        bucket.cells.iter().all(Cell::is_free) && bucket.hints.iter().all(|hint| hint.load(Ordering::Relaxed) == 0)
    };
    elsewhere().load(Ordering::Relaxed) == 0
        && all_banks().all(|bank| bank.here.load(Ordering::Relaxed) == 0 && bank.buckets().iter().all(is_empty))
}
