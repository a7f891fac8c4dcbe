//! The world of the wait table's models: one slot, two flags, and what threads do with them.

use crate::explore::explore_orders;
use layby::WaitTable;
use loom::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use loom::thread::{self, JoinHandle};
use std::time::Instant;

/// Explores what `roles` do at once, each in a thread of its own, in both orders, with at most `preemptions` preemptions.
pub(crate) fn explore<const N: usize>(preemptions: usize, roles: [fn(&World); N]) {
    explore_with_slots(1, preemptions, roles);
}

/// Like [`explore`], with a table that adds a bank when a second task waits at once.
pub(crate) fn explore_growth<const N: usize>(preemptions: usize, roles: [fn(&World); N]) {
    explore_with_slots(2, preemptions, roles);
}

fn explore_with_slots<const N: usize>(slots: usize, preemptions: usize, roles: [fn(&World); N]) {
    explore_orders(preemptions, roles, move |roles| {
        let world = Arc::new(World::with_slots(slots));
        join_all(roles.map(|role| {
            let world = Arc::clone(&world);
            thread::spawn(move || role(&world))
        }));
        world.assert_at_rest();
    });
}

/// Like [`explore`], for the forms that leave an element lingering. The world is left to the process; loom ends a join
/// before the thread's locals are dropped, so that there is no moment to look whether it is at rest.
pub(crate) fn explore_lingering<const N: usize>(preemptions: usize, roles: [fn(&'static World); N]) {
    explore_orders(preemptions, roles, move |roles| {
        let world: &'static World = Box::leak(Box::new(World::with_slots(1)));
        join_all(roles.map(|role| thread::spawn(move || role(world))));
    });
}

fn join_all<const N: usize>(threads: [JoinHandle<()>; N]) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// A table of one slot, so that all keys collide, and two flags to wait for.
pub(crate) struct World {
    pub(crate) table: WaitTable,
    pub(crate) x: AtomicUsize,
    pub(crate) y: AtomicUsize,
}

impl World {
    fn with_slots(slots: usize) -> Self {
        Self { table: WaitTable::with_slots(slots), x: AtomicUsize::new(0), y: AtomicUsize::new(0) }
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

    pub(crate) fn wake_one_after_set(&self, flag: &AtomicUsize) {
        set(flag);
        self.table.wake_one(flag);
    }

    /// A wake-up for which there is no reason.
    pub(crate) fn wake_one_idly(&self, flag: &AtomicUsize) {
        self.table.wake_one(flag);
    }

    /// As above, but wakes all.
    pub(crate) fn wake_all_idly(&self, flag: &AtomicUsize) {
        self.table.wake_all(flag);
    }

    /// Waits for `flag` in the loop form.
    pub(crate) fn loop_until_set(&'static self, flag: &AtomicUsize) {
        while !is_set(flag) {
            self.table.location_wait(flag);
        }
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

/// A deadline. The model does not look at its value: it passes when a thread of the model says so.
pub(crate) fn some_time() -> Instant {
    Instant::now()
}
