//! The two words of a queue: how many tickets have been drawn, and how many granted.

use super::word::{AtomicWord, Distance, MAX_DISTANCE, NARROW, Word, before, check_room, distance, room};
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
    #[track_caller]
    pub(super) fn draw(&self, n: Word) -> Word {
        if can_overflow(n) { self.draw_many(n) } else { self.draw_unchecked(n) }
    }

    /// Draws `n` tickets; returns the first. Whether there was room for them is for the caller to look at.
    #[inline]
    pub(super) fn draw_unchecked(&self, n: Word) -> Word {
        // Ordering: SeqCst, for pair T1. Acquire, for a ticket that was granted long ago, comes from the load of `grant`.
        self.ticket.fetch_add(n, Ordering::SeqCst)
    }

    /// Whether there is room for `n` tickets behind those that are drawn, at this moment.
    #[inline]
    pub(super) fn has_room_for(&self, n: Word) -> bool {
        n <= room(MAX_DISTANCE, self.line().1)
    }

    /// Whether there was room for the tickets up to `last`, which have been drawn unchecked.
    pub(super) fn is_room_up_to(&self, last: Word) -> bool {
        self.tickets_ahead_of(last) < MAX_DISTANCE.cast_signed()
    }

    #[inline]
    #[track_caller]
    fn draw_many(&self, n: Word) -> Word {
        loop {
            let first = self.next_ticket(n);
            if self.draw_from(first, n) {
                return first;
            }
        }
    }

    /// The next ticket to be drawn. Panics if there is no room for `n`, where that is checked.
    #[inline]
    #[track_caller]
    pub(super) fn next_ticket(&self, n: Word) -> Word {
        let (first, waiting) = self.line();
        if can_overflow(n) {
            check_room("taking", n, waiting);
        }
        first
    }

    /// The next ticket to be drawn, and how many at most are drawn and not granted.
    #[inline]
    fn line(&self) -> (Word, Distance) {
        // `ticket` first: what is granted after that makes room. Ordering: acquire, for that order.
        let next = self.ticket.load(Ordering::Acquire);
        (next, distance(self.grant.load(Ordering::Relaxed), next))
    }

    /// Draws `n` tickets, if `first` still is the next.
    #[inline]
    pub(super) fn draw_from(&self, first: Word, n: Word) -> bool {
        // Ordering: as in `draw_unchecked`.
        self.ticket.compare_exchange(first, first.wrapping_add(n), Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Panics if `n` more tickets cannot be granted; returns `grant` as it was.
    #[inline]
    #[track_caller]
    pub(super) fn check_room_to_grant(&self, n: Word) -> Word {
        let (grant, granted_ahead) = self.granted_ahead();
        check_room("posting", n, granted_ahead);
        grant
    }

    /// `grant`, and how many tickets at least can be granted on top of it, so that not more than `limit` are granted in advance.
    pub(super) fn room_to_grant(&self, limit: Word) -> (Word, Word) {
        let (grant, granted_ahead) = self.granted_ahead();
        (grant, room(limit, granted_ahead))
    }

    /// `grant`, and how many tickets at most are granted in advance.
    #[inline]
    fn granted_ahead(&self) -> (Word, Distance) {
        // `grant` first: a ticket drawn after that makes room. Ordering: acquire, for that order.
        let grant = self.grant.load(Ordering::Acquire);
        (grant, distance(self.ticket.load(Ordering::Relaxed), grant))
    }

    #[inline]
    pub(super) fn is_granted(&self, ticket: Word) -> bool {
        before(ticket, self.granted())
    }

    #[inline]
    pub(super) fn granted(&self) -> Word {
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
    #[inline]
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

/// Drawing single tickets cannot overflow 64 bits in practice. A narrow counter is full sooner: abandoned tickets count, and stay
/// in line while anybody is behind them.
#[inline]
const fn can_overflow(n: Word) -> bool {
    n != 1 || NARROW
}
