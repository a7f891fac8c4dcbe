//! Tickets by the block: spans of them, blocks and levels of blocks, and which bit stands for what. Numbers, and nothing that is
//! shared. What they are for is in [`super::markers`].

use super::word::{NARROW, Word, distance};
use crate::sync::IN_A_MODEL;

/// Tickets from `first` to `last`.
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

/// How many bits a cell has, as a power of two.
const LEVEL_BITS: u32 = if IN_A_MODEL {
    1
} else if NARROW {
    2
} else {
    5
};

pub(super) const BITS: u32 = 1 << LEVEL_BITS;

/// The highest level whose blocks are smaller than the circle of all tickets.
const LAST_LEVEL: u32 = (Word::BITS - 1) / LEVEL_BITS - 1;

/// What a bit stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// `BITS` to this power of tickets, the first of which is a multiple of that.
    Tickets(u32),
    /// All the tickets of a holder, so many; its bit is that of the first.
    Whole(Word),
}

impl Level {
    /// Where most markers are.
    pub(super) const SINGLE: Self = Self::Tickets(0);

    /// How far the first tickets of neighbouring bits are apart, as a power of two.
    #[inline]
    fn shift(self) -> u32 {
        match self {
            Self::Tickets(level) => level * LEVEL_BITS,
            Self::Whole(_) => 0,
        }
    }

    /// How many tickets a bit stands for.
    #[inline]
    pub(super) fn len(self) -> Word {
        match self {
            Self::Tickets(_) => 1 << self.shift(),
            Self::Whole(all) => all,
        }
    }

    #[inline]
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Whole(_))
    }

    pub(super) fn above(self) -> Option<Self> {
        match self {
            Self::Tickets(level) if level < LAST_LEVEL => Some(Self::Tickets(level + 1)),
            _ => None,
        }
    }

    /// The number of a ticket's block among those of its level.
    #[inline]
    pub(super) fn block_of(self, ticket: Word) -> Word {
        ticket >> (self.shift() + LEVEL_BITS)
    }

    /// So many blocks behind this one. Tickets wrap.
    #[inline]
    pub(super) fn block_behind(self, block: Word, nth: Word) -> Word {
        block.wrapping_add(nth) & self.block_of(Word::MAX)
    }

    /// How many blocks there are from that of `first` to that of `last`, less one. Tickets wrap.
    #[inline]
    pub(super) fn blocks_between(self, first: Word, last: Word) -> Word {
        self.block_of(last).wrapping_sub(self.block_of(first)) & self.block_of(Word::MAX)
    }

    /// A number that blocks of this level alone have: that of the first ticket, with a bit more in the middle.
    #[inline]
    pub(super) fn name_of(self, block: Word) -> Word {
        (block << 1 | 1) << (self.shift() + LEVEL_BITS - 1)
    }

    /// The number of the block with this name, if it is of this level.
    #[inline]
    pub(super) fn block_named(self, name: Word) -> Option<Word> {
        Some(self.block_of(name)).filter(|&block| self.name_of(block) == name)
    }

    /// The place of a ticket's bit in its block.
    #[inline]
    pub(super) fn bit_of(self, ticket: Word) -> u32 {
        (ticket >> self.shift()) as u32 % BITS
    }

    /// The first ticket of a bit of a block.
    #[inline]
    pub(super) fn ticket_at(self, block: Word, bit: u32) -> Word {
        (block << LEVEL_BITS | Word::from(bit)) << self.shift()
    }

    /// The tickets of `count` bits of a block.
    #[inline]
    pub(super) fn span(self, block: Word, bit: u32, count: u32) -> Span {
        let first = self.ticket_at(block, bit);
        Span::of(first, (Word::from(count - 1) << self.shift()) + self.len())
    }

    /// The bits of a block that stand for one of these tickets at least; of wholes, those of their first tickets. Tickets wrap.
    #[inline]
    pub(super) fn bits_among(self, block: Word, first: Word, last: Word) -> Word {
        let (all, number) = (Word::MAX >> self.shift(), |ticket: Word| ticket >> self.shift());
        // Counted from the bit of `first` on: where the block begins, and where the tickets end.
        let start = (block << LEVEL_BITS).wrapping_sub(number(first)) & all;
        let end = number(last).wrapping_sub(number(first)) & all;
        // The tickets may begin before the block or in it.
        let from = if start <= end { 0 } else { all - start + 1 };
        let to = if start <= end { end - start } else { from.saturating_add(end) };
        if from >= Word::from(BITS) {
            return 0;
        }
        run_of(to.min(Word::from(BITS - 1)) as u32 + 1) & !run_of(from as u32)
    }

    /// Of these bits of a block those whose tickets all are before `behind`. None is far from there.
    #[inline]
    pub(super) fn bits_before(self, behind: Word, block: Word, bits: Word) -> Word {
        let first = bits.trailing_zeros().min(BITS - 1);
        let room = distance(self.ticket_at(block, first), behind);
        let Some(room) = Word::try_from(room).ok().and_then(|room| room.checked_sub(self.len())) else {
            return 0;
        };
        bits & run_of((Word::from(first) + (room >> self.shift()) + 1).min(Word::from(BITS)) as u32)
    }

    /// Where a run of these bits ends that goes on behind the last one of `among`: bits that neighbouring tickets have.
    #[inline]
    pub(super) fn run_behind(self, bits: Word, among: Word) -> Word {
        let behind = Word::BITS - among.leading_zeros();
        if among == 0 || self.is_whole() { 0 } else { run_of((bits >> behind).trailing_ones()) << behind }
    }

    /// Moves blocks apart that have the same number.
    #[inline]
    pub(super) fn chance(self) -> usize {
        match self {
            Self::Tickets(level) => level as usize * 0x55,
            Self::Whole(_) => 0x33,
        }
    }
}

/// So many bits, the lowest.
#[inline]
pub(super) fn run_of(count: u32) -> Word {
    (1 << count) - 1
}

/// Tickets that have neighbouring bits in one cell.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) level: Level,
    count: u32,
    pub(super) span: Span,
}

impl Piece {
    /// The first of as few pieces as can be that make up these tickets. A holder takes any number, if `all` is 0, and otherwise one or `all`.
    #[inline]
    pub(super) fn first_of(tickets: Span, all: Word) -> Self {
        if all != 0 && tickets.len() >= all {
            return Self { level: Level::Whole(all), count: 1, span: Span::of(tickets.first, all) };
        }
        if tickets.first == tickets.last {
            return Self { level: Level::SINGLE, count: 1, span: tickets };
        }
        let fits = |level: &Level| tickets.first & (level.len() - 1) == 0 && tickets.len() >= level.len();
        let mut level = Level::SINGLE;
        while let Some(above) = level.above().filter(fits) {
            level = above;
        }
        let room = BITS - level.bit_of(tickets.first);
        let count = (tickets.len() >> level.shift()).min(Word::from(room)) as u32;
        Self { level, count, span: Span::of(tickets.first, level.len() * Word::from(count)) }
    }

    /// The tickets behind it.
    #[inline]
    pub(super) fn rest_of(&self, tickets: Span) -> Option<Span> {
        (self.span.last != tickets.last).then_some(Span { first: self.span.behind(), last: tickets.last })
    }

    #[inline]
    pub(super) fn bits(&self) -> Word {
        run_of(self.count) << self.level.bit_of(self.span.first)
    }
}
