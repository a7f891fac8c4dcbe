//! Where markers live: banks of buckets, each larger than the one before. See [`super::markers`].

use super::{
    levels::Level,
    markers::{Cell, Claim},
    word::Word,
};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicUsize, Ordering},
    const_outside_models, world_static,
};
use once_cell::race::OnceBox;

/// Two queues may meet in a bucket, which is 64 bytes then.
const CELLS: usize = 2;

/// Of the first bank, which is static: 32 KiB. Few under Miri, which goes through all of them whenever a reference is passed on.
const BUCKETS: usize = if IN_A_MODEL {
    1
} else if cfg!(miri) {
    32
} else {
    512
};

/// Of the other static one: 4 KiB.
const SPARE_BUCKETS: usize = if IN_A_MODEL {
    1
} else if cfg!(miri) {
    16
} else {
    64
};

/// So many blocks find room in the first bank, however long their line is. Arbitrary.
pub(super) const FEW_BLOCKS: usize = BUCKETS / 8;

/// By how much a bank is larger than the one before, at least. Arbitrary.
const GROWTH: usize = 4;

/// A model has no spare one.
const STATIC_BANKS: usize = if IN_A_MODEL { 1 } else { 2 };

/// How many banks are made at most: more than memory has room for, or as a model's threads need.
const MOST_LARGER: usize = if cfg!(layby_loom) {
    1
} else if IN_A_MODEL {
    7
} else {
    16
};

/// A bank is made for a line of up to eight million tickets at once: 16 MiB. A longer one finds room in several, of which each is larger
/// than the one before. A model's banks are all of one size.
const LARGEST_LEAP: usize = if IN_A_MODEL {
    BUCKETS
} else if cfg!(miri) {
    4 * BUCKETS
} else {
    1 << 18
};

/// Room for the markers of some blocks. Aligned so that a bucket in use does not disturb its neighbours.
#[repr(align(64))]
struct Bucket([Cell; CELLS]);

impl Bucket {
    #[cfg(not(layby_model))]
    const fn new() -> Self {
        Self([const { Cell::new() }; CELLS])
    }

    #[cfg(layby_model)]
    fn new() -> Self {
        Self(core::array::from_fn(|_| Cell::new()))
    }
}

enum Buckets {
    #[cfg(not(layby_model))]
    Static(&'static [Bucket]),
    Owned(Box<[Bucket]>),
}

/// Some buckets.
pub(crate) struct Bank {
    /// A power of two.
    buckets: Buckets,
    /// How many cells are in use here, from before their markers are published until after they are taken out.
    here: AtomicUsize,
}

impl Bank {
    const_outside_models! {
        fn of(buckets: Buckets) -> Self {
            Self { buckets, here: AtomicUsize::new(0) }
        }
    }

    fn with_buckets(buckets: usize) -> Self {
        Self::of(Buckets::Owned((0..buckets).map(|_| Bucket::new()).collect()))
    }

    #[inline]
    fn buckets(&self) -> &[Bucket] {
        match &self.buckets {
            #[cfg(not(layby_model))]
            Buckets::Static(buckets) => buckets,
            Buckets::Owned(buckets) => buckets,
        }
    }

    /// How many buckets there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.buckets().len()
    }

    /// The bucket of a queue's block. Those of blocks that are further apart than there are buckets are so by chance: blocks whose distance is
    /// a multiple of their number would otherwise all meet in one, in every bank.
    #[inline]
    pub(super) fn bucket(&self, queue: usize, level: Level, block: Word) -> &[Cell; CELLS] {
        let round = (block >> self.len().trailing_zeros()) as usize;
        let start = mixed(queue.wrapping_add(round));
        let place = start.wrapping_add(level.chance()).wrapping_add(block as usize);
        &self.buckets()[place & (self.len() - 1)].0
    }

    /// Any bucket, by its number.
    #[inline]
    pub(super) fn nth(&self, nth: usize) -> &[Cell; CELLS] {
        &self.buckets()[nth].0
    }

    fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.buckets().iter().flat_map(|bucket| &bucket.0)
    }

    /// Claims a cell for a block here, if there is room.
    fn try_claim(&self, queue: usize, level: Level, block: Word) -> Option<Claim<'_>> {
        self.note_publication();
        let claim = self.bucket(queue, level, block).iter().find_map(Cell::try_claim);
        if claim.is_none() {
            self.note_end();
        }
        claim
    }

    /// Whether a line of this length has room here, if it is alone.
    fn is_large_enough_for(&self, line: Word) -> bool {
        places_for(line) <= self.len()
    }

    #[inline]
    fn is_in_use(&self) -> bool {
        // Ordering: SeqCst; part of the search of pairs M1 to M3 in `abandoned`.
        self.here.load(Ordering::SeqCst) != 0
    }

    /// Before a cell is filled here.
    fn note_publication(&self) {
        // Ordering: SeqCst, before the publication itself.
        self.here.fetch_add(1, Ordering::SeqCst);
    }

    /// After a cell has been emptied, or there was no room for it.
    pub(super) fn note_end(&self) {
        // Ordering: relaxed; a bank that is searched for too long costs a look.
        self.here.fetch_sub(1, Ordering::Relaxed);
    }

    /// Empties all banks of what is the parent process's. Nobody else looks at them meanwhile.
    pub(super) fn forget_all() {
        above_singles().store(0, Ordering::Relaxed);
        top_level().store(0, Ordering::Relaxed);
        for bank in all_banks() {
            bank.here.store(0, Ordering::Relaxed);
            bank.cells().for_each(Cell::forget);
        }
    }
}

/// A number for each number: the upper half of the product with the golden ratio, whose lower bits are not even, and so folded.
#[inline]
fn mixed(number: usize) -> usize {
    const GOLDEN_RATIO: usize = (0x9E37_79B9_7F4A_7C15_u64 >> (64 - usize::BITS)) as usize;
    let product = number.wrapping_mul(GOLDEN_RATIO);
    product >> (usize::BITS / 2) ^ product >> (usize::BITS * 11 / 16)
}

/// How many buckets a line of this length goes through, if that is not too many.
fn places_for(line: Word) -> usize {
    let blocks = Level::Tickets(0).block_of(line);
    usize::try_from(blocks).map_or(LARGEST_LEAP, |blocks| blocks.min(LARGEST_LEAP)).next_power_of_two()
}

/// Claims a cell for a block of a line of this length, in the smallest bank that is large enough and has room; makes a bank if there is
/// none.
pub(super) fn claim(queue: usize, level: Level, block: Word, line: Word) -> Claim<'static> {
    let claim_in = |bank: &'static Bank| {
        let is_large_enough = bank.is_large_enough_for(line);
        if is_large_enough { bank.try_claim(queue, level, block) } else { None }
    };
    if let Some(claim) = static_banks().find_map(claim_in) {
        return claim;
    }
    let mut smaller = first_bank();
    for (number, place) in larger_banks().iter().enumerate() {
        // If several threads make one at the same time, one of them wins. Not std's `OnceLock`, where the others wait for it: a child
        // that was forked meanwhile would wait forever.
        let buckets = places_for(line).max(GROWTH * smaller.len());
        let bank = place.get_or_init(|| Box::new(Bank::with_buckets(buckets)));
        // Ordering: SeqCst, before what is published there.
        how_many_larger().fetch_max(number + 1, Ordering::SeqCst);
        if let Some(claim) = claim_in(bank) {
            return claim;
        }
        smaller = bank;
    }
    unreachable!("memory ends before the banks do")
}

/// The banks in which there may be markers, the largest first: if there are several, most markers are there.
#[inline]
pub(super) fn banks() -> impl Iterator<Item = &'static Bank> {
    all_banks().filter(|bank| bank.is_in_use())
}

/// By their numbers, and not one iterator behind another: a post goes through them.
#[inline]
fn all_banks() -> impl Iterator<Item = &'static Bank> {
    let larger = larger_banks_there_are();
    (0..STATIC_BANKS + larger.len()).rev().filter_map(|number| match number.checked_sub(STATIC_BANKS) {
        Some(larger_number) => larger[larger_number].get(),
        None if number + 1 == STATIC_BANKS => Some(first_bank()),
        None => Some(spare_bank()),
    })
}

#[inline]
fn static_banks() -> impl Iterator<Item = &'static Bank> {
    [first_bank(), spare_bank()].into_iter().take(STATIC_BANKS)
}

#[inline]
fn larger_banks_there_are() -> &'static [OnceBox<Bank>] {
    // Ordering: SeqCst, like the load of a cell's state: whether a search goes on is part of it.
    &larger_banks()[..how_many_larger().load(Ordering::SeqCst)]
}

/// Where most markers are: in the largest bank, if it is in use, and otherwise in the first.
#[inline]
pub(super) fn likely_bank() -> &'static Bank {
    // Ordering: relaxed; any bank will do. That its cells are there the `OnceBox` makes visible.
    let largest = how_many_larger().load(Ordering::Relaxed).checked_sub(1).and_then(|last| larger_banks()[last].get());
    largest.filter(|bank| bank.here.load(Ordering::Relaxed) != 0).unwrap_or(first_bank())
}

/// Of all that there are.
#[cfg(all(test, not(layby_model)))]
pub(super) fn buckets() -> usize {
    all_banks().map(Bank::len).sum()
}

world_static! {
    /// How many banks have been made.
    pub(crate) fn how_many_larger() -> &'static AtomicUsize {
        const { AtomicUsize::new(0) }
        model { AtomicUsize::new(MOST_LARGER) }
    }
}

world_static! {
    /// How many cells of higher levels than the first are in use.
    pub(crate) fn above_singles() -> &'static AtomicUsize {
        const { AtomicUsize::new(0) }
        model { AtomicUsize::new(0) }
    }
}

world_static! {
    /// The highest level of which there has been a block.
    pub(crate) fn top_level() -> &'static AtomicUsize {
        const { AtomicUsize::new(0) }
        model { AtomicUsize::new(0) }
    }
}

#[cfg(not(layby_model))]
static FIRST: [Bucket; BUCKETS] = [const { Bucket::new() }; BUCKETS];

#[cfg(not(layby_model))]
static SPARE: [Bucket; SPARE_BUCKETS] = [const { Bucket::new() }; SPARE_BUCKETS];

world_static! {
    /// For three blocks that meet in a bucket of the first. A line in which two threads always overlap, each giving up while the other holds a
    /// later ticket, has a few cells only, but its blocks come by all buckets in time.
    pub(crate) fn spare_bank() -> &'static Bank {
        const { Bank::of(Buckets::Static(&SPARE)) }
        model { Bank::with_buckets(SPARE_BUCKETS) }
    }
}

world_static! {
    /// Where most markers are.
    pub(crate) fn first_bank() -> &'static Bank {
        const { Bank::of(Buckets::Static(&FIRST)) }
        model { Bank::with_buckets(BUCKETS) }
    }
}

world_static! {
    /// Those that are made, each larger than the one before, and than the first.
    pub(crate) fn larger_banks() -> &'static [OnceBox<Bank>; MOST_LARGER] {
        const { [const { OnceBox::new() }; MOST_LARGER] }
        // Made in advance: a model has few threads, and loom does not know that a `OnceBox` makes visible what it holds.
        model { core::array::from_fn(|_| OnceBox::with_value(Box::new(Bank::with_buckets(BUCKETS)))) }
    }
}

/// Whether no cell is in use.
#[cfg(all(test, not(layby_model)))]
pub(super) fn are_empty() -> bool {
    above_singles().load(Ordering::Relaxed) == 0
        && all_banks().all(|bank| bank.here.load(Ordering::Relaxed) == 0 && bank.cells().all(Cell::is_free))
}
