//! The fair mutex' words: a ticket lock whose waiters wait on the key of their ticket.
//!
//! # State
//!
//! | word | meaning |
//! |---|---|
//! | `ticket` | the next ticket to be drawn |
//! | `grant` | the ticket that holds the lock, or will |
//!
//! `grant == ticket`: nobody holds the lock. `grant < ticket`: the holder of ticket `grant` does, and those who drew the
//! tickets between wait, each on a key of its own: a release wakes one thread, whatever their number.
//!
//! # Why no wake-up is lost
//!
//! ```text
//! waiter with ticket t                release of ticket t - 1
//! publish at (mutex, t)               grant = t, by a SeqCst store
//! fence A                             (needs no fence B)
//! grant == t? no: sleep               slot of (mutex, t) empty? no: detach, set gates, wake
//! ```
//!
//! The argument is that of [`crate::wait_table`]. The tempting shortcut, to look at `ticket` and leave the slot alone if
//! nobody has drawn the next, is wrong either way. Looked at before the store, a waiter may draw, publish and check
//! between the look and the store. Looked at after it, the mutex may be gone: the next holder may have freed it.
//!
//! The ticket travels in the guard, so that a release need not read `grant`, which other cores wait for.

#![forbid(unsafe_code)]

use crate::sync::{
    atomic::{AtomicU64, Ordering},
    const_outside_models,
};
use crate::wait_table::{Key, global};
use core::{fmt, ptr};

/// The words of [`FairMutex`](super::FairMutex): first come, first served, 16 bytes.
///
/// Through lock_api's traits it is a mutex of its own. The methods here are the same without the guards.
pub struct RawFairMutex {
    ticket: AtomicU64,
    grant: AtomicU64,
}

/// The right to release a [`RawFairMutex`]: the ticket that holds it.
#[derive(Debug)]
#[must_use = "a ticket that is not released keeps the mutex locked"]
pub struct Ticket(u64);

impl RawFairMutex {
    const_outside_models! {
        /// An unlocked mutex.
        pub fn new() -> Self {
            Self { ticket: AtomicU64::new(0), grant: AtomicU64::new(0) }
        }
    }

    /// Locks; waits for its turn.
    #[inline]
    pub fn acquire(&self) -> Ticket {
        // Ordering: relaxed; who comes first is all it says.
        let mine = self.ticket.fetch_add(1, Ordering::Relaxed);
        if !self.is_granted(mine) {
            self.await_turn(mine);
        }
        Ticket(mine)
    }

    /// Locks if that is possible at once.
    #[inline]
    pub fn try_acquire(&self) -> Option<Ticket> {
        // Ordering: acquire; matches the release in `release`.
        let granted = self.grant.load(Ordering::Acquire);
        // Nobody holds the lock exactly if the next ticket is the granted one. If it is, `grant` is still what we read:
        // only a holder changes it.
        self.ticket
            .compare_exchange(granted, granted + 1, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
            .then_some(Ticket(granted))
    }

    /// Whether somebody holds the lock, at this moment.
    pub fn is_acquired(&self) -> bool {
        self.grant.load(Ordering::Relaxed) < self.ticket.load(Ordering::Relaxed)
    }

    /// How many threads stand in line for the lock, at this moment.
    pub fn waiters(&self) -> u64 {
        let granted = self.grant.load(Ordering::Relaxed);
        self.ticket.load(Ordering::Relaxed).saturating_sub(granted + 1)
    }

    /// Unlocks, and wakes the one whose turn it is.
    #[inline]
    pub fn release(&self, ticket: Ticket) {
        let this = ptr::from_ref(self);
        let next = ticket.0 + 1;
        // Ordering: SeqCst, see `wake_all_seqcst`; release, which matches the acquire of the next holder.
        self.grant.store(next, Ordering::SeqCst);
        // From here on `self` may be gone.
        global().wake_all_seqcst(Key::ticket_at(this, next));
    }

    #[inline]
    fn is_granted(&self, ticket: u64) -> bool {
        // Ordering: acquire; matches the release in `release`.
        self.grant.load(Ordering::Acquire) == ticket
    }

    #[cold]
    fn await_turn(&self, mine: u64) {
        global().wait_until(Key::ticket(self, mine), || self.is_granted(mine));
    }
}

impl Default for RawFairMutex {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RawFairMutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawFairMutex").field("locked", &self.is_acquired()).finish_non_exhaustive()
    }
}
