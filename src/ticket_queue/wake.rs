//! Waking those whose tickets have been granted.

use super::{
    counts::Counts,
    granted::Granted,
    waiting::{NEAR, are_made_ready, spins},
    word::{Word, key_of, ticket_of},
};
use crate::counters::{self, Event};
use crate::wait_table::{Home, Peek, Wakes, table_of};

/// How far behind the ticket that it grants a post finds the one that is near from then on.
pub(super) const STAGED: Word = NEAR.cast_unsigned();

/// Wakes the holders of tickets that have just been granted, and makes the one behind them ready. The caller has granted them by
/// a `SeqCst` change, and a fence before the peeks. The queue is not touched: it may be gone.
///
/// If there are more tickets to look for than the table has slots, all slots are searched for them once. Nobody is made ready
/// where a holder may take `ALL`: who comes next does not follow from the last ticket granted.
///
/// The wakers of tasks are noted and not called: one that unwinds would leave markers behind that the post has yet to take out,
/// and a queue made in this place would believe them.
pub(super) fn wake_holders<H: Home, const ALL: Word>(
    queue: *const Counts,
    granted: Granted<ALL>,
    due: &mut Wakes<H::Backend>,
) {
    let staged = key_of(queue, granted.last().wrapping_add(STAGED));
    // Looked for before anybody is woken: a holder that is back in line before this thread goes on must not be disturbed.
    let stages = ALL == 0 && H::is_occupied(staged.hash(), Peek) && are_made_ready(queue);
    let table = table_of::<H>();
    let is_granted = |key| ticket_of(queue, key).is_some_and(|ticket| granted.contains(ticket));
    if are_more_than(granted.looks(), table.slots()) {
        table.wake_threads_everywhere(is_granted);
    } else {
        for ticket in granted.tickets() {
            table.wake_threads(key_of(queue, ticket));
        }
    }
    if stages && spins::<H>() {
        counters::add(Event::StagedWake, table.wake_threads(staged));
    }
    // A task is woken when it may go, and not before: to make it ready would be to have it polled for nothing.
    match table.slots_for_tasks() {
        0 => {}
        slots if are_more_than(granted.looks(), slots) => _ = table.wake_tasks_everywhere(is_granted, due),
        // The last is noted first: those that are noted last are called first.
        _ => granted.tickets().rev().for_each(|ticket| _ = table.wake_tasks(key_of(queue, ticket), due)),
    }
}

fn are_more_than(n: Word, slots: usize) -> bool {
    Word::try_from(slots).is_ok_and(|slots| n > slots)
}
