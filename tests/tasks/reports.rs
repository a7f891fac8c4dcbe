//! What reports say of tasks. Blind to: rare interleavings, which tests/loom has.

use crate::common::task::{Woken, poll, poll_once};
use crate::flag::Flag;
use layby::wait_table::Activity;
use layby::{Key, WaitTable};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};

fn activities(table: &WaitTable) -> Vec<Activity> {
    table.waiters().iter().map(layby::wait_table::Waiter::activity).collect()
}

#[test]
fn a_task_is_shown_as_parked_then_as_woken_then_not_at_all() {
    let flag = Flag::new();
    let woken = Woken::new();
    let mut future = pin!(flag.wait());
    assert!(poll(future.as_mut(), &woken).is_pending());
    assert_eq!(activities(&flag.table), [Activity::Parked]);
    assert!(flag.table.waiters()[0].woken().is_none());
    flag.set();
    let report = flag.table.waiters();
    let [waiter] = &report[..] else { panic!("{report}") };
    assert_eq!((waiter.activity(), waiter.key()), (Activity::Woken, Key::address(&flag)));
    assert!(waiter.is_task() && waiter.woken().is_some());
    assert!(report.to_string().contains("task woken, not polled for"), "{report}");
    assert!(report.to_string().contains(", at tests/tasks/flag.rs:"), "{report}");
    assert!(poll(future.as_mut(), &woken).is_ready());
    assert_eq!(activities(&flag.table), []);
}

#[test]
fn a_task_that_was_woken_for_nothing_is_parked_again() {
    let flag = Flag::new();
    let woken = Woken::new();
    let mut future = pin!(flag.wait());
    for round in 0..3 {
        assert!(poll(future.as_mut(), &woken).is_pending());
        assert_eq!(activities(&flag.table), [Activity::Parked]);
        assert_eq!(flag.table.wake_all(&flag), 1);
        assert_eq!(flag.table.wake_all(&flag), 0, "it has been woken already");
        assert_eq!((activities(&flag.table), woken.count()), (vec![Activity::Woken], round + 1));
    }
    assert_eq!(flag.table.wake_everybody(), 0);
}

#[test]
fn a_task_that_was_woken_and_is_dropped_leaves_nothing_behind() {
    let table: WaitTable = WaitTable::with_slots(1);
    let keys = [0, 1, 2].map(|ticket| Key::ticket(&table, ticket));
    let mut futures = keys.map(|key| Some(Box::pin(table.wait_until_async(key, || false))));
    futures.iter_mut().flatten().for_each(|future| assert!(poll_once(future.as_mut()).is_pending()));
    assert_eq!(table.wake_all(keys[1]), 1);
    for (left, nth) in [1, 2, 0].into_iter().enumerate() {
        futures[nth] = None;
        assert_eq!(table.waiters().len(), 2 - left);
    }
    assert!(format!("{table:?}").contains("occupied: 0"), "{table:?}");
}

/// Whom a wake of one has chosen is not chosen again.
#[test]
fn a_wake_of_one_passes_over_those_that_are_woken() {
    let x = AtomicU32::new(0);
    let woken = [(); 3].map(|()| Woken::new());
    let mut futures = [(); 3].map(|()| Box::pin(layby::atomic::wait_async(&x, 0)));
    for (future, woken) in futures.iter_mut().zip(&woken) {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    for expected in [[1, 0, 0], [1, 1, 0], [1, 1, 1]] {
        assert_eq!(layby::location_wake_one(&x), 1);
        assert_eq!(woken.each_ref().map(|woken| woken.count()), expected);
    }
    assert_eq!(layby::location_wake_one(&x), 0);
}

/// Of a crowd on one key those that are woken are not shown: see `Waiter::woken`.
#[test]
fn a_crowd_that_is_woken_is_off_its_chain() {
    let flag = Flag::new();
    let mut futures: Vec<_> = (0..9).map(|_| Box::pin(flag.wait())).collect();
    futures.iter_mut().for_each(|future| assert!(poll_once(future.as_mut()).is_pending()));
    futures.pop();
    assert_eq!(flag.table.wake_all(&flag), 8);
    assert_eq!(activities(&flag.table), [Activity::Woken; 8], "eight are no crowd");
    let mut another = Box::pin(flag.wait());
    assert!(poll_once(another.as_mut()).is_pending());
    assert_eq!(flag.table.wake_all(&flag), 1);
    assert_eq!(activities(&flag.table), [Activity::Woken; 8]);
    flag.set();
    for mut future in futures.into_iter().chain([another]) {
        assert!(poll_once(future.as_mut()).is_ready());
    }
    assert_eq!(activities(&flag.table), []);
}

/// Two tasks on one executor that polls only the one: the other has what it waited for, and does not give it back.
#[test]
fn who_holds_up_the_others_is_told_by_its_ticket() {
    let table: WaitTable = WaitTable::with_slots(64);
    let granted = AtomicU32::new(0);
    let line = |ticket: u32| {
        let granted = &granted;
        table.wait_until_async(Key::ticket(granted, ticket.into()), move || granted.load(Ordering::Relaxed) > ticket)
    };
    let (mut first, mut second) = (pin!(line(0)), pin!(line(1)));
    assert!(poll_once(first.as_mut()).is_pending());
    assert!(poll_once(second.as_mut()).is_pending());
    granted.store(1, Ordering::Relaxed);
    table.wake_all(Key::ticket(&granted, 0));
    assert!(poll_once(second.as_mut()).is_pending());
    let of = |ticket| {
        let report = table.waiters();
        report.iter().find(|waiter| waiter.key().ticket_number() == Some(ticket)).unwrap().activity()
    };
    assert_eq!((of(0), of(1)), (Activity::Woken, Activity::Parked));
}
