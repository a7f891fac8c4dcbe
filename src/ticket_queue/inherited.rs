//! After a fork: tickets of the parent's threads, of which the child has a copy, and nobody who holds them.
//!
//! Those that were granted stay taken, as with any lock that another thread of the parent has. Those that were waited for must
//! not swallow what the child posts: a child that holds a lock gives it back, and takes it again. Nothing in a queue's two words
//! says whose the tickets are. But while the child has one thread it is plain:
//!
//! - **F1.** In a take, all tickets between `grant` and its own are the parent's.
//! - **F2.** In a post, all tickets between the one that it has granted and `ticket` are the parent's; unless the post is made by
//!   a signal handler that has interrupted a take, whose tickets are the last.
//!
//! So they are abandoned tickets, and the thread has them in hand: it [settles](super::abandoned) them. Only on the slow paths:
//! a take that is granted at once has none before it, and a post that finds nobody in line has none to grant to.
//!
//! A take says that it waits before it settles, so that F2 fails only for a handler that comes between the drawing of a
//! ticket and that. There the interrupted take is not in the table yet; so a post settles only if the last ticket's place in the
//! table shows somebody, and the table still is as the parent has left it. A child's ticket is not taken for its parent's
//! unless all this happens at once, and another waiter of the parent has the same place in the table.
//!
//! Not noticed, and then the ticket swallows a permit:
//!
//! - what a conservative post or an unlock grants to a thread of the parent that was awake when it forked, as it is for half a
//!   millisecond after it came;
//! - all of them, once a task of the child has drawn a ticket of any queue; a task that draws the first one settles those of
//!   its queue;
//! - all of them, once the child has waited in the same table, which with one thread it can only do until a deadline, or
//!   has started a second thread before it used the queue.

#![allow(unsafe_code)]

use super::{
    abandoned::Abandoned,
    counts::Counts,
    markers::Span,
    word::{Word, before, key_of},
};
use crate::sync::{
    atomic::Ordering,
    unchecked_atomic::{AtomicBool, AtomicU32},
};
use crate::sys::{fork::generation, only_thread::is_only_thread_of_child};
use crate::wait_table::{Home, Wakes, table_of};

/// Whether the only thread of a child is in a take that waits.
static WAITS: AtomicBool = AtomicBool::new(false);

/// The last child in which a task has drawn a ticket while it had one thread. The first process, 0, is nobody's child.
static TASKS: AtomicU32 = AtomicU32::new(0);

/// A take of the only thread of a child.
pub(super) struct Waiting(());

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITS.store(false, Ordering::Relaxed);
    }
}

/// F1, for a take that is about to wait with `tickets`. What it returns is to be kept until the wait is over.
pub(super) fn settle_before_take<H: Home, const ALL: Word>(counts: &Counts, tickets: Span) -> Option<Waiting> {
    if !is_only_thread_of_child() || has_tasks() {
        return None;
    }
    WAITS.store(true, Ordering::Relaxed);
    let first = counts.granted();
    if before(first, tickets.first) {
        Abandoned::<H, ALL>::of(counts).settle(Span { first, last: tickets.before() });
    }
    Some(Waiting(()))
}

/// As above, for a task that is about to draw a ticket: all tickets in line are the parent's. From then on there are those of
/// tasks among them, which are held while nobody is inside a call: F1 and F2 are not true any more.
pub(super) fn settle_before_task<H: Home, const ALL: Word>(counts: &Counts) {
    if !is_only_thread_of_child() || has_tasks() {
        return;
    }
    TASKS.store(generation(), Ordering::Relaxed);
    // Ordering: relaxed; there is no other thread.
    let (first, behind) = (counts.granted(), counts.ticket.load(Ordering::Relaxed));
    if before(first, behind) && !WAITS.load(Ordering::Relaxed) {
        Abandoned::<H, ALL>::of(counts).settle(Span { first, last: behind.wrapping_sub(1) });
    }
}

/// Whether a task of this process has drawn a ticket, since before it had a second thread.
fn has_tasks() -> bool {
    TASKS.load(Ordering::Relaxed) == generation()
}

/// F2, for a conservative post that has granted `ticket`, whose queue may be gone: but not if there is no other thread.
pub(super) fn settle_after_conservative_post<H: Home>(queue: *const Counts, ticket: Word, due: &mut Wakes<H::Backend>) {
    if is_only_thread_of_child() {
        // SAFETY: it was there when the ticket was granted, a moment ago, and nobody has run since who could have freed it.
        settle_after_post::<H, 0>(unsafe { &*queue }, ticket, due);
    }
}

/// F2, for a post that has granted the tickets from `first` on.
pub(super) fn settle_after_post<H: Home, const ALL: Word>(counts: &Counts, first: Word, due: &mut Wakes<H::Backend>) {
    if !is_only_thread_of_child() || has_tasks() || WAITS.load(Ordering::Relaxed) {
        return;
    }
    // Ordering: relaxed, here and above; there is no other thread.
    let behind = counts.ticket.load(Ordering::Relaxed);
    let last = behind.wrapping_sub(1);
    if before(first, behind) && table_of::<H>().shows_parents_waiter(key_of(counts, last)) {
        Abandoned::<H, ALL>::of(counts).settle_noting(Span { first, last }, due);
    }
}
