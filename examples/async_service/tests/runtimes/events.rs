//! Counts, wait points, and plain locations.

use crate::{EACH, leaked, rounds, watchdog::watchdog};
use async_service::runtimes::{Everybody, Runtime};
use layby::{
    Cancel,
    eventcount::{EventCount, Sequencer, WaitPoint},
    wait_until, wait_until_async,
};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whoever draws a number goes on when all before it have: a ring of all kinds.
#[test]
fn each_follows_the_one_before_it() {
    let _watchdog = watchdog();
    let (turn, numbers) = (leaked(EventCount::new()), leaked(Sequencer::new()));
    Everybody::default()
        .tasks(EACH, || async {
            for _ in 0..rounds() {
                let mine = numbers.ticket();
                assert_eq!(turn.wait_at_least_async(mine).await, Ok(mine));
                turn.advance();
            }
        })
        .threads(EACH, || {
            for _ in 0..rounds() {
                let mine = numbers.ticket();
                assert_eq!(turn.wait_at_least(mine), Ok(mine));
                turn.advance();
            }
        })
        .run();
    assert_eq!(turn.read(), (EACH * (Runtime::ALL.len() + 1) * rounds()) as u64);
}

/// A counter of things, which is no part of layby; a notification for each.
#[test]
fn each_thing_is_taken_once() {
    let _watchdog = watchdog();
    let (things, added) = (leaked(AtomicUsize::new(0)), leaked(WaitPoint::new()));
    let take = || things.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |things| things.checked_sub(1)).ok();
    Everybody::default()
        .tasks(EACH, || async move {
            for round in 0..rounds() {
                match round % 3 {
                    0 => _ = added.wait_for_async(take).await,
                    1 => added.wait_until_async(|| take().is_some()).await,
                    // As with event-listener: register, check, await.
                    _ => {
                        while take().is_none() {
                            let listener = added.prepare();
                            if take().is_some() {
                                break;
                            }
                            listener.await;
                        }
                    }
                }
            }
        })
        .threads(EACH, move || {
            for _ in 0..rounds() {
                added.wait_for(take);
            }
        })
        .threads(1, || {
            for _ in 0..EACH * (Runtime::ALL.len() + 1) * rounds() {
                things.fetch_add(1, Ordering::Relaxed);
                added.notify_one();
            }
        })
        .run();
    assert_eq!(things.load(Ordering::Relaxed), 0);
    assert!(format!("{added:?}").contains("waiters: 0"), "{added:?}");
}

#[test]
fn a_flag_ends_the_waits_of_all() {
    let _watchdog = watchdog();
    let (flag, waiting) = (leaked(Cancel::new()), leaked(AtomicUsize::new(0)));
    let all = EACH * (Runtime::ALL.len() + 1);
    Everybody::default()
        .tasks(EACH, || async move {
            waiting.fetch_add(1, Ordering::Relaxed);
            wait_until_async(flag, || flag.is_cancelled()).await;
        })
        .threads(EACH, move || {
            waiting.fetch_add(1, Ordering::Relaxed);
            wait_until(flag, || flag.is_cancelled());
        })
        .threads(1, move || {
            while waiting.load(Ordering::Relaxed) < all {
                std::thread::yield_now();
            }
            flag.cancel();
        })
        .run();
    assert!(!layby::waiters().iter().any(|waiter| waiter.key().is_within(flag)));
}
