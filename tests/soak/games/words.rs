//! Locks of three states, made of `layby::atomic`, one in an atomic of each width.

use super::Game;
use crate::worker::Worker;
use layby::atomic::{wait, wait_deadline, wake_all, wake_one};
use std::{
    sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    time::Instant,
};

const FREE: u8 = 0;
const LOCKED: u8 = 1;
const WAITED_FOR: u8 = 2;

/// A word that is a lock.
trait Word: Sync {
    fn try_lock(&self) -> bool;
    /// Takes the lock, or waits for a while.
    fn lock_or_wait(&self, worker: &mut Worker<'_>) -> bool;
    fn unlock(&self, worker: &mut Worker<'_>);
    fn is_free(&self) -> bool;
}

macro_rules! words {
    ($($atomic:ident),+) => { $(
        impl Word for $atomic {
            fn try_lock(&self) -> bool {
                self.compare_exchange(FREE.into(), LOCKED.into(), Ordering::Acquire, Ordering::Relaxed).is_ok()
            }

            fn lock_or_wait(&self, worker: &mut Worker<'_>) -> bool {
                let locked = self.swap(WAITED_FOR.into(), Ordering::Acquire) == FREE.into();
                if !locked && worker.random.one_in(2) {
                    worker.at(|| wait(self, WAITED_FOR.into()));
                } else if !locked {
                    let deadline = Instant::now() + worker.soon();
                    let _ = worker.at(|| wait_deadline(self, WAITED_FOR.into(), deadline));
                }
                locked
            }

            fn unlock(&self, worker: &mut Worker<'_>) {
                if self.swap(FREE.into(), Ordering::Release) == WAITED_FOR.into() {
                    if worker.random.one_in(8) { wake_all(self) } else { wake_one(self) }
                }
            }

            fn is_free(&self) -> bool {
                self.load(Ordering::Acquire) == FREE.into()
            }
        }
    )+ };
}

words!(AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize);

pub(crate) struct Words {
    words: [Box<dyn Word>; 5],
    held: [AtomicBool; 5],
}

impl Words {
    pub(crate) fn new() -> Self {
        Self {
            words: [
                Box::new(AtomicU8::new(0)),
                Box::new(AtomicU16::new(0)),
                Box::new(AtomicU32::new(0)),
                Box::new(AtomicU64::new(0)),
                Box::new(AtomicUsize::new(0)),
            ],
            held: Default::default(),
        }
    }
}

impl Game for Words {
    fn play(&self, worker: &mut Worker<'_>) {
        let which = worker.random.below(self.words.len());
        let (word, held) = (&self.words[which], &self.held[which]);
        if !word.try_lock() {
            while !word.lock_or_wait(worker) {}
        }
        assert!(!held.swap(true, Ordering::Relaxed), "two held the lock at once");
        worker.linger();
        held.store(false, Ordering::Relaxed);
        word.unlock(worker);
    }

    fn check(self: Box<Self>) {
        assert!(self.words.iter().all(|word| word.is_free()));
    }
}
