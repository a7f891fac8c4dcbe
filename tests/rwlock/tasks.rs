//! Tasks in the lock's line: order, futures that are dropped, and threads before, between and behind them.

use crate::common::task::{Woken, block_on, poll, poll_once};
use crate::common::{Random, eventually, scaled, watchdog};
use crate::in_line;
use layby::rwlock::{AcquireAsync, RwLock, RwLockAsync, RwLockWriteGuard};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread;

#[test]
fn futures_are_small_and_can_be_sent() {
    fn assert_send<T: Send>(_: &T) {}
    let lock = Arc::new(RwLock::new(0));
    assert_send(&(lock.read_async(), lock.write_async()));
    assert_send(&(lock.read_arc_async(), lock.write_arc_async()));
    if cfg!(target_pointer_width = "64") {
        assert_eq!(size_of::<AcquireAsync<'_>>(), 80);
    }
}

#[test]
fn what_is_free_is_locked_at_once() {
    let lock = Arc::new(RwLock::new(0));
    let Poll::Ready(reading) = poll_once(pin!(lock.read_async())) else { panic!("it is free") };
    assert!(poll_once(pin!(lock.read_arc_async())).is_ready());
    assert!(poll_once(pin!(lock.write_async())).is_pending());
    drop(reading);
    let Poll::Ready(mut writing) = poll_once(pin!(lock.write_arc_async())) else { panic!("it is free again") };
    *writing += 1;
    assert!(poll_once(pin!(lock.read_async())).is_pending());
    drop(writing);
    assert!(!lock.is_locked());
    assert_eq!(*lock.read(), 1);
}

/// Readers that stand together are woken together, and nobody else is.
#[test]
fn tasks_are_served_in_the_order_of_the_line() {
    let lock = RwLock::new(());
    let first = lock.write();
    let [r1, r2, w3, r4] = [(); 4].map(|()| Woken::new());
    let mut reader1 = pin!(lock.read_async());
    let mut reader2 = pin!(lock.read_async());
    let mut writer3 = pin!(lock.write_async());
    let mut reader4 = pin!(lock.read_async());
    assert!(poll(reader1.as_mut(), &r1).is_pending());
    assert!(poll(reader2.as_mut(), &r2).is_pending());
    assert!(poll(writer3.as_mut(), &w3).is_pending());
    assert!(poll(reader4.as_mut(), &r4).is_pending());
    let counts = || [&r1, &r2, &w3, &r4].map(|woken| woken.count());
    drop(first);
    assert_eq!(counts(), [1, 1, 0, 0]);
    let guards = (poll(reader1.as_mut(), &r1), poll(reader2.as_mut(), &r2));
    assert!(guards.0.is_ready() && guards.1.is_ready());
    assert!(poll(writer3.as_mut(), &w3).is_pending());
    drop(guards);
    assert_eq!(counts(), [1, 1, 1, 0]);
    let Poll::Ready(writing) = poll(writer3.as_mut(), &w3) else { panic!("it is its turn") };
    drop(writing);
    assert_eq!(counts(), [1, 1, 1, 1]);
    assert!(poll(reader4.as_mut(), &r4).is_ready());
}

/// A future that is dropped is a lock that timed out, whether it had been given the lock or not.
#[test]
fn a_future_that_is_dropped_holds_up_nobody() {
    let lock = RwLock::new(());
    for granted in [false, true] {
        let held = lock.write();
        let mut writer = Box::pin(lock.write_async());
        let mut reader = pin!(lock.read_async());
        assert!(poll_once(writer.as_mut()).is_pending() && poll_once(reader.as_mut()).is_pending());
        if granted {
            drop(held);
            assert!(poll_once(reader.as_mut()).is_pending());
            drop(writer);
        } else {
            drop(writer);
            assert!(poll_once(reader.as_mut()).is_pending());
            drop(held);
        }
        assert!(poll_once(reader.as_mut()).is_ready());
        assert!(!lock.is_locked(), "{lock:?}");
    }
}

/// A waiting writer that is dropped lets in the readers behind it at once.
#[test]
fn a_writer_that_is_dropped_lets_the_readers_behind_it_in() {
    let lock = RwLock::new(());
    let reading = lock.read();
    let (mut writer, woken) = (Box::pin(lock.write_async()), Woken::new());
    let mut reader = pin!(lock.read_async());
    assert!(poll_once(writer.as_mut()).is_pending() && poll(reader.as_mut(), &woken).is_pending());
    drop(writer);
    assert_eq!(woken.count(), 1);
    assert!(poll(reader.as_mut(), &woken).is_ready());
    drop(reading);
    assert!(!lock.is_locked());
}

#[test]
fn a_thread_behind_a_task_waits_for_it() {
    let _watchdog = watchdog();
    let lock = RwLock::new(0);
    thread::scope(|s| {
        let reading = lock.read();
        let mut task = pin!(lock.write_async());
        assert!(poll_once(task.as_mut()).is_pending());
        let thread = s.spawn(|| *lock.read());
        eventually(|| in_line(&lock) == 2);
        drop(reading);
        assert!(!thread.is_finished());
        let Poll::Ready(mut writing) = poll_once(task.as_mut()) else { panic!("it is the task's turn") };
        *writing = 7;
        drop(writing);
        assert_eq!(thread.join().unwrap(), 7);
    });
}

/// Threads and tasks, readers and writers, some of whom are dropped after a poll or two.
#[test]
fn threads_and_tasks_lose_nothing() {
    let _watchdog = watchdog();
    fn poll_some<F: Future>(future: F, polls: usize) -> Option<F::Output> {
        let mut future = pin!(future);
        for _ in 0..polls {
            if let Poll::Ready(output) = poll_once(future.as_mut()) {
                return Some(output);
            }
            thread::yield_now();
        }
        None
    }
    let lock = RwLock::new([0_usize; 2]);
    let written: usize = thread::scope(|s| {
        let work = |thread| {
            let (lock, mut random, mut written) = (&lock, Random::of(&[thread]), 0);
            move || {
                for _ in 0..scaled(300) {
                    let polls = random.below(3);
                    let writing = match random.below(8) {
                        0 => Some(lock.write()),
                        1 => Some(block_on(lock.write_async())),
                        2 => poll_some(lock.write_async(), polls),
                        _ => None,
                    };
                    if let Some(mut counts) = writing {
                        counts[0] += 1;
                        thread::yield_now();
                        counts[1] += 1;
                        written += 1;
                        continue;
                    }
                    let reading = match random.below(3) {
                        0 => Some(lock.read()),
                        1 => Some(block_on(lock.read_async())),
                        _ => poll_some(lock.read_async(), polls),
                    };
                    if let Some(counts) = reading {
                        assert_eq!(counts[0], counts[1]);
                    }
                }
                written
            }
        };
        let threads = [0, 1, 2, 3].map(|thread| s.spawn(work(thread)));
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert!(!lock.is_locked(), "{lock:?}");
    assert_eq!(lock.into_inner(), [written; 2]);
}

/// lock_api asks for it: what unwinds has unlocked.
#[test]
fn a_downgrade_whose_reader_panics_unlocks() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            resume_unwind(Box::new("as intended"));
        }
    }
    let lock = RwLock::new(0);
    let writing = lock.write();
    let mut reader = Box::pin(lock.read_async());
    assert!(reader.as_mut().poll(&mut Context::from_waker(&Arc::new(Panics).into())).is_pending());
    let downgraded = catch_unwind(AssertUnwindSafe(|| drop(RwLockWriteGuard::downgrade(writing))));
    assert!(downgraded.is_err());
    assert!(poll_once(reader.as_mut()).is_ready(), "it was let in");
    drop(reader);
    assert!(lock.try_write().is_some());
}
