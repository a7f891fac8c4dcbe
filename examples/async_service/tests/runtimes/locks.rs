//! Locks and condition variables.

use crate::{EACH, leaked, rounds, watchdog::watchdog};
use async_service::{
    runtimes::{Everybody, Runtime},
    yield_now,
};
use layby::{
    mutex::{Condvar, CondvarAsync, FairCondvar, FairMutex, LockAsync, Mutex},
    rwlock::{RwLock, RwLockAsync},
};
use std::{collections::VecDeque, sync::Arc};

/// Counts with a pause between load and store, which an overlap would show; by borrowed and by owned guards.
macro_rules! excludes_everybody {
    ($name:ident, $lock:ident) => {
        #[test]
        fn $name() {
            let _watchdog = watchdog();
            let mutex = Arc::new($lock::new(0));
            let count_in_a_task = |mutex: Arc<$lock<usize>>| async move {
                for round in 0..rounds() {
                    if round % 2 == 0 {
                        let mut guard = mutex.lock_async().await;
                        let before = *guard;
                        yield_now().await;
                        *guard = before + 1;
                    } else {
                        *mutex.lock_arc_async().await += 1;
                    }
                }
            };
            let shared = Arc::clone(&mutex);
            let count_in_a_thread = move || {
                for _ in 0..rounds() {
                    let mut guard = shared.lock();
                    let before = *guard;
                    std::thread::yield_now();
                    *guard = before + 1;
                }
            };
            Everybody::default()
                .tasks(EACH, || count_in_a_task(Arc::clone(&mutex)))
                .threads(EACH, count_in_a_thread)
                .run();
            assert_eq!(*mutex.lock(), EACH * rounds() * (Runtime::ALL.len() + 1));
        }
    };
}

excludes_everybody!(a_mutex_excludes_everybody, Mutex);
excludes_everybody!(a_fair_mutex_excludes_everybody, FairMutex);

/// Writers change two numbers one after the other; no reader sees them differ.
#[test]
fn readers_do_not_see_half_of_a_change() {
    let _watchdog = watchdog();
    let lock = Arc::new(RwLock::new((0, 0)));
    let use_in_a_task = |lock: Arc<RwLock<(usize, usize)>>| async move {
        for round in 0..rounds() {
            match round % 4 {
                0 => {
                    let mut numbers = lock.write_async().await;
                    numbers.0 += 1;
                    yield_now().await;
                    numbers.1 += 1;
                }
                1 => {
                    let numbers = lock.read_arc_async().await;
                    assert_eq!(numbers.0, numbers.1);
                }
                _ => {
                    let numbers = lock.read_async().await;
                    yield_now().await;
                    assert_eq!(numbers.0, numbers.1);
                }
            }
        }
    };
    let shared = Arc::clone(&lock);
    let use_in_a_thread = move || {
        for round in 0..rounds() {
            if round.is_multiple_of(4) {
                let mut numbers = shared.write();
                numbers.0 += 1;
                std::thread::yield_now();
                numbers.1 += 1;
            } else {
                let numbers = shared.read();
                assert_eq!(numbers.0, numbers.1);
            }
        }
    };
    Everybody::default().tasks(EACH, || use_in_a_task(Arc::clone(&lock))).threads(EACH, use_in_a_thread).run();
    let written = EACH * (Runtime::ALL.len() + 1) * rounds().div_ceil(4);
    assert_eq!(*lock.read(), (written, written));
}

/// A bounded queue between tasks and threads of all kinds: each item arrives once.
macro_rules! carries_every_item {
    ($name:ident, $lock:ident, $condvar:ident) => {
        #[test]
        fn $name() {
            const ROOM: usize = 2;
            let _watchdog = watchdog();
            let queue = leaked($lock::new(VecDeque::new()));
            let (not_empty, not_full) = (leaked($condvar::new()), leaked($condvar::new()));
            let received = leaked($lock::new(0));
            Everybody::default()
                .tasks(1, || async {
                    for item in 1..=rounds() {
                        let full = |queue: &mut VecDeque<usize>| queue.len() == ROOM;
                        not_full.wait_while_async(queue.lock_async().await, full).await.push_back(item);
                        not_empty.notify_one();
                    }
                })
                .tasks(1, || async {
                    for _ in 0..rounds() {
                        let empty = |queue: &mut VecDeque<usize>| queue.is_empty();
                        let mut guard = not_empty.wait_while_async(queue.lock_async().await, empty).await;
                        let item = guard.pop_front().expect("it is not empty");
                        drop(guard);
                        not_full.notify_one();
                        *received.lock() += item;
                    }
                })
                .threads(1, || {
                    for item in 1..=rounds() {
                        let mut guard = queue.lock();
                        not_full.wait_while(&mut guard, |queue| queue.len() == ROOM);
                        guard.push_back(item);
                        drop(guard);
                        not_empty.notify_one();
                    }
                })
                .threads(1, || {
                    for _ in 0..rounds() {
                        let mut guard = queue.lock();
                        not_empty.wait_while(&mut guard, |queue| queue.is_empty());
                        let item = guard.pop_front().expect("it is not empty");
                        drop(guard);
                        not_full.notify_one();
                        *received.lock() += item;
                    }
                })
                .run();
            assert!(queue.lock().is_empty());
            let of_one = rounds() * (rounds() + 1) / 2;
            assert_eq!(*received.lock(), of_one * (Runtime::ALL.len() + 1));
        }
    };
}

carries_every_item!(a_queue_with_condition_variables, Mutex, Condvar);
carries_every_item!(a_queue_with_fair_locks, FairMutex, FairCondvar);
