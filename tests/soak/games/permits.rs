//! The semaphore: takes of all kinds, permits held, dropped, forgotten and put back.

use super::Game;
use crate::{common::assert_at_rest, worker::Worker};
use layby::{
    sema::{OwnedPermit, Permit, Semaphore},
    wait_table::Home,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub(crate) struct Permits<H: Home> {
    semaphore: Arc<Semaphore<H>>,
    permits: u64,
    out: AtomicU64,
}

/// Permits that a thread has, in any form.
enum Held<'a, H: Home> {
    Bare(u64),
    Guard(Permit<'a, H>),
    Owned(OwnedPermit<H>),
}

impl<H: Home> Held<'_, H> {
    fn count(&self) -> u64 {
        match self {
            Self::Bare(n) => *n,
            Self::Guard(permit) => permit.permits(),
            Self::Owned(permit) => permit.permits(),
        }
    }
}

impl<H: Home> Permits<H> {
    pub(crate) fn new(permits: u64) -> Self {
        Self { semaphore: Arc::new(Semaphore::new_in(permits)), permits, out: AtomicU64::new(0) }
    }

    fn take(&self, worker: &mut Worker<'_>) -> Option<Held<'_, H>> {
        let semaphore = &self.semaphore;
        let n = 1 + worker.random.below(self.permits as usize) as u64;
        let soon = worker.soon();
        let bare = |got: bool, n| got.then_some(Held::Bare(n));
        match worker.random.below(16) {
            0 => bare(semaphore.try_take(), 1),
            1 => bare(semaphore.try_take_many(n), n),
            2 | 3 => bare(worker.at(|| semaphore.take_timeout(soon)), 1),
            4 => bare(worker.at(|| semaphore.take_deadline(Instant::now() + soon)), 1),
            5 | 6 => bare(worker.at(|| semaphore.take_many_timeout(n, soon)), n),
            7 => bare(worker.at(|| semaphore.take_many_deadline(n, Instant::now() + soon)), n),
            8 => bare(worker.at(|| semaphore.take_many_timeout(n, Duration::MAX)), n),
            9 => {
                worker.at(|| semaphore.take_many(n));
                Some(Held::Bare(n))
            }
            10 => {
                worker.at(|| semaphore.take());
                Some(Held::Bare(1))
            }
            11 => Some(Held::Guard(worker.at(|| semaphore.acquire()))),
            12 => worker.at(|| semaphore.acquire_timeout(soon)).map(Held::Guard),
            13 => worker.at(|| semaphore.acquire_many_timeout(n, soon)).map(Held::Guard),
            14 => Some(Held::Owned(worker.at(|| semaphore.acquire_owned()))),
            _ => worker.at(|| semaphore.acquire_owned_timeout(soon)).map(Held::Owned),
        }
    }

    fn put_back(&self, held: Held<'_, H>, worker: &mut Worker<'_>) {
        let n = held.count();
        match held {
            Held::Bare(_) => {}
            Held::Guard(permit) if worker.random.one_in(2) => permit.forget(),
            Held::Owned(permit) if worker.random.one_in(2) => permit.forget(),
            Held::Owned(permit) if worker.random.one_in(8) => {
                worker.at(|| thread::spawn(|| drop(permit)).join().unwrap());
                return;
            }
            dropped => return drop(dropped),
        }
        match worker.random.below(3) {
            0 => (0..n).for_each(|_| self.semaphore.post()),
            1 => (0..n).for_each(|_| self.semaphore.post_conservatively()),
            _ => self.semaphore.post_many(n),
        }
    }
}

impl<H: Home> Game for Permits<H> {
    fn play(&self, worker: &mut Worker<'_>) {
        let Some(held) = self.take(worker) else { return };
        let n = held.count();
        let out = self.out.fetch_add(n, Ordering::Relaxed) + n;
        assert!(out <= self.permits, "{out} permits are out, of {}", self.permits);
        worker.linger();
        self.out.fetch_sub(n, Ordering::Relaxed);
        self.put_back(held, worker);
    }

    fn check(self: Box<Self>) {
        assert_eq!(self.out.into_inner(), 0);
        let mut semaphore = Arc::into_inner(self.semaphore).expect("no permit is left");
        assert_at_rest(&mut semaphore, self.permits);
    }
}
