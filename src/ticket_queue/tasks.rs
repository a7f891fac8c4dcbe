//! Tickets that tasks hold: what the futures of semaphores and locks are made of.
//!
//! A task's first poll tries without a ticket, and draws one if it must wait. From then on it stands in line like a thread, and
//! is published under the key (address, last ticket), as a thread is; the element in its future remembers that key, and so the
//! ticket. What differs from a thread:
//!
//! - **H1.** It is woken when its ticket is granted, or by C2 of [`super::abandoned`] to pass permits on, and never to be made
//!   ready: a poll that finds nothing is work for nothing, and does not bring a thread closer to its CPU.
//! - **H2.** It is away between two polls, with its ticket in line. So nothing may rest on a holder being inside a call. A
//!   permit that is granted to it is its own, polled or not, until its future is dropped.
//! - **H3.** Its future is dropped: a take that has timed out. Its tickets are abandoned and settled; what was granted to them
//!   goes on to the next in line (S1 of [`super::abandoned`]).
//! - **H4.** Its future may have been made by the parent of a fork. Then the ticket is one of the parent's, which the child's
//!   other calls may have settled, or may yet ([`super::inherited`]): to hold it would make two permits of one. It draws a new
//!   one.
//! - **H5.** Its future may be forgotten. Then its ticket is nobody's, and in no marker ("Forgotten" in [`super::abandoned`]).
//!
//! # Take against post
//!
//! T1 and T2 hold as for threads. The ticket is drawn, and the element published, before `grant` is loaded:
//!
//! ```text
//! task, first poll                       post
//! no permit that nobody waits for        grant += 1
//! ticket += 1                            ticket drawn? if not, nobody to wake
//! publish at (queue, ticket)             (needs no fence B)
//! fence A                                anybody at (queue, ticket)? notify, note the waker
//! granted? no: Pending                   call the waker
//! ```
//!
//! Nothing foreign comes between the drawing of the ticket and the publication: the waker has been cloned before, for that may
//! unwind, and a ticket that nobody remembers would swallow a permit.

use super::{
    TicketQueue,
    abandoned::note_unattended,
    inherited::settle_before_unattended_draw,
    levels::Span,
    word::{Word, key_of, ticket_of},
};
use crate::wait_table::{Home, Key};

/// For a [`Purpose`](crate::wait_table::Purpose), whose `last` key is the one under which it was published, if it was.
impl<H: Home, const ALL: Word> TicketQueue<H, ALL> {
    /// The key to begin with, when no ticket has been drawn.
    pub(crate) fn key(&self) -> Key {
        Key::of_primitive(&raw const self.counts)
    }

    /// Takes `n` permits, by the ticket that it has or without one. Returns the first.
    #[inline]
    pub(crate) fn attempt(&self, n: Word, last: Option<Key>) -> Option<Word> {
        match last {
            None => self.try_take(n),
            Some(last) => self.is_granted_to_task(self.tickets_of(n, last)),
        }
    }

    /// The key to wait under for `n` permits: draws the tickets, unless it has them.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[inline]
    pub(crate) fn key_of_task(&self, n: Word, last: Option<Key>) -> Key {
        last.unwrap_or_else(|| {
            settle_before_unattended_draw::<H, ALL>(&self.counts);
            note_unattended();
            let tickets = self.draw(n);
            self.refuse_without_room(tickets);
            key_of(&raw const self.counts, tickets.last)
        })
    }

    /// Leaves the line in which it stood for `n` permits, as a take that has timed out.
    pub(crate) fn abandon(&self, n: Word, last: Key) {
        self.abandoned().settle(self.tickets_of(n, last));
    }

    /// W: as in `waiting.rs`. At every poll, since each may find another value of `grant`.
    #[inline]
    fn is_granted_to_task(&self, tickets: Span) -> Option<Word> {
        let is_granted = || self.counts.is_granted(tickets.last);
        let is_admitted = is_granted() || self.abandoned().passes_over_before(tickets) && is_granted();
        is_admitted.then_some(tickets.first)
    }

    #[inline]
    fn tickets_of(&self, n: Word, last: Key) -> Span {
        debug_assert!(
            ticket_of(&raw const self.counts, last).is_some(),
            "a task waits under the key of a ticket of its queue"
        );
        let last = last.ticket_or_0() as Word;
        Span { first: last.wrapping_sub(n - 1), last }
    }
}
