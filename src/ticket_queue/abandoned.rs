//! Tickets that nobody holds any more, and how they leave no trace.
//!
//! A thread that gives up holds a ticket somewhere in line. It must not swallow a permit, must not hold up those behind,
//! and must leave at once. So the tickets become *abandoned*: always in exactly one place, in some thread's hands or in
//! a marker. Whoever has them in hand settles them:
//!
//! ```text
//! settle(first..=last)
//!   S1  grant > first: a permit has come for them. Grant as many tickets more as these are: the permit goes on to the
//!       next in line, and so do the permits that are still to come for the others. Done.
//!   S2  ticket == last + 1: they are the last in line. Compare-and-swap ticket to first: given back. Then take out the
//!       marker that ends with first - 1, if there is one, and settle that.
//!   S3  join them with a neighbouring marker, if there is one, and start again.
//!   S4  publish a marker.
//!   S5  grant > first or ticket == last + 1 by now: take out a marker with any of these tickets and settle that. It is
//!       gone: then someone else settles it. Done.
//! post
//!   P1  grant += n
//!   P2  take out every marker with a ticket that this has granted: in hand, with grant > first; S1
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
//! publish a marker for 5                (the permit is lost, 6 waits for ever)
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
//!   `t`: no thread waits, so by L1 it is last in line or granted. Whoever published its marker looked at both (S5) after
//!   publishing, and whoever changed either since looked for the marker (P2, S2); by M1 and M2 one of them found it.
//!
//! S2 needs no look at `grant` first: if a permit comes for `first` just before the compare-and-swap, it stays in the
//! semaphore as an available one, and the next to take a ticket gets `first` and finds it granted.

use super::{
    TicketQueue,
    markers::{self, Span},
    word::Word,
};
use crate::sync::{atomic::Ordering, fence_before_peek_seqcst};
use crate::wait_table::Home;
use core::{marker::PhantomData, ptr};

/// The abandoned tickets of one line. A marker is an alert of the line's table, from before it is published until after
/// it is taken out.
pub(super) struct Abandoned<H: Home> {
    address: usize,
    home: PhantomData<fn() -> H>,
}

impl<H: Home> Abandoned<H> {
    pub(super) fn of(line: *const TicketQueue<H>) -> Self {
        Self { address: line.addr(), home: PhantomData }
    }

    /// How many there are in markers, at this moment.
    pub(super) fn count(&self) -> Word {
        if H::table().alerts() == 0 { 0 } else { markers::shard(self.address).count(self.address) }
    }

    fn publish(&self, span: Span) {
        // Before the marker, so that whoever takes it out has an alert to lower.
        H::table().raise_alert();
        markers::shard(self.address).publish(self.address, span);
    }

    /// Takes a marker out.
    fn take(&self, find: impl FnOnce(&markers::Shard) -> Option<Span>) -> Option<Span> {
        let span = if H::table().alerts() == 0 { None } else { find(markers::shard(self.address)) };
        if span.is_some() {
            H::table().lower_alert();
        }
        span
    }

    /// Takes out a marker with any of these tickets.
    pub(super) fn take_overlapping(&self, span: Span) -> Option<Span> {
        self.take(|shard| shard.take_overlapping(self.address, span))
    }
}

/// Settles the tickets `first..=last`, which the caller has in hand.
#[cold]
pub(super) fn settle<H: Home>(line: &TicketQueue<H>, first: Word, last: Word) {
    let abandoned = Abandoned::of(ptr::from_ref(line));
    let mut span = Span { first, last };
    loop {
        if line.is_granted(span.first) {
            line.grant_more(span.len());
            return;
        }
        let behind = span.last.wrapping_add(1);
        // Ordering: SeqCst; the lowering of pair M2.
        let order = Ordering::SeqCst;
        if line.ticket.compare_exchange(behind, span.first, order, Ordering::Relaxed).is_ok() {
            fence_before_peek_seqcst();
            let ahead = span.first.wrapping_sub(1);
            match abandoned.take(|shard| shard.take_ending_with(abandoned.address, ahead)) {
                Some(ending) => span = ending,
                _ => return,
            }
            continue;
        }
        if let Some(joined) = abandoned.take(|shard| shard.take_neighbour(abandoned.address, span)) {
            span = joined;
            continue;
        }
        abandoned.publish(span);
        // Ordering: SeqCst, in `is_granted` and here; the loads of pairs M1 and M2.
        fence_before_peek_seqcst();
        let granted = line.is_granted(span.first);
        let is_last = line.ticket.load(Ordering::SeqCst) == behind;
        if !granted && !is_last {
            return;
        }
        match abandoned.take_overlapping(span) {
            Some(taken) => span = taken,
            None => return,
        }
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
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

    /// Each marker is an alert, so they can be counted: those of neighbours become one, whoever leaves first, and none is left
    /// when the line is empty, nor when a post has passed over them.
    #[test]
    fn neighbours_share_a_marker() {
        for order in [[0, 1, 2], [2, 1, 0], [0, 2, 1]] {
            for granted in [false, true] {
                let line = TicketQueue::<Own>::new(0);
                let tickets = [(); 4].map(|()| line.draw(1));
                for nth in order {
                    settle(&line, tickets[nth], tickets[nth]);
                }
                assert_eq!((Own::table().alerts(), line.waited_for()), (1, 1), "{order:?}");
                if granted {
                    line.post();
                } else {
                    settle(&line, tickets[3], tickets[3]);
                }
                assert_eq!((Own::table().alerts(), line.surplus()), (0, 0), "{order:?}");
            }
        }
    }

    #[test]
    fn a_post_of_many_passes_over_those_who_are_not_neighbours_too() {
        let line = TicketQueue::<Global>::new(0);
        let tickets = [(); 4].map(|()| line.draw(1));
        for nth in [0, 2] {
            settle(&line, tickets[nth], tickets[nth]);
        }
        line.post_many(4);
        assert_eq!(line.surplus(), 2);
    }
}
