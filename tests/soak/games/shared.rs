//! A reader-writer lock, in every form.

use super::Game;
use crate::worker::Worker;
use layby::rwlock::{RawRwLock, RwLockIn, TryUpgrade};
use layby::wait_table::Home;
use lock_api::{RwLockReadGuard, RwLockWriteGuard};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct SharedLock<H: Home> {
    /// Always twice the same, when nobody writes.
    counts: RwLockIn<[u64; 2], H>,
    /// How often was written, by the writers' own count.
    written: AtomicU64,
}

type Reading<'a, H> = RwLockReadGuard<'a, RawRwLock<H>, [u64; 2]>;
type Writing<'a, H> = RwLockWriteGuard<'a, RawRwLock<H>, [u64; 2]>;

impl<H: Home> SharedLock<H> {
    pub(crate) fn new() -> Self {
        Self { counts: RwLockIn::new([0; 2]), written: AtomicU64::new(0) }
    }

    fn read(&self, worker: &mut Worker<'_>) -> Option<Reading<'_, H>> {
        let soon = worker.soon();
        match worker.random.below(4) {
            0 => self.counts.try_read(),
            1 => worker.at(|| self.counts.try_read_for(soon)),
            _ => Some(worker.at(|| self.counts.read())),
        }
    }

    fn write(&self, worker: &mut Worker<'_>) -> Option<Writing<'_, H>> {
        let soon = worker.soon();
        match worker.random.below(4) {
            0 => self.counts.try_write(),
            1 => worker.at(|| self.counts.try_write_for(soon)),
            _ => Some(worker.at(|| self.counts.write())),
        }
    }

    fn count(&self, writing: &mut Writing<'_, H>, worker: &mut Worker<'_>) {
        writing[0] += 1;
        worker.linger();
        writing[1] += 1;
        self.written.fetch_add(1, Ordering::Relaxed);
    }

    fn look(reading: Reading<'_, H>, worker: &mut Worker<'_>) {
        let seen = *reading;
        worker.linger();
        assert_eq!(*reading, seen, "somebody wrote beside a reader");
        assert_eq!(seen[0], seen[1], "somebody read beside a writer");
    }
}

impl<H: Home> Game for SharedLock<H> {
    fn play(&self, worker: &mut Worker<'_>) {
        if worker.random.one_in(3) {
            let Some(mut writing) = self.write(worker) else { return };
            self.count(&mut writing, worker);
            if worker.random.one_in(2) {
                Self::look(RwLockWriteGuard::downgrade(writing), worker);
            }
            return;
        }
        let Some(reading) = self.read(worker) else { return };
        if worker.random.one_in(4) {
            match RwLockReadGuard::try_upgrade(reading) {
                Ok(mut writing) => self.count(&mut writing, worker),
                Err(reading) => Self::look(reading, worker),
            }
        } else {
            Self::look(reading, worker);
        }
    }

    fn check(self: Box<Self>) {
        assert!(!self.counts.is_locked(), "left locked, or tickets were left in line");
        assert_eq!(self.counts.into_inner(), [self.written.into_inner(); 2]);
    }
}
