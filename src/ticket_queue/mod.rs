//! A queue of ticket holders: the paper's TWA semaphore, and what [`crate::sema::Semaphore`], [`crate::mutex::FairMutex`] and
//! [`crate::rwlock::RwLock`] are made of.
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
//! The holder of a ticket is a thread, inside a take, or a task ([`tasks`]); they stand in one line.
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
//! uses the queue's address as a name, and nothing else. If the ticket that it has granted is abandoned, others pass the
//! permit on ([`abandoned`], "Who passes it over"). If the queue is gone by then, and another is in its place, waiters there are
//! woken for nothing at worst.

mod abandoned;
mod counts;
mod granted;
mod inherited;
mod levels;
mod marker_banks;
mod markers;
mod pace;
mod tasks;
#[cfg(all(test, not(layby_model)))]
mod tests;
mod waiting;
mod wake;
mod word;

use crate::error::Stopped;
use crate::sync::{atomic::Ordering, const_outside_models, fence_before_peek_seqcst};
use crate::wait_table::{Home, Invariant, Limit, Peek, Wakes, table_of};
#[cfg(layby_model)]
pub(crate) use abandoned::granted_were_left;
use abandoned::{Abandoned, after_conservative_grant, markers_may_be_left, note_unattended};
use core::marker::PhantomData;
use counts::Counts;
use inherited::{
    settle_after_post, settle_before_conservative_post, settle_before_take, settle_before_unattended_draw,
};
use levels::Span;
#[cfg(layby_model)]
pub(crate) use marker_banks::{above_singles, first_bank, how_many_larger, larger_banks, spare_bank, top_level};
use waiting::spins;
use wake::STAGED;
use word::before;
pub(crate) use word::{
    AtomicWord, Distance, MAX_DISTANCE, MAX_PERMITS, NARROW, Word, check_room, distance, key_of, word_of,
};

/// A queue: two words, 16 bytes. A holder takes as many tickets as it likes; or, if `ALL` is not 0, either one or `ALL`, which is
/// then how many permits there are (see [`granted`]).
pub(crate) struct TicketQueue<H: Home, const ALL: Word = 0> {
    counts: Counts,
    home: Invariant<H>,
}

impl<H: Home, const ALL: Word> TicketQueue<H, ALL> {
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
    #[track_caller]
    pub(crate) fn take(&self, n: Word) -> Word {
        let tickets = self.draw(n);
        if !self.counts.is_granted(tickets.last) {
            let ended = self.wait(tickets, None);
            debug_assert_eq!(ended, Ok(()), "a wait without a limit ends when its ticket is granted");
        }
        tickets.first
    }

    /// Like [`take`](Self::take), but only until `limit` is reached. The tickets are abandoned then.
    #[inline]
    #[track_caller]
    pub(crate) fn take_within(&self, n: Word, limit: &Limit<'_>) -> Result<Word, Stopped> {
        let tickets = self.draw(n);
        if !self.counts.is_granted(tickets.last) {
            self.wait(tickets, Some(limit))?;
        }
        Ok(tickets.first)
    }

    /// Like [`take_within`](Self::take_within), but if it has to wait it asks `check` first, its tickets drawn: an error of that ends
    /// it as well.
    #[track_caller]
    pub(crate) fn take_checked<E: From<Stopped>>(
        &self,
        n: Word,
        limit: &Limit<'_>,
        check: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let tickets = self.draw(n);
        if self.counts.is_granted(tickets.last) {
            return Ok(());
        }
        if let Err(error) = check() {
            self.abandoned().settle(tickets);
            return Err(error);
        }
        Ok(self.wait(tickets, Some(limit))?)
    }

    /// Draws `n` tickets for nobody: what is granted to them is gone.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    pub(crate) fn claim(&self, n: Word) {
        settle_before_unattended_draw::<H, ALL>(&self.counts);
        note_unattended();
        self.draw(n);
    }

    #[inline]
    #[track_caller]
    fn draw(&self, n: Word) -> Span {
        if markers_may_be_left::<H>() {
            return self.draw_unmarked(n);
        }
        let first = if ALL != 0 && n == ALL { self.draw_all() } else { self.counts.draw(n) };
        Span::of(first, n)
    }

    /// Draws `ALL` tickets; returns the first. Readers who come and go all the time must not keep a writer from drawing: it adds, and
    /// looks whether there was room when it has to wait.
    ///
    /// It looks before as well. Those that are refused cannot give their tickets back if somebody stands behind them, and if somebody
    /// always does, the line grows until it wraps, and a ticket far behind is granted. So a thread adds beyond the end at most
    /// once, and then sees what it has added: more threads would be needed than there can be.
    #[inline]
    #[track_caller]
    fn draw_all(&self) -> Word {
        if !self.counts.has_room_for(ALL) {
            refuse_writer(ALL);
        }
        self.counts.draw_unchecked(ALL)
    }

    /// Draws `n` tickets that no marker covers: "Forgotten" in [`abandoned`].
    #[cold]
    #[track_caller]
    fn draw_unmarked(&self, n: Word) -> Span {
        loop {
            let tickets = Span::of(self.counts.next_ticket(n), n);
            self.abandoned().drop_left_markers(tickets);
            if self.counts.draw_from(tickets.first, n) {
                return tickets;
            }
        }
    }

    /// Waits until `tickets` are granted; or until `limit` is reached, and abandons them.
    #[cold]
    #[track_caller]
    fn wait(&self, tickets: Span, limit: Option<&Limit<'_>>) -> Result<(), Stopped> {
        let _waiting = settle_before_take::<H, ALL>(&self.counts, tickets);
        self.refuse_without_room(tickets);
        let ended = waiting::wait::<H, ALL>(&self.counts, tickets, limit);
        if ended.is_err() {
            self.abandoned().settle(tickets);
        }
        ended
    }

    /// Panics if there was no room for tickets that were drawn unchecked, and leaves nothing of them behind.
    #[track_caller]
    fn refuse_without_room(&self, tickets: Span) {
        if ALL != 0 && !self.counts.is_room_up_to(tickets.last) {
            self.abandoned().settle(tickets);
            refuse_writer(ALL);
        }
    }

    /// Draws `n` tickets if they are granted already. Returns the first.
    #[inline]
    pub(crate) fn try_take(&self, n: Word) -> Option<Word> {
        let ticket = &self.counts.ticket;
        // Ordering: relaxed; the compare-and-swap decides.
        let mut first = ticket.load(Ordering::Relaxed);
        loop {
            if !self.counts.is_granted(first.wrapping_add(n - 1)) {
                return None;
            }
            if markers_may_be_left::<H>() {
                self.abandoned().drop_left_markers(Span::of(first, n));
            }
            // Ordering: SeqCst, as in `Counts::draw_unchecked`, though nobody waits for what is granted: every change of
            // `ticket` upwards has one order, and on x86 it costs nothing.
            match ticket.compare_exchange_weak(first, first.wrapping_add(n), Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return Some(first),
                Err(now) => first = now,
            }
        }
    }

    /// Grants one more ticket.
    #[inline]
    #[track_caller]
    pub(crate) fn post(&self) {
        if NARROW {
            self.counts.check_room_to_grant(1);
        }
        self.give_back(1);
    }

    /// Grants `n` more tickets, for which there is room: the caller has taken as many from here.
    #[inline]
    pub(crate) fn give_back(&self, n: Word) {
        // Ordering: SeqCst; release for the taker, and in one order with the load of `ticket` and with the peeks of
        // `after_grant`.
        let first = self.counts.grant.fetch_add(n, Ordering::SeqCst);
        fence_before_peek_seqcst();
        // Ordering: SeqCst. If a taker drew one of these tickets without seeing the grant, this sees that it was drawn.
        let ticket = self.counts.ticket.load(Ordering::SeqCst);
        // P2 in `abandoned` begins one ticket earlier, and that may be the last that is drawn.
        if before(first, ticket) || (first == ticket && table_of::<H>().alerts() != 0) {
            self.wake_after_grant(first, n);
        }
    }

    /// Like [`post`](Self::post), but does not touch the queue once it has granted: the thread that got the permit may free
    /// it.
    #[inline]
    #[track_caller]
    pub(crate) fn post_conservatively(&self) {
        let queue = &raw const self.counts;
        settle_before_conservative_post::<H>(&self.counts);
        loop {
            if NARROW {
                self.counts.check_room_to_grant(1);
            }
            // C0 and C1 in `abandoned`.
            let ticket = self.counts.granted();
            if table_of::<H>().alerts() != 0 {
                return self.post_conservatively_past_markers();
            }
            if self.grant_conservatively(ticket) {
                return Self::wake_if_anyone_waits(queue, ticket);
            }
        }
    }

    /// The same, when there may be a marker that the post must not go past: C0.
    #[cold]
    #[track_caller]
    fn post_conservatively_past_markers(&self) {
        let (queue, due) = (&raw const self.counts, &mut Wakes::default());
        loop {
            if NARROW {
                self.counts.check_room_to_grant(1);
            }
            let ticket = self.counts.granted();
            self.abandoned().before_grant(ticket, due);
            if self.grant_conservatively(ticket) {
                return after_conservative_grant::<H>(queue, ticket, due);
            }
        }
    }

    /// C1: grants `ticket`, if it still is the first that is not granted.
    #[inline]
    fn grant_conservatively(&self, ticket: Word) -> bool {
        let next = ticket.wrapping_add(1);
        // Ordering: as in `post`. Not an addition: what we have looked at must still be the end of what is granted.
        self.counts.grant.compare_exchange(ticket, next, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Like [`post_conservatively`](Self::post_conservatively), but in a queue of one permit, by the holder of the ticket
    /// `held`: it knows what `grant` is.
    #[cfg(feature = "mutex")]
    #[inline]
    pub(crate) fn hand_over(&self, held: Word) {
        let (queue, next) = (&raw const self.counts, held.wrapping_add(1));
        settle_before_conservative_post::<H>(&self.counts);
        // Ordering: as in `post`. A store will do: only the thread that has the one permit changes `grant`, even when
        // abandoned tickets are passed over, and that is us. For the same reason no granted marker is before us.
        self.counts.grant.store(next.wrapping_add(1), Ordering::SeqCst);
        Self::wake_if_anyone_waits(queue, next);
    }

    /// Wakes the holder of `ticket` and the waiter staged behind it, if there are any; if the ticket is abandoned, the one who
    /// passes its permit on. All peeks are folded into one branch.
    ///
    /// The queue may be gone, and is a name here: not `self`, for to hand on a reference is to say that it is there.
    #[inline(always)]
    fn wake_if_anyone_waits(queue: *const Counts, ticket: Word) {
        fence_before_peek_seqcst();
        let waits = |ticket: Word| H::is_occupied(key_of(queue, ticket).hash(), Peek);
        let stages = spins::<H>() && waits(ticket.wrapping_add(STAGED));
        let table = table_of::<H>();
        let may_wait = |ticket: Word| table.may_hold(key_of(queue, ticket));
        // A queue that nobody waits in comes by every slot, and so by all strangers.
        if waits(ticket) | stages | table.is_alert()
            && (table.is_alert() || may_wait(ticket) || may_wait(ticket.wrapping_add(STAGED)))
        {
            Self::wake_after_conservative_grant(queue, ticket);
        }
    }

    #[cold]
    fn wake_after_conservative_grant(queue: *const Counts, ticket: Word) {
        after_conservative_grant::<H>(queue, ticket, &mut Wakes::default());
    }

    #[cold]
    fn wake_after_grant(&self, first: Word, n: Word) {
        if n == 1 {
            settle_after_post::<H>(&self.counts, first);
            self.abandoned().after_grant_of_one(first);
        } else {
            self.wake_after_grant_of_many(first, n);
        }
    }

    #[cold]
    fn wake_after_grant_of_many(&self, first: Word, n: Word) {
        self.after_grant(first, n, &mut Wakes::default());
    }

    /// The rest of a post of the `n` tickets from `first` on, if somebody may hold them.
    #[inline(always)]
    fn after_grant(&self, first: Word, n: Word, due: &mut Wakes<H::Backend>) {
        settle_after_post::<H>(&self.counts, first);
        self.abandoned().after_grant(first, n, due);
    }

    /// Grants `n` more tickets.
    ///
    /// # Panics
    /// If more than [`MAX_DISTANCE`] tickets would be granted in advance.
    #[track_caller]
    pub(crate) fn post_many(&self, n: Word) {
        let due = &mut Wakes::default();
        while !self.grant_from(self.counts.check_room_to_grant(n), n, due) {}
    }

    /// Like [`post_many`](Self::post_many), but `false` where that would panic.
    pub(crate) fn try_post_many(&self, n: Word) -> bool {
        let due = &mut Wakes::default();
        loop {
            let (first, room) = self.counts.room_to_grant(MAX_DISTANCE);
            if n > room {
                return false;
            }
            if self.grant_from(first, n, due) {
                return true;
            }
        }
    }

    /// Grants `n` more tickets, or as many of them as those who wait take and there is room for below `limit`; returns how many.
    /// Like [`post_many`](Self::post_many), but never panics.
    ///
    /// Not more than `limit` at a time, even if there seem to be more who wait: of the tickets in the queue some may be abandoned,
    /// and what is granted to those stays. A holder that gives up at this very moment, and is granted its ticket before it has
    /// left, passes the permit on, on top of the limit.
    pub(crate) fn post_up_to(&self, n: Word, limit: Word) -> Word {
        let (mut left, due) = (n, &mut Wakes::default());
        loop {
            let (first, room) = self.counts.room_to_grant(limit);
            let n = left.min(room);
            if n == 0 {
                break;
            }
            if self.grant_from(first, n, due) {
                left -= n;
            }
        }
        n - left
    }

    /// Grants `n` more tickets, or as many of them as there is room for. Like [`post_many`](Self::post_many), but never
    /// panics.
    #[inline]
    pub(crate) fn put_back(&self, n: Word) {
        if n == 1 && !NARROW {
            return self.post();
        }
        self.put_back_many(n);
    }

    #[inline(never)]
    fn put_back_many(&self, n: Word) {
        let due = &mut Wakes::default();
        loop {
            let (first, room) = self.counts.room_to_grant(MAX_DISTANCE);
            let n = n.min(room);
            if n == 0 || self.grant_from(first, n, due) {
                return;
            }
        }
    }

    /// Grants the `n` tickets from `first` on, if `first` is still the first that is not granted.
    fn grant_from(&self, first: Word, n: Word, due: &mut Wakes<H::Backend>) -> bool {
        let next = first.wrapping_add(n);
        // Ordering: as in `post`.
        let granted = self.counts.grant.compare_exchange(first, next, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if granted {
            self.after_grant(first, n, due);
        }
        granted
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
    fn abandoned(&self) -> Abandoned<'_, H, ALL> {
        Abandoned::of(&self.counts)
    }
}

#[cold]
#[track_caller]
fn refuse_writer(all: Word) -> ! {
    panic!("layby: more than {} wait for all permits of a lock", MAX_DISTANCE / all);
}
