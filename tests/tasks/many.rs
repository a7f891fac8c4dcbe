//! Very many tasks in one table: it grows for many keys, and not for one.

use crate::common::task::{Woken, poll, poll_once};
use layby::{Key, WaitTable, wait_table::WaitUntilAsync};
use std::sync::atomic::{AtomicUsize, Ordering};

fn task_slots(table: &WaitTable) -> usize {
    let report = format!("{table:?}");
    let (_, count) = report.split_once("task_slots: ").unwrap();
    count.trim_end_matches([' ', '}']).parse().unwrap()
}

fn scaled(count: usize) -> usize {
    if cfg!(miri) { count / 100 } else { count }
}

/// Ten thousand tickets, half of them cancelled, the rest woken one by one: each wake finds the one.
#[test]
fn a_table_grows_for_many_keys_and_loses_nobody() {
    let (count, table) = (scaled(20_000), WaitTable::with_slots(if cfg!(miri) { 4 } else { 64 }));
    let granted = AtomicUsize::new(0);
    let woken = Woken::new();
    let key = |ticket| Key::ticket(&table, ticket as u64);
    let mut futures: Vec<_> = (0..count)
        .map(|ticket| {
            let granted = &granted;
            Some(Box::pin(table.wait_until_async(key(ticket), move || granted.load(Ordering::Relaxed) > ticket)))
        })
        .collect();
    for future in futures.iter_mut().flatten() {
        assert!(poll(future.as_mut(), &woken).is_pending());
    }
    assert!(task_slots(&table) >= count / 2, "{table:?}");
    // Some order in which neighbours do not follow each other.
    for nth in 0..count / 2 {
        futures[nth * 7919 * 2 % count] = None;
    }
    let waiting = futures.iter().flatten().count();
    assert_eq!(table.waiters().len(), waiting);
    for (ticket, future) in futures.iter_mut().enumerate() {
        granted.fetch_add(1, Ordering::Relaxed);
        assert_eq!(table.wake_all(key(ticket)), usize::from(future.is_some()));
        if let Some(future) = future {
            assert!(poll(future.as_mut(), &woken).is_ready());
        }
    }
    assert_eq!(woken.count(), waiting);
    assert_eq!(table.wake_everybody(), 0);
}

#[test]
fn one_key_does_not_make_a_table_grow() {
    let table: WaitTable = WaitTable::with_slots(64);
    let never = || false;
    let mut futures: Vec<_> = (0..scaled(10_000)).map(|_| Box::pin(table.wait_until_async(&table, never))).collect();
    let wait =
        |future: &mut std::pin::Pin<Box<WaitUntilAsync<'_, _>>>| assert!(poll_once(future.as_mut()).is_pending());
    futures.iter_mut().for_each(wait);
    assert_eq!(task_slots(&table), 64);
    assert_eq!(table.wake_all(&table), futures.len());
}

/// Waiters in the first bank are found, and can leave, when a second is there.
#[test]
fn those_who_came_before_it_grew_are_found() {
    let table: WaitTable = WaitTable::with_slots(4);
    let key = |ticket| Key::ticket(&table, ticket);
    let mut old: Vec<_> = (0..4).map(|ticket| Box::pin(table.wait_until_async(key(ticket), || false))).collect();
    old.iter_mut().for_each(|future| assert!(poll_once(future.as_mut()).is_pending()));
    let mut new = Vec::new();
    while task_slots(&table) == 4 {
        let mut future = Box::pin(table.wait_until_async(key(new.len() as u64), || false));
        assert!(poll_once(future.as_mut()).is_pending());
        new.push(future);
    }
    old.truncate(2);
    let counts: Vec<_> = (0..4).map(|ticket| table.wake_all(key(ticket))).collect();
    let of_new = |ticket: usize| usize::from(new.len() > ticket);
    assert_eq!(counts, [1 + of_new(0), 1 + of_new(1), of_new(2), of_new(3)]);
}
