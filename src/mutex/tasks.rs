//! Tasks that lock: the words' futures.

use super::{RawFairMutex, RawMutex, Ticket, barging::Waiter};
use crate::wait_table::{AtHome, Global, Home, Key, Moment, Purpose, Waiting};
use core::fmt;

/// The future of [`RawMutex::acquire_async`].
pub type AcquireAsync<'a, H = Global> = Waiting<AtHome<H>, Acquiring<'a, H>>;
/// The future of [`RawFairMutex::acquire_async`].
pub type AcquireFairAsync<'a, H = Global> = Waiting<AtHome<H>, AcquiringFair<'a, H>>;

impl<H: Home> RawMutex<H> {
    /// Locks, from a task. The future may be dropped at any time. Threads and tasks that come while the lock is free may overtake it
    /// any number of times: a lock that were kept for it would be kept until it is polled, also from the thread that should do so.
    #[track_caller]
    pub fn acquire_async(&self) -> AcquireAsync<'_, H> {
        let waiter = Waiter::newcomer(self);
        Waiting::new(AtHome::NEW, waiter.key(), true, Acquiring(waiter))
    }
}

impl<H: Home> RawFairMutex<H> {
    /// Locks, from a task, in one line with threads. The future may be dropped at any time, and then is a lock that timed out.
    #[track_caller]
    pub fn acquire_async(&self) -> AcquireFairAsync<'_, H> {
        Waiting::new(AtHome::NEW, self.queue.key(), false, AcquiringFair(self))
    }
}

/// What [`AcquireAsync`] waits for.
pub struct Acquiring<'a, H: Home>(Waiter<'a, H>);

/// What [`AcquireFairAsync`] waits for.
pub struct AcquiringFair<'a, H: Home>(&'a RawFairMutex<H>);

impl<H: Home> Purpose for Acquiring<'_, H> {
    type Output = ();

    fn attempt(&mut self, moment: Moment, _: Option<Key>) -> Option<()> {
        let waiter = &mut self.0;
        loop {
            if waiter.try_acquire() {
                return Some(());
            }
            match moment {
                // It is free by now, if not.
                Moment::Published if !waiter.may_sleep() => {}
                _ => return None,
            }
        }
    }

    fn key(&mut self, _: Key, _: Option<Key>) -> Key {
        self.0.begin_to_wait();
        self.0.key()
    }

    fn abandon(&mut self, _: Key) {
        self.0.leave();
    }

    fn give_back(&mut self, (): ()) {
        self.0.give_back();
    }
}

impl<H: Home> Purpose for AcquiringFair<'_, H> {
    type Output = Ticket;

    #[inline(always)]
    fn attempt(&mut self, _: Moment, last: Option<Key>) -> Option<Ticket> {
        self.0.queue.attempt(1, last).map(Ticket)
    }

    fn key(&mut self, _: Key, last: Option<Key>) -> Key {
        self.0.queue.key_of_task(1, last)
    }

    fn abandon(&mut self, last: Key) {
        self.0.queue.abandon(1, last);
    }

    fn give_back(&mut self, ticket: Ticket) {
        self.0.queue.hand_over(ticket.0);
    }
}

impl<H: Home> fmt::Debug for Acquiring<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquiring").finish_non_exhaustive()
    }
}

impl<H: Home> fmt::Debug for AcquiringFair<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcquiringFair").finish_non_exhaustive()
    }
}
