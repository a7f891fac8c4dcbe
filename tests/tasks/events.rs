//! Tasks that wait for a count, and at a wait point.

use crate::common::task::{Woken, block_on, poll, poll_once};
use crate::common::{scaled, watchdog};
use layby::Closed;
use layby::eventcount::{EventCount, WaitPoint};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

#[test]
fn an_advance_wakes_the_tasks_whose_value_is_reached_and_no_other() {
    let count = EventCount::new();
    let mut line: Vec<_> = (1..=6).map(|value| (Box::pin(count.wait_at_least_async(value)), Woken::new())).collect();
    for (future, woken) in &mut line {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    count.advance_by(2);
    count.advance();
    for (value, (future, woken)) in (1..).zip(&mut line) {
        assert_eq!(woken.count(), usize::from(value <= 3));
        assert_eq!(poll(future.as_mut(), woken), if value <= 3 { Poll::Ready(Ok(3)) } else { Poll::Pending });
    }
    count.close();
    for (future, woken) in &mut line[3..] {
        assert_eq!((woken.count(), poll(future.as_mut(), woken)), (1, Poll::Ready(Err(Closed))));
    }
}

#[test]
fn a_value_that_is_reached_is_not_waited_for() {
    let count = EventCount::new();
    count.advance_by(7);
    assert_eq!(poll_once(pin!(count.wait_at_least_async(7))), Poll::Ready(Ok(7)));
    if cfg!(target_pointer_width = "64") {
        assert_eq!(size_of_val(&count.wait_at_least_async(1)), 80);
    }
}

#[test]
fn a_task_follows_a_thread() {
    let _watchdog = watchdog();
    let (ping, pong, rounds) = (EventCount::new(), EventCount::new(), scaled(1_000) as u64);
    std::thread::scope(|s| {
        s.spawn(|| {
            for round in 1..=rounds {
                ping.advance();
                pong.wait_at_least(round).unwrap();
            }
        });
        block_on(async {
            for round in 1..=rounds {
                ping.wait_at_least_async(round).await.unwrap();
                pong.advance();
            }
        });
    });
}

#[test]
fn a_notification_of_one_wakes_one_task_and_the_oldest() {
    let (tokens, point) = (AtomicUsize::new(0), WaitPoint::new());
    let take = || tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).ok();
    let mut line: Vec<_> = (0..3).map(|_| (Box::pin(point.wait_for_async(take)), Woken::new())).collect();
    for (future, woken) in &mut line {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    for turn in 0..3 {
        tokens.fetch_add(1, Ordering::Relaxed);
        point.notify_one();
        assert_eq!(line.iter().map(|(_, woken)| woken.count()).sum::<usize>(), turn + 1);
        let (future, woken) = &mut line[turn];
        assert_eq!(poll(future.as_mut(), woken), Poll::Ready(1));
    }
}

#[test]
fn a_notification_that_chose_a_future_that_is_dropped_goes_to_the_next() {
    let (ready, point) = (AtomicBool::new(false), WaitPoint::new());
    let mut first = Box::pin(point.wait_until_async(|| ready.load(Ordering::Relaxed)));
    let (mut second, woken) = (Box::pin(point.wait_until_async(|| ready.load(Ordering::Relaxed))), Woken::new());
    assert!(poll_once(first.as_mut()).is_pending());
    assert!(poll(second.as_mut(), &woken).is_pending());
    ready.store(true, Ordering::Relaxed);
    point.notify_one();
    assert_eq!(woken.count(), 0);
    drop(first);
    woken.reaches(1);
    assert!(poll(second.as_mut(), &woken).is_ready());
}

/// Otherwise every notification would go on looking for them.
#[test]
fn a_point_forgets_the_tasks_that_are_gone() {
    let point = WaitPoint::new();
    let waiters = || format!("{point:?}");
    let ready = AtomicBool::new(false);
    let mut served = Box::pin(point.wait_until_async(|| ready.load(Ordering::Relaxed)));
    let mut dropped = Box::pin(point.wait_until_async(|| false));
    let mut listener = Box::pin(point.prepare().commit_async());
    assert!(poll_once(served.as_mut()).is_pending());
    assert!(poll_once(dropped.as_mut()).is_pending());
    assert!(poll_once(listener.as_mut()).is_pending());
    assert!(waiters().contains("waiters: 3"), "{}", waiters());
    ready.store(true, Ordering::Relaxed);
    point.notify_all();
    assert!(poll_once(served.as_mut()).is_ready());
    assert!(poll_once(listener.as_mut()).is_ready());
    drop(dropped);
    assert!(waiters().contains("waiters: 0"), "{}", waiters());
}

/// Register, check, await: a notification in between is not missed.
#[test]
fn a_listener_hears_what_came_before_it_was_polled() {
    let point = WaitPoint::new();
    let listener = point.prepare();
    point.notify_one();
    assert!(poll_once(pin!(listener.commit_async())).is_ready());
    let listener = point.prepare();
    assert!(poll_once(pin!(listener.commit_async())).is_pending());
}
