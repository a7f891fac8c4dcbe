//! Waking those whose tickets have been granted.

use super::{
    counts::Counts,
    granted::Granted,
    waiting::{NEAR, are_made_ready, spins},
    word::{Word, key_of, ticket_of},
};
use crate::counters::{self, Event};
use crate::wait_table::{Home, Key, Peek, Wakes, table_of};

/// How far behind the ticket that it grants a post finds the one that is near from then on.
pub(super) const STAGED: Word = NEAR.cast_unsigned();

/// Wakes the holder of a ticket that has just been granted, and makes the one behind it ready. The caller has granted it by
/// a `SeqCst` change, and a fence before the peeks. The queue is not touched: it may be gone.
///
/// Nobody is made ready where a holder may take `ALL`: who comes next does not follow from the last ticket granted.
///
/// The wakers of tasks are noted and not called: one that unwinds would leave markers behind that the post has yet to take out,
/// and a queue made in this place would believe them.
#[inline(always)]
pub(super) fn wake_holder<H: Home, const ALL: Word>(queue: *const Counts, ticket: Word, due: &mut Wakes<H::Backend>) {
    let hash = wake_thread_of_holder::<H, ALL>(queue, ticket);
    wake_task_of_holder::<H>(queue, ticket, hash, due);
}

/// The second half: if the holder is a task, whose key has this hash. A task is woken when it may go, and not before: to make it
/// ready would be to have it polled for nothing.
#[inline(always)]
pub(super) fn wake_task_of_holder<H: Home>(queue: *const Counts, ticket: Word, hash: u32, due: &mut Wakes<H::Backend>) {
    let table = table_of::<H>();
    if table.has_tasks() {
        table.wake_tasks_hashed(hash, || key_of(queue, ticket), due);
    }
}

/// The first half: if the holder is a thread. Returns the hash of its key.
#[inline(always)]
pub(super) fn wake_thread_of_holder<H: Home, const ALL: Word>(queue: *const Counts, ticket: Word) -> u32 {
    let table = table_of::<H>();
    let hash = key_of(queue, ticket).hash();
    let staged = Key::hash_behind(hash, STAGED as u32);
    // Looked for before anybody is woken: a holder that is back in line before this thread goes on must not be disturbed.
    let stages = ALL == 0 && H::is_occupied(staged, Peek) && are_made_ready(queue);
    table.wake_threads_hashed(hash, || key_of(queue, ticket));
    if stages && spins::<H>() {
        make_ready::<H>(queue, ticket);
    }
    hash
}

/// The same, of several. If there are more tickets to look for than the table has slots, all slots are searched for them once.
#[inline(never)]
pub(super) fn wake_holders<H: Home, const ALL: Word>(
    queue: *const Counts,
    granted: Granted<ALL>,
    due: &mut Wakes<H::Backend>,
) {
    let staged = key_of(queue, granted.last().wrapping_add(STAGED));
    // As above.
    let stages = ALL == 0 && H::is_occupied(staged.hash(), Peek) && are_made_ready(queue);
    wake_threads_of_many::<H, ALL>(queue, granted);
    if stages && spins::<H>() {
        make_ready::<H>(queue, granted.last());
    }
    if table_of::<H>().has_tasks() {
        wake_tasks_of_many::<H, ALL>(queue, granted, due);
    }
}

/// Wakes who waits close behind the holder of `last`, the last ticket that is granted, if that is a thread.
#[inline(never)]
fn make_ready<H: Home>(queue: *const Counts, last: Word) {
    let staged = key_of(queue, last.wrapping_add(STAGED));
    counters::add(Event::StagedWake, table_of::<H>().wake_threads(staged));
}

fn wake_threads_of_many<H: Home, const ALL: Word>(queue: *const Counts, granted: Granted<ALL>) {
    let table = table_of::<H>();
    if are_more_than(granted.looks(), table.slots()) {
        table.wake_threads_everywhere(|key| is_granted(queue, granted, key));
        return;
    }
    for ticket in granted.tickets() {
        table.wake_threads(key_of(queue, ticket));
    }
}

fn wake_tasks_of_many<H: Home, const ALL: Word>(
    queue: *const Counts,
    granted: Granted<ALL>,
    due: &mut Wakes<H::Backend>,
) {
    let table = table_of::<H>();
    if are_more_than(granted.looks(), table.slots_for_tasks()) {
        table.wake_tasks_everywhere(|key| is_granted(queue, granted, key), due);
        return;
    }
    // The last is noted first: those that are noted last are called first.
    for ticket in granted.tickets().rev() {
        table.wake_tasks(key_of(queue, ticket), due);
    }
}

fn is_granted<const ALL: Word>(queue: *const Counts, granted: Granted<ALL>, key: Key) -> bool {
    ticket_of(queue, key).is_some_and(|ticket| granted.contains(ticket))
}

fn are_more_than(n: Word, slots: usize) -> bool {
    Word::try_from(slots).is_ok_and(|slots| n > slots)
}
