//! The two words that all listings share, with the paper's comparison by magnitude.

use crate::sync::{atomic::Ordering, fence_before_peek_seqcst};
use crate::ticket_queue::{AtomicWord, Distance, MAX_DISTANCE, Word, distance};
use core::fmt;

/// Ticket and Grant.
pub(super) struct Tickets {
    ticket: AtomicWord,
    grant: AtomicWord,
}

impl Tickets {
    pub(super) fn new(permits: u64) -> Self {
        let permits = Word::try_from(permits).ok().filter(|permits| *permits <= MAX_DISTANCE);
        let permits = permits.expect("layby: more permits than a semaphore can hold");
        Self { ticket: AtomicWord::new(0), grant: AtomicWord::new(permits) }
    }

    /// `Ticket.fetch_add(1)`.
    pub(super) fn draw(&self) -> Word {
        // Ordering: SeqCst here and below, as in the paper, whose argument is pair T1 of `crate::ticket_queue`.
        let ticket = self.ticket.fetch_add(1, Ordering::SeqCst);
        fence_before_peek_seqcst();
        ticket
    }

    /// `dx`: how far the grants are ahead of ticket `tx`. Positive: it may go.
    pub(super) fn surplus(&self, tx: Word) -> Distance {
        distance(tx, self.grant.load(Ordering::SeqCst))
    }

    /// `Grant.fetch_add(1)`: the ticket that it grants.
    ///
    /// # Panics
    /// If as many permits are there as the counters can hold. A wide counter never gets there.
    pub(super) fn grant(&self) -> Word {
        if size_of::<Word>() < 8 {
            // `grant` first: a ticket drawn since then makes room.
            let grant = self.grant.load(Ordering::Acquire);
            let ahead = distance(self.ticket.load(Ordering::Relaxed), grant);
            assert!(ahead < MAX_DISTANCE.cast_signed(), "layby: posting one more permit would overflow the semaphore");
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
