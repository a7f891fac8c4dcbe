//! Which of the tickets that have just been granted somebody may wait for, or have left a marker at.
//!
//! Whoever holds tickets waits under the last of them, and a marker is found by its first. A post of a few tickets looks for
//! each of them. One of 2^40 cannot, and that is what a reader-writer lock gives back: a reader takes one of its permits, a
//! writer `ALL`.
//!
//! There it is enough to look where holders may meet. Let a *border* be a place in line before which the tickets of one holder
//! end, and behind which those of the next begin. Count from the first ticket that was granted:
//!
//! ```text
//! first       border    border    border                    border    border                 the end of the line
//! |  the rest |  reader |  reader |  writer, ALL tickets    |  reader |  writer, ALL tickets |
//! 0           r         r + 1     r + 2                     r + 2     r + 3                  r + 3   (and some ALL)
//! ```
//!
//! The rest is what `first` lies in the middle of: tickets of a writer that lacks as many of its `ALL` as there are readers
//! inside. So every border is `r`, and one for each reader before it, and `ALL` for each writer before it. None has more readers
//! before it than the end of the line. With `c` for what is left of the whole line after division by `ALL`:
//!
//! - **B1.** Every border is at `j * ALL + i`, with `i` from 0 to `c`.
//!
//! So the tickets to look for, last ones and first ones, are those from `j * ALL - 1` to `j * ALL + c`: one stretch for each
//! `ALL` that was granted, about as long as there are readers, inside or in line.
//!
//! That needs `r`, and with it all readers in line, to be fewer than `ALL`: with 2^40 it would take a program hours to
//! make more guards than that, and forget them. Where counters are narrow, and `ALL` is small, all tickets are looked for.

use super::word::{NARROW, Word, distance};

/// Tickets that have just been granted at once.
#[derive(Clone, Copy)]
pub(super) struct Granted<const ALL: Word> {
    first: Word,
    n: Word,
    /// How many of them are drawn.
    drawn: Word,
    /// How many tickets of each `ALL` are to be looked for; of the first a border cannot be before.
    width: Word,
}

impl<const ALL: Word> Granted<ALL> {
    /// The `n` tickets from `first` on. `ticket` has been loaded after they were granted.
    #[inline]
    pub(super) fn of(first: Word, n: Word, ticket: Word) -> Self {
        let line = Word::try_from(distance(first, ticket)).unwrap_or(0);
        let width = if ALL == 0 || NARROW { line } else { line % ALL + 1 };
        Self { first, n, drawn: line.min(n), width }
    }

    #[inline]
    pub(super) fn last(self) -> Word {
        self.first.wrapping_add(self.n - 1)
    }

    pub(super) fn contains(self, ticket: Word) -> bool {
        ticket.wrapping_sub(self.first) < self.n
    }

    /// Where to look, as first tickets and how many there are from each on: B1.
    pub(super) fn stretches(self) -> impl DoubleEndedIterator<Item = (Word, Word)> {
        (0..=self.wholes()).map(move |whole| self.stretch(whole))
    }

    /// The tickets of all stretches, in order.
    pub(super) fn tickets(self) -> impl DoubleEndedIterator<Item = Word> {
        self.stretches().flat_map(|(first, n)| (0..n).map(move |offset| first.wrapping_add(offset)))
    }

    fn stretch(self, whole: Word) -> (Word, Word) {
        let border = whole * ALL;
        let start = border.saturating_sub(1);
        let end = self.drawn.min(border.saturating_add(self.width));
        (self.first.wrapping_add(start), end.saturating_sub(start))
    }

    /// At how many tickets, at most.
    pub(super) fn looks(self) -> Word {
        self.drawn.min(self.width.saturating_add(1).saturating_mul(self.wholes() + 1))
    }

    /// How many times `ALL` were granted and drawn.
    fn wholes(self) -> Word {
        if ALL == 0 || NARROW { 0 } else { self.drawn / ALL }
    }
}

/// How many holders have so many tickets, if all are whole.
pub(super) const fn holders_of<const ALL: Word>(tickets: Word) -> Word {
    match ALL {
        0 => tickets,
        _ => tickets / ALL + tickets % ALL,
    }
}

#[cfg(all(test, not(any(layby_model, layby_narrow))))]
mod tests {
    use super::*;

    const ALL: Word = 1001;

    /// Lines of all kinds: the first and the last ticket of everybody in them are looked at, if they were granted.
    #[cfg_attr(miri, ignore = "arithmetic, thousands of times")]
    #[test]
    fn every_border_is_looked_at() {
        let wants = [1, ALL];
        for rest in [0, 1, 7] {
            for line in 0_u32..1 << 7 {
                for n in [1, 2, ALL - 1, ALL, 2 * ALL + 3, 5 * ALL] {
                    let first: Word = Word::MAX - 2000; // tickets wrap
                    let mut border = rest;
                    let mut borders = vec![border];
                    for holder in 0..7 {
                        border += wants[(line >> holder & 1) as usize];
                        borders.push(border);
                    }
                    let granted = Granted::<ALL>::of(first, n, first.wrapping_add(border));
                    let is_looked_at = |offset: Word| {
                        granted.stretches().any(|(start, n)| first.wrapping_add(offset).wrapping_sub(start) < n)
                    };
                    for pair in borders.windows(2) {
                        for ticket in [pair[0], pair[1] - 1] {
                            assert!(ticket >= n || is_looked_at(ticket), "{ticket} of {borders:?}, granted {n}");
                        }
                    }
                    let looks: Word = granted.stretches().map(|(_, n)| n).sum();
                    assert!(looks <= granted.looks(), "{looks} looks, {} announced", granted.looks());
                    assert!(looks <= 6 * (rest + 9), "{looks} looks for {borders:?}, granted {n}");
                }
            }
        }
    }

    #[test]
    fn who_may_take_any_number_is_looked_for_at_each_ticket_that_is_drawn() {
        let stretches = |n, drawn: Word| Granted::<0>::of(5, n, 5 + drawn).stretches().collect::<Vec<_>>();
        assert_eq!(stretches(3, 10), [(5, 3)]);
        assert_eq!(stretches(1000, 2), [(5, 2)]);
        assert_eq!(Granted::<0>::of(5, 3, 2).stretches().collect::<Vec<_>>(), [(5, 0)]);
    }
}
