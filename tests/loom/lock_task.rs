//! Tasks that lock, beside threads. What they share with threads is in `mutex.rs`.
//!
//! Two holders at once are a race on the cell, which loom reports.

#![allow(unsafe_code, reason = "words are unlocked by who has locked them")]

use crate::bell::{Bell, block_on, poll};
use crate::explore::explore_roles;
use layby::mutex::{RawFairMutex, RawMutex};
use loom::cell::UnsafeCell;
use std::pin::pin;
use std::task::Poll;

struct Guarded<L> {
    lock: L,
    data: UnsafeCell<usize>,
}

// SAFETY: the data are touched by who has the lock.
unsafe impl<L> Sync for Guarded<L> {}

impl<L> Guarded<L> {
    fn touch(&self) {
        // SAFETY: the caller has the lock.
        self.data.with_mut(|data| unsafe { *data += 1 });
    }
}

type Barging = Guarded<RawMutex>;
type Fair = Guarded<RawFairMutex>;

fn barging() -> Barging {
    Guarded { lock: RawMutex::new(), data: UnsafeCell::new(0) }
}

fn fair() -> Fair {
    Guarded { lock: RawFairMutex::new(), data: UnsafeCell::new(0) }
}

fn unlock_barging(guarded: &Barging) {
    guarded.touch();
    // SAFETY: the caller has locked it.
    unsafe { guarded.lock.release() };
}

fn lock_as_thread(guarded: &Barging) {
    guarded.lock.acquire();
    unlock_barging(guarded);
}

fn lock_as_task(guarded: &Barging) {
    block_on(pin!(guarded.lock.acquire_async()), &Bell::new());
    unlock_barging(guarded);
}

/// Two tasks of one thread. The first, polled so often, leaves; then somebody else must be in charge.
fn lock_behind_one_that_leaves<const POLLS: usize>(guarded: &Barging) {
    let mut first = Box::pin(guarded.lock.acquire_async());
    for _ in 0..POLLS {
        if poll(first.as_mut(), &Bell::new()).is_ready() {
            return unlock_barging(guarded);
        }
    }
    let (mut second, bell) = (pin!(guarded.lock.acquire_async()), Bell::new());
    if poll(second.as_mut(), &bell).is_pending() {
        drop(first);
        bell.wait();
        block_on(second, &bell);
    }
    unlock_barging(guarded);
}

fn unlock_fair(guarded: &Fair, ticket: layby::mutex::Ticket) {
    guarded.touch();
    // SAFETY: the caller has locked it, with this ticket.
    unsafe { guarded.lock.release(ticket) };
}

fn lock_fair_as_thread(guarded: &Fair) {
    let ticket = guarded.lock.acquire();
    unlock_fair(guarded, ticket);
}

fn lock_fair_as_task(guarded: &Fair) {
    let ticket = block_on(pin!(guarded.lock.acquire_async()), &Bell::new());
    unlock_fair(guarded, ticket);
}

/// Polls once, and drops the future, to which the lock may have been given.
fn give_up_fair(guarded: &Fair) {
    let mut future = pin!(guarded.lock.acquire_async());
    if let Poll::Ready(ticket) = poll(future.as_mut(), &Bell::new()) {
        unlock_fair(guarded, ticket);
    }
}

fn is_free(guarded: &Barging) {
    assert!(!guarded.lock.is_acquired());
}

fn is_free_fair(guarded: &Fair) {
    assert!(!guarded.lock.is_acquired());
    assert_eq!(guarded.lock.waiters(), 0);
}

#[test]
fn a_task_against_a_thread() {
    explore_roles(2, barging, [lock_as_task, lock_as_thread], is_free);
}

#[test]
fn two_tasks() {
    explore_roles(2, barging, [lock_as_task, lock_as_task], is_free);
}

/// Who is in charge is dropped: another must be.
#[test]
fn a_task_that_leaves_before_another() {
    explore_roles(2, barging, [lock_behind_one_that_leaves::<1>, lock_as_thread], is_free);
}

/// The one that leaves has been woken for nothing.
#[test]
fn an_overtaken_task_that_leaves_before_another() {
    fn lock_twice(guarded: &Barging) {
        lock_as_thread(guarded);
        lock_as_thread(guarded);
    }
    explore_roles(1, barging, [lock_behind_one_that_leaves::<2>, lock_twice], is_free);
}

#[test]
fn a_fair_task_against_a_thread() {
    explore_roles(2, fair, [lock_fair_as_task, lock_fair_as_thread], is_free_fair);
}

#[test]
fn a_fair_task_that_leaves_before_a_task_and_a_thread() {
    explore_roles(1, fair, [lock_fair_as_task, give_up_fair, lock_fair_as_thread], is_free_fair);
}
