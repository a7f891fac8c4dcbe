//! What guards can become: readers out of writers, writers out of readers, one more reader; parts; owners.

use crate::common::{eventually, scaled, watchdog};
use crate::in_line;
use layby::rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, TryUpgrade,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
fn readers_enter_when_a_writer_goes_on_reading() {
    let _watchdog = watchdog();
    let lock = RwLock::new(1);
    thread::scope(|s| {
        let writing = lock.write();
        let readers = [(); 3].map(|()| s.spawn(|| *lock.read()));
        eventually(|| in_line(&lock) == 3);
        let reading = RwLockWriteGuard::downgrade(writing);
        assert_eq!(readers.map(|reader| reader.join().unwrap()), [1; 3]);
        assert!(lock.try_write().is_none());
        assert_eq!(*reading, 1);
    });
    assert!(lock.try_write().is_some());
}

/// std's own test of it: no writer comes between.
#[test]
fn nobody_writes_while_a_writer_goes_on_reading() {
    let _watchdog = watchdog();
    let (lock, rounds) = (RwLock::new(0_usize), scaled(500));
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..rounds {
                    let mut writing = lock.write();
                    *writing += 1;
                    let written = *writing;
                    assert_eq!(*RwLockWriteGuard::downgrade(writing), written);
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), 4 * rounds);
}

#[test]
fn a_reader_that_is_alone_goes_on_writing() {
    let _watchdog = watchdog();
    let lock = RwLock::new(0);
    let (one, another) = (lock.read(), lock.read());
    let one = RwLockReadGuard::try_upgrade(one).expect_err("there is another");
    drop(another);
    let mut writing = RwLockReadGuard::try_upgrade(one).expect("it is alone");
    *writing += 1;
    assert!(lock.try_read().is_none());
    drop(writing);
    assert!(!lock.is_locked());

    thread::scope(|s| {
        let reading = lock.read();
        s.spawn(|| *lock.write() += 1);
        eventually(|| in_line(&lock) == 1);
        let reading = RwLockReadGuard::try_upgrade(reading).expect_err("somebody is in line");
        assert_eq!(*reading, 1);
    });
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn upgrades_against_each_other_lose_nothing() {
    let _watchdog = watchdog();
    let (lock, written, rounds) = (RwLock::new(0), AtomicUsize::new(0), scaled(500));
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..rounds {
                    if let Ok(mut writing) = RwLockReadGuard::try_upgrade(lock.read()) {
                        *writing += 1;
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(!lock.is_locked());
    assert_eq!(lock.into_inner(), written.into_inner());
}

/// What `RwLock` documents for a thread that reads while it reads.
#[test]
fn a_guard_is_shared_while_a_writer_waits() {
    let _watchdog = watchdog();
    let lock = Arc::new(RwLock::new(0));
    thread::scope(|s| {
        let reading = Arc::new(lock.read_arc());
        let writer = s.spawn(|| *lock.write() += 1);
        eventually(|| in_line(&*lock) == 1);
        assert!(lock.try_read().is_none());
        let again = Arc::clone(&reading);
        drop(reading);
        s.spawn(move || assert_eq!(**again, 0)).join().unwrap();
        writer.join().unwrap();
    });
    assert!(!lock.is_locked());
    assert_eq!(*lock.read(), 1);
}

#[test]
fn guards_can_be_of_a_part() {
    let _watchdog = watchdog();
    let lock = RwLock::new((1, String::from("one")));
    let writing = RwLockWriteGuard::map(lock.write(), |(_, name)| name);
    MappedRwLockWriteGuard::map(writing, String::as_mut_str).make_ascii_uppercase();
    let reading = RwLockReadGuard::map(lock.read(), |(_, name)| name);
    assert_eq!(&*MappedRwLockReadGuard::map(reading, String::as_str), "ONE");
    assert!(!lock.is_locked());
}

#[test]
fn guards_can_own_their_lock() {
    let _watchdog = watchdog();
    let lock = Arc::new(RwLock::new(0));
    let mut writing = lock.write_arc();
    assert!(lock.try_read_arc().is_none());
    *writing += 1;
    thread::spawn(move || drop(writing)).join().unwrap();
    let (one, another) = (lock.read_arc(), lock.try_read_arc().unwrap());
    drop(lock);
    assert_eq!(*one + *another, 2);
}

#[test]
fn a_fair_unlock_lets_the_next_have_it() {
    let _watchdog = watchdog();
    let lock = RwLock::new(0);
    thread::scope(|s| {
        let mut reading = lock.read();
        let writer = s.spawn(|| *lock.write() += 1);
        while !writer.is_finished() {
            RwLockReadGuard::bump(&mut reading);
        }
        RwLockReadGuard::unlock_fair(reading);
        let mut writing = lock.write();
        let reader = s.spawn(|| *lock.read());
        while !reader.is_finished() {
            RwLockWriteGuard::bump(&mut writing);
        }
    });
    assert_eq!(lock.into_inner(), 1);
}
