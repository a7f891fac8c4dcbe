//! How the workers of a work-stealing pool sleep: not before they have searched everywhere once more, after saying that they are
//! about to. Whoever adds a job pays a fence and a load while all are at work.

use super::sync::atomic::{AtomicBool, Ordering};
use layby::eventcount::WaitPoint;

pub struct PoolSleep {
    work: WaitPoint,
    closing: AtomicBool,
}

impl PoolSleep {
    pub fn new() -> Self {
        Self { work: WaitPoint::new(), closing: AtomicBool::new(false) }
    }

    /// What `search` finds, in whatever queues, sooner or later; `None` when the pool is closing and nothing is left.
    pub fn find<T>(&self, mut search: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            if let Some(job) = search() {
                return Some(job);
            }
            let prepared = self.work.prepare();
            // Before the search: what was added before the pool began to close is found.
            let closing = self.closing.load(Ordering::Acquire);
            if let Some(job) = search() {
                prepared.cancel();
                return Some(job);
            }
            if closing {
                return None;
            }
            prepared.commit();
        }
    }

    /// A job has been added, for any one worker.
    pub fn added(&self) {
        self.work.notify_one();
    }

    /// The workers do what there is, and then `find` nothing.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.work.notify_all();
    }
}
