//! Tickets that `reduce` draws for nobody: what was given up before them stays marked where the semaphore was. Alone in its process: once
//! a task has drawn a ticket, everybody looks for such markers.

#![cfg(not(layby_model))]

mod common;

use common::a_granted_ticket_was_given_up;
use common::{eventually, watchdog};
use layby::{Cancel, Stopped, mutex::FairMutex, rwlock::RwLock, sema::Semaphore};
use std::{thread, time::Duration};

const SHORT: Duration = Duration::from_millis(20);

/// Has a take give up before a ticket that is nobody's.
fn give_up_before_nobody(semaphore: &Semaphore) {
    let gives_up = Cancel::new();
    thread::scope(|s| {
        let taker = s.spawn(|| semaphore.take_within(&gives_up));
        eventually(|| semaphore.waiters() == 1);
        semaphore.reduce(1);
        gives_up.cancel();
        assert_eq!(taker.join().unwrap(), Err(Stopped::Cancelled));
    });
}

/// A semaphore, and then what is made in its place.
enum Place {
    Semaphore(Semaphore),
    Mutex(FairMutex<()>),
    RwLock(RwLock<()>),
}

impl Place {
    /// The first whose permits are all taken, and whose next tickets are given up or nobody's.
    fn left_marked(permits: u64) -> Box<Self> {
        a_granted_ticket_was_given_up();
        let place = Box::new(Self::Semaphore(Semaphore::new(permits)));
        if let Self::Semaphore(semaphore) = &*place {
            semaphore.take_many(permits);
            give_up_before_nobody(semaphore);
        }
        place
    }
}

#[test]
fn a_mutex_made_in_its_place_excludes() {
    let _watchdog = watchdog();
    let mut place = Place::left_marked(0);
    *place = Place::Mutex(FairMutex::new(()));
    let Place::Mutex(mutex) = &*place else { unreachable!() };
    let _first = mutex.lock();
    assert!(mutex.try_lock_for(SHORT).is_none());
}

#[test]
fn a_reader_writer_lock_made_in_its_place_excludes() {
    let _watchdog = watchdog();
    // As many as a writer takes.
    let all = if cfg!(any(not(target_has_atomic = "64"), layby_narrow)) { 1 << 14 } else { 1 << 40 };
    let mut place = Place::left_marked(all);
    *place = Place::RwLock(RwLock::new(()));
    let Place::RwLock(lock) = &*place else { unreachable!() };
    let _writing = lock.write();
    assert!(lock.try_read_for(SHORT).is_none());
}

/// Who looks for such markers draws tickets in another way; what fits in line is the same.
#[cfg(not(any(not(target_has_atomic = "64"), layby_narrow)))]
#[test]
fn one_more_waits_behind_as_many_as_fit() {
    let _watchdog = watchdog();
    let _left = Place::left_marked(0);
    let semaphore = Semaphore::new(0);
    thread::scope(|s| {
        s.spawn(|| semaphore.take_many(Semaphore::MAX_PERMITS));
        eventually(|| semaphore.waiters() == Semaphore::MAX_PERMITS);
        let single = s.spawn(|| semaphore.take());
        eventually(|| semaphore.waiters() == Semaphore::MAX_PERMITS + 1 || single.is_finished());
        semaphore.post_many(Semaphore::MAX_PERMITS);
        semaphore.post();
        assert!(single.join().is_ok(), "refused");
    });
}
