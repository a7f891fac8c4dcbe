//! The fair mutex: a queue of ticket holders with one permit.
//!
//! Drawing a ticket, waiting for its turn, giving up, and why no wake-up is lost are the queue's business, which it shares
//! with the semaphore. What a mutex adds: only the holder of the lock can pass it on, so the next ticket is known without
//! reading the queue, and granted by a store. That is why the ticket travels in the guard.

use crate::error::Stopped;
use crate::sync::const_outside_models;
use crate::ticket_queue::{TicketQueue, Word};
use crate::wait_table::{Global, Home, Limit};
use core::fmt;
use std::time::{Duration, Instant};

/// The words of [`FairMutex`](super::FairMutex): first come, first served, 16 bytes.
///
/// Through lock_api's traits it is a mutex of its own. The methods here are the same without the guards. A thread that
/// gives up leaves the queue without a trace, and without holding up those behind it.
pub struct RawFairMutex<H: Home = Global> {
    pub(super) queue: TicketQueue<H>,
}

/// The right to release a [`RawFairMutex`]: the ticket that holds it.
#[derive(Debug)]
#[must_use = "a ticket that is not released keeps the mutex locked"]
pub struct Ticket(pub(super) Word);

impl RawFairMutex {
    const_outside_models! {
        /// An unlocked mutex.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<H: Home> RawFairMutex<H> {
    const_outside_models! {
        /// An unlocked mutex whose waiters wait in a table of their own.
        pub fn new_in() -> Self {
            Self { queue: TicketQueue::new(1) }
        }
    }

    /// Locks; waits for its turn.
    #[inline]
    pub fn acquire(&self) -> Ticket {
        Ticket(self.queue.take(1))
    }

    /// Locks, or gives up at `deadline`.
    #[inline]
    #[must_use = "a ticket that is not released keeps the mutex locked"]
    pub fn acquire_deadline(&self, deadline: Instant) -> Option<Ticket> {
        self.acquire_within(deadline).ok()
    }

    /// Like [`acquire_deadline`](Self::acquire_deadline), but waits for at most `timeout`. One too long for the clock means
    /// forever.
    #[inline]
    #[must_use = "a ticket that is not released keeps the mutex locked"]
    pub fn acquire_timeout(&self, timeout: Duration) -> Option<Ticket> {
        self.acquire_within(timeout).ok()
    }

    /// Locks, or gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached.
    #[inline]
    pub fn acquire_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<Ticket, Stopped> {
        self.queue.take_within(1, &limit.into()).map(Ticket)
    }

    /// Locks if that is possible at once.
    #[inline]
    #[must_use = "a ticket that is not released keeps the mutex locked"]
    pub fn try_acquire(&self) -> Option<Ticket> {
        self.queue.try_take(1).map(Ticket)
    }

    /// Unlocks, and wakes the thread whose turn it is.
    ///
    /// # Safety
    /// The mutex is where it was when it was locked: one that is moved meanwhile may meet what others have left at that place. And the
    /// ticket is one of this mutex. Another's would make two permits of one, and lock_api's types can be made of a word
    /// that safe code has used:
    ///
    /// ```compile_fail,E0133
    /// use layby::mutex::{FairMutex, RawFairMutex};
    /// let (mutex, another) = (RawFairMutex::new(), RawFairMutex::new());
    /// mutex.release(another.acquire());
    /// let twice = FairMutex::from_raw(mutex, String::new());
    /// ```
    #[inline]
    #[allow(unsafe_code, reason = "a contract, and nothing unsafe inside")]
    pub unsafe fn release(&self, ticket: Ticket) {
        self.queue.hand_over(ticket.0);
    }

    /// Whether somebody holds the lock, at this moment.
    #[must_use]
    pub fn is_acquired(&self) -> bool {
        self.queue.surplus() <= 0
    }

    /// How many threads stand in line for the lock, at this moment.
    #[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
    #[must_use]
    pub fn waiters(&self) -> u64 {
        u64::from(self.queue.waited_for())
    }
}

/// For the default home alone, so that it can be inferred.
impl Default for RawFairMutex {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Home> fmt::Debug for RawFairMutex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawFairMutex").field("locked", &self.is_acquired()).finish_non_exhaustive()
    }
}
