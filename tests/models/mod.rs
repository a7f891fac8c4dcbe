//! What the loom models share.
//!
//! Each model says its bound: how many times loom may take a thread off its CPU where it could have gone on.
//! `LOOM_MAX_PREEMPTIONS` overrides them all.
//!
//! loom is blind to: `SeqCst` accesses (it takes them as acquire and release; fences it knows), so the form without
//! fence B is checked with a fence in its place; memory that is used after it was freed; time, unless an expiry is an
//! event of the model; real backends; more than a few threads.

#![allow(dead_code, reason = "each test file uses a part")]

use layby::WaitTable;
use loom::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use loom::thread::{self, JoinHandle};
use std::time::Instant;

/// Explores `model` with at most `preemptions` preemptions, and reports what that took.
pub(crate) fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = *builder.preemption_bound.get_or_insert(preemptions);
    let executions = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&executions);
    let start = Instant::now();
    builder.check(move || {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        layby::model::begin();
        model();
    });
    let executions = executions.load(std::sync::atomic::Ordering::Relaxed);
    let current = std::thread::current();
    let name = current.name().unwrap_or("a model");
    println!("model {name}: {bound} preemptions, {executions} executions, {:.1?}", start.elapsed());
}

/// A table of one slot, so that all keys collide, and two flags to wait for.
pub(crate) struct World {
    pub(crate) table: WaitTable,
    pub(crate) x: AtomicUsize,
    pub(crate) y: AtomicUsize,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::unshared())
    }

    /// For the forms that leave an element lingering. The memory is left to the process: it is small.
    pub(crate) fn leaked() -> &'static Self {
        Box::leak(Box::new(Self::unshared()))
    }

    fn unshared() -> Self {
        Self { table: WaitTable::with_slots(1), x: AtomicUsize::new(0), y: AtomicUsize::new(0) }
    }

    /// Waits for `flag` in the closure form.
    pub(crate) fn wait_for(&self, flag: &AtomicUsize) {
        self.table.wait_until(flag, || is_set(flag));
    }

    /// Waits for `flag` in the form that `wake_one` may choose.
    pub(crate) fn wait_if_unset(&self, flag: &AtomicUsize) {
        while !is_set(flag) {
            self.table.wait_if(flag, || !is_set(flag));
        }
    }

    /// Publishes an element and takes it off at once, so that the caller acts as a picker.
    pub(crate) fn publish_and_withdraw(&self, flag: &AtomicUsize) {
        self.table.wait_if(flag, || false);
    }

    pub(crate) fn wake_all_after_set(&self, flag: &AtomicUsize) {
        set(flag);
        self.table.wake_all(flag);
    }

    pub(crate) fn wake_one_after_set(&self, flag: &AtomicUsize) -> usize {
        set(flag);
        self.table.wake_one(flag)
    }

    /// At rest nothing is on a chain and no picker's flag is left.
    pub(crate) fn assert_at_rest(&self) {
        let report = format!("{:?}", self.table);
        assert!(report.contains("occupied: 0"), "something is left: {report}");
    }
}

/// The weakest orderings, so that only the table's own fences can make the model pass.
pub(crate) fn is_set(flag: &AtomicUsize) -> bool {
    flag.load(Ordering::Relaxed) != 0
}

pub(crate) fn set(flag: &AtomicUsize) {
    flag.store(1, Ordering::Relaxed);
}

/// Runs `body` in a thread of the model, with its own handle on the world.
pub(crate) fn spawn(world: &Arc<World>, body: impl FnOnce(&World) + 'static) -> JoinHandle<()> {
    let world = Arc::clone(world);
    thread::spawn(move || body(&world))
}

/// A deadline. The model does not look at its value: it passes when a thread of the model says so.
pub(crate) fn some_time() -> Instant {
    Instant::now()
}
