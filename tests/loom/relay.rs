//! Condition variables: those who are released wake each other, and nobody stays behind. The mutex is loom's own.

use crate::explore::explore_roles;
use layby::Limit;
use layby::mutex::Relay;
use loom::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// How often a change was notified, and who waits for that.
struct Changes {
    count: Mutex<u32>,
    relay: Relay,
    /// How many the notifiers were told that they have notified, and how many waits have ended so.
    told: AtomicUsize,
    notified: AtomicUsize,
}

fn changes() -> Changes {
    Changes { count: Mutex::new(0), relay: Relay::new(), told: AtomicUsize::new(0), notified: AtomicUsize::new(0) }
}

/// Waits until there have been so many changes; gives up at its limit.
fn wait_for(changes: &Changes, wanted: u32, limit: &Limit<'_>) {
    let mut count = changes.count.lock().unwrap();
    while *count < wanted {
        let ended = changes.relay.wait(limit, || drop(count));
        changes.notified.fetch_add(usize::from(ended.is_ok()), Relaxed);
        count = changes.count.lock().unwrap();
        if ended.is_err() {
            return;
        }
    }
}

fn wait_for_one(changes: &Changes) {
    wait_for(changes, 1, &Limit::NONE);
}

fn wait_for_two(changes: &Changes) {
    wait_for(changes, 2, &Limit::NONE);
}

fn wait_for_one_until_it_is_late(changes: &Changes) {
    wait_for(changes, 1, &Limit::from(Instant::now()));
}

fn change(changes: &Changes) {
    *changes.count.lock().unwrap() += 1;
    changes.told.fetch_add(changes.relay.notify_all(), Relaxed);
}

fn change_twice(changes: &Changes) {
    change(changes);
    change(changes);
}

fn expire_and_change(changes: &Changes) {
    layby::model::expire_deadlines();
    change(changes);
}

/// Nobody is left behind, and nobody who was notified has reported a timeout.
fn nobody_waits(changes: &Changes) {
    assert_eq!(changes.relay.notify_all(), 0);
    assert!(changes.told.load(Relaxed) <= changes.notified.load(Relaxed));
}

#[test]
fn notify_all_against_a_wait() {
    explore_roles(3, changes, [wait_for_one, change], nobody_waits);
}

#[test]
fn notify_all_against_two_waits() {
    explore_roles(2, changes, [wait_for_one, wait_for_one, change], nobody_waits);
}

/// The one that is woken first finds nobody to wake, while the other is released.
#[test]
fn the_last_runner_against_a_notifier() {
    explore_roles(2, changes, [wait_for_one, wait_for_two, change_twice], nobody_waits);
}

/// Two notifiers release at once.
#[test]
fn two_notifiers() {
    explore_roles(2, changes, [wait_for_two, change, change], nobody_waits);
}

/// One that is released, or is about to be, comes back by itself.
#[test]
fn a_late_one_before_another() {
    explore_roles(2, changes, [wait_for_one_until_it_is_late, wait_for_one, expire_and_change], nobody_waits);
}
