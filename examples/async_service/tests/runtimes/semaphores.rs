//! Permits: one, many, owned, and those of a pool that closes.

use crate::{EACH, Inside, leaked, rounds, watchdog::watchdog};
use async_service::runtimes::{Everybody, Runtime};
use layby::sema::{Pool, Semaphore};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

#[test]
fn one_permit_at_a_time() {
    let _watchdog = watchdog();
    let (semaphore, inside) = (leaked(Semaphore::new(2)), leaked(Inside::default()));
    Everybody::default()
        .tasks(EACH, || async {
            for _ in 0..rounds() {
                let _permit = semaphore.acquire_async().await;
                inside.visit(1, 2).await;
            }
        })
        .threads(EACH, || {
            for _ in 0..rounds() {
                let _permit = semaphore.acquire();
                inside.visit_blocking(1, 2);
            }
        })
        .run();
    assert_eq!((semaphore.available(), semaphore.waiters()), (2, 0));
}

#[test]
fn several_permits_at_a_time() {
    let _watchdog = watchdog();
    let (semaphore, inside) = (leaked(Semaphore::new(4)), leaked(Inside::default()));
    Everybody::default()
        .tasks(EACH, || async {
            for round in 0..rounds() {
                let n = round % 4 + 1;
                let _permits = semaphore.acquire_many_async(n as u64).await;
                inside.visit(n, 4).await;
            }
        })
        .threads(EACH, || {
            for round in 0..rounds() {
                let n = round % 3 + 1;
                semaphore.take_many(n as u64);
                inside.visit_blocking(n, 4);
                semaphore.post_many(n as u64);
            }
        })
        .run();
    assert_eq!((semaphore.available(), semaphore.waiters()), (4, 0));
}

/// Permits that own their semaphore, and are dropped by another task than the one that took them.
#[test]
fn owned_permits_go_from_task_to_task() {
    let _watchdog = watchdog();
    let semaphore = Arc::new(Semaphore::new(3));
    let handed_over = leaked(AtomicUsize::new(0));
    let mut all = Everybody::default();
    for runtime in Runtime::ALL {
        let semaphore = Arc::clone(&semaphore);
        all.task(runtime, async move {
            for round in 0..rounds() {
                let mut permits = semaphore.acquire_many_owned_async(2).await;
                let half = permits.split(1).expect("it has two");
                thread::spawn(move || {
                    drop(half);
                    handed_over.fetch_add(1, Ordering::Relaxed);
                });
                if round % 2 == 0 {
                    async_service::yield_now().await;
                }
            }
        });
    }
    all.threads(1, {
        let semaphore = Arc::clone(&semaphore);
        move || (0..rounds()).for_each(|_| drop(semaphore.acquire_owned()))
    });
    all.run();
    let all_are_back = semaphore.acquire_many(3);
    assert_eq!((all_are_back.permits(), semaphore.waiters()), (3, 0));
}

/// All who wait are told, and all who come; then the pool waits until its permits are back.
#[test]
fn a_pool_is_closed_while_everybody_waits() {
    let _watchdog = watchdog();
    let (pool, inside) = (leaked(Pool::new(2)), leaked(Inside::default()));
    let (served, told) = (leaked(AtomicUsize::new(0)), leaked(AtomicUsize::new(0)));
    let close_after = EACH * rounds();
    Everybody::default()
        .tasks(EACH, || async {
            while let Ok(_permit) = pool.acquire_async().await {
                inside.visit(1, 2).await;
                served.fetch_add(1, Ordering::Relaxed);
            }
            told.fetch_add(1, Ordering::Relaxed);
        })
        .threads(EACH, || {
            while let Ok(_permit) = pool.acquire() {
                inside.visit_blocking(1, 2);
                served.fetch_add(1, Ordering::Relaxed);
            }
            told.fetch_add(1, Ordering::Relaxed);
        })
        .threads(1, move || {
            while served.load(Ordering::Relaxed) < close_after {
                thread::yield_now();
            }
            pool.shutdown();
            inside.enter(2, 2);
            inside.leave(2);
        })
        .run();
    assert_eq!(told.load(Ordering::Relaxed), EACH * (Runtime::ALL.len() + 1));
    assert_eq!((pool.is_closed(), pool.waiters()), (true, 0));
}
