//! A pool that closes: threads and tasks are told, and nothing is lost.

use crate::common::task::{Woken, block_on, poll, poll_once};
use crate::common::{eventually, watchdog};
use crate::hostile::{When, hostile, waker};
use layby::sema::Pool;
use layby::{Closed, WaitError};
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

#[test]
fn permits_are_lent_and_come_back() {
    let pool = Pool::new(2);
    let two = pool.acquire_many(2).unwrap();
    assert!(pool.try_acquire().unwrap().is_none());
    assert_eq!(pool.acquire_within(Duration::ZERO).unwrap_err(), WaitError::TimedOut);
    assert!(poll_once(pin!(pool.acquire_async())).is_pending());
    drop(two);
    assert_eq!((pool.size(), pool.available(), pool.waiters()), (2, 2, 0));
    assert!(matches!(poll_once(pin!(pool.acquire_many_async(2))), Poll::Ready(Ok(_))));
}

#[test]
fn close_tells_all_who_wait_and_all_who_come() {
    let _watchdog = watchdog();
    let pool = Pool::new(1);
    let held = pool.acquire().unwrap();
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..3).map(|_| s.spawn(|| pool.acquire().map(drop))).collect();
        let timed = s.spawn(|| pool.acquire_within(Duration::from_secs(600)).map(drop));
        eventually(|| pool.waiters() == 4);
        let (mut task, woken) = (Box::pin(pool.acquire_async()), Woken::new());
        assert!(poll(task.as_mut(), &woken).is_pending());
        let dropped = Box::pin(pool.acquire_async());
        assert!(pool.close());
        assert!(!pool.close());
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Err(Closed));
        }
        assert_eq!(timed.join().unwrap(), Err(WaitError::Closed));
        woken.reaches(1);
        assert!(matches!(poll(task.as_mut(), &woken), Poll::Ready(Err(Closed))));
        drop(dropped);
    });
    assert_eq!(pool.acquire().unwrap_err(), Closed);
    assert_eq!(pool.acquire_within(Duration::ZERO).unwrap_err(), WaitError::Closed);
    assert!(matches!(poll_once(pin!(pool.acquire_async())), Poll::Ready(Err(Closed))));
    assert_eq!((pool.is_closed(), pool.available(), pool.waiters()), (true, 0, 0));
    assert!(pool.shutdown_within(Duration::ZERO).is_err(), "one is lent");
    assert!(poll_once(pin!(pool.shutdown_async())).is_pending());
    drop(held);
    pool.shutdown();
    block_on(pool.shutdown_async());
    pool.shutdown();
}

/// A task that was told, and is dropped before it knows, keeps nobody from being told.
#[test]
fn a_future_is_dropped_when_the_pool_has_closed() {
    let pool = Pool::new(3);
    let held = pool.acquire_many(3).unwrap();
    let mut tasks: Vec<_> = (0..3).map(|n| Some(Box::pin(pool.acquire_many_async(n + 1)))).collect();
    for task in tasks.iter_mut().flatten() {
        assert!(poll_once(task.as_mut()).is_pending());
    }
    pool.close();
    tasks[0] = None;
    tasks[1] = None;
    assert!(matches!(poll_once(tasks[2].as_mut().unwrap().as_mut()), Poll::Ready(Err(Closed))));
    drop(held);
    pool.shutdown();
}

#[test]
fn many_may_shut_it_down_at_a_time() {
    let pool = Pool::new(2);
    let held = pool.acquire().unwrap();
    let mut shutdowns: Vec<_> = (0..100).map(|_| Box::pin(pool.shutdown_async())).collect();
    for shutdown in &mut shutdowns {
        assert!(poll_once(shutdown.as_mut()).is_pending());
    }
    drop(held);
    for shutdown in &mut shutdowns {
        assert!(poll_once(shutdown.as_mut()).is_ready());
    }
}

/// It finds the pool open and no permit; then it is closed, and another stands in line for all permits, which waits for that of
/// the first.
#[test]
fn who_comes_behind_a_shutdown_is_told() {
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(1)));
    let held = pool.acquire().unwrap();
    let shutdown: &'static Mutex<_> = Box::leak(Box::new(Mutex::new(Box::pin(pool.shutdown_async()))));
    let shuts_down = hostile(When::Clone, || assert!(poll_once(shutdown.lock().unwrap().as_mut()).is_pending()));
    let waker = waker(&shuts_down);
    shuts_down.arm();
    let mut second = pin!(pool.acquire_async());
    let told = second.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(shuts_down.is_done() && matches!(told, Poll::Ready(Err(Closed))));
    drop(held);
    assert!(poll_once(shutdown.lock().unwrap().as_mut()).is_ready());
    assert_eq!(pool.waiters(), 0);
}

#[test]
#[should_panic(expected = "taking 2 permits of a pool that has 1")]
fn more_than_the_pool_has_is_refused() {
    let _ = Pool::new(1).acquire_many(2);
}
