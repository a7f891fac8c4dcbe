//! A flag for tasks to wait for.

use layby::{Location, WaitTable};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag in a table of one slot.
pub(crate) struct Flag {
    pub(crate) table: WaitTable,
    is_set: AtomicBool,
}

impl Location for Flag {}

impl Flag {
    pub(crate) fn new() -> Self {
        Self { table: WaitTable::with_slots(1), is_set: AtomicBool::new(false) }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
        self.table.wake_all(self);
    }

    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + '_ {
        self.table.wait_until_async(self, || self.is_set())
    }
}
