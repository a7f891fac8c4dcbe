//! Tickets that nobody holds any more, and how they leave no trace.
//!
//! A thread that gives up holds a ticket somewhere in line. It must not swallow a permit, must not hold up those behind it,
//! and must leave at once. So the tickets become *abandoned*: always in exactly one place, in some thread's hands or in
//! a marker. The thread that has them in hand settles them:
//!
//! ```text
//! settle(first..=last)
//!   S1  grant > first: a permit has come for them. Grant as many more tickets as these are (P1, P2): the permit goes on
//!       to the next in line, and so do the permits that are still to come for the others. Done.
//!   S2  ticket == last + 1: they are the last in line. Compare-and-swap ticket to first: given back. Then take out the
//!       marker that ends with first - 1, if there is one, and settle that.
//!   S3  join them with a neighbouring marker, if there is one, and start again.
//!   S4  publish a marker.
//!   S5  grant > first or ticket == last + 1 by now: take out a marker with any of these tickets and settle that. If there
//!       is none, another thread has it and settles it. Done.
//! post
//!   P1  grant += n
//!   P2  wake the holders of these n tickets, and take out every marker with one of them: in hand, with grant > first; S1
//! ```
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
//!   marker (P1, P2; S1 is a post too): store buffering again, and all four are `SeqCst`. Either the abandoner sees the
//!   grant, or the poster sees the marker. Both may: then the one that takes the marker out settles it.
//! - **M2.** Publishing a marker and then loading `ticket` (S4, S5), against lowering `ticket` and then looking for a
//!   marker (S2): the same. `ci/litmus.py` has both, `marker_against_…`, with the alerts between.
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
//!   after publishing, and any thread that changed either since then searched for the marker (P2, S2); by M1 and M2 one of them found it.
//!
//! S2 need not load `grant` first: if a permit comes for `first` just before the compare-and-swap, it stays in the
//! semaphore as an available one, and the next thread to draw a ticket gets `first` and finds it granted.

use super::{
    counts::Counts,
    markers::{self, Shard, Span},
    wake::wake_holders,
    word::Word,
};
use crate::sync::{atomic::Ordering, fence_before_peek_seqcst};
use crate::wait_table::Home;
use core::{marker::PhantomData, ptr};

/// The abandoned tickets of one queue. A marker is an alert of the queue's table, from before it is published until after
/// it is taken out.
pub(super) struct Abandoned<'a, H: Home> {
    counts: &'a Counts,
    home: PhantomData<fn() -> H>,
}

impl<'a, H: Home> Abandoned<'a, H> {
    #[inline]
    pub(super) fn of(counts: &'a Counts) -> Self {
        Self { counts, home: PhantomData }
    }

    /// How many there are in markers, at this moment.
    pub(super) fn count(&self) -> Word {
        if H::table().alerts() == 0 { 0 } else { self.shard().count(self.address()) }
    }

    /// Settles tickets that the caller has in hand.
    #[cold]
    pub(super) fn settle(self, tickets: Span) {
        let passed_over = self.give_back_or_mark(tickets);
        self.grant_more(passed_over);
    }

    /// The rest of a post that has granted the `n` tickets from `first` on, when somebody may hold them: P2, and S1 for what
    /// it takes out. The queue is touched only if there are markers of these tickets.
    #[cold]
    pub(super) fn after_grant(self, first: Word, n: Word) {
        let passed_over = self.wake_and_take_out(first, n);
        self.grant_more(passed_over);
    }

    /// P1 and P2, and again for as many tickets as this passes over.
    fn grant_more(&self, mut n: Word) {
        while n != 0 {
            // Ordering: as in `TicketQueue::post`.
            let first = self.counts.grant.fetch_add(n, Ordering::SeqCst);
            n = self.wake_and_take_out(first, n);
        }
    }

    /// P2 for the `n` tickets from `first` on; returns how many more are to be granted.
    fn wake_and_take_out(&self, first: Word, n: Word) -> Word {
        wake_holders::<H>(self.counts, first, n);
        let granted = Span { first, last: first.wrapping_add(n - 1) };
        let mut passed_over: Word = 0;
        while let Some(span) = self.take_overlapping(granted) {
            if !self.counts.is_granted(span.first) {
                // The queue that we posted to is gone, and a new one has been made in its place: its own posts pass over
                // its tickets.
                return passed_over.wrapping_add(self.give_back_or_mark(span));
            }
            passed_over = passed_over.wrapping_add(span.len());
        }
        passed_over
    }

    /// S1 to S5; what S1 says is left to the caller: returns how many more tickets are to be granted.
    fn give_back_or_mark(&self, mut span: Span) -> Word {
        loop {
            // S1
            if self.counts.is_granted(span.first) {
                return span.len();
            }
            // S2. Ordering: SeqCst; the lowering of pair M2.
            let behind = span.last.wrapping_add(1);
            if self.counts.ticket.compare_exchange(behind, span.first, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                fence_before_peek_seqcst();
                match self.take_ending_with(span.first.wrapping_sub(1)) {
                    Some(ending) => span = ending,
                    None => return 0,
                }
                continue;
            }
            // S3
            if let Some(joined) = self.take_neighbour(span) {
                span = joined;
                continue;
            }
            // S4
            self.publish(span);
            // S5. Ordering: SeqCst, in `is_granted` and here; the loads of pairs M1 and M2.
            fence_before_peek_seqcst();
            let is_granted = self.counts.is_granted(span.first);
            let is_last = self.counts.ticket.load(Ordering::SeqCst) == behind;
            if !is_granted && !is_last {
                return 0;
            }
            match self.take_overlapping(span) {
                Some(taken) => span = taken,
                None => return 0,
            }
        }
    }

    fn publish(&self, span: Span) {
        // Before the marker, so that the thread that takes it out has an alert to lower.
        H::table().raise_alert();
        self.shard().publish(self.address(), span);
    }

    /// Takes out a marker with any of these tickets.
    fn take_overlapping(&self, tickets: Span) -> Option<Span> {
        self.take(|shard, queue| shard.take_overlapping(queue, tickets))
    }

    /// Takes out a marker that stands next to these tickets, and joins them.
    fn take_neighbour(&self, tickets: Span) -> Option<Span> {
        self.take(|shard, queue| shard.take_neighbour(queue, tickets))
    }

    /// Takes out the marker that ends with this ticket.
    fn take_ending_with(&self, last: Word) -> Option<Span> {
        self.take(|shard, queue| shard.take_ending_with(queue, last))
    }

    fn take(&self, find: impl FnOnce(&Shard, usize) -> Option<Span>) -> Option<Span> {
        if H::table().alerts() == 0 {
            return None;
        }
        let span = find(self.shard(), self.address())?;
        H::table().lower_alert();
        Some(span)
    }

    fn shard(&self) -> &'static Shard {
        markers::shard(self.address())
    }

    /// The queue's name.
    fn address(&self) -> usize {
        ptr::from_ref(self.counts).addr()
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::super::TicketQueue;
    use super::*;
    use crate::sys::Native;
    use crate::wait_table::{Global, Slots, WaitTable};

    struct Own;

    impl Home for Own {
        type Backend = Native;

        fn table() -> &'static WaitTable {
            static SLOTS: Slots<1> = Slots::new();
            static TABLE: WaitTable = WaitTable::from_slots(&SLOTS);
            &TABLE
        }
    }

    fn settle<H: Home>(queue: &TicketQueue<H>, ticket: Word) {
        Abandoned::<H>::of(&queue.counts).settle(Span { first: ticket, last: ticket });
    }

    /// Each marker is an alert, so they can be counted: those of neighbours become one, in whatever order they leave, and none is
    /// left when the queue is empty, nor when a post has passed over them.
    #[test]
    fn neighbours_share_a_marker() {
        for order in [[0, 1, 2], [2, 1, 0], [0, 2, 1]] {
            for granted in [false, true] {
                let queue = TicketQueue::<Own>::new(0);
                let tickets = [(); 4].map(|()| queue.counts.draw(1));
                for nth in order {
                    settle(&queue, tickets[nth]);
                }
                assert_eq!((Own::table().alerts(), queue.waited_for()), (1, 1), "{order:?}");
                if granted {
                    queue.post();
                } else {
                    settle(&queue, tickets[3]);
                }
                assert_eq!((Own::table().alerts(), queue.surplus()), (0, 0), "{order:?}");
            }
        }
    }

    #[test]
    fn a_post_of_many_passes_over_those_who_are_not_neighbours_too() {
        let queue = TicketQueue::<Global>::new(0);
        let tickets = [(); 4].map(|()| queue.counts.draw(1));
        for nth in [0, 2] {
            settle(&queue, tickets[nth]);
        }
        queue.post_many(4);
        assert_eq!(queue.surplus(), 2);
    }
}
