//! Waking those whose tickets have been granted.

use super::{
    counts::Counts,
    waiting::NEAR,
    word::{Word, key_of},
};
use crate::counters::{self, Event};
use crate::sys::cpus;
use crate::wait_table::Home;

/// How far behind the ticket that it grants a post finds the one that is near from then on.
pub(super) const STAGED: Word = NEAR.cast_unsigned();

/// Wakes the holders of the `n` tickets from `first` on, which have just been granted, and makes the one behind them ready.
/// The queue is not touched: it may be gone.
///
/// If there are more tickets than the table has slots, they share slots: each slot is peeked at once.
pub(super) fn wake_holders<H: Home>(queue: *const Counts, first: Word, n: Word) {
    let last = first.wrapping_add(n - 1);
    let staged = key_of(queue, last.wrapping_add(STAGED));
    // Looked for before anybody is woken: a holder that is back in line before this thread goes on must not be disturbed.
    let stages = cpus::count() > 1 && H::is_occupied(staged.hash());
    let slots = Word::try_from(H::table().slots()).unwrap_or(Word::MAX);
    for offset in 0..n.min(slots) {
        H::table().wake_all_seqcst(key_of(queue, first.wrapping_add(offset)));
    }
    if stages {
        counters::add(Event::StagedWake, H::table().wake_all_seqcst(staged));
    }
}
