//! A mutex and its condition variable.

use super::Game;
use crate::worker::Worker;
use layby::mutex::RawCondvar;
use lock_api::{Condvar, Mutex, MutexGuard, RawMutexTimed};
use std::time::{Duration, Instant};

#[derive(Default)]
struct Protected {
    /// Always twice the same, when nobody holds the lock.
    counts: [u64; 2],
    free: usize,
}

pub(crate) struct Locks<R: RawMutexTimed> {
    all: usize,
    protected: Mutex<R, Protected>,
    freed: Condvar<RawCondvar<R>>,
}

impl<R: RawMutexTimed<Duration = Duration, Instant = Instant>> Locks<R> {
    pub(crate) fn new(all: usize) -> Self {
        Self { all, protected: Mutex::new(Protected { free: all, ..Default::default() }), freed: Condvar::new() }
    }

    fn lock(&self, worker: &mut Worker<'_>) -> Option<MutexGuard<'_, R, Protected>> {
        let soon = worker.soon();
        match worker.random.below(5) {
            0 => self.protected.try_lock(),
            1 => worker.at(|| self.protected.try_lock_for(soon)),
            2 => worker.at(|| self.protected.try_lock_until(Instant::now() + soon)),
            _ => Some(worker.at(|| self.protected.lock())),
        }
    }

    /// Takes one of what is counted under the lock; waits for it by the condition variable.
    fn take(&self, worker: &mut Worker<'_>) -> bool {
        let mut guard = worker.at(|| self.protected.lock());
        let is_empty = |protected: &mut Protected| protected.free == 0;
        if worker.random.one_in(2) {
            worker.at(|| self.freed.wait_while(&mut guard, is_empty));
        } else {
            let soon = worker.soon();
            worker.at(|| self.freed.wait_while_for(&mut guard, is_empty, soon));
        }
        let taken = guard.free > 0;
        guard.free -= usize::from(taken);
        taken
    }

    fn put_back(&self, worker: &mut Worker<'_>) {
        let mut guard = worker.at(|| self.protected.lock());
        guard.free += 1;
        if worker.random.one_in(2) {
            drop(guard);
        }
        if worker.random.one_in(8) {
            self.freed.notify_all();
        } else {
            self.freed.notify_one();
        }
    }
}

impl<R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync> Game for Locks<R> {
    fn play(&self, worker: &mut Worker<'_>) {
        if worker.random.one_in(2) {
            if self.take(worker) {
                worker.linger();
                self.put_back(worker);
            }
        } else if let Some(mut guard) = self.lock(worker) {
            guard.counts[0] += 1;
            worker.linger();
            guard.counts[1] += 1;
            assert_eq!(guard.counts[0], guard.counts[1], "two held the lock at once");
        }
    }

    fn check(self: Box<Self>) {
        assert!(!self.protected.is_locked());
        assert_eq!(self.protected.into_inner().free, self.all);
    }
}
