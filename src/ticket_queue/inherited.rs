//! After a fork: tickets of the parent's threads, of which the child has a copy, and nobody who holds them.
//!
//! Those that were granted stay taken, as with any lock that another thread of the parent has. Those that were waited for must
//! not swallow what the child posts: a child that holds a lock gives it back, and takes it again. Nothing in a queue's two words
//! says whose the tickets are. But while the child has one thread it is plain:
//!
//! - **F1.** In a take, all tickets between `grant` and its own are the parent's.
//! - **F2.** In a post, all tickets between the one that it grants and `ticket` are the parent's; unless the post is made by
//!   a signal handler that has interrupted a take, whose tickets are the last.
//!
//! So they are abandoned tickets, and the thread has them in hand: a take [settles](super::abandoned) them, and a post gives them back, as if
//! they had not been drawn. Only on the slow paths: a take that is granted at once has none before it, and a post that finds nobody in
//! line has none to grant to.
//!
//! A post may be interrupted by a handler that posts. Wrong is to pass over the tickets that one has seen before, as the take does:
//!
//! ```text
//! post                                handler
//! 1 is granted; 1 to 3 are the parent's
//!                                     2 is granted; 2 and 3 are passed over: two permits more
//! 1 to 3 are passed over: three permits more
//! ```
//!
//! - **F3.** A post gives tickets back by one compare-and-swap of `ticket`, from what it has seen; if that is not so any more, it looks again.
//!   A handler that came between has given back those that it granted, and all behind them.
//!
//! A conservative post settles them before it grants. Wrong is to ask when it has:
//!
//! ```text
//! post                                another thread of the child
//! grant += 1
//!                                     takes the permit, frees the queue, ends
//! one thread? yes: touches the queue
//! ```
//!
//! A take says that it waits before it asks whether it is alone, which takes long, and until its tickets are granted or settled. A handler
//! that posts meanwhile grants one of the parent's; so the take has looked at `grant` before, and settles all from there on: S1 has the
//! permit go on. Wrong is to look when it has asked: what was granted until then would be the parent's.
//!
//! So F2 fails only for a handler that comes between the drawing of a ticket and that; or what it posts is lost, if it comes before the
//! look. There the interrupted take is not in the table yet; so a post settles only if the last ticket's place in the
//! table shows somebody, and the table still is as the parent has left it. A child's ticket is not taken for its parent's
//! unless all this happens at once, and another waiter of the parent has the same place in the table.
//!
//! Not noticed, and then the ticket swallows a permit:
//!
//! - what a conservative post or an unlock grants to a thread of the parent that was awake when it forked, as it is for half a
//!   millisecond after it came;
//! - all of them, once a task of the child has drawn a ticket of any queue, or somebody has drawn one for nobody (`Semaphore::reduce`), for
//!   such tickets are held while nobody is inside a call; who draws the first one settles those of its queue. What was to be
//!   reduced in the parent when it forked is taken for a waiter;
//! - those of a take of many that has been granted in part: it keeps that part, and the child has so many permits fewer;
//! - all of them, once the child has waited in the same table, which with one thread it can only do until a deadline, or
//!   has started a second thread before it used the queue.

#![forbid(unsafe_code)]

use super::{
    abandoned::Abandoned,
    counts::Counts,
    levels::Span,
    word::{Word, before, key_of},
};
use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicU32};
use crate::sys::{
    fork::generation,
    only_thread::{is_only_thread_of_child, may_be_only_thread_of_child},
};
use crate::wait_table::{Home, table_of};

/// The child whose only thread is in a take that waits, or 0. One that has more threads by now may be left here.
static WAITS: AtomicU32 = AtomicU32::new(0);

/// The last child in which a task has drawn a ticket, or somebody one for nobody, while it had one thread. The first process, 0, is nobody's child.
static UNATTENDED: AtomicU32 = AtomicU32::new(0);

/// A take of the only thread of a child.
pub(super) struct Waiting {
    /// Whether this is in a handler that has interrupted another.
    within_another: bool,
}

impl Waiting {
    fn begin() -> Self {
        Self { within_another: WAITS.swap(generation(), Ordering::Relaxed) == generation() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITS.store(if self.within_another { generation() } else { 0 }, Ordering::Relaxed);
    }
}

/// Whether a handler has interrupted a take.
fn waits() -> bool {
    WAITS.load(Ordering::Relaxed) == generation()
}

/// F1, for a take that is about to wait with `tickets`. What it returns is to be kept until they are granted, or settled.
#[inline]
pub(super) fn settle_before_take<H: Home, const ALL: Word>(counts: &Counts, tickets: Span) -> Option<Waiting> {
    may_be_only_thread_of_child().then(|| settle_parents_before_take::<H, ALL>(counts, tickets))
}

#[cold]
fn settle_parents_before_take<H: Home, const ALL: Word>(counts: &Counts, tickets: Span) -> Waiting {
    // In this order: the kernel takes its time, and a handler may post meanwhile. What it grants to the parent's tickets goes on (S1).
    let first = counts.granted();
    let waiting = Waiting::begin();
    if waiting.within_another || !is_only_thread_of_child() || has_unattended_tickets() {
        return waiting;
    }
    if before(first, tickets.first) {
        Abandoned::<H, ALL>::of(counts).settle(Span { first, last: tickets.before() });
    }
    waiting
}

/// As above, before a ticket is drawn that is held while nobody is inside a call, by a task or by nobody: all tickets in line are the
/// parent's. From then on there are such tickets among them, and F1 and F2 are not true any more.
#[inline]
pub(super) fn settle_before_unattended_draw<H: Home, const ALL: Word>(counts: &Counts) {
    if !is_only_thread_of_child() || has_unattended_tickets() {
        return;
    }
    UNATTENDED.store(generation(), Ordering::Relaxed);
    // Ordering: relaxed; there is no other thread.
    let (first, behind) = (counts.granted(), counts.ticket.load(Ordering::Relaxed));
    if before(first, behind) && !waits() {
        Abandoned::<H, ALL>::of(counts).settle(Span { first, last: behind.wrapping_sub(1) });
    }
}

/// Whether such a ticket has been drawn in this process, since before it had a second thread.
fn has_unattended_tickets() -> bool {
    UNATTENDED.load(Ordering::Relaxed) == generation()
}

/// F2, for a conservative post, before it grants.
#[inline]
pub(super) fn settle_before_conservative_post<H: Home>(counts: &Counts) {
    if may_be_only_thread_of_child() {
        give_parents_back::<H>(counts, || counts.granted());
    }
}

/// F2, for a post that has granted the tickets from `first` on.
#[inline]
pub(super) fn settle_after_post<H: Home>(counts: &Counts, first: Word) {
    if may_be_only_thread_of_child() {
        give_parents_back::<H>(counts, || first);
    }
}

/// F3, for the tickets from `first` on.
#[cold]
fn give_parents_back<H: Home>(counts: &Counts, first: impl Fn() -> Word) {
    loop {
        // Ordering: relaxed, here and above; if it matters there is no other thread.
        let (first, behind) = (first(), counts.ticket.load(Ordering::Relaxed));
        if !before(first, behind) || !is_only_thread_of_child() || has_unattended_tickets() || waits() {
            return;
        }
        let last = behind.wrapping_sub(1);
        let are_parents = table_of::<H>().shows_parents_waiter(key_of(counts, last));
        // Ordering: SeqCst; as every change of `ticket`.
        if !are_parents || counts.ticket.compare_exchange(behind, first, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}
