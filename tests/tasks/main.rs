//! Tasks that wait in a wait table. Blind to: weak memory and rare interleavings, which tests/loom has.

#![cfg(not(layby_model))]
#![allow(clippy::await_holding_lock, reason = "it means the guards of locks that block their thread")]

#[path = "../common/mod.rs"]
mod common;
mod events;
mod every_poll;
mod flag;
mod forgotten;
mod hostile;
mod hostile_sema;
mod locks;
mod many;
mod mixed;
mod pool;
mod ported;
mod reports;
mod sema;

use common::task::{Woken, poll, poll_once};
use flag::Flag;
use layby::{Key, WaitTable, location_wake_all, location_wake_one, wait_for_async, wait_until_async};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::task::Poll;

#[test]
fn a_task_is_woken_by_a_wake_of_its_location() {
    let flag = AtomicBool::new(false);
    let woken = Woken::new();
    let mut future = pin!(wait_until_async(&flag, || flag.load(Ordering::Relaxed)));
    assert!(poll(future.as_mut(), &woken).is_pending());
    let another = AtomicBool::new(false);
    assert_eq!(location_wake_all(&another), 0, "another location");
    assert_eq!(woken.count(), 0);
    flag.store(true, Ordering::Relaxed);
    assert_eq!(location_wake_all(&flag), 1);
    woken.reaches(1);
    assert!(poll(future.as_mut(), &woken).is_ready());
    assert_eq!(location_wake_all(&flag), 0, "nothing is left behind");
}

#[test]
fn a_condition_that_holds_is_asked_once_and_nothing_is_published() {
    let asked = AtomicUsize::new(0);
    let table: WaitTable = WaitTable::with_slots(1);
    let condition = || asked.fetch_add(1, Ordering::Relaxed) == 0;
    assert!(poll_once(pin!(table.wait_until_async(&asked, condition))).is_ready());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert!(format!("{table:?}").contains("task_slots: 0"), "{table:?}");
}

#[test]
fn what_the_attempt_got_is_what_the_future_returns() {
    let tokens = AtomicU32::new(0);
    let take = || tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).ok();
    let mut future = pin!(wait_for_async(&tokens, take));
    assert!(poll_once(future.as_mut()).is_pending());
    tokens.store(2, Ordering::Relaxed);
    location_wake_all(&tokens);
    assert_eq!(poll_once(future.as_mut()), Poll::Ready(2));
    assert_eq!(tokens.load(Ordering::Relaxed), 1, "the attempt that succeeded is the last");
}

#[test]
fn the_waker_of_the_latest_poll_is_woken() {
    let flag = Flag::new();
    let (first, second) = (Woken::new(), Woken::new());
    let mut future = pin!(flag.wait());
    assert!(poll(future.as_mut(), &first).is_pending());
    assert!(poll(future.as_mut(), &second).is_pending());
    assert!(poll(future.as_mut(), &second).is_pending());
    flag.set();
    assert_eq!((first.count(), second.count()), (0, 1));
    assert_eq!(first.clones(), 0, "it is dropped");
}

#[test]
fn a_wake_up_for_nothing_is_waited_out() {
    let flag = Flag::new();
    let woken = Woken::new();
    let mut future = pin!(flag.wait());
    for round in 0..3 {
        assert!(poll(future.as_mut(), &woken).is_pending());
        assert_eq!((flag.table.wake_all(&flag), woken.count()), (1, round + 1));
    }
    flag.set();
    assert!(poll(future.as_mut(), &woken).is_ready());
}

#[test]
fn a_future_that_is_dropped_leaves_nothing_behind() {
    let flag = Flag::new();
    let woken = Woken::new();
    {
        let mut future = pin!(flag.wait());
        assert!(poll(future.as_mut(), &woken).is_pending());
    }
    assert_eq!(flag.table.wake_all(&flag), 0);
    {
        let mut future = pin!(flag.wait());
        assert!(poll(future.as_mut(), &woken).is_pending());
        assert_eq!(flag.table.wake_all(&flag), 1);
    }
    assert_eq!((woken.count(), woken.clones()), (1, 0));
    drop(flag.wait());
}

#[test]
fn those_of_other_keys_in_the_slot_are_not_woken() {
    let flags = [Flag::new(), Flag::new(), Flag::new()];
    let table: WaitTable = WaitTable::with_slots(1);
    let woken = [(); 3].map(|()| Woken::new());
    let mut futures = flags.each_ref().map(|flag| Box::pin(table.wait_until_async(flag, || flag.is_set())));
    for (future, woken) in futures.iter_mut().zip(&woken) {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    assert_eq!(table.wake_all(&flags[1]), 1);
    assert_eq!(woken.each_ref().map(|woken| woken.count()), [0, 1, 0]);
    assert_eq!(table.wake_everybody(), 2);
}

#[test]
fn threads_and_tasks_of_one_key_are_woken_together() {
    let flag = Flag::new();
    let woken = Woken::new();
    let mut future = pin!(flag.wait());
    assert!(poll(future.as_mut(), &woken).is_pending());
    std::thread::scope(|s| {
        s.spawn(|| flag.table.wait_until(&flag, || flag.is_set()));
        while flag.table.waiters().iter().filter(|waiter| waiter.key() == Key::address(&flag)).count() < 2 {
            std::thread::yield_now();
        }
        flag.set();
    });
    woken.reaches(1);
}

#[test]
fn a_wake_of_one_wakes_one_task_and_the_oldest() {
    let x = AtomicU32::new(0);
    let woken = [(); 3].map(|()| Woken::new());
    let mut futures = [(); 3].map(|()| Box::pin(layby::atomic::wait_async(&x, 0)));
    for (future, woken) in futures.iter_mut().zip(&woken) {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    let counts = || woken.each_ref().map(|woken| woken.count());
    assert_eq!((location_wake_one(&x), counts()), (1, [1, 0, 0]));
    assert_eq!((location_wake_one(&x), counts()), (1, [1, 1, 0]));
    x.store(1, Ordering::Relaxed);
    for (future, woken) in futures[..2].iter_mut().zip(&woken) {
        assert!(poll(future.as_mut(), woken).is_ready());
    }
    assert_eq!(counts(), [1, 1, 0], "who acts on a wake-up of one does not pass it on");
}

/// O1: it was chosen, and never acts on it.
#[test]
fn a_wake_of_one_is_passed_on_by_a_future_that_is_dropped() {
    let x = AtomicU32::new(0);
    let woken = [(); 3].map(|()| Woken::new());
    let mut futures = [(); 3].map(|()| Some(Box::pin(layby::atomic::wait_async(&x, 0))));
    for (future, woken) in futures.iter_mut().flatten().zip(&woken) {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    location_wake_one(&x);
    let counts = || woken.each_ref().map(|woken| woken.count());
    futures[0] = None;
    assert_eq!(counts(), [1, 1, 0]);
    futures[2] = None;
    assert_eq!(counts(), [1, 1, 0], "it was not chosen");
}

/// O1 again, from a thread to a task: the thread finds that it need not wait.
#[test]
fn a_wake_of_one_is_passed_on_from_a_thread_to_a_task() {
    let x = AtomicU32::new(0);
    let woken = Woken::new();
    let mut future = pin!(layby::atomic::wait_async(&x, 0));
    assert!(poll(future.as_mut(), &woken).is_pending());
    layby::wait_if(&x, || {
        assert_eq!((location_wake_one(&x), woken.count()), (1, 0), "the thread is chosen");
        false
    });
    woken.reaches(1);
}

/// And from a task that was alone in its slot to a thread that came after the wake-up.
#[test]
fn a_wake_of_one_is_passed_on_from_a_task_to_a_thread() {
    let _watchdog = common::watchdog();
    let x = AtomicU32::new(0);
    let woken = Woken::new();
    let mut future = Box::pin(layby::atomic::wait_async(&x, 0));
    assert!(poll(future.as_mut(), &woken).is_pending());
    assert_eq!((location_wake_one(&x), woken.count()), (1, 1));
    layby::wait_if(&x, || {
        drop(future);
        true
    });
}

#[test]
fn a_condition_that_panics_leaves_a_future_that_can_be_polled_and_dropped() {
    let _watchdog = common::watchdog();
    for polls in 1..4 {
        let (flag, polled) = (Flag::new(), AtomicUsize::new(0));
        let woken = Woken::new();
        {
            let mut future = Box::pin(flag.table.wait_until_async(&flag, || {
                assert_ne!(polled.fetch_add(1, Ordering::Relaxed) + 1, polls, "as intended");
                flag.is_set()
            }));
            let mut results = (0..3).map(|_| {
                let poll = std::panic::AssertUnwindSafe(|| poll(future.as_mut(), &woken).is_pending());
                std::panic::catch_unwind(poll).ok()
            });
            assert_eq!(results.by_ref().filter(|result| *result == Some(true)).count(), 2, "one has panicked");
            drop(results);
            flag.set();
            woken.reaches(1);
            if polls == 2 {
                assert!(poll(future.as_mut(), &woken).is_ready());
            }
        }
        assert_eq!((flag.table.wake_all(&flag), woken.clones()), (0, 0));
    }
}

#[test]
#[should_panic(expected = "polled again though it was ready")]
fn a_future_that_is_ready_is_not_polled_again() {
    let flag = Flag::new();
    flag.set();
    let mut future = pin!(flag.wait());
    assert!(poll_once(future.as_mut()).is_ready());
    let _ = poll_once(future.as_mut());
}

/// A thousand futures whose conditions refer to one word each: what the crate adds.
#[test]
fn futures_are_small_and_can_be_sent() {
    fn size<F: Send>(_: F) -> usize {
        size_of::<F>()
    }
    let (x, table) = (AtomicU32::new(0), WaitTable::<layby::sys::Native>::with_slots(1));
    let (small, large) = (1_u8, [0_u64; 5]);
    let holds = || x.load(Ordering::Relaxed) == 1;
    assert!(size(table.wait_until_async(&x, holds)) <= 80 + size_of::<usize>());
    assert!(size(table.wait_until_async(&x, || true)) <= 80);
    assert!(size(table.wait_for_async(&x, move || Some(small))) <= 80 + 1);
    assert!(size(table.wait_for_async(&x, move || Some(large[0]))) <= 80 + size_of_val(&large));
    assert!(size(layby::atomic::wait_async(&x, 0)) <= 80 + size_of::<usize>() + 4);
}

/// Polls, wakes, wakes of one and drops, from several threads at once, on one slot.
#[test]
fn nothing_is_lost_among_threads() {
    let rounds = if cfg!(miri) { 20 } else { 2_000 };
    let table: WaitTable = WaitTable::with_slots(1);
    let tokens = AtomicU32::new(0);
    let take = || tokens.fetch_update(Ordering::Acquire, Ordering::Relaxed, |n| n.checked_sub(1)).ok();
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                for round in 0..rounds {
                    if round % 3 == 0 {
                        let mut early = pin!(table.wait_for_async(&tokens, || None::<u32>));
                        assert!(poll_once(early.as_mut()).is_pending());
                    }
                    common::task::block_on(table.wait_for_async(&tokens, take));
                }
            });
        }
        s.spawn(|| {
            for _ in 0..2 * rounds {
                tokens.fetch_add(1, Ordering::Release);
                table.wake_all(&tokens);
            }
        });
    });
    assert_eq!(tokens.into_inner(), 0);
    assert!(format!("{table:?}").contains("occupied: 0"), "{table:?}");
}
