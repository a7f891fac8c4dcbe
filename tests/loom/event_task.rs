//! Tasks that wait for a count, and at a wait point. What they share with threads is in `eventcount.rs`.

use crate::bell::{Bell, block_on, poll_once};
use crate::explore::explore_roles;
use layby::Closed;
use layby::eventcount::{EventCount, WaitPoint};
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::pin::pin;

#[test]
fn advance_against_a_task() {
    fn wait(count: &EventCount) {
        assert_eq!(block_on(pin!(count.wait_at_least_async(1)), &Bell::new()), Ok(1));
    }
    explore_roles(3, EventCount::new, [wait, |count| _ = count.advance()], |_| {});
}

#[test]
fn close_against_a_task() {
    fn wait(count: &EventCount) {
        assert_eq!(block_on(pin!(count.wait_at_least_async(1)), &Bell::new()), Err(Closed));
    }
    explore_roles(2, EventCount::new, [wait, EventCount::close], |_| {});
}

struct Tokens {
    tokens: AtomicUsize,
    point: WaitPoint,
}

impl Tokens {
    fn none() -> Self {
        Self { tokens: AtomicUsize::new(0), point: WaitPoint::new() }
    }

    /// The weakest orderings, so that only the point's own fences can make the model pass.
    fn try_take(&self) -> bool {
        self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
    }

    fn take(&self) {
        block_on(pin!(self.point.wait_until_async(|| self.try_take())), &Bell::new());
    }

    fn give(&self) {
        self.tokens.fetch_add(1, Ordering::Relaxed);
        self.point.notify_one();
    }

    fn is_empty(&self) {
        assert_eq!(self.tokens.load(Ordering::Relaxed), 0);
        assert!(format!("{:?}", self.point).contains("waiters: 0"), "{:?}", self.point);
    }
}

#[test]
fn notify_one_against_a_task() {
    explore_roles(3, Tokens::none, [Tokens::take, Tokens::give], Tokens::is_empty);
}

/// The notification may choose the one that leaves.
#[test]
fn notify_one_against_a_task_that_leaves_before_another() {
    fn take_behind_one_that_leaves(tokens: &Tokens) {
        let mut first = Box::pin(tokens.point.wait_until_async(|| false));
        poll_once(first.as_mut());
        let (mut second, bell) = (pin!(tokens.point.wait_until_async(|| tokens.try_take())), Bell::new());
        if crate::bell::poll(second.as_mut(), &bell).is_pending() {
            drop(first);
            bell.wait();
            block_on(second, &bell);
        }
    }
    explore_roles(1, Tokens::none, [take_behind_one_that_leaves, Tokens::give], Tokens::is_empty);
}

/// Register, check, await.
#[test]
fn a_listener_against_notify() {
    fn take(tokens: &Tokens) {
        let bell = Bell::new();
        while !tokens.try_take() {
            let listener = tokens.point.prepare();
            if tokens.try_take() {
                break;
            }
            block_on(pin!(listener.commit_async()), &bell);
        }
    }
    explore_roles(3, Tokens::none, [take, Tokens::give], Tokens::is_empty);
}
