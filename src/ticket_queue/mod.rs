//! A queue of ticket holders: the paper's TWA semaphore, and what [`crate::sema::Semaphore`] and
//! [`crate::mutex::FairMutex`] are made of.
//!
//! `ticket` is the next ticket to be drawn, `grant` the number of tickets granted: the holder of ticket `t` may go when
//! `grant > t`. Both only count up, except that tickets at the end of the queue are given back (see [`abandoned`]).
//!
//! | call | does |
//! |---|---|
//! | take | `ticket += n`, then waits until its last ticket is granted ([`waiting`]) |
//! | try | moves `ticket` from `t` to `t + n` if `grant >= t + n`: never past somebody who waits |
//! | post | `grant += n`, then wakes those who hold the tickets granted ([`wake`]) |
//! | give up | leaves the queue; its tickets are abandoned ([`abandoned`]) |
//!
//! # Take against post
//!
//! Two pairs, each the store-buffering argument of [`crate::wait_table`], without a fence because all is `SeqCst`
//! (`ci/litmus.py`: `take_against_post`, `wait_against_conservative_post` and its like):
//!
//! - **T1.** The taker draws its ticket, then loads `grant`; post adds to `grant`, then loads `ticket`. Either the taker
//!   sees the permit, or post sees that somebody holds the ticket and goes on to wake it. So a post that finds no holder
//!   need not look at the table.
//! - **T2.** The holder of ticket `t` publishes itself under the key (address, `t`), then loads `grant`; post adds to
//!   `grant`, then peeks at the slot. Either the holder sees the permit and does not sleep, or post sees the holder and
//!   wakes it.
//!
//! # A queue that is freed by a thread it lets go
//!
//! A permit may be the last thing that a thread waited for before freeing the queue, and post's load of `ticket` may then
//! come too late. Safe code cannot do that, because post borrows the queue. For code that shares the queue by other means,
//! [`TicketQueue::post_conservatively`] leaves T1 out and peeks at the table each time: once it has added to `grant`, it
//! uses the queue's address as a name, and nothing else. It touches the queue again in one case only: it has taken out
//! a marker of that queue. Then those tickets are in our hands, and the threads behind them do not have the permit yet.
//!
//! A limit: a marker names its queue by the address. If the queue was freed, and another made in its place, and that one has
//! a marker with the ticket that we granted, all before our call returns, we take that marker. We see that the ticket is not
//! granted there and settle it as its abandoner would; but if that queue too is freed at that very moment, we touch it when
//! it is gone. `ci/abandon_model.py` has what such a stale post would do without the check.

mod abandoned;
mod counts;
mod markers;
mod waiting;
mod wake;
mod word;

use crate::deadline::Deadline;
use crate::sync::{atomic::Ordering, const_outside_models, fence_before_peek_seqcst};
use crate::wait_table::Home;
use abandoned::Abandoned;
use core::marker::PhantomData;
use counts::Counts;
use markers::Span;
#[cfg(layby_model)]
pub(crate) use markers::shards;
use wake::STAGED;
use word::before;
pub(crate) use word::{
    AtomicWord, Distance, MAX_DISTANCE, MAX_PERMITS, NARROW, Word, check_room, distance, key_of, word_of,
};

/// A queue: two words, 16 bytes.
pub(crate) struct TicketQueue<H: Home> {
    counts: Counts,
    home: PhantomData<fn() -> H>,
}

impl<H: Home> TicketQueue<H> {
    const_outside_models! {
        /// A queue in which `permits` tickets are granted in advance.
        pub(crate) fn new(permits: Word) -> Self {
            Self { counts: Counts::new(permits), home: PhantomData }
        }
    }

    /// Draws `n` tickets and waits until all are granted. Returns the first.
    ///
    /// # Panics
    /// If more than [`MAX_DISTANCE`] tickets would then wait to be granted, abandoned ones included. With wide counters this
    /// is not checked for a single ticket.
    #[inline]
    pub(crate) fn take(&self, n: Word) -> Word {
        let tickets = self.draw(n);
        if !self.counts.is_granted(tickets.last) {
            waiting::wait::<H>(&self.counts, tickets.last, Deadline::NEVER);
        }
        tickets.first
    }

    /// Like [`take`](Self::take), but only until `deadline`: `None` if the tickets were not granted in time.
    #[inline]
    pub(crate) fn take_until(&self, n: Word, deadline: Deadline) -> Option<Word> {
        let tickets = self.draw(n);
        if self.counts.is_granted(tickets.last) || waiting::wait::<H>(&self.counts, tickets.last, deadline) {
            return Some(tickets.first);
        }
        self.abandoned().settle(tickets);
        None
    }

    #[inline]
    fn draw(&self, n: Word) -> Span {
        let first = self.counts.draw(n);
        Span { first, last: first.wrapping_add(n - 1) }
    }

    /// Draws `n` tickets if they are granted already. Returns the first.
    #[inline]
    pub(crate) fn try_take(&self, n: Word) -> Option<Word> {
        let ticket = &self.counts.ticket;
        // Ordering: relaxed; the compare-and-swap decides.
        let mut first = ticket.load(Ordering::Relaxed);
        loop {
            if !self.counts.are_granted(first, n) {
                return None;
            }
            // Ordering: SeqCst, as in `Counts::draw`, though nobody waits for what is granted: every change of
            // `ticket` upwards has one order, and on x86 it costs nothing.
            match ticket.compare_exchange_weak(first, first.wrapping_add(n), Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return Some(first),
                Err(now) => first = now,
            }
        }
    }

    /// Grants one more ticket.
    #[inline]
    pub(crate) fn post(&self) {
        if NARROW {
            self.counts.check_room_to_grant(1);
        }
        // Ordering: SeqCst; release for the taker, and in one order with the load of `ticket` and with the peeks of
        // `after_grant`.
        let ticket = self.counts.grant.fetch_add(1, Ordering::SeqCst);
        fence_before_peek_seqcst();
        // Ordering: SeqCst. If a taker drew this ticket without seeing the grant, this sees that it was drawn.
        if before(ticket, self.counts.ticket.load(Ordering::SeqCst)) {
            self.abandoned().after_grant(ticket, 1);
        }
    }

    /// Like [`post`](Self::post), but does not touch the queue once it has granted: the thread that got the permit may free
    /// it.
    #[inline]
    pub(crate) fn post_conservatively(&self) {
        if NARROW {
            self.counts.check_room_to_grant(1);
        }
        // Ordering: as in `post`.
        let ticket = self.counts.grant.fetch_add(1, Ordering::SeqCst);
        self.wake_if_anyone_waits(ticket);
    }

    /// Like [`post_conservatively`](Self::post_conservatively), but in a queue of one permit, by the holder of the ticket
    /// `held`: it knows what `grant` is.
    #[inline]
    pub(crate) fn hand_over(&self, held: Word) {
        let next = held.wrapping_add(1);
        // Ordering: as in `post`. A store will do: only the thread that has the one permit changes `grant`, even when
        // abandoned tickets are passed over, and that is us.
        self.counts.grant.store(next.wrapping_add(1), Ordering::SeqCst);
        self.wake_if_anyone_waits(next);
    }

    /// Wakes the holder of `ticket` and the waiter staged behind it, if there are any, and passes the permit on if the
    /// ticket is abandoned. All peeks are folded into one branch.
    #[inline(always)]
    fn wake_if_anyone_waits(&self, ticket: Word) {
        fence_before_peek_seqcst();
        let waits = |ticket: Word| H::is_occupied(key_of(&raw const self.counts, ticket).hash());
        if waits(ticket) | waits(ticket.wrapping_add(STAGED)) | (H::table().alerts() != 0) {
            self.abandoned().after_grant(ticket, 1);
        }
    }

    /// Grants `n` more tickets. The queue may be gone when this returns.
    ///
    /// # Panics
    /// If more than [`MAX_DISTANCE`] tickets would be granted in advance.
    pub(crate) fn post_many(&self, n: Word) {
        loop {
            let first = self.counts.check_room_to_grant(n);
            let next = first.wrapping_add(n);
            // Ordering: as in `post`.
            if self.counts.grant.compare_exchange(first, next, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                return self.abandoned().after_grant(first, n);
            }
        }
    }

    /// How many tickets are granted in advance; negative: how many are drawn and not granted.
    pub(crate) fn surplus(&self) -> Distance {
        self.counts.surplus()
    }

    /// How many tickets are drawn, not granted, and not abandoned.
    pub(crate) fn waited_for(&self) -> Word {
        let drawn = Word::try_from(-self.surplus()).unwrap_or(0);
        drawn.saturating_sub(self.abandoned().count())
    }

    #[inline]
    fn abandoned(&self) -> Abandoned<'_, H> {
        Abandoned::of(&self.counts)
    }
}
