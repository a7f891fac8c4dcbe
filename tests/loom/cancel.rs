//! Cancellation: `src/wait_table/cancel.rs`, and G5 of `group.rs`.

use crate::explore::explore_roles;
use crate::world::{is_set, set};
use layby::{Cancel, Stopped, WaitTable, sema::Semaphore};
use loom::sync::atomic::{AtomicUsize, Ordering};

struct Door {
    table: WaitTable,
    open: AtomicUsize,
    cancel: Cancel,
    other: AtomicUsize,
}

impl Door {
    fn new() -> Self {
        Self {
            table: WaitTable::with_slots(1),
            open: AtomicUsize::new(0),
            cancel: Cancel::new(),
            other: AtomicUsize::new(0),
        }
    }

    fn wait(&self) -> Result<(), Stopped> {
        self.table.wait_until_within(&self.open, &self.cancel, || is_set(&self.open))
    }

    fn open(&self) {
        set(&self.open);
        self.table.wake_all(&self.open);
    }

    fn assert_at_rest(&self) {
        for report in [format!("{:?}", self.table), format!("{:?}", layby::wait_table::global())] {
            assert!(report.contains("occupied: 0"), "something is left: {report}");
        }
    }
}

/// Fences A and B, of what is waited for in one table and the cancellation in another.
#[test]
fn a_wait_against_its_cancellation() {
    explore_roles(
        3,
        Door::new,
        [|door| assert_eq!(door.wait(), Err(Stopped::Cancelled)), |door| door.cancel.cancel()],
        Door::assert_at_rest,
    );
}

/// Whichever is seen first; and what does not hold is not reported.
#[test]
fn a_cancellation_against_a_wake() {
    fn wait(door: &Door) {
        match door.wait() {
            Ok(()) => assert!(is_set(&door.open)),
            Err(stopped) => assert!(stopped == Stopped::Cancelled && door.cancel.is_cancelled()),
        }
    }
    explore_roles(1, Door::new, [wait, |door| door.cancel.cancel(), Door::open], Door::assert_at_rest);
}

/// Any of several, one of them a cancellation in the global table.
#[test]
fn any_of_two_against_a_cancellation() {
    fn wait(door: &Door) {
        let keys = [layby::Location::key(&door.open), layby::Location::key(&door.other)];
        let ended = door.table.wait_until_any_within(&keys, &door.cancel, || is_set(&door.open));
        assert_eq!(ended, Err(Stopped::Cancelled));
    }
    explore_roles(2, Door::new, [wait, |door| door.cancel.cancel()], Door::assert_at_rest);
}

/// What was done before a cancellation is visible to whoever sees it, by whatever way.
#[test]
fn a_cancellation_carries_what_was_written_before_it() {
    fn cancel(door: &Door) {
        door.other.store(1, Ordering::Relaxed);
        door.cancel.cancel();
    }
    fn look(door: &Door) {
        if door.cancel.is_cancelled() {
            assert!(is_set(&door.other), "cancelled before what it was to carry");
        }
    }
    fn reset(door: &Door) {
        if door.cancel.reset() {
            assert!(is_set(&door.other), "cancelled before what it was to carry");
        }
    }
    explore_roles(2, Door::new, [cancel, look], |_| {});
    explore_roles(2, Door::new, [cancel, reset], |_| {});
}

/// Two waiters that can be chosen, one of which is cancelled. The wake-up of one goes to the one that stays, or the one that
/// leaves says that it has used it up, and hands it on (G5).
#[test]
fn a_wake_of_one_against_a_cancellation() {
    fn leave(door: &Door) {
        if door.table.wait_if_within(&door.open, &door.cancel, || true).is_ok() {
            door.table.wake_one(&door.open);
        }
    }
    fn stay(door: &Door) {
        while !is_set(&door.open) {
            door.table.wait_if(&door.open, || !is_set(&door.open));
        }
    }
    fn cancel_and_wake_one(door: &Door) {
        door.cancel.cancel();
        set(&door.open);
        door.table.wake_one(&door.open);
    }
    explore_roles(1, Door::new, [leave, stay, cancel_and_wake_one], Door::assert_at_rest);
}

type Permits = (Semaphore, Cancel);

/// When all are done the one permit is there, or was taken, and nobody is left in line.
fn explore_permits<const N: usize>(preemptions: usize, roles: [fn(&Permits); N]) {
    explore_roles(
        preemptions,
        || (Semaphore::new(0), Cancel::new()),
        roles,
        |(permits, _)| {
            assert_eq!((permits.waiters(), permits.available()), (0, 1), "permits were lost or made");
        },
    );
}

/// Puts back what it got, so that the books are simple.
fn take((permits, cancel): &Permits) {
    match permits.take_within(cancel) {
        Ok(()) => permits.post(),
        Err(stopped) => assert_eq!(stopped, Stopped::Cancelled),
    }
}

fn post((permits, _): &Permits) {
    permits.post();
}

fn cancel((_, cancel): &Permits) {
    cancel.cancel();
}

/// Either gives up and leaves the permit, or takes it.
#[test]
fn a_cancellation_against_a_post() {
    explore_permits(1, [take, post, cancel]);
    explore_permits(
        2,
        [take, |permits| {
            post(permits);
            cancel(permits);
        }],
    );
}

/// Nobody posts until the line is empty: the cancellation ends the take.
#[test]
fn a_take_against_its_cancellation() {
    fn cancel_then_post((permits, cancel): &Permits) {
        cancel.cancel();
        while permits.waiters() != 0 {
            loom::thread::yield_now();
        }
        permits.post();
    }
    explore_permits(2, [take, cancel_then_post]);
}
