//! Tickets that nobody holds any more, and how they leave no trace.
//!
//! A thread that gives up holds a ticket somewhere in line. It must not swallow a permit, must not hold up those behind it,
//! and must leave at once. So the tickets become *abandoned*: always in exactly one place, in some thread's hands or under
//! a [marker](super::markers). A thread that has them in hand keeps the queue alive: it is inside a take; or it posts, and borrows the queue
//! or has not granted yet. It settles them:
//!
//! ```text
//! settle(first..=last)
//!   S1  grant > first: a permit has come for them. Grant as many more tickets as these are (P1, P2): the permit goes on
//!       to the next in line, and so do the permits that are still to come for the others. Done.
//!   S2  ticket == last + 1: they are the last in line. Compare-and-swap ticket to first: given back. Then take out the run of markers
//!       that ends with first - 1, if there is one, and settle it. If more than its first ticket is granted, only what is not.
//!   S4  publish markers. Those that do not fit into one cell are settled piece by piece. Who fills a block has all its tickets in hand
//!       instead: settles them, with one marker for all.
//!   S5  grant > first by now: take out the run that begins with first, and settle it. If there is none, another thread has it and settles
//!       it. Done.
//!   S6  a conservative post may have left markers that are granted: as W, with first for t.
//!   S7  ticket == last + 1 by now: as S5.
//! post, which borrows the queue
//!   P1  grant += n
//!   P2  wake the holders of these n tickets, and take out every marker of one of them or of the one before, and those that follow the last of
//!       them in its cell: in hand, with grant > first; S1. Of tickets that S1 grants, from the one behind those in hand on
//! conservative post, of ticket g
//!   C0  take out the run that begins with g - 1, if there is one: S1
//!   C1  compare-and-swap grant from g to g + 1, or start again
//!   C2  wake the holder of g. If there are markers of whatever queue: say that granted ones may be left; and if g has one, wake the
//!       holder of the first ticket behind g that has none
//! take, in line with its first ticket t, whenever it finds another value of grant, if granted markers may be left
//!   W   g = grant - 1 has a marker, g - 1 has none, and all from g to t - 1 have one: take out the run that begins with g; S1
//! ```
//!
//! A *run* is of tickets one behind the other, all of which have markers. It may be in several cells. One is taken out as far as it is in the
//! first of them: what is behind that is found when it is granted. To see where it ends is to walk over all of them.
//!
//! Among the tickets that S1 grants may be some that are in hand themselves: most often all but the last. Those nobody holds, and they have no
//! marker, so P2 leaves them out. They are those from `grant` to the last in hand, for what a post takes out beyond the tickets that it has granted is the rest
//! of a run which begins before: without a gap, and granted in its first ticket. So it is `grant` that says how many they are, and not how many were in hand:
//!
//! ```text
//! post: grant = 1; 0 and 1 in hand        another post
//!                                         grant = 2: nobody is at 1, and it has no marker
//! grant = 4: 2 and 3; looks for 3 alone   (2 is granted, and waits forever)
//! ```
//!
//! Nor has a conservative post granted and left the one before the first that is looked for: it is the last in hand.
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
//!   the grant, or the poster sees the marker. Both may: then the one that takes the marker out settles it. So each ticket that is granted
//!   is looked for by who grants it, or in that one's hands, and each that is marked looks whether it is granted.
//! - **M2.** Publishing a marker and then loading `ticket` (S4, S7), against lowering `ticket` and then looking for a
//!   marker (S2): the same.
//! - **M3.** A conservative post only wakes who waits behind the run, and that one passes it over. Several may be at work on the
//!   run meanwhile, each on its part:
//!
//!   ```text
//!   5 has a marker; 6 is about to be abandoned, 7 waits
//!   conservative post: grant = 6; 6 has no marker: wakes its holder
//!                                       6: a marker; grant > 6? no: leaves
//!   (the permit is lost, 7 waits forever)
//!   ```
//!
//!   So all of them write first, and then look at what the others write: the post at the markers (C1, C2), who leaves
//!   one at `grant` and the markers before its own (S4, S6), who waits at the same (published, W). All of it is `SeqCst`: whoever is the last
//!   to write sees all the rest. What it misses is in some thread's hands, which marks it again, and then is the last.
//!
//! `ci/litmus.py` has all three, `marker_against_…`.
//!
//! M3 costs a walk each time somebody gives up, and only conservative posts need it. So that they may have left something is said in one word
//! of the process. It is set before the walk of C2, and read by S6 and W: who reads that it is not set comes before that walk, which sees its marker, or
//! wakes it. For W that look does not count as one at this value of `grant`:
//!
//! ```text
//! post: grant = 6                         7 waits: grant is 6; nothing may be left: does not look
//! says so; walks; wakes 7
//!                                         grant is 6, as before: must look now
//! ```
//!
//! S6 comes before S7. Wrong, the other way round, for a permit that 5's conservative post has left there need never move:
//!
//! ```text
//! 5 has a marker, and is granted; 6 is abandoned            7 comes and gives up, again and again
//!                                                           draws 7; 6 is in hand: its permit cannot come
//! S2: ticket is 8: not the last
//!                                                           gives up: ticket = 7; 6 has no marker
//! S4: a marker for 6; ticket is 7: the last, takes it out
//!                                                           draws 7 …
//! ```
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
//! So it only wakes, by name, the one who waits behind the run, and that one passes the permits on (W). It is inside its
//! take: the queue is alive. To be woken for nothing by a late post does no harm.
//!
//! - One look for each value of `grant` is enough: what was published before `grant` got that value is seen, and who publishes
//!   later sees the value (S5, S6; `ci/litmus.py`: `marker_against_who_waits_behind`).
//! - If the waiter gives up instead, S2 or S6 bring the run into its hands, and S1 sees the grant.
//! - A waiter that is granted by a later post does not look. So no conservative post grants past a granted marker: C0 has
//!   looked since `grant` got the value that C1 changes (`marker_against_next_post`). A post that does go past one looks for
//!   it afterwards, which is why P2 begins one ticket earlier; also if nobody holds what it grants. Wrong, if it did not:
//!
//!   ```text
//!   6 waits, and gives up                  posts; 5 has a marker
//!   S2: ticket = 6
//!                                          conservatively: grant = 6; C2: nobody is behind the marker
//!                                          grant = 7: 6 is drawn by nobody (and nobody looks for 5)
//!   the run: more than 5 is granted,
//!   it is left to the post (below)         (its permit is lost)
//!   ```
//! - So at most one granted ticket has a marker that no post is about to take out: `grant - 1`. S2, S6 and W leave alone what is granted of a
//!   run if there is more.
//! - A waiter for many tickets is published under its last, and is not found by C2. It needs another permit anyway; the post
//!   that brings it does C0 or P2.
//! - In a queue of one permit nobody else has it while it is with a granted marker, so whoever takes that out is the one
//!   thread that may change `grant`.
//! - Where a holder may take `ALL` there are no conservative posts, and posts look only where holders may meet
//!   (B1 of [`super::granted`]). That is enough: a marker's first ticket is a holder's first.
//!
//! # Invariants
//!
//! - **L1.** Every ticket before `ticket` and not before `grant` has a thread that waits for it, or is abandoned and has
//!   one marker or is in one thread's hands.
//! - **L2.** `grant` counts the permits posted, and one for each abandoned ticket that was passed over by S1. The tickets
//!   granted, less those passed over, are the permits given: none lost, none made.
//! - **L3.** Permits go in the order of tickets: `grant` only grows, and S2 lowers `ticket` only over tickets that nobody
//!   holds.
//! - **L4.** When no thread is inside any call there is no marker, and `ticket <= grant`. Take the last abandoned ticket
//!   `t`: no thread waits, so by L1 it is last in line or granted. The thread that published its marker checked both (S5, S7)
//!   after publishing, and any thread that changed either since then searched for the marker (P2, C2, S2); by M1 and M2 one of
//!   them found it. If that was C2, somebody was behind the run and has looked (W) or settled it on leaving.
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
//! - **L5.** A marker of this queue that is there, and was there before `ticket` was loaded, is of a ticket before that `ticket`. To lower `ticket`
//!   below it takes its ticket in hand (S2), and then the marker is not there.
//!
//! So one that is of a later ticket was left by another queue. Whoever draws tickets takes such markers of them out before, and nobody settles them: a
//! ticket that is drawn has no marker but its own. A marker is passed over or counted only by who looks for tickets that are drawn. A post does
//! not look for these alone: what it grants may be drawn by nobody yet. So it asks of each marker that it finds whether
//! its ticket is drawn. Wrong, if it did not:
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
//! There may be some before the first ticket that a queue draws at its address, if it has been moved there with tickets drawn. If they
//! are granted, so were they before, and not by this queue's posts. Of two or more such tickets one behind the other none is touched: who has a ticket
//! behind a run (W, S2, S6) leaves them alone if more of it is granted than its first, and the line stays as it was moved: stuck. Nor are
//! they joined with others in one marker, for that would be granted as a whole then: a block of which a ticket is granted stays full.
//!
//! A post has no such way out. A marker of the ticket before its own may be one of its queue, which
//! a conservative post has granted, or one that was there before: then it is settled, and a permit made. That takes a semaphore that was
//! moved there with all of its permits out. A lock is moved when nobody has it, so that its next ticket is granted, and what its posts
//! find of drawn tickets has been drawn there; `grant` never comes back to where it was (which is why no reader takes a permit by
//! lowering it). Or its guards have been forgotten, and then nobody posts. The first that waits there may find a marker right
//! before its ticket; it settles it only if that one alone is granted, and so grants its own ticket, and no further:
//! one of the permits that were forgotten is there again.
//!
//! Several queues may have left markers of the same ticket, in several cells. So who has tickets in hand for which a permit has come takes
//! out what there still is of them, before it grants as many more (S1).
//!
//! As long as all tickets were drawn by calls that wait for them, nobody looks.
//!
//! S2 need not load `grant` first: if a permit comes for `first` just before the compare-and-swap, it stays in the
//! semaphore as an available one, and the next thread to draw a ticket gets `first` and finds it granted.

use super::{
    counts::Counts,
    granted::{Granted, holders_of},
    levels::{Piece, Span},
    marker_banks::FEW_BLOCKS,
    markers::{Marked, Markers, Taken},
    wake::{wake_holder, wake_holders, wake_task_of_holder, wake_thread_of_holder},
    word::{Word, before, key_of},
};
use crate::sync::{
    atomic::{AtomicUsize, Ordering},
    fence_before_peek_seqcst,
    unchecked_atomic::AtomicBool,
    world_static,
};
use crate::wait_table::{Home, Invariant, Wakes, table_of};
use core::marker::PhantomData;

/// For so many tickets of a line there is room for each cell with markers that there is. Arbitrary: for 128 blocks of 32, 8 KiB.
const ROOM_FOR_A_CELL: Word = 4096;

/// The abandoned tickets of one queue, whose caller keeps it alive. Markers are an alert of the queue's table, from before the first of them in a
/// cell is published until after the last is taken out.
pub(super) struct Abandoned<'a, H: Home, const ALL: Word> {
    counts: &'a Counts,
    home: Invariant<H>,
}

impl<H: Home, const ALL: Word> Clone for Abandoned<'_, H, ALL> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: Home, const ALL: Word> Copy for Abandoned<'_, H, ALL> {}

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
        self.markers().count_among(Span::of(self.counts.granted().wrapping_sub(1), line + 1))
    }

    /// Settles tickets that the caller has in hand, and then calls the wakers of tasks that this lets go.
    #[cold]
    pub(super) fn settle(self, tickets: Span) {
        // Most are a single ticket in the middle of a line, beside others that were given up, and are marked with these.
        let is_single = tickets.first == tickets.last;
        if is_single && self.is_in_the_middle(tickets) && self.markers().mark_beside_others(tickets.first) {
            // If a waker that S6 lets go unwinds, S7 is left out: what S6 passes on has come to our ticket, too.
            if self.must_take_back(tickets, move |before| self.settle_calling(before)) {
                self.settle_from(tickets.first);
            }
            return;
        }
        self.settle_calling(tickets);
    }

    #[inline(never)]
    fn settle_from(self, first: Word) {
        if let Some(tickets) = self.take_from(first) {
            self.settle_calling(tickets);
        }
    }

    #[inline(never)]
    fn settle_calling(self, tickets: Span) {
        self.settle_noting(tickets, &mut Wakes::default());
    }

    /// Settles tickets that the caller has in hand, and notes the wakers of tasks that this lets go.
    pub(super) fn settle_noting(&self, mut tickets: Span, due: &mut Wakes<H::Backend>) {
        loop {
            // S1
            if self.counts.is_granted(tickets.first) {
                return self.pass_on(tickets, due);
            }
            // S2
            if self.give_back(tickets) {
                fence_before_peek_seqcst();
                match self.take_up_to(tickets.before()) {
                    Some(before) => tickets = before,
                    None => return,
                }
                continue;
            }
            let piece = Piece::first_of(tickets, ALL);
            if let Some(rest) = piece.rest_of(tickets) {
                // It has no rest itself.
                self.settle_noting(piece.span, due);
                tickets = rest;
                continue;
            }
            // S4
            let in_hand = match self.mark(piece) {
                Marked::Yes if self.must_take_back(piece.span, |before| self.settle_noting(before, due)) => {
                    self.take_from(piece.span.first)
                }
                Marked::Yes => None,
                Marked::Full(block) => Some(block),
            };
            match in_hand {
                Some(in_hand) => tickets = in_hand,
                None => return,
            }
        }
    }

    /// The rest of a post that has granted the `n` tickets from `first` on, when somebody may hold them: P2, and S1 for what
    /// it takes out.
    #[inline(always)]
    pub(super) fn after_grant(&self, first: Word, n: Word, due: &mut Wakes<H::Backend>) {
        let taken = self.wake_and_take_out(first, n, due);
        if taken.tickets != 0 {
            self.grant_more(taken, due);
        }
    }

    /// The same, of a post of one, which most often has no wakers of tasks to note. The fence before the peeks is the caller's.
    #[inline(always)]
    pub(super) fn after_grant_of_one(&self, first: Word) {
        let hash = wake_thread_of_holder::<H, ALL>(self.counts, first);
        if table_of::<H>().is_alert() {
            self.after_thread_of_holder(first, hash);
        }
    }

    #[cold]
    fn after_thread_of_holder(&self, first: Word, hash: u32) {
        let due = &mut Wakes::default();
        let taken = self.wake_task_and_take_out(first, hash, due);
        if taken.tickets != 0 {
            self.grant_more(taken, due);
        }
    }

    /// C0 of a post that will grant `ticket`: its permit must not go past a marker that the last one went to.
    pub(super) fn before_grant(&self, ticket: Word, due: &mut Wakes<H::Backend>) {
        fence_before_peek_seqcst();
        if let Some(span) = self.take_from(ticket.wrapping_sub(1)) {
            self.settle_noting(span, due);
        }
    }

    /// Whether who waits must look for markers before its tickets. Most often there are none at all.
    #[inline]
    pub(super) fn may_be_granted(&self) -> bool {
        fence_before_peek_seqcst();
        // Where a holder may take `ALL` there are no conservative posts.
        ALL == 0 && table_of::<H>().alerts() != 0 && granted_may_be_left()
    }

    /// Both: for who looks each time.
    #[inline]
    pub(super) fn passes_over_before(&self, tickets: Span) -> bool {
        self.may_be_granted() && self.pass_over_before(tickets)
    }

    /// W: if the last ticket that is granted has a marker, and so have all from there to these tickets, its permit goes on, first of all
    /// to them. Returns whether that was so.
    #[cold]
    pub(super) fn pass_over_before(&self, tickets: Span) -> bool {
        let granted = self.take_granted_before(tickets.first);
        granted.inspect(|&span| self.settle(span)).is_some()
    }

    /// P1 and P2 for as many tickets as the caller has taken in hand, and again for as many as this passes over.
    #[cold]
    fn grant_more(&self, mut in_hand: Taken, due: &mut Wakes<H::Backend>) {
        while in_hand.tickets != 0 {
            let n = in_hand.tickets;
            // Ordering: as in `TicketQueue::post`.
            let first = self.counts.grant.fetch_add(n, Ordering::SeqCst);
            // Those that were in hand are not looked for. Where a holder may take `ALL` it is not worth the trouble.
            let behind = in_hand.last.wrapping_add(1);
            let own = if ALL == 0 && before(first, behind) { behind.wrapping_sub(first) } else { 0 };
            in_hand = self.wake_and_take_out(first.wrapping_add(own), n - own, due);
        }
    }

    /// P2 for the `n` tickets from `first` on; as many more are to be granted as it takes out.
    #[inline(always)]
    fn wake_and_take_out(&self, first: Word, n: Word, due: &mut Wakes<H::Backend>) -> Taken {
        fence_before_peek_seqcst();
        if n != 1 {
            return self.wake_and_take_out_several(first, n, due);
        }
        let hash = wake_thread_of_holder::<H, ALL>(self.counts, first);
        // Neither tasks nor markers, as a rule: one look for both.
        if table_of::<H>().is_alert() { self.wake_task_and_take_out(first, hash, due) } else { Taken::default() }
    }

    /// The rest of that for one ticket, when its holder has been woken if it is a thread. Its key has this hash.
    #[inline]
    fn wake_task_and_take_out(&self, first: Word, hash: u32, due: &mut Wakes<H::Backend>) -> Taken {
        wake_task_of_holder::<H>(self.counts, first, hash, due);
        if table_of::<H>().alerts() == 0 {
            Taken::default()
        } else {
            self.markers().take_at(first, self.behind_drawn())
        }
    }

    #[inline(never)]
    fn wake_and_take_out_several(&self, first: Word, n: Word, due: &mut Wakes<H::Backend>) -> Taken {
        // Ordering: SeqCst. Who has drawn a ticket by now is looked for; who draws one later sees that it is granted (T1).
        let granted = Granted::of(first, n, self.counts.ticket.load(Ordering::SeqCst));
        wake_holders::<H, ALL>(self.counts, granted, due);
        if table_of::<H>().alerts() == 0 { Taken::default() } else { self.take_out(granted) }
    }

    /// Takes out the markers of these tickets, and of the one before, and those that follow the last.
    #[cold]
    fn take_out(&self, granted: Granted<ALL>) -> Taken {
        let stretches = granted.stretches().map(|(first, n)| Span::of(first.wrapping_sub(1), n + 1));
        let taken = stretches.map(|tickets| self.markers().take_among(tickets, self.behind_drawn()));
        taken.fold(Taken::default(), Taken::and)
    }

    /// What tickets that are drawn are before.
    #[inline]
    fn behind_drawn(&self) -> impl Fn() -> Word {
        // Ordering: relaxed; who sees the marker of a ticket sees that it was drawn, if it was.
        || self.counts.ticket.load(Ordering::Relaxed)
    }

    /// S1: grants as many more tickets as these are.
    fn pass_on(&self, tickets: Span, due: &mut Wakes<H::Backend>) {
        if markers_may_be_left::<H>() {
            self.markers().drop_among(tickets, |_| false);
        }
        self.grant_more(Taken { tickets: tickets.len(), last: tickets.last }, due);
    }

    /// Whether tickets are neither granted nor the last in line.
    #[inline]
    fn is_in_the_middle(&self, tickets: Span) -> bool {
        // Ordering: relaxed; S5 looks again.
        !self.counts.is_granted(tickets.first) && self.counts.ticket.load(Ordering::Relaxed) != tickets.behind()
    }

    /// S2: gives tickets back, if they are the last in line.
    fn give_back(&self, tickets: Span) -> bool {
        let ticket = &self.counts.ticket;
        // Ordering: SeqCst; the lowering of pair M2.
        ticket.compare_exchange(tickets.behind(), tickets.first, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// S4
    pub(super) fn mark(&self, piece: Piece) -> Marked {
        // Ordering: relaxed; a ticket that has a marker of this queue was drawn before.
        let is_drawn = |block: Span| before(block.last, self.counts.ticket.load(Ordering::Relaxed));
        let may_be_joined = |block: Span| is_drawn(block) && !self.counts.is_granted(block.first);
        self.markers().mark(piece, may_be_joined, || self.line_to_mark())
    }

    /// S5 to S7: whether tickets that have just been marked cannot be left to others. What is before them goes to `settle`.
    #[inline]
    fn must_take_back(&self, tickets: Span, settle: impl FnOnce(Span)) -> bool {
        // S5. Ordering: SeqCst, in `is_granted` and below; the loads of pairs M1 and M2.
        fence_before_peek_seqcst();
        if self.counts.is_granted(tickets.first) {
            return true;
        }
        // S6. There is a marker, or was.
        if ALL == 0
            && granted_may_be_left()
            && let Some(before) = self.take_granted_before(tickets.first)
        {
            settle(before);
        }
        // S7
        self.counts.ticket.load(Ordering::SeqCst) == tickets.behind()
    }

    /// S6 and W: takes out the marker of the last ticket that is granted and those that follow it, if all between that one and `ticket` have
    /// one. Not if more than that is granted: then a post is about to take it out.
    #[cold]
    fn take_granted_before(&self, ticket: Word) -> Option<Span> {
        let last = self.counts.granted().wrapping_sub(1);
        let markers = self.markers();
        // Most often there is none of that one.
        let is_left = before(last, ticket) && markers.has(last) && !markers.has(last.wrapping_sub(1));
        if is_left && markers.has_all(last, ticket.wrapping_sub(1)) { self.take_from(last) } else { None }
    }

    /// L5: takes out what others have left at tickets that are about to be drawn.
    #[cold]
    pub(super) fn drop_left_markers(&self, tickets: Span) {
        // Ordering: relaxed; who has seen the marker sees that its tickets were drawn, if they were.
        self.markers().drop_among(tickets, |last| before(last, self.counts.ticket.load(Ordering::Relaxed)));
    }

    /// For how long a line there should be room. One with few markers is one of long runs, and needs no more room than they do, and some
    /// for those to come.
    fn line_to_mark(&self) -> Word {
        let cells = table_of::<H>().alerts();
        let has_many = cells > FEW_BLOCKS;
        let line = || holders_of::<ALL>(Word::try_from(-self.counts.surplus()).unwrap_or(0));
        let room = Word::try_from(cells).unwrap_or(Word::MAX).saturating_mul(ROOM_FOR_A_CELL);
        if has_many { line().min(room) } else { 0 }
    }

    /// The run that begins with this ticket, as far as it is in one cell. It may begin earlier, where one marker stands for several tickets by
    /// now: then those before this one are granted, too, if this one is.
    #[cold]
    fn take_from(&self, first: Word) -> Option<Span> {
        if table_of::<H>().alerts() == 0 {
            return None;
        }
        self.markers().take_from(first, self.behind_drawn())
    }

    /// The run that ends with this ticket, as far as it is in one cell, and no post is about to take it out.
    #[cold]
    fn take_up_to(&self, last: Word) -> Option<Span> {
        if table_of::<H>().alerts() == 0 {
            return None;
        }
        self.markers().take_up_to(last, || self.counts.granted())
    }

    fn markers(&self) -> Markers<H, ALL> {
        Markers::of(self.counts)
    }
}

world_static! {
    /// Whether a ticket has ever been drawn that no call waits for. Advice, until one has.
    fn unattended_are_drawn() -> &'static AtomicBool {
        const { AtomicBool::new(false) }
        model { AtomicBool::new(false) }
    }
}

world_static! {
    /// Whether a conservative post has ever granted a ticket that has a marker.
    pub(crate) fn granted_were_left() -> &'static AtomicUsize {
        const { AtomicUsize::new(0) }
        model { AtomicUsize::new(0) }
    }
}

/// Whether there may be markers of granted tickets that a conservative post has left to others (M3).
#[inline]
fn granted_may_be_left() -> bool {
    // Ordering: SeqCst; part of the looks of M3.
    granted_were_left().load(Ordering::SeqCst) != 0
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
pub(super) fn markers_may_be_left<H: Home>() -> bool {
    // Ordering: relaxed; whoever has the place of such a queue now has seen it go. They are alerts of its table, as long as they are there.
    unattended_are_drawn().load(Ordering::Relaxed) && table_of::<H>().alerts() != 0
}

/// C2: the rest of a conservative post of `ticket`. The queue is a name here and is not touched: it may be gone, and another be
/// in its place, whose waiters do not mind being woken.
#[cold]
pub(super) fn after_conservative_grant<H: Home>(queue: *const Counts, ticket: Word, due: &mut Wakes<H::Backend>) {
    fence_before_peek_seqcst();
    wake_holder::<H, 0>(queue, ticket, due);
    if table_of::<H>().alerts() != 0 {
        wake_behind_run::<H>(queue, ticket, due);
    }
}

/// Wakes who waits behind a ticket that has a marker, and behind all that follow it and have one.
fn wake_behind_run<H: Home>(queue: *const Counts, ticket: Word, due: &mut Wakes<H::Backend>) {
    if !granted_may_be_left() {
        // Ordering: SeqCst, before the looks of M3.
        granted_were_left().store(1, Ordering::SeqCst);
    }
    fence_before_peek_seqcst();
    let behind = Markers::<H, 0>::of(queue).behind_run_from(ticket);
    if behind != ticket {
        let key = key_of(queue, behind);
        table_of::<H>().wake_threads(key);
        table_of::<H>().wake_tasks(key, due);
    }
}
