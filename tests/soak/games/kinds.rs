//! The paper's other semaphores.

use super::Game;
use crate::worker::Worker;
use layby::paper::RawSemaphore;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Kinds<S> {
    semaphore: S,
    permits: u64,
    out: AtomicU64,
}

impl<S: RawSemaphore> Kinds<S> {
    pub(crate) fn new(permits: u64) -> Self {
        Self { semaphore: S::with_permits(permits), permits, out: AtomicU64::new(0) }
    }
}

impl<S: RawSemaphore> Game for Kinds<S> {
    fn play(&self, worker: &mut Worker<'_>) {
        worker.at(|| self.semaphore.take());
        let out = self.out.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(out <= self.permits, "{out} permits of {} are out, of {}", S::NAME, self.permits);
        worker.linger();
        self.out.fetch_sub(1, Ordering::Relaxed);
        self.semaphore.post();
    }

    fn check(self: Box<Self>) {
        assert_eq!(self.out.into_inner(), 0);
        // There is no other way to look: if one is lost, this hangs.
        let elsewhere = self.semaphore;
        (0..self.permits).for_each(|_| elsewhere.take());
    }
}
