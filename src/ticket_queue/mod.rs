//! A line of ticket holders: the paper's TWA semaphore, and what [`crate::sema::Semaphore`] and
//! [`crate::mutex::FairMutex`] are made of.
//!
//! `ticket` is the next ticket to be drawn, `grant` the number of tickets granted: ticket `t` may go when `grant > t`.
//! Both only count up, except that tickets at the end of the line are given back (see [`abandoned`]).
//!
//! | call | moves |
//! |---|---|
//! | take | `ticket += n`, then waits until its last ticket is granted |
//! | try | `ticket` from `t` to `t + n`, if `grant >= t + n`: never past somebody who waits |
//! | post | `grant += n`, then wakes those who hold the tickets granted |
//! | give up | the tickets are abandoned |
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
//!   `grant`, then looks at the slot.
//!
//! # A line that is freed by whom it lets go
//!
//! A permit may be the last thing that somebody waited for before freeing the line, and post's load of `ticket` may then
//! come too late. Safe code cannot do that, for post borrows the line. For code that shares the line by other means,
//! [`TicketQueue::post_conservatively`] leaves T1 out and looks at the table each time: once it has added to `grant`, it uses
//! the line's address as a name, and nothing else. It touches the line once more in one case: a marker of it was taken
//! out. Then those tickets are in our hands, and whoever is behind them has not got the permit yet.
//!
//! A limit: a marker names its line by the address. If the line was freed, and another made in its place, and that one has
//! a marker with the ticket that we granted, all while our call returns, we take that marker. We see that the ticket is not
//! granted there and settle it as its abandoner would; but if that line too is freed in that very moment, we touch it when it
//! is gone. `ci/abandon_model.py` has what such a stale post would do without the check.
//!
//! # Near and far
//!
//! A waiter stays awake for a while: it spins if it is next in line, and lets others run between its looks if it is not. If
//! that was in vain it sleeps, and is woken twice: when it is near, to stay awake once more while those before it run, and
//! when its ticket is granted. So post wakes the holder of the ticket that it grants, and the one who is near from then on.
//!
//! In a line so long that its waiters would mostly run in vain, those at its end sleep at once, and nobody spins: the few
//! who are near take turns on the CPUs.
//!
//! What a far waiter looks at while it is awake depends on the room. If there is not a CPU for each who stands before it, it
//! looks at `grant` whenever it is let run. If there is, as many as there are CPUs would look at the same time, and every post
//! would have to invalidate all their copies of it; so it publishes itself at once and looks at its own element.

mod abandoned;
mod markers;
mod word;

use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::{IN_A_MODEL, atomic::Ordering, const_outside_models, fence_before_peek_seqcst};
use crate::sys::cpus;
use crate::wait_table::Home;
use abandoned::Abandoned;
use core::marker::PhantomData;
use markers::Span;
#[cfg(layby_model)]
pub(crate) use markers::shards;
use word::before;
pub(crate) use word::{AtomicWord, Distance, MAX_DISTANCE, MAX_PERMITS, Word, distance, key_of};

/// How many waiters are near, and made ready: the paper's LongTermThreshold. See DESIGN.md, "Near and far", for the
/// measurement.
const NEAR: Distance = if IN_A_MODEL { 2 } else { 4 };

/// How far behind the ticket that it grants a post finds the one who is near from then on.
const STAGED: Word = NEAR.cast_unsigned();

/// How many waiters for each CPU may stay awake: whoever finds more before it sleeps at once. See DESIGN.md, "Near and far",
/// for the measurement.
const AWAKE_PER_CPU: usize = 16;

/// A line: two words, 16 bytes.
pub(crate) struct TicketQueue<H: Home> {
    ticket: AtomicWord,
    grant: AtomicWord,
    home: PhantomData<fn() -> H>,
}

impl<H: Home> TicketQueue<H> {
    const_outside_models! {
        /// A line in which `permits` tickets are granted in advance.
        pub(crate) fn new(permits: Word) -> Self {
            Self { ticket: AtomicWord::new(0), grant: AtomicWord::new(permits), home: PhantomData }
        }
    }

    /// Draws `n` tickets and waits until all are granted. Returns the first.
    ///
    /// # Panics
    /// If more than [`MAX_DISTANCE`] tickets would then wait to be granted, abandoned ones among them. With wide counters this
    /// is not checked for a single ticket.
    #[inline]
    pub(crate) fn take(&self, n: Word) -> Word {
        let first = self.draw(n);
        let last = first.wrapping_add(n - 1);
        if !self.is_granted(last) {
            self.wait(last, Deadline::NEVER);
        }
        first
    }

    /// As [`take`](Self::take), until `deadline` at the latest; `None` if the tickets were not granted in time.
    #[inline]
    pub(crate) fn take_until(&self, n: Word, deadline: Deadline) -> Option<Word> {
        let first = self.draw(n);
        let last = first.wrapping_add(n - 1);
        if self.is_granted(last) || self.wait(last, deadline) {
            return Some(first);
        }
        abandoned::settle(self, first, last);
        None
    }

    /// Draws `n` tickets if they are granted already. Returns the first.
    #[inline]
    pub(crate) fn try_take(&self, n: Word) -> Option<Word> {
        // Ordering: relaxed; the compare-and-swap decides.
        let mut first = self.ticket.load(Ordering::Relaxed);
        loop {
            if !self.are_granted(first, n) {
                return None;
            }
            // Ordering: SeqCst, as in `draw`, though nobody waits for what is granted: see DESIGN.md, "What no mutant can
            // tell".
            match self.ticket.compare_exchange_weak(first, first.wrapping_add(n), Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return Some(first),
                Err(now) => first = now,
            }
        }
    }

    /// Grants one ticket more.
    #[inline]
    pub(crate) fn post(&self) {
        // A 64-bit count of single posts does not overflow in this universe's time.
        if size_of::<Word>() < 8 {
            self.check_room(1);
        }
        // Ordering: SeqCst; release for the taker, and in one order with the load of `ticket` and with the looks of
        // `after_grant`.
        let ticket = self.grant.fetch_add(1, Ordering::SeqCst);
        fence_before_peek_seqcst();
        // Ordering: SeqCst. If a taker drew this ticket without seeing the grant, this sees that it was drawn.
        if before(ticket, self.ticket.load(Ordering::SeqCst)) {
            self.after_grant(ticket, 1);
        }
    }

    /// As [`post`](Self::post), and does not touch the line once it has granted: whoever got the permit may free it.
    #[inline]
    pub(crate) fn post_conservatively(&self) {
        if size_of::<Word>() < 8 {
            self.check_room(1);
        }
        // Ordering: as in `post`.
        let ticket = self.grant.fetch_add(1, Ordering::SeqCst);
        self.look_after(ticket);
    }

    /// As [`post_conservatively`](Self::post_conservatively) in a line of one permit, by the holder of the ticket `held`:
    /// it knows what `grant` is.
    #[inline]
    pub(crate) fn hand_over(&self, held: Word) {
        let next = held.wrapping_add(1);
        // Ordering: as in `post`. A store will do: `grant` changes only by whoever has the one permit, be it by passing
        // over abandoned tickets, and that is us.
        self.grant.store(next.wrapping_add(1), Ordering::SeqCst);
        self.look_after(next);
    }

    /// Looks for anybody whom the grant of `ticket` may concern. All looks are folded into one branch.
    #[inline(always)]
    fn look_after(&self, ticket: Word) {
        fence_before_peek_seqcst();
        let look = |ticket: Word| H::is_occupied(key_of(self, ticket).hash());
        if look(ticket) | look(ticket.wrapping_add(STAGED)) | (H::table().alerts() != 0) {
            self.after_grant(ticket, 1);
        }
    }

    /// Grants `n` tickets more. The line may be gone when this returns.
    ///
    /// # Panics
    /// If more than [`MAX_DISTANCE`] tickets would be granted in advance.
    pub(crate) fn post_many(&self, n: Word) {
        loop {
            let first = self.check_room(n);
            // Ordering: as in `post`.
            let order = Ordering::SeqCst;
            if self.grant.compare_exchange(first, first.wrapping_add(n), order, Ordering::Relaxed).is_ok() {
                return self.after_grant(first, n);
            }
        }
    }

    /// Panics if `n` tickets more cannot be granted; returns `grant` as it was.
    fn check_room(&self, n: Word) -> Word {
        // `grant` first: a ticket drawn since then makes room. Ordering: acquire, for that order.
        let grant = self.grant.load(Ordering::Acquire);
        let ahead = distance(self.ticket.load(Ordering::Relaxed), grant);
        assert!(
            n <= MAX_DISTANCE && ahead <= (MAX_DISTANCE - n).cast_signed(),
            "layby: posting {n} permits would overflow the semaphore"
        );
        grant
    }

    /// How many tickets are granted in advance; negative: how many are drawn and not granted.
    pub(crate) fn surplus(&self) -> Distance {
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

    /// How many tickets are drawn, not granted, and not abandoned.
    pub(crate) fn waited_for(&self) -> Word {
        let drawn = Word::try_from(-self.surplus()).unwrap_or(0);
        drawn.saturating_sub(Abandoned::of(self).count())
    }

    #[inline]
    fn draw(&self, n: Word) -> Word {
        // In this universe's time nobody draws as many single tickets as could not be compared any more. A narrow counter
        // is full sooner: abandoned tickets count, and stay in line while anybody is behind them.
        if n != 1 || size_of::<Word>() < 8 {
            return self.draw_many(n);
        }
        // Ordering: SeqCst, for pair T1. Acquire, for a ticket that was granted long ago, comes from the load of `grant`.
        self.ticket.fetch_add(1, Ordering::SeqCst)
    }

    fn draw_many(&self, n: Word) -> Word {
        loop {
            // `ticket` first: what is granted since then makes room. Ordering: acquire, for that order.
            let first = self.ticket.load(Ordering::Acquire);
            let ahead = distance(self.grant.load(Ordering::Relaxed), first);
            assert!(
                n <= MAX_DISTANCE && ahead <= (MAX_DISTANCE - n).cast_signed(),
                "layby: taking {n} permits would overflow the semaphore"
            );
            // Ordering: as in `draw`.
            let order = Ordering::SeqCst;
            if self.ticket.compare_exchange(first, first.wrapping_add(n), order, Ordering::Relaxed).is_ok() {
                return first;
            }
        }
    }

    #[inline]
    fn is_granted(&self, ticket: Word) -> bool {
        before(ticket, self.granted())
    }

    #[inline]
    fn granted(&self) -> Word {
        // Ordering: acquire; matches the release of the post, whose writes the taker sees. SeqCst for the abandoners'
        // pair M1, at no cost on x86 and ARM.
        self.grant.load(Ordering::SeqCst)
    }

    /// Whether the `n` tickets from `first` on are granted. Not by a look at the last of them: `first` may stand at the end of
    /// a long line, and the last be too far behind `grant` to be compared with it.
    #[inline]
    fn are_granted(&self, first: Word, n: Word) -> bool {
        distance(first, self.granted()) >= n.cast_signed()
    }

    /// Waits for `last` to be granted, near and far by turns; `false` if the deadline came first.
    #[cold]
    fn wait(&self, last: Word, deadline: Deadline) -> bool {
        let place = || distance(self.grant.load(Ordering::Relaxed), last);
        let ahead = usize::try_from(place()).unwrap_or(0);
        let crowded = ahead >= AWAKE_PER_CPU * cpus::count();
        // Where all who stand before it can have CPUs, it stays awake on its element, and not on `grant`.
        let roomy = ahead < cpus::count();
        let may_spin = || !crowded && place() <= 0;
        let stay_awake = || spin_policy::spin_in_queue_until(deadline, || self.is_granted(last), may_spin);
        let wait_in_table = |spin: SpinFirst, condition: &dyn Fn() -> bool| {
            H::table().wait_until_at(key_of(self, last), deadline, condition, spin)
        };
        let is_near = || self.is_granted(last) || place() < NEAR;
        if !crowded && (!roomy || is_near()) && stay_awake() {
            return true;
        }
        let spin = if roomy { SpinFirst::WhileQueued } else { SpinFirst::No };
        if !is_near() && !wait_in_table(spin, &is_near) {
            return false;
        }
        stay_awake() || wait_in_table(SpinFirst::No, &|| self.is_granted(last))
    }

    /// Adds to `grant`, wakes whom that concerns, and passes on what fell to abandoned tickets.
    fn grant_more(&self, n: Word) {
        if n != 0 {
            // Ordering: as in `post`.
            let first = self.grant.fetch_add(n, Ordering::SeqCst);
            self.after_grant(first, n);
        }
    }

    /// What is left to do once the `n` tickets from `first` on have been granted, when somebody may hold them.
    #[cold]
    fn after_grant(&self, first: Word, n: Word) {
        wake::<H>(self, first, n);
        if H::table().alerts() != 0 {
            self.pass_on(first, n);
        }
    }

    /// Takes out every marker with one of the `n` tickets from `first` on, which have been granted, and grants as many
    /// tickets more. Only if there are such markers is the line touched.
    fn pass_on(&self, first: Word, n: Word) {
        let abandoned = Abandoned::of(self);
        let granted = Span { first, last: first.wrapping_add(n - 1) };
        let mut passed_over: Word = 0;
        while let Some(span) = abandoned.take_overlapping(granted) {
            if !self.is_granted(span.first) {
                // The line that we posted to is gone, and a new one has been made in its place: its own posts pass on.
                abandoned::settle(self, span.first, span.last);
                break;
            }
            passed_over = passed_over.wrapping_add(span.len());
        }
        self.grant_more(passed_over);
    }
}

/// Wakes the holders of the tickets just granted, and makes the one behind them ready.
///
/// More tickets than the table has slots share slots: each slot is looked at once.
fn wake<H: Home>(line: *const TicketQueue<H>, first: Word, n: Word) {
    let last = first.wrapping_add(n - 1);
    let staged = key_of(line, last.wrapping_add(STAGED));
    // Looked for before anybody is woken: a holder that is back in line before this thread goes on must not be disturbed.
    let stages = cpus::count() > 1 && H::is_occupied(staged.hash());
    let slots = H::table().slots();
    let looks = n.min(Word::try_from(slots).unwrap_or(Word::MAX));
    for offset in 0..looks {
        H::table().wake_all_seqcst(key_of(line, first.wrapping_add(offset)));
    }
    if stages {
        counters::add(Event::StagedWake, H::table().wake_all_seqcst(staged));
    }
}
