//! A wait point beside a lock-free structure: tokens.

use super::Game;
use crate::worker::Worker;
use layby::{eventcount::WaitPoint, wait_table::Home};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

pub(crate) struct Tokens<H: Home> {
    all: usize,
    free: AtomicUsize,
    freed: WaitPoint<H>,
}

impl<H: Home> Tokens<H> {
    pub(crate) fn new(all: usize) -> Self {
        Self { all, free: AtomicUsize::new(all), freed: WaitPoint::new_in() }
    }

    fn try_take(&self) -> bool {
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1)).is_ok()
    }

    fn take(&self, worker: &mut Worker<'_>) -> bool {
        let soon = worker.soon();
        match worker.random.below(4) {
            0 => worker.at(|| self.freed.wait_until(|| self.try_take())),
            1 => return worker.at(|| self.freed.wait_until_deadline(Instant::now() + soon, || self.try_take())),
            _ => {
                while !self.try_take() {
                    let prepared = self.freed.prepare();
                    if self.try_take() {
                        prepared.cancel();
                        break;
                    }
                    if worker.random.one_in(2) {
                        worker.at(|| prepared.commit());
                    } else {
                        let deadline = Instant::now() + worker.soon();
                        let _ = worker.at(|| prepared.commit_deadline(deadline));
                    }
                }
            }
        }
        true
    }
}

impl<H: Home> Game for Tokens<H> {
    fn play(&self, worker: &mut Worker<'_>) {
        if self.take(worker) {
            worker.linger();
            assert!(self.free.fetch_add(1, Ordering::Relaxed) < self.all, "a token too many");
            if worker.random.one_in(8) {
                self.freed.notify_all();
            } else {
                self.freed.notify_one();
            }
        }
    }

    fn check(self: Box<Self>) {
        assert_eq!(self.free.into_inner(), self.all);
        assert!(format!("{:?}", self.freed).contains("waiters: 0"), "somebody is still counted: {:?}", self.freed);
    }
}
