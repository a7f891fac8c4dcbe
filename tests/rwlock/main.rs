//! The reader-writer lock on the real backends: exclusion and sharing here, and by subject in the files beside this one.
//!
//! Blind to: weak memory and rare interleavings, which are for `tests/loom/rwlock.rs`.

#![cfg(not(layby_model))]

#[path = "../common/mod.rs"]
mod common;

mod guards;
mod order;
mod ported;
mod tasks;

use common::{Random, eventually, scaled, watchdog};
use layby::rwlock::{RawRwLock, RwLock, RwLockIn, RwLockWithin};
use layby::wait_table::Home;
use layby::{Cancel, Limit, Stopped};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

common::on_every_backend!(
    many_readers_or_one_writer,
    a_timed_lock_gives_up_after_its_time_and_not_before,
    a_cancelled_lock_gives_up,
    giving_up_loses_nothing
);

/// How many wait for `lock`, by the table's own report: by their tickets, since one who was woken may be reported twice.
fn in_line<T: ?Sized, H: Home>(lock: &RwLockIn<T, H>) -> usize {
    let mut tickets = BTreeSet::new();
    H::TABLE.for_each_waiter(|waiter| {
        if waiter.key().is_within(lock) {
            tickets.insert(waiter.key().ticket_number());
        }
    });
    tickets.len()
}

/// Every way to lock and to unlock at random: a writer is alone, readers are without one.
fn many_readers_or_one_writer<H: Home>() {
    const WRITER: isize = -1000;
    let lock = RwLockIn::<_, H>::new(0_u64);
    let (inside, written) = (AtomicIsize::new(0), AtomicUsize::new(0));
    let enter = |who: isize| {
        let before = inside.fetch_add(who, Ordering::SeqCst);
        assert!(if who == WRITER { before == 0 } else { before >= 0 }, "{before} were inside when {who} came");
    };
    thread::scope(|s| {
        for thread in 0..6 {
            let (lock, inside, written, enter) = (&lock, &inside, &written, &enter);
            s.spawn(move || {
                let mut random = Random::of(&[thread]);
                for _ in 0..scaled(400) {
                    let soon = Duration::from_micros(random.below(60) as u64);
                    if random.one_in(3) {
                        let guard = match random.below(3) {
                            0 => lock.try_write(),
                            1 => lock.try_write_for(soon),
                            _ => Some(lock.write()),
                        };
                        if let Some(mut guard) = guard {
                            enter(WRITER);
                            *guard += 1;
                            written.fetch_add(1, Ordering::Relaxed);
                            inside.fetch_sub(WRITER, Ordering::SeqCst);
                        }
                    } else {
                        let guard = match random.below(3) {
                            0 => lock.try_read(),
                            1 => lock.try_read_for(soon),
                            _ => Some(lock.read()),
                        };
                        if let Some(guard) = guard {
                            enter(1);
                            let seen = *guard;
                            thread::yield_now();
                            assert_eq!(*guard, seen);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                }
            });
        }
    });
    assert!(!lock.is_locked());
    assert_eq!(lock.into_inner(), written.into_inner() as u64);
}

fn a_timed_lock_gives_up_after_its_time_and_not_before<H: Home>() {
    let lock = RwLockIn::<_, H>::new(());
    let timeout = Duration::from_millis(2);
    let gives_up = |try_lock: &dyn Fn() -> bool| {
        let started = Instant::now();
        assert!(!try_lock());
        assert!(started.elapsed() >= timeout);
    };
    let writing = lock.write();
    gives_up(&|| lock.try_read_for(timeout).is_some());
    gives_up(&|| lock.try_write_until(Instant::now() + timeout).is_some());
    drop(writing);
    let reading = lock.read();
    gives_up(&|| lock.try_write_for(timeout).is_some());
    assert!(lock.try_read_for(Duration::ZERO).is_some(), "there was nothing to wait for");
    drop(reading);
    assert!(lock.try_write_for(Duration::MAX).is_some());
    assert!(!lock.is_locked());
}

fn a_cancelled_lock_gives_up<H: Home>() {
    let (lock, cancel) = (RwLockIn::<_, H>::new(0), Cancel::new());
    *lock.write_within(&cancel).unwrap() += 1;
    assert_eq!(*lock.read_within(Limit::NONE).unwrap(), 1);
    thread::scope(|s| {
        let writing = lock.write();
        let reader = s.spawn(|| lock.read_within(&cancel).map(drop));
        let writer = s.spawn(|| lock.write_within(&cancel).map(drop));
        eventually(|| in_line(&lock) == 2);
        cancel.cancel();
        assert_eq!(reader.join().unwrap(), Err(Stopped::Cancelled));
        assert_eq!(writer.join().unwrap(), Err(Stopped::Cancelled));
        assert_eq!(lock.read_within(Duration::ZERO).map(drop), Err(Stopped::TimedOut));
        drop(writing);
    });
    assert!(!lock.is_locked());
}

/// Those who give up must neither take the lock with them nor the wake-ups of those who stay.
fn giving_up_loses_nothing<H: Home>() {
    let lock = RwLockIn::<_, H>::new(0);
    let (given_up, rounds) = (AtomicUsize::new(0), scaled(200));
    thread::scope(|s| {
        for thread in 0..6_usize {
            let (lock, given_up) = (&lock, &given_up);
            s.spawn(move || {
                for round in 0..rounds {
                    let patience = Duration::from_micros(round as u64 % 50);
                    match thread {
                        0 => *lock.write() += 1,
                        1 => drop(lock.read()),
                        2 => drop(lock.try_read_for(patience)),
                        _ => match lock.try_write_for(patience) {
                            Some(mut count) => {
                                *count += 1;
                                if round % 8 == 0 {
                                    thread::sleep(Duration::from_micros(50));
                                }
                            }
                            None => drop(given_up.fetch_add(1, Ordering::Relaxed)),
                        },
                    }
                }
            });
        }
    });
    assert!(!lock.is_locked(), "{lock:?}");
    assert_eq!(lock.into_inner() + given_up.into_inner(), 4 * rounds);
}

#[test]
fn sizes() {
    assert!(size_of::<RawRwLock>() <= 16);
    assert_eq!(size_of::<RwLock<u64>>(), size_of::<RawRwLock>() + 8);
    assert!(size_of::<layby::rwlock::RwLockReadGuard<'_, u64>>() <= 2 * size_of::<usize>());
}

#[test]
fn it_tells_who_is_inside() {
    let _watchdog = watchdog();
    let lock = RawRwLock::new();
    assert_eq!(format!("{lock:?}"), "RawRwLock { readers: 0, .. }");
    lock.acquire_read();
    assert_eq!((lock.readers(), lock.is_acquired(), lock.is_acquired_for_writing()), (Some(1), true, false));
    assert!(!lock.try_acquire_write());
    release_read(&lock);
    lock.acquire_write();
    assert_eq!((lock.readers(), lock.is_acquired(), lock.is_acquired_for_writing()), (None, true, true));
    assert_eq!(format!("{lock:?}"), "RawRwLock { writers: \"inside or in line\", .. }");
}

#[allow(unsafe_code)]
fn release_read(lock: &RawRwLock) {
    // SAFETY: called by who reads.
    unsafe { lock.release_read() }
}

#[cfg_attr(miri, ignore = "Miri does not have the names of threads")]
#[test]
fn the_report_shows_who_waits_for_it() {
    let _watchdog = watchdog();
    let lock = RwLock::new(());
    thread::scope(|s| {
        let reading = lock.read();
        thread::Builder::new().name("a writer".into()).spawn_scoped(s, || drop(lock.write())).unwrap();
        eventually(|| in_line(&lock) == 1);
        thread::Builder::new().name("a reader".into()).spawn_scoped(s, || drop(lock.read())).unwrap();
        eventually(|| in_line(&lock) == 2);
        if cfg!(target_os = "linux") {
            let waiters = layby::waiters();
            let names = waiters.iter().filter(|waiter| waiter.key().is_within(&lock)).filter_map(|w| w.thread_name());
            assert_eq!(names.collect::<BTreeSet<_>>(), BTreeSet::from(["a reader", "a writer"]));
        }
        drop(reading);
    });
}
