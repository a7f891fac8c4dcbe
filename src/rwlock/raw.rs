//! The reader-writer lock's words: a queue of ticket holders with many permits, of which a reader takes one and a writer all.
//!
//! Order, giving up and waking are the queue's business, which it shares with the semaphore and the fair mutex: those who stand
//! before a reader are admitted before it, and if they are readers, at the same moment as it. What the lock adds:
//!
//! | call | permits |
//! |---|---|
//! | read, write | takes 1, all |
//! | release | gives them back; those who get them are woken at once (see `ticket_queue::granted`) |
//! | downgrade | gives back all but 1 |
//! | try to upgrade | takes all but 1 if they are there: then nobody else is inside, or in line |
//!
//! # Exclusion is a count
//!
//! `grant` is the number of permits that there were at first, and those given back. A holder's tickets are granted when `grant` is
//! past its last ticket:
//!
//! - **X1.** A writer enters when all who came before it have gone: its last ticket is as many as they have drawn, and all.
//! - **X2.** A reader enters when less than all permits are with those who came before it: so no writer among them is inside, or
//!   in line.
//!
//! Nobody takes a permit out of turn, by lowering `grant`, though a reader that is inside could do so and never wait. The queue
//! rests on `grant` only growing: lowered below where it was when the lock was moved to its place, it comes by the markers of
//! another queue, which were left there (`ticket_queue::abandoned`, "Forgotten"), and a post makes permits of them.

#![allow(unsafe_code, reason = "contracts, and nothing unsafe inside")]

use crate::error::Stopped;
use crate::sync::const_outside_models;
use crate::ticket_queue::{NARROW, TicketQueue, Word};
use crate::wait_table::{Global, Home, Limit};
use core::{fmt, mem};
use std::time::{Duration, Instant};

/// How many permits there are: more than readers. Odd, so that writers in line are spread over the wait table as readers are.
pub(super) const ALL: Word = (if NARROW { 1_u64 << 14 } else { 1 << 40 }) as Word + 1;

/// The words of [`RwLock`](super::RwLock): first come, first served, 16 bytes.
///
/// Through lock_api's traits it is a lock of its own. The methods here are the same without the guards. A thread that
/// gives up leaves the line without a trace, and without holding up those behind it.
///
/// More than 2^40 readers at once wait until some have gone (2^14 on targets without 64-bit atomics). More than two million writers
/// in line (32,767) are a panic.
pub struct RawRwLock<H: Home = Global> {
    pub(super) queue: TicketQueue<H, ALL>,
}

impl RawRwLock {
    const_outside_models! {
        /// An unlocked lock.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<H: Home> RawRwLock<H> {
    const_outside_models! {
        /// An unlocked lock whose waiters wait in a table of their own.
        pub fn new_in() -> Self {
            Self { queue: TicketQueue::new(ALL) }
        }
    }

    /// Locks for reading; waits for its turn.
    #[inline]
    pub fn acquire_read(&self) {
        self.queue.take(1);
    }

    /// Locks for writing; waits for its turn.
    #[inline]
    pub fn acquire_write(&self) {
        self.queue.take(ALL);
    }

    /// Locks for reading, or gives up at `deadline`.
    #[inline]
    #[must_use = "says whether it is locked"]
    pub fn acquire_read_deadline(&self, deadline: Instant) -> bool {
        self.acquire_read_within(deadline).is_ok()
    }

    /// Locks for writing, or gives up at `deadline`.
    #[inline]
    #[must_use = "says whether it is locked"]
    pub fn acquire_write_deadline(&self, deadline: Instant) -> bool {
        self.acquire_write_within(deadline).is_ok()
    }

    /// Like [`acquire_read_deadline`](Self::acquire_read_deadline), but waits for at most `timeout`. One too long for the clock
    /// means forever.
    #[inline]
    #[must_use = "says whether it is locked"]
    pub fn acquire_read_timeout(&self, timeout: Duration) -> bool {
        self.acquire_read_within(timeout).is_ok()
    }

    /// Like [`acquire_write_deadline`](Self::acquire_write_deadline), but waits for at most `timeout`. One too long for the clock
    /// means forever.
    #[inline]
    #[must_use = "says whether it is locked"]
    pub fn acquire_write_timeout(&self, timeout: Duration) -> bool {
        self.acquire_write_within(timeout).is_ok()
    }

    /// Locks for reading, or gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached.
    #[inline]
    pub fn acquire_read_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<(), Stopped> {
        self.queue.take_within(1, &limit.into()).map(drop)
    }

    /// Locks for writing, or gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached.
    #[inline]
    pub fn acquire_write_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<(), Stopped> {
        self.queue.take_within(ALL, &limit.into()).map(drop)
    }

    /// Locks for reading if that is possible at once: no writer is inside or in line.
    #[inline]
    #[must_use = "says whether it is locked"]
    pub fn try_acquire_read(&self) -> bool {
        self.queue.try_take(1).is_some()
    }

    /// Locks for writing if that is possible at once: nobody is inside or in line.
    #[inline]
    #[must_use = "says whether it is locked"]
    pub fn try_acquire_write(&self) -> bool {
        self.queue.try_take(ALL).is_some()
    }

    /// Turns a lock for reading into one for writing, if it is the only one and nobody is in line.
    ///
    /// # Safety
    /// The caller has a lock for reading, and keeps it if this returns `false`. Otherwise it has one for writing instead.
    #[inline]
    #[must_use = "says whether it is locked for writing"]
    pub unsafe fn try_upgrade(&self) -> bool {
        self.queue.try_take(ALL - 1).is_some()
    }

    /// Turns a lock for writing into one for reading, and lets the readers in that are next in line.
    ///
    /// # Safety
    /// The caller has a lock for writing; it has one for reading instead. If this unwinds, because the waker of a task that it lets
    /// in does, it has none.
    #[inline]
    pub unsafe fn downgrade(&self) {
        let on_unwind = ReleaseOnDrop(self);
        self.queue.give_back(ALL - 1);
        mem::forget(on_unwind);
    }

    /// Unlocks what was locked for reading; the last to do so wakes the writer whose turn it is.
    ///
    /// # Safety
    /// The caller has a lock for reading, and has it no more; and the lock has not been moved meanwhile.
    #[inline]
    pub unsafe fn release_read(&self) {
        self.queue.give_back(1);
    }

    /// Unlocks what was locked for writing, and wakes all whose turn it is: a writer, or all readers up to the next writer.
    ///
    /// # Safety
    /// The caller has the lock for writing, and has it no more; and the lock has not been moved meanwhile. Otherwise there would be two writers, and lock_api's types can be
    /// made of a word that safe code has used:
    ///
    /// ```compile_fail,E0133
    /// use layby::rwlock::{RawRwLock, RwLock};
    /// let word = RawRwLock::new();
    /// word.release_write();
    /// let twice = RwLock::from_raw(word, String::new());
    /// ```
    #[inline]
    pub unsafe fn release_write(&self) {
        self.queue.give_back(ALL);
    }

    /// Whether anybody is inside or in line, at this moment.
    #[must_use]
    pub fn is_acquired(&self) -> bool {
        self.readers() != Some(0)
    }

    /// Whether a writer is inside, or next and waits for the readers inside to leave, at this moment.
    #[must_use]
    pub fn is_acquired_for_writing(&self) -> bool {
        self.readers().is_none()
    }

    /// How many readers are inside, at this moment, if no writer is inside or in line.
    #[must_use]
    #[allow(clippy::useless_conversion, reason = "a word is 32 bits wide on some targets")]
    pub fn readers(&self) -> Option<u64> {
        let free = Word::try_from(self.queue.surplus()).unwrap_or(0);
        (free != 0).then(|| u64::from(ALL - free))
    }
}

/// A lock for reading that nobody will have.
struct ReleaseOnDrop<'a, H: Home>(&'a RawRwLock<H>);

impl<H: Home> Drop for ReleaseOnDrop<'_, H> {
    fn drop(&mut self) {
        self.0.queue.give_back(1);
    }
}

/// For the default home alone, so that it can be inferred.
impl Default for RawRwLock {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Home> fmt::Debug for RawRwLock<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RawRwLock");
        match self.readers() {
            Some(readers) => debug.field("readers", &readers),
            None => debug.field("writers", &"inside or in line"),
        };
        debug.finish_non_exhaustive()
    }
}
