//! Tickets that nobody holds any more, and how they leave no trace.
//!
//! A thread that gives up holds a ticket somewhere in line. It must not swallow a permit, must not hold up those behind it,
//! and must leave at once. So the tickets become *abandoned*: always in exactly one place, in some thread's hands or in
//! a marker. A thread that has them in hand keeps the queue alive: it is inside a take; or it posts, and borrows the queue
//! or has not granted yet. It settles them:
//!
//! ```text
//! settle(first..=last)
//!   S1  grant > first: a permit has come for them. Grant as many more tickets as these are (P1, P2): the permit goes on
//!       to the next in line, and so do the permits that are still to come for the others. Done.
//!   S2  ticket == last + 1: they are the last in line. Compare-and-swap ticket to first: given back. Then take out the
//!       marker that ends with first - 1, if there is one, and settle that.
//!   S3  join them with the marker that ends with first - 1, or starts with last + 1, if there is one, and start again.
//!   S4  publish a marker.
//!   S5  grant > first or ticket == last + 1 by now: take out the marker that starts with first and settle it. If there
//!       is none, another thread has it and settles it. Done.
//!   S6  take out the marker that starts with last + 1, if there is one, and settle it: S3 joins it with ours.
//!   S7  there is a marker that ends with first - 1: take out the one that starts with first, as in S5.
//! post, which borrows the queue
//!   P1  grant += n
//!   P2  wake the holders of these n tickets, and take out every marker that starts with one of them or with the one before:
//!       in hand, with grant > first; S1
//! conservative post, of ticket g
//!   C0  take out the marker that starts with g - 1, if there is one: S1
//!   C1  compare-and-swap grant from g to g + 1, or start again
//!   C2  wake the holder of g; and if there is a marker that starts with g, the holder of the ticket behind its last
//! take, in line with its first ticket t, whenever it finds another value of grant
//!   W   there is a marker that ends with t - 1, and grant > its first: take it out; S1
//! ```
//!
//! # Foreign code
//!
//! Permits that go on may go to a task, whose waker is foreign code: it may post, take and give up on the same queue, and it
//! may unwind. Called while a post or a settling thread has tickets in hand, it would leave them there, in no marker and with
//! no owner. So wakers are noted on the way, and called by the outermost function, when there is nothing in hand and the
//! permit of a post has been granted.
//!
//! # Why nothing is lost
//!
//! The wrong interleaving without S5:
//!
//! ```text
//! abandoner of ticket 5                 poster
//! grant is 5: no permit yet
//!                                       grant = 6: ticket 5 has its permit
//!                                       no marker for 5: its owner will see it
//! publish a marker for 5                (the permit is lost, 6 waits forever)
//! ```
//!
//! - **M1.** Publishing a marker and then loading `grant` (S4, S5), against adding to `grant` and then looking for a
//!   marker (P1, P2; C1, C2; S1 is a post too): store buffering again, and all four are `SeqCst`. Either the abandoner sees
//!   the grant, or the poster sees the marker. Both may: then the one that takes the marker out settles it.
//! - **M2.** Publishing a marker and then loading `ticket` (S4, S5), against lowering `ticket` and then looking for a
//!   marker (S2): the same.
//! - **M3.** Publishing a marker and then looking for one behind it (S4, S6), against publishing that one and then looking
//!   for one before it (S4, S7): the same. So two markers never stay side by side. Both may see the other: both then take
//!   out the one behind, and one of them gets it.
//!
//! `ci/litmus.py` has all three, `marker_against_…`.
//!
//! # Who passes it over
//!
//! A post that borrows the queue takes out what it has granted. A conservative post must not: by the time it has a marker in
//! hand, that may be one of another queue, made in the place of the one that it posted to, and gone with all its users before
//! the post goes on.
//!
//! ```text
//! late conservative post of ticket 5    a new queue at the same address
//! grant = 6: its holder goes, frees
//! the queue, makes a new one
//!                                       5 is abandoned, 6 waits: a marker for 5
//! takes out the marker
//!                                       6 gives up too, and finds none; all return, the queue is freed
//! touches the queue: freed memory
//! ```
//!
//! So it only wakes, by name, the one who waits behind the marker, and that one passes the permits on (W). It is inside its
//! take: the queue is alive. To be woken for nothing by a late post does no harm.
//!
//! - The marker was there before C2 found it, and the waiter either was published before C2 woke it, or comes after that and
//!   then finds `grant` changed and the marker (pair T2 of the module above; `ci/litmus.py`: `marker_against_who_waits_behind`). If
//!   it gives up instead, S2, S3 or M3 bring the marker into its hands, and S1 sees the grant. A marker that was not there
//!   was in somebody's hands, or came later: that thread sees the grant (S1, S5).
//! - One look for each value of `grant` is enough: what was published before `grant` got that value is seen, and who publishes
//!   later sees the value (S5).
//! - A waiter that is granted by a later post does not look. So no conservative post grants past a granted marker: C0 has
//!   looked since `grant` got the value that C1 changes (`marker_against_next_post`). A post that does go past one looks for
//!   it afterwards, which is why P2 begins one ticket earlier; also if nobody holds what it grants. Wrong, if it did not:
//!
//!   ```text
//!   6 waits, and gives up                  posts; 5 is in a marker
//!   S2: ticket = 6
//!                                          conservatively: grant = 6; C2: nobody is behind the marker
//!                                          grant = 7: 6 is drawn by nobody (and nobody looks for 5)
//!   the marker: more than 5 is granted,
//!   it is left to the post (below)         (its permit is lost)
//!   ```
//! - A waiter for many tickets is published under its last, and is not found by C2. It needs another permit anyway; the post
//!   that brings it does C0 or P2.
//! - In a queue of one permit nobody else has it while it is with a granted marker, so whoever takes that out is the one
//!   thread that may change `grant`.
//!
//! # Invariants
//!
//! - **L1.** Every ticket before `ticket` and not before `grant` has a thread that waits for it, or is abandoned and in
//!   one marker or one thread's hands.
//! - **L2.** `grant` counts the permits posted, and one for each abandoned ticket that was passed over by S1. The tickets
//!   granted, less those passed over, are the permits given: none lost, none made.
//! - **L3.** Permits go in the order of tickets: `grant` only grows, and S2 lowers `ticket` only over tickets that nobody
//!   holds.
//! - **L4.** When no thread is inside any call there is no marker, and `ticket <= grant`. Take the last abandoned ticket
//!   `t`: no thread waits, so by L1 it is last in line or granted. The thread that published its marker checked both (S5)
//!   after publishing, and any thread that changed either since then searched for the marker (P2, C2, S2); by M1 and M2 one of
//!   them found it. If that was C2, somebody was behind the marker and has looked (W) or settled it on leaving.
//!
//! # Forgotten
//!
//! A task's future can be forgotten, and its ticket with it; and some tickets are drawn for nobody, to take permits out of a semaphore.
//! Nobody is then inside a call, and L1 and L4 are not true any more. The queue that it was of swallows a permit, and that is all, for itself. But it may be freed, or moved, and its address be another's:
//!
//! ```text
//! queue                                    another queue, later, at the same address
//! 1 is abandoned, 2 waits: a marker for 1
//! the future of 2 is forgotten; gone
//!                                          1 is drawn, and granted: inside
//!                                          2 waits, and finds the marker for 1, granted: passes 1's permit on
//!                                          2 is granted: two inside
//! ```
//!
//! Nothing in a queue's two words says that it is another. But a marker covers tickets that are drawn:
//!
//! - **L5.** A marker of this queue that is there, and was there before `ticket` was loaded, ends before that `ticket`. To lower `ticket`
//!   below its end takes these tickets in hand (S2), and then the marker is not there.
//!
//! So one that ends later was left by another queue. Whoever draws tickets takes such markers out before, those that start with
//! one of the tickets and the one that ends with their last, and nobody settles them: a ticket that is drawn has no marker but its
//! own. A marker is joined, passed over or counted only by who looks for tickets that are drawn. A post does not look for these alone:
//! what it grants may be drawn by nobody yet, and it begins one ticket before its own (C0, P2). So it asks of each marker that it finds
//! whether it ends with a ticket that is drawn. Wrong, if it did not:
//!
//! ```text
//! queue                                    another queue, later, at the same address
//! 2 is abandoned, 3 waits: a marker for 2
//! the future of 3 is forgotten; gone
//!                                          0 is locked; 1 waits, is granted, and dropped
//!                                          S1: grant = 3, and a marker for 2: grant = 4
//!                                          2 is drawn, and granted; 3 is drawn, and granted: two inside
//! ```
//!
//! There may be one before the first ticket that a queue draws at its address, if it has been moved there with tickets drawn. If it
//! is granted as a whole, so are those tickets, and not by this queue's posts: what they grant of a marker is its first ticket (C1),
//! or else they take it out themselves (P2). So who has a ticket behind a marker (W, S2, S3) leaves it alone if more is granted, and
//! the line stays as it was moved: stuck.
//!
//! A post has no such way out. A marker of tickets that are drawn, and starts one ticket before its own, may be one of its queue, which
//! a conservative post has granted, or one that was there before: then it is settled, and a permit made. That takes a semaphore that was
//! moved there with all of its permits out. A lock is moved when nobody has it, so that its next ticket is granted, and what its posts
//! find of drawn tickets has been drawn there; `grant` never comes back to where it was (which is why no reader takes a permit by
//! lowering it). Or its guards have been forgotten, and then nobody posts. The first that waits there may find a marker that ends right
//! before its ticket; it settles it only if just the first of those tickets is granted, and so grants up to its own, and no further:
//! one of the permits that were forgotten is there again.
//!
//! - **L6.** Markers of one queue do not overlap, nor do they cover tickets that are in hand.
//!
//! Those of several queues that have been at one address may. So who has tickets in hand for which a permit has come takes out what
//! starts with one of them, before it grants as many more (S1). Wrong, if it did not:
//!
//! ```text
//! left by one queue: 5 to 9; by another: 8     a lock that is moved there: 5 is forgotten, and 6 to 9 wait and are forgotten
//!                                              10 waits, and finds 5 to 9, of which 5 is granted: S1, grant = 11
//!                                              P2: 8 is among what was granted, and is drawn: grant = 12
//!                                              10 is inside, and 11 is drawn, and granted: two inside
//! ```
//!
//! The alert stays raised, for it may be another table's; that costs time. As long as all tickets were drawn by calls that wait for
//! them, nobody looks.
//!
//! S2 need not load `grant` first: if a permit comes for `first` just before the compare-and-swap, it stays in the
//! semaphore as an available one, and the next thread to draw a ticket gets `first` and finds it granted.

use super::{
    counts::Counts,
    granted::{Granted, holders_of},
    marker_banks::FEW_MARKERS,
    markers::{self, Found, Span},
    wake::{wake_holder, wake_holders},
    word::{Word, before, key_of},
};
use crate::sync::{atomic::Ordering, fence_before_peek_seqcst, unchecked_atomic::AtomicBool, world_static};
use crate::wait_table::{Home, Invariant, Wakes, table_of};
use core::{marker::PhantomData, ptr};

/// The abandoned tickets of one queue, whose caller keeps it alive. A marker is an alert of the queue's table, from before it
/// is published until after it is taken out.
pub(super) struct Abandoned<'a, H: Home, const ALL: Word> {
    counts: &'a Counts,
    home: Invariant<H>,
}

impl<'a, H: Home, const ALL: Word> Abandoned<'a, H, ALL> {
    #[inline]
    pub(super) fn of(counts: &'a Counts) -> Self {
        Self { counts, home: PhantomData }
    }

    /// How many there are in markers, at this moment.
    pub(super) fn count(&self) -> Word {
        let line = Word::try_from(-self.counts.surplus()).unwrap_or(0);
        if line == 0 || table_of::<H>().alerts() == 0 {
            return 0;
        }
        // A granted one, which a conservative post has left, has permits for those behind it.
        let markers = markers::starting_among(self.address(), self.counts.granted().wrapping_sub(1), line + 1);
        markers.fold(0, |sum, marker| sum.wrapping_add(marker.span.len()))
    }

    /// Settles tickets that the caller has in hand, and then calls the wakers of tasks that this lets go.
    #[cold]
    pub(super) fn settle(&self, tickets: Span) {
        self.settle_noting(tickets, &mut Wakes::default());
    }

    /// Settles tickets that the caller has in hand, and notes the wakers of tasks that this lets go.
    pub(super) fn settle_noting(&self, tickets: Span, due: &mut Wakes<H::Backend>) {
        let Some(passed_over) = self.give_back_or_mark(tickets) else { return };
        if markers_may_be_left() {
            self.drop_left_markers_within(passed_over);
        }
        self.grant_more(passed_over.len(), due);
    }

    /// The rest of a post that has granted the `n` tickets from `first` on, when somebody may hold them: P2, and S1 for what
    /// it takes out.
    #[inline(always)]
    pub(super) fn after_grant(&self, first: Word, n: Word, due: &mut Wakes<H::Backend>) {
        let passed_over = self.wake_and_take_out(first, n, due);
        if passed_over != 0 {
            self.grant_more(passed_over, due);
        }
    }

    /// C0 of a post that will grant `ticket`: its permit must not go past a marker that the last one went to.
    #[cold]
    pub(super) fn before_grant(&self, ticket: Word, due: &mut Wakes<H::Backend>) {
        fence_before_peek_seqcst();
        let before = find_starting_with::<H>(self.counts, ticket.wrapping_sub(1));
        if let Some(span) = before.filter(|marker| self.is_own(marker)).and_then(take_out::<H>) {
            self.settle_noting(span, due);
        }
    }

    /// W: if the marker right before these tickets is granted, its permits go on, first of all to them. Returns whether there
    /// was one.
    #[inline]
    pub(super) fn pass_over_before(&self, tickets: Span) -> bool {
        fence_before_peek_seqcst();
        // Most often there are no markers at all.
        table_of::<H>().alerts() != 0 && self.pass_marker_over_before(tickets)
    }

    #[cold]
    fn pass_marker_over_before(&self, tickets: Span) -> bool {
        let before = self.find_ending_with(tickets.before());
        let granted = before.filter(|marker| self.counts.is_granted(marker.span.first));
        let Some(span) = granted.and_then(take_out::<H>) else {
            return false;
        };
        self.settle(span);
        true
    }

    /// P1 and P2, and again for as many tickets as this passes over.
    #[cold]
    fn grant_more(&self, mut n: Word, due: &mut Wakes<H::Backend>) {
        while n != 0 {
            // Ordering: as in `TicketQueue::post`.
            let first = self.counts.grant.fetch_add(n, Ordering::SeqCst);
            n = self.wake_and_take_out(first, n, due);
        }
    }

    /// P2 for the `n` tickets from `first` on; returns how many more are to be granted.
    #[inline(always)]
    fn wake_and_take_out(&self, first: Word, n: Word, due: &mut Wakes<H::Backend>) -> Word {
        fence_before_peek_seqcst();
        if n != 1 {
            return self.wake_and_take_out_several(first, n, due);
        }
        wake_holder::<H, ALL>(self.counts, first, due);
        if table_of::<H>().alerts() == 0 { 0 } else { self.take_out(Granted::one(first)) }
    }

    #[inline(never)]
    fn wake_and_take_out_several(&self, first: Word, n: Word, due: &mut Wakes<H::Backend>) -> Word {
        // Ordering: SeqCst. Who has drawn a ticket by now is looked for; who draws one later sees that it is granted (T1).
        let granted = Granted::of(first, n, self.counts.ticket.load(Ordering::SeqCst));
        wake_holders::<H, ALL>(self.counts, granted, due);
        if table_of::<H>().alerts() == 0 { 0 } else { self.take_out(granted) }
    }

    /// Takes out the markers that begin with one of these tickets, or right before; returns how many tickets they cover.
    #[cold]
    fn take_out(&self, granted: Granted<ALL>) -> Word {
        let stretches = granted.stretches();
        let stretches = stretches.map(|(first, n)| (first.wrapping_sub(1), n + 1));
        let markers = stretches.flat_map(|(first, n)| markers::starting_among(self.address(), first, n));
        let own = markers.filter(|marker| self.is_own(marker));
        own.filter_map(take_out::<H>).fold(0, |sum, span| sum.wrapping_add(span.len()))
    }

    /// S1 to S7; what S1 says is left to the caller: returns the tickets for which as many more are to be granted.
    fn give_back_or_mark(&self, mut span: Span) -> Option<Span> {
        loop {
            // S1
            if self.counts.is_granted(span.first) {
                return Some(span);
            }
            // S2. Ordering: SeqCst; the lowering of pair M2.
            let ticket = &self.counts.ticket;
            if ticket.compare_exchange(span.behind(), span.first, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                fence_before_peek_seqcst();
                match self.take_ending_with(span.before()) {
                    Some(ending) => span = ending,
                    None => return None,
                }
                continue;
            }
            // S3
            if let Some(before) = self.take_ending_with(span.before()) {
                span.first = before.first;
                continue;
            }
            if let Some(behind) = self.take_starting_with(span.behind()) {
                span.last = behind.last;
                continue;
            }
            // S4
            self.publish(span);
            match self.take_back(span) {
                Some(taken) => span = taken,
                None => return None,
            }
        }
    }

    /// S5 to S7: tickets that have just been published, or their neighbours, if that cannot be left to others.
    fn take_back(&self, span: Span) -> Option<Span> {
        // S5. Ordering: SeqCst, in `is_granted` and here; the loads of pairs M1 and M2.
        fence_before_peek_seqcst();
        let is_granted = self.counts.is_granted(span.first);
        let is_last = self.counts.ticket.load(Ordering::SeqCst) == span.behind();
        if is_granted || is_last {
            return self.take_starting_with(span.first);
        }
        // S6
        if let Some(behind) = self.take_starting_with(span.behind()) {
            return Some(behind);
        }
        // S7
        self.find_ending_with(span.before())?;
        self.take_starting_with(span.first)
    }

    /// L5: takes out what others have left at tickets that are about to be drawn.
    #[cold]
    pub(super) fn drop_left_markers(&self, tickets: Span) {
        let starting = markers::starting_among(self.address(), tickets.first, tickets.len());
        let ending = markers::ending_with(self.address(), tickets.last);
        for marker in starting.chain(ending) {
            if !self.is_own(&marker) {
                marker.take_out();
            }
        }
    }

    /// L6: takes out what others have left at tickets that are in hand.
    #[cold]
    fn drop_left_markers_within(&self, tickets: Span) {
        for marker in markers::starting_among(self.address(), tickets.first, tickets.len()) {
            marker.take_out();
        }
    }

    /// L5: whether a marker that has been seen may be this queue's.
    fn is_own(&self, marker: &Found) -> bool {
        // Ordering: relaxed; who has seen the marker sees that its tickets were drawn, if they were.
        before(marker.span.last, self.counts.ticket.load(Ordering::Relaxed))
    }

    fn publish(&self, span: Span) {
        // Before the marker, so that the thread that takes it out has an alert to lower.
        table_of::<H>().raise_alert();
        // A long line with few markers is one of long spans, and needs no more room than they do.
        let has_many = table_of::<H>().alerts() > FEW_MARKERS;
        let line = if has_many { holders_of::<ALL>(Word::try_from(-self.counts.surplus()).unwrap_or(0)) } else { 0 };
        markers::publish(self.address(), span, line);
    }

    fn take_starting_with(&self, first: Word) -> Option<Span> {
        find_starting_with::<H>(self.counts, first).and_then(take_out::<H>)
    }

    fn take_ending_with(&self, last: Word) -> Option<Span> {
        self.find_ending_with(last).and_then(take_out::<H>)
    }

    /// Not one that a post is about to take out.
    fn find_ending_with(&self, last: Word) -> Option<Found> {
        let found = if table_of::<H>().alerts() == 0 { None } else { markers::ending_with(self.address(), last) };
        found.filter(|marker| !self.counts.is_granted(marker.span.first.wrapping_add(1)))
    }

    fn address(&self) -> usize {
        ptr::from_ref(self.counts).addr()
    }
}

world_static! {
    /// Whether a ticket has ever been drawn that no call waits for. Advice, until one has.
    fn unattended_are_drawn() -> &'static AtomicBool {
        const { AtomicBool::new(false) }
        model { AtomicBool::new(false) }
    }
}

/// Before a ticket is drawn that no call waits for: a task's, which may be forgotten, or nobody's.
#[inline]
pub(super) fn note_unattended() {
    if !unattended_are_drawn().load(Ordering::Relaxed) {
        unattended_are_drawn().store(true, Ordering::Relaxed);
    }
}

/// Whether queues that are gone may have left markers: "Forgotten".
#[inline]
pub(super) fn markers_may_be_left() -> bool {
    // Ordering: relaxed; whoever has the place of such a queue now has seen it go.
    unattended_are_drawn().load(Ordering::Relaxed) && markers::are_there()
}

/// C2: the rest of a conservative post of `ticket`. The queue is a name here and is not touched: it may be gone, and another be
/// in its place, whose waiters do not mind being woken.
#[cold]
pub(super) fn after_conservative_grant<H: Home>(queue: *const Counts, ticket: Word, due: &mut Wakes<H::Backend>) {
    fence_before_peek_seqcst();
    wake_holder::<H, 0>(queue, ticket, due);
    if let Some(marker) = find_starting_with::<H>(queue, ticket) {
        let behind = key_of(queue, marker.span.behind());
        table_of::<H>().wake_threads(behind);
        table_of::<H>().wake_tasks(behind, due);
    }
}

fn find_starting_with<H: Home>(queue: *const Counts, first: Word) -> Option<Found> {
    if table_of::<H>().alerts() == 0 { None } else { markers::starting_with(queue.addr(), first) }
}

fn take_out<H: Home>(marker: Found) -> Option<Span> {
    let span = marker.take_out()?;
    table_of::<H>().lower_alert();
    Some(span)
}
