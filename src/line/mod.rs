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
//! The holder of ticket `t` waits on the key (address, `t`) of the wait table, whose argument this is: it publishes
//! itself, then loads `grant`; post adds to `grant` by a `SeqCst` read-modify-write, then looks at the slot, and so needs
//! no fence. Post does not look at `ticket`, unlike the paper's: the permit it gives may be the last thing that somebody
//! waited for before freeing the line (promise 8), so after the addition it uses the line's address as a name, and
//! nothing else. What the paper saves by that look, a walk through the table, costs one load here.
//!
//! The line is touched after the addition in one case: a marker of it was taken out. Then its tickets are in our hands and
//! whoever is behind them has not got the permit yet.
//!
//! # Near and far
//!
//! A thread whose turn is far sleeps at once. One whose turn is near may spin. Post wakes the holder of the ticket it
//! grants, and makes the one [`STAGED`] places behind ready: it wakes, finds itself near, and spins, while those before it
//! run. There is somebody to make ready only if somebody held the ticket granted, or has just left.

mod abandoned;
mod markers;
mod word;

use crate::sync::{atomic::Ordering, const_outside_models, fence_before_look_seqcst};
use crate::wait_table::{Home, Key};
use abandoned::Abandoned;
use core::marker::PhantomData;
use std::time::Instant;
use word::{AtomicWord, Distance, before, distance};
pub(crate) use word::{MAX_DISTANCE, Word};

/// How far behind the last ticket granted the thread is that a post makes ready; the paper's LongTermThreshold.
const STAGED: Word = 1;

/// A line: two words, 16 bytes.
pub(crate) struct Line<H: Home> {
    ticket: AtomicWord,
    grant: AtomicWord,
    home: PhantomData<fn() -> H>,
}

impl<H: Home> Line<H> {
    const_outside_models! {
        /// A line in which `permits` tickets are granted in advance.
        pub(crate) fn new(permits: Word) -> Self {
            Self { ticket: AtomicWord::new(0), grant: AtomicWord::new(permits), home: PhantomData }
        }
    }

    /// Draws `n` tickets and waits until all are granted. Returns the first.
    #[inline]
    pub(crate) fn take(&self, n: Word) -> Word {
        let first = self.draw(n);
        let last = first.wrapping_add(n - 1);
        if !self.is_granted(last) {
            self.wait(last, None);
        }
        first
    }

    /// As [`take`](Self::take), until `deadline` at the latest; `None` if the tickets were not granted in time.
    #[inline]
    pub(crate) fn take_until(&self, n: Word, deadline: Option<Instant>) -> Option<Word> {
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
            if !self.is_granted(first.wrapping_add(n - 1)) {
                return None;
            }
            // Ordering: SeqCst, as in `draw`.
            match self.ticket.compare_exchange_weak(first, first.wrapping_add(n), Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return Some(first),
                Err(now) => first = now,
            }
        }
    }

    /// Grants one ticket more. The line may be gone when this returns.
    #[inline]
    pub(crate) fn post(&self) {
        // A 64-bit count of single posts does not overflow in this universe's time.
        if size_of::<Word>() < 8 {
            self.check_room(1);
        }
        let expected = self.grant.load(Ordering::Relaxed);
        // Ordering: SeqCst; release for the taker, and the change that a look without a fence asks for.
        self.grant_one(expected, || self.grant.fetch_add(1, Ordering::SeqCst));
    }

    /// As [`post`](Self::post) in a line of one permit, by the holder of the ticket `held`: it knows what `grant` is, and
    /// that nobody else changes it.
    #[inline]
    pub(crate) fn pass_on(&self, held: Word) {
        let next = held.wrapping_add(1);
        self.grant_one(next, || {
            // Ordering: as in `post`. A store will do: `grant` changes only by whoever has the permit, be it an
            // abandoned ticket that passes it on, and that is us.
            self.grant.store(next.wrapping_add(1), Ordering::SeqCst);
            next
        });
    }

    /// Grants one ticket more by `grant`, which returns it, and which is likely to be `expected`.
    #[inline(always)]
    fn grant_one(&self, expected: Word, grant: impl FnOnce() -> Word) {
        // The slot is found by the grant as it is before the addition, so that its address does not have to wait for the
        // result; if another post comes between, the slow path looks again. All looks are folded into one branch.
        // DESIGN.md, "The fast path of post", has the measurements.
        let address = core::ptr::from_ref(self);
        let hash = |ticket: Word| Key::ticket_at(address, u64::from(ticket)).hash();
        let (holder, staged) = (hash(expected), hash(expected.wrapping_add(STAGED)));
        let ticket = grant();
        // From here on the line may be gone, unless a marker of it is found.
        fence_before_look_seqcst();
        let someone = H::look(holder) | H::look(staged) | H::alerts() | usize::from(ticket != expected);
        if someone != 0 {
            self.after_grant(ticket, 1);
        }
    }

    /// Grants `n` tickets more. The line may be gone when this returns.
    ///
    /// # Panics
    /// If more than [`MAX_DISTANCE`] tickets would be granted in advance.
    pub(crate) fn post_many(&self, n: Word) {
        self.check_room(n);
        self.grant_more(n);
    }

    fn check_room(&self, n: Word) {
        let ahead = distance(self.ticket.load(Ordering::Relaxed), self.grant.load(Ordering::Relaxed));
        assert!(
            n <= MAX_DISTANCE && ahead <= (MAX_DISTANCE - n).cast_signed(),
            "layby: posting {n} permits would overflow the semaphore"
        );
    }

    /// How many tickets are granted in advance; negative: how many are drawn and not granted.
    pub(crate) fn surplus(&self) -> Distance {
        let ticket = self.ticket.load(Ordering::SeqCst);
        distance(ticket, self.grant.load(Ordering::SeqCst))
    }

    #[inline]
    fn draw(&self, n: Word) -> Word {
        // Ordering: SeqCst. Acquire, for a ticket that was granted long ago, comes from the load of `grant`.
        self.ticket.fetch_add(n, Ordering::SeqCst)
    }

    #[inline]
    fn is_granted(&self, ticket: Word) -> bool {
        // Ordering: acquire; matches the release of the post, whose writes the taker sees. SeqCst for the abandoners'
        // pair M1, at no cost on x86 and ARM.
        before(ticket, self.grant.load(Ordering::SeqCst))
    }

    #[cold]
    fn wait(&self, last: Word, deadline: Option<Instant>) -> bool {
        H::table().wait_until_at(
            Key::ticket(self, u64::from(last)),
            deadline,
            || self.is_granted(last),
            || distance(self.grant.load(Ordering::Relaxed), last) < STAGED.cast_signed(),
        )
    }

    /// Adds to `grant`, wakes whom that concerns, and passes on what fell to abandoned tickets.
    fn grant_more(&self, n: Word) {
        if n != 0 {
            // Ordering: as in `post`.
            let first = self.grant.fetch_add(n, Ordering::SeqCst);
            fence_before_look_seqcst();
            self.after_grant(first, n);
        }
    }

    /// What is left to do once the `n` tickets from `first` on have been granted, when somebody may hold them.
    #[cold]
    fn after_grant(&self, first: Word, n: Word) {
        let address = core::ptr::from_ref(self);
        wake::<H>(address, first, n);
        if H::alerts() != 0 && !cfg!(layby_mutant = "no_marker_look") {
            // Only if there are some is the line touched.
            self.grant_more(Abandoned::of(address).take_granted(first, n));
        }
    }
}

/// Wakes the holders of the tickets just granted, and makes the one behind them ready.
///
/// More tickets than the table has slots share slots: each slot is looked at once.
fn wake<H: Home>(line: *const Line<H>, first: Word, n: Word) {
    let looks = n.min(Word::try_from(H::table().slots()).unwrap_or(Word::MAX));
    for offset in 0..looks {
        wake_ticket::<H>(line, first.wrapping_add(offset));
    }
    wake_ticket::<H>(line, first.wrapping_add(n - 1).wrapping_add(STAGED));
}

fn wake_ticket<H: Home>(line: *const Line<H>, ticket: Word) {
    H::table().wake_all_seqcst(Key::ticket_at(line, u64::from(ticket)));
}
