//! The two words that all listings share, compared by magnitude, as in the paper.

use crate::spin_policy::Line;
use crate::sync::{atomic::Ordering, fence_before_peek_seqcst};
use crate::ticket_queue::{AtomicWord, Distance, NARROW, Word, check_room, distance, word_of};
use core::fmt;

/// Ticket and Grant.
pub(super) struct Tickets {
    ticket: AtomicWord,
    grant: AtomicWord,
}

impl Tickets {
    pub(super) fn new(permits: u64) -> Self {
        Self { ticket: AtomicWord::new(0), grant: AtomicWord::new(word_of(permits)) }
    }

    /// `Ticket.fetch_add(1)`; returns the ticket.
    pub(super) fn draw(&self) -> Word {
        // Ordering: SeqCst here and below, as in the paper, whose argument is pair T1 of `crate::ticket_queue`.
        let ticket = self.ticket.fetch_add(1, Ordering::SeqCst);
        fence_before_peek_seqcst();
        ticket
    }

    /// `dx`: how far Grant is ahead of ticket `tx`. If it is positive, the ticket is granted.
    pub(super) fn surplus(&self, tx: Word) -> Distance {
        distance(tx, self.grant.load(Ordering::SeqCst))
    }

    /// What those who spin until [`surplus`](Self::surplus) is enough wait for.
    pub(super) fn line(&self) -> Line<'_> {
        Line::of(&self.grant)
    }

    /// `Grant.fetch_add(1)`; returns the ticket that it grants.
    ///
    /// # Panics
    /// If there are as many permits as the counters can hold. A wide counter never gets there.
    pub(super) fn grant(&self) -> Word {
        if NARROW {
            // `grant` first: a ticket drawn after that makes room.
            let grant = self.grant.load(Ordering::Acquire);
            let ahead = distance(self.ticket.load(Ordering::Relaxed), grant);
            check_room("posting", 1, ahead);
        }
        self.grant.fetch_add(1, Ordering::SeqCst)
    }

    /// Whether somebody may hold ticket `tx`.
    pub(super) fn is_drawn(&self, tx: Word) -> bool {
        fence_before_peek_seqcst();
        distance(tx, self.ticket.load(Ordering::SeqCst)) > 0
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets")
            .field("ticket", &self.ticket.load(Ordering::Relaxed))
            .field("grant", &self.grant.load(Ordering::Relaxed))
            .finish()
    }
}
