//! What ends a wait in a task: tokio's timeouts, `select!`, and the abortion of a task. Each drops the future.

use crate::{leaked, rounds, watchdog::watchdog};
use layby::{
    Cancel,
    eventcount::EventCount,
    mutex::{FairMutex, LockAsync},
    rwlock::{RwLock, RwLockAsync},
    sema::Semaphore,
    wait_until_async,
};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    select,
    time::{sleep, timeout},
};

const SOON: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_secs(600);

/// Runs a test on both of tokio's schedulers.
macro_rules! on_tokio {
    ($($(#[$doc:meta])* async fn $name:ident() $body:block)+) => {
        $($(#[$doc])*
        #[test]
        fn $name() {
            let _watchdog = watchdog();
            let one = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let two = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
            for runtime in [one, two] {
                // As a task, and not on this thread, which is none of the scheduler's.
                let runtime = runtime.expect("a runtime");
                runtime.block_on(runtime.spawn(async $body)).expect("a task that does not panic");
            }
        })+
    };
}

on_tokio! {
    async fn a_timeout_ends_the_wait_and_leaves_nothing_behind() {
        let semaphore = Semaphore::new(1);
        let held = semaphore.acquire();
        assert!(timeout(SOON, semaphore.acquire_async()).await.is_err());
        assert!(timeout(SOON, semaphore.acquire_many_async(7)).await.is_err());
        assert_eq!(semaphore.waiters(), 0);
        drop(held);
        assert_eq!(semaphore.available(), 1);
        assert!(timeout(LATE, semaphore.acquire_async()).await.is_ok());

        let (mutex, lock, count) = (FairMutex::new(()), RwLock::new(()), EventCount::new());
        let (held, reading) = (mutex.lock_async().await, lock.read_async().await);
        assert!(timeout(SOON, mutex.lock_async()).await.is_err());
        assert!(timeout(SOON, lock.write_async()).await.is_err());
        assert!(timeout(SOON, count.wait_at_least_async(1)).await.is_err());
        drop(held);
        assert!(mutex.try_lock().is_some());
        assert!(lock.try_read().is_some(), "the writer has left");
        drop(reading);
    }

    /// A task and a thread behind one that gives up.
    async fn a_timeout_holds_up_nobody_behind_it() {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut first = Box::pin(timeout(SOON, semaphore.acquire_owned_async()));
        select! {
            biased;
            _ = &mut first => panic!("there is no permit, and it is not yet time"),
            () = std::future::ready(()) => {}
        }
        let behind = tokio::spawn(semaphore.acquire_owned_async());
        let thread = { let semaphore = Arc::clone(&semaphore); std::thread::spawn(move || semaphore.take()) };
        while semaphore.waiters() < 3 {
            tokio::task::yield_now().await;
        }
        assert!(first.as_mut().await.is_err());
        // Not before: tokio's timeout keeps the future until it is dropped itself, and the future its place.
        drop(first);
        semaphore.post_many(2);
        drop(behind.await.expect("it is served"));
        thread.join().expect("it is served");
        assert_eq!((semaphore.available(), semaphore.waiters()), (1, 0));
    }

    /// A future that is polled by reference keeps its place, however often another branch is taken.
    async fn a_loop_of_select_keeps_its_place() {
        let semaphore = leaked(Semaphore::new(0));
        let mut ours = pin!(semaphore.acquire_async());
        let mut behind = None;
        for round in 0.. {
            select! {
                biased;
                permit = &mut ours => {
                    assert_eq!((round, permit.permits()), (3, 1));
                    break;
                }
                () = sleep(SOON) => {}
            }
            behind.get_or_insert_with(|| tokio::spawn(semaphore.acquire_async()));
            while semaphore.waiters() < 2 {
                tokio::task::yield_now().await;
            }
            if round == 2 {
                semaphore.post();
            }
        }
        drop(behind.expect("it came after the first round").await.expect("the permit is dropped, and goes on to it"));
        assert_eq!((semaphore.available(), semaphore.waiters()), (1, 0));
    }

    /// A permit at the very moment when the time is over, over and over: it is had, or it goes to the next.
    async fn a_permit_is_not_lost_to_a_timeout() {
        let semaphore = leaked(Semaphore::new(0));
        let posts = std::thread::spawn(|| {
            for _ in 0..rounds() {
                std::thread::sleep(Duration::from_micros(100));
                semaphore.post();
            }
        });
        let mut taken = 0;
        while taken < rounds() {
            let patience = Duration::from_micros(50 * (taken as u64 % 4));
            let (one, another) =
                tokio::join!(timeout(patience, semaphore.take_async()), timeout(2 * patience, semaphore.take_async()));
            taken += usize::from(one.is_ok()) + usize::from(another.is_ok());
        }
        posts.join().expect("it does not panic");
        assert_eq!((taken, semaphore.available(), semaphore.waiters()), (rounds(), 0, 0));
    }

    async fn a_task_that_is_aborted_gives_up_its_place() {
        let semaphore = Arc::new(Semaphore::new(0));
        let tasks = [(); 3].map(|()| tokio::spawn(semaphore.acquire_owned_async()));
        while semaphore.waiters() < 3 {
            tokio::task::yield_now().await;
        }
        let [first, second, third] = tasks;
        second.abort();
        assert!(second.await.expect_err("it is aborted").is_cancelled());
        assert_eq!(semaphore.waiters(), 2);
        semaphore.post_many(2);
        let permits = [first.await, third.await].map(|permit| permit.expect("it is served"));
        assert_eq!(semaphore.available(), 0);
        drop(permits);
        assert_eq!(semaphore.available(), 2);
    }

    /// A shutdown that is waited for beside everything else.
    async fn a_flag_is_raced_against_a_wait() {
        let (semaphore, shutdown) = (Semaphore::new(0), leaked(Cancel::new()));
        std::thread::spawn(|| shutdown.cancel());
        select! {
            _ = semaphore.acquire_async() => panic!("there is no permit"),
            () = wait_until_async(shutdown, || shutdown.is_cancelled()) => {}
        }
        assert_eq!(semaphore.waiters(), 0);
    }
}
