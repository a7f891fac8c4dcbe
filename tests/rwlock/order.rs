//! First come, first served: a line whose order is known, each of whom comes when the one before it is seen to wait.

use crate::common::homes::{FewSlots, OneSlot};
use crate::common::{eventually, on_every_backend, watchdog};
use crate::in_line;
use layby::rwlock::{RwLockIn, RwLockWithin};
use layby::wait_table::Home;
use layby::{Cancel, Limit};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

on_every_backend!(
    groups_enter_in_order_and_each_at_once,
    who_gives_up_is_passed_over,
    a_writer_that_gives_up_lets_the_readers_behind_it_in,
    a_try_does_not_overtake
);

/// Readers that stand together and writers, by turns: `3, 0, 2` is three readers, a writer, two readers.
fn serve<H: Home>(groups: &[usize]) {
    let lock = RwLockIn::<_, H>::new(());
    let served = Mutex::new(Vec::new());
    let barriers: Vec<_> = groups.iter().map(|&readers| Barrier::new(readers.max(1))).collect();
    thread::scope(|s| {
        let first = lock.write();
        let mut joined = 0;
        for (group, &readers) in groups.iter().enumerate() {
            for _ in 0..readers.max(1) {
                let (lock, served, barrier) = (&lock, &served, &barriers[group]);
                let body = move || {
                    let guards = if readers == 0 { (None, Some(lock.write())) } else { (Some(lock.read()), None) };
                    served.lock().unwrap().push(group);
                    barrier.wait(); // nobody leaves before all of its group are inside
                    drop(guards);
                };
                thread::Builder::new().stack_size(128 * 1024).spawn_scoped(s, body).unwrap();
                joined += 1;
                eventually(|| in_line(lock) == joined);
            }
        }
        drop(first);
    });
    assert!(served.lock().unwrap().is_sorted(), "{:?} of {groups:?}", served.lock().unwrap());
    assert!(!lock.is_locked());
}

fn groups_enter_in_order_and_each_at_once<H: Home>() {
    serve::<H>(&[0]);
    serve::<H>(&[3]);
    serve::<H>(&[2, 0, 3, 0, 0, 1, 0]);
    serve::<H>(&[0, 0, 1]);
}

/// More than the table has slots, so that all of them are searched; and writers and readers in one slot.
#[test]
fn a_crowd_of_readers_enters_together() {
    let _watchdog = watchdog();
    serve::<FewSlots>(&[20, 0, 12]);
    serve::<OneSlot>(&[4, 0, 2]);
}

fn who_gives_up_is_passed_over<H: Home>() {
    let (lock, cancel) = (RwLockIn::<_, H>::new(()), Cancel::new());
    let (enter, entered) = mpsc::channel();
    thread::scope(|s| {
        let first = lock.write();
        // Those in capital letters write. Each of those who give up is between others, or beside others who give up.
        let line = ["-r", "-W", "A", "-W", "-r", "-W", "b", "-W", "C", "-r"];
        let mut given_up = Vec::new();
        for (place, who) in line.into_iter().enumerate() {
            let (lock, enter) = (&lock, enter.clone());
            let limit = if who.starts_with('-') { Limit::from(&cancel) } else { Limit::NONE };
            let thread = s.spawn(move || {
                // While it is inside, so that they tell in the order in which they enter.
                let tell = || enter.send(who).unwrap();
                if who.ends_with(char::is_uppercase) {
                    _ = lock.write_within(limit).map(|_guard| tell());
                } else {
                    _ = lock.read_within(limit).map(|_guard| tell());
                }
            });
            if who.starts_with('-') {
                given_up.push(thread);
            }
            eventually(|| in_line(lock) == place + 1);
        }
        cancel.cancel();
        given_up.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(in_line(&lock), 3);
        drop(first);
        assert_eq!([(); 3].map(|()| entered.recv().unwrap()), ["A", "b", "C"]);
    });
    assert!(!lock.is_locked());
    assert!(lock.try_write().is_some());
}

/// The readers behind it need not wait for the one before it to leave.
fn a_writer_that_gives_up_lets_the_readers_behind_it_in<H: Home>() {
    let lock = RwLockIn::<_, H>::new(());
    thread::scope(|s| {
        let reading = lock.read();
        let writer = s.spawn(|| lock.try_write_for(Duration::from_millis(20)).is_some());
        eventually(|| in_line(&lock) == 1 || writer.is_finished());
        let readers = [(); 3].map(|()| s.spawn(|| drop(lock.read())));
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert!(!writer.join().unwrap());
        drop(reading);
    });
    assert!(!lock.is_locked());
}

fn a_try_does_not_overtake<H: Home>() {
    let lock = RwLockIn::<_, H>::new(());
    thread::scope(|s| {
        let reading = lock.read();
        assert!(lock.try_read().is_some());
        s.spawn(|| drop(lock.write()));
        eventually(|| in_line(&lock) == 1);
        assert!(lock.try_read().is_none() && lock.try_write().is_none(), "past a writer in line");
        drop(reading);
    });
    assert!(lock.try_write().is_some());
}
