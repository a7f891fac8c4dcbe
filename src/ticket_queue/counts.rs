//! The two words of a queue: how many tickets have been drawn, and how many granted.

use super::word::{AtomicWord, Distance, NARROW, Word, before, check_room, distance};
use crate::sync::{atomic::Ordering, const_outside_models};

/// The two words. Their address names the queue, in the wait table's keys and in markers.
pub(super) struct Counts {
    /// The next ticket to be drawn.
    pub(super) ticket: AtomicWord,
    /// The number of tickets granted: the first ticket that is not.
    pub(super) grant: AtomicWord,
}

impl Counts {
    const_outside_models! {
        pub(super) fn new(granted: Word) -> Self {
            Self { ticket: AtomicWord::new(0), grant: AtomicWord::new(granted) }
        }
    }

    /// Draws `n` tickets; returns the first.
    ///
    /// # Panics
    /// If there is no room for them, which is checked as [`TicketQueue::take`](super::TicketQueue::take) says.
    #[inline]
    pub(super) fn draw(&self, n: Word) -> Word {
        // Drawing single tickets cannot overflow 64 bits in practice. A narrow counter is full sooner: abandoned tickets
        // count, and stay in line while anybody is behind them.
        if n != 1 || NARROW {
            return self.draw_many(n);
        }
        // Ordering: SeqCst, for pair T1. Acquire, for a ticket that was granted long ago, comes from the load of `grant`.
        self.ticket.fetch_add(1, Ordering::SeqCst)
    }

    #[inline]
    fn draw_many(&self, n: Word) -> Word {
        loop {
            // `ticket` first: what is granted after that makes room. Ordering: acquire, for that order.
            let first = self.ticket.load(Ordering::Acquire);
            let waiting = distance(self.grant.load(Ordering::Relaxed), first);
            check_room("taking", n, waiting);
            let next = first.wrapping_add(n);
            // Ordering: as in `draw`.
            if self.ticket.compare_exchange(first, next, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                return first;
            }
        }
    }

    /// Panics if `n` more tickets cannot be granted; returns `grant` as it was.
    #[inline]
    pub(super) fn check_room_to_grant(&self, n: Word) -> Word {
        // `grant` first: a ticket drawn after that makes room. Ordering: acquire, for that order.
        let grant = self.grant.load(Ordering::Acquire);
        let granted_ahead = distance(self.ticket.load(Ordering::Relaxed), grant);
        check_room("posting", n, granted_ahead);
        grant
    }

    #[inline]
    pub(super) fn is_granted(&self, ticket: Word) -> bool {
        before(ticket, self.granted())
    }

    /// Whether the `n` tickets from `first` on are granted. Looking at the last of them would not do: `first` may stand at
    /// the end of a long queue, and the last be too far behind `grant` to be compared with it.
    #[inline]
    pub(super) fn are_granted(&self, first: Word, n: Word) -> bool {
        distance(first, self.granted()) >= n.cast_signed()
    }

    #[inline]
    fn granted(&self) -> Word {
        // Ordering: acquire; matches the release of the post, whose writes the taker sees. SeqCst for pairs T1
        // and M1, at no cost on x86 and ARM.
        self.grant.load(Ordering::SeqCst)
    }

    /// How many tickets must be granted before `ticket`; negative if it is granted. Advice: see
    /// [`is_granted`](Self::is_granted).
    #[inline]
    pub(super) fn tickets_ahead_of(&self, ticket: Word) -> Distance {
        // Ordering: relaxed; nobody goes because of it.
        distance(self.grant.load(Ordering::Relaxed), ticket)
    }

    /// How many tickets are granted in advance; negative: how many are drawn and not granted.
    pub(super) fn surplus(&self) -> Distance {
        // Both at one moment: `grant` only grows, so if it is the same before and after, it did not change in between.
        let mut seen = self.grant.load(Ordering::SeqCst);
        loop {
            let ticket = self.ticket.load(Ordering::SeqCst);
            let grant = self.grant.load(Ordering::SeqCst);
            if grant == seen {
                return distance(ticket, grant);
            }
            seen = grant;
        }
    }
}
