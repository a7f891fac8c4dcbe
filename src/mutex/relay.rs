//! Where the waiters of a condition variable wait, and how those who are notified together come one after the other.
//!
//! Where threads change something often and notify all each time, a notification finds some waiters awake and others asleep. To
//! wake all who sleep costs the notifier a system call for each, and most find that the others have been there before them. So
//! a notification of all wakes those who are awake, which costs nothing, and *releases* those who sleep: their elements stay where they
//! are, under another name. One of the released is woken, and wakes the next before it locks the mutex, and so on: they run a relay.
//! A notification that comes meanwhile wakes no more of them. If all sleep, all are woken: nobody would go on meanwhile, and each
//! in turn would have to wait for a CPU that has gone idle. (docs/measurements.md, "All are notified of every change".)
//!
//! | a waiter is | its key | who wakes it |
//! |---|---|---|
//! | waiting | the address | a notification of one, or of all |
//! | released | the address and ticket 0, which is of the same slot | the runner before it; the notifier, if nobody runs |
//!
//! A released waiter has been notified: it reports no timeout, and a notification of one passes it over. One whose deadline passes
//! before its turn takes itself off the chain as ever. A relay waits for no mutex and for no condition, only for the
//! operating system to run whom it has woken. Tasks are woken at once: who knows when they run.
//!
//! # Nobody stays behind
//!
//! `runs` says that somebody runs, so that a notifier need not wake another. Wrong, if the notifier asked before it released:
//!
//! ```text
//! notifier                                   the last runner
//! does somebody run? yes
//!                                            wake the next: there is none
//!                                            nobody runs
//! release a waiter                           (nobody wakes it)
//! ```
//!
//! Right:
//!
//! ```text
//! notifier                                   the last runner
//! release a waiter                           wake the next: there is none
//! fence B                                    nobody runs
//! does somebody run? yes: done               fence B
//!                                            wake the next, once more
//! ```
//!
//! - **N1.** Whoever has been released passes on when its wait ends, however that was: it wakes one that is released; if there is none,
//!   it clears `runs`, and looks once more.
//! - **N2.** A notifier that has released somebody sets `runs`, and if it was not set, passes on likewise.
//!
//! Suppose that a notifier has released a waiter and found `runs` set. Whoever set it has woken one that was released, or cleared it;
//! who was woken passes on; and so forth to one that finds nobody and clears it, at some time after the notifier's swap. Of the fence
//! before that swap and the fence after that store, the notifier's is the first in the order of all `SeqCst` fences: otherwise
//! the swap would have found it cleared. So whoever cleared it sees the released waiter when it looks once more. Whom it wakes then
//! passes on, whatever `runs` says. A store may clear what another notifier has just set: then there is one relay more than need be.
//!
//! # After a fork
//!
//! A child has its parent's `runs`, and nobody who runs. So it says in which process it was set.

use crate::error::Stopped;
use crate::spin_policy::SpinFirst;
use crate::sync::{
    atomic::{AtomicU32, Ordering},
    const_outside_models, fence_before_peek,
};
use crate::wait_table::{Key, Limit, generation, global};

/// The word of a condition variable.
#[derive(Debug)]
pub struct Relay {
    /// [`running`], while a relay is run in this process.
    runs: AtomicU32,
}

impl Relay {
    const_outside_models! {
        /// Nobody waits.
        #[allow(clippy::new_without_default, reason = "it is public in models only")]
        pub fn new() -> Self {
            Self { runs: AtomicU32::new(NOBODY) }
        }
    }

    pub(super) fn key(&self) -> Key {
        Key::of_primitive(self)
    }

    fn key_of_released(&self) -> Key {
        Key::ticket_of_primitive(self, 0)
    }

    /// Publishes the caller, unlocks its mutex, and waits.
    ///
    /// # Errors
    /// How the limit was reached, if the caller has not been notified.
    pub fn wait(&self, limit: &Limit<'_>, unlock: impl FnOnce()) -> Result<(), Stopped> {
        let mut turn = Turn { relay: self, was_released: true };
        let ended = global().wait_renamed_at(self.key(), limit, SpinFirst::Briefly, || {
            unlock();
            true
        });
        turn.was_released = ended == Ok(self.key_of_released());
        ended.map(|_| ())
    }

    /// Wakes one that waits; returns how many it woke.
    pub fn notify_one(&self) -> usize {
        global().wake_one(self.key())
    }

    /// Wakes or releases all who wait; returns how many those are.
    pub fn notify_all(&self) -> usize {
        let table = global();
        let threads = table.wake_or_rename(self.key(), self.key_of_released());
        if threads.renamed != 0 {
            fence_before_peek();
            // Ordering: relaxed; the fences order it.
            if self.runs.swap(running(), Ordering::Relaxed) != running() {
                self.pass_on();
            }
        }
        threads.renamed + threads.notified + table.wake_all_tasks(self.key())
    }

    /// Wakes the next of the released (N1).
    fn pass_on(&self) {
        if !self.wake_next() {
            // Ordering: relaxed; the fences order it.
            self.runs.store(NOBODY, Ordering::Relaxed);
            fence_before_peek();
            self.wake_next();
        }
    }

    fn wake_next(&self) -> bool {
        global().wake_one_thread(self.key_of_released()) != 0
    }
}

const NOBODY: u32 = 0;

/// What `runs` is while somebody does, in this process.
fn running() -> u32 {
    generation().wrapping_add(1).max(NOBODY + 1)
}

/// A wait, which passes on when it ends.
struct Turn<'a> {
    relay: &'a Relay,
    /// One that unwinds may have been.
    was_released: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.was_released {
            self.relay.pass_on();
        }
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::*;
    use crate::wait_table::Activity;
    use std::thread;

    /// As in the child of a fork: in the parent somebody ran.
    #[test]
    fn who_runs_in_the_parent_wakes_nobody_here() {
        let relay = Relay { runs: AtomicU32::new(running().wrapping_add(1)) };
        let has_come = AtomicU32::new(0);
        let is_one_asleep = || {
            let is_ours = |key: Key| key.is_within(&relay);
            global().waiters().iter().any(|waiter| is_ours(waiter.key()) && waiter.activity() == Activity::Asleep)
        };
        thread::scope(|s| {
            s.spawn(|| relay.wait(&Limit::NONE, || {}));
            while !is_one_asleep() {
                thread::yield_now();
            }
            // One that is awake, published, or the other would be woken and not released.
            s.spawn(|| {
                relay.wait(&Limit::NONE, || {
                    has_come.store(1, Ordering::Release);
                    while has_come.load(Ordering::Acquire) == 1 {
                        thread::yield_now();
                    }
                })
            });
            while has_come.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            assert_eq!(relay.notify_all(), 2);
            let left_behind = global().wake_one_thread(relay.key_of_released());
            has_come.store(2, Ordering::Release);
            assert_eq!(left_behind, 0);
        });
    }
}
