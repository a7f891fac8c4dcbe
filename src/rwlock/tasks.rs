//! Tasks that lock: the word's futures.

use super::{RawRwLock, raw::ALL};
use crate::ticket_queue::Word;
use crate::wait_table::{AtHome, Global, Home, Key, Moment, Purpose, Waiting};
use core::fmt;

/// The future of [`RawRwLock::acquire_read_async`] and [`acquire_write_async`](RawRwLock::acquire_write_async).
pub type AcquireAsync<'a, H = Global> = Waiting<AtHome<H>, Acquiring<'a, H>>;

impl<H: Home> RawRwLock<H> {
    /// Locks for reading, from a task, in one line with threads. The future may be dropped at any time, and then is a lock that timed
    /// out.
    #[track_caller]
    pub fn acquire_read_async(&self) -> AcquireAsync<'_, H> {
        self.acquire_async(1)
    }

    /// Locks for writing, from a task, in one line with threads. The future may be dropped at any time, and then is a lock that timed
    /// out.
    #[track_caller]
    pub fn acquire_write_async(&self) -> AcquireAsync<'_, H> {
        self.acquire_async(ALL)
    }

    #[track_caller]
    fn acquire_async(&self, permits: Word) -> AcquireAsync<'_, H> {
        Waiting::new(AtHome::NEW, self.queue.key(), false, Acquiring { lock: self, permits })
    }
}

/// What [`AcquireAsync`] waits for.
pub struct Acquiring<'a, H: Home> {
    lock: &'a RawRwLock<H>,
    permits: Word,
}

impl<H: Home> Purpose for Acquiring<'_, H> {
    type Output = ();

    fn attempt(&mut self, _: Moment, last: Option<Key>) -> Option<()> {
        self.lock.queue.attempt(self.permits, last).map(drop)
    }

    fn key(&mut self, _: Key, last: Option<Key>) -> Key {
        self.lock.queue.key_of_task(self.permits, last)
    }

    fn abandon(&mut self, last: Key) {
        self.lock.queue.abandon(self.permits, last);
    }

    fn give_back(&mut self, (): ()) {
        self.lock.queue.give_back(self.permits);
    }
}

impl<H: Home> fmt::Debug for Acquiring<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquiring").field("writes", &(self.permits == ALL)).finish_non_exhaustive()
    }
}
