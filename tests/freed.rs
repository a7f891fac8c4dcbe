//! Promise 8 (README), in company: a thing is freed by the thread that its release lets go, while a stranger sleeps in its slot
//! and the table has a marker of somebody who gave up. So the release goes its slow path, where even to hand on a reference to
//! what may be gone is wrong.
//!
//! For Miri to see, which knows of references; AddressSanitizer sees only a touch. Without them these tests show that nothing
//! hangs.

#![cfg(not(layby_model))]
#![allow(unsafe_code, reason = "things that are freed while somebody else still returns from them")]

mod common;

use common::{Shared, Tally, eventually, homes::OneSlot, scaled, watchdog};
use layby::{
    eventcount::EventCount,
    mutex::{RawFairMutex, RawMutex, Ticket},
    sema::Semaphore,
};
use std::{sync::Mutex, thread, time::Duration};

/// One at a time: the company is counted.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs `test` while a thread sleeps in the one slot of the table, and another semaphore has an abandoned ticket.
fn in_company(test: impl FnOnce()) {
    let _watchdog = watchdog();
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let line = Semaphore::<OneSlot>::new_in(0);
    thread::scope(|s| {
        let first = s.spawn(|| line.take_timeout(Duration::from_micros(200)));
        eventually(|| line.waiters() == 1 || first.is_finished());
        // Behind it, so that it leaves a marker when it gives up. If it has done so already there is none, which is as well.
        s.spawn(|| line.take());
        assert!(!first.join().unwrap());
        eventually(|| line.waiters() == 1);
        test();
        line.post();
    });
    assert_eq!((line.available(), line.waiters()), (0, 0));
}

/// One thread frees what it gets by `take`; the other lets it go by `release`.
fn freed_by_who_is_let_go<T: Send + Sync + 'static>(new: fn() -> T, take: fn(&T), release: fn(&T)) {
    in_company(|| {
        for _ in 0..scaled(200) {
            let shared = Shared::new(new());
            let begun = &Tally::new();
            thread::scope(|s| {
                s.spawn(move || {
                    begun.add();
                    // SAFETY: freed by nobody but us, and used by nobody but the one who lets us go.
                    unsafe {
                        take(shared.get());
                        shared.free();
                    }
                });
                begun.reaches(1);
                // SAFETY: alive until it is released, and not touched after that.
                release(unsafe { shared.get() });
            });
        }
    });
}

#[test]
fn a_semaphore() {
    let new = || Semaphore::<OneSlot>::new_in(0);
    freed_by_who_is_let_go(new, |semaphore| semaphore.take(), |semaphore| semaphore.post_conservatively());
}

#[test]
fn a_count_that_is_advanced() {
    let wait = |count: &EventCount<OneSlot>| assert_eq!(count.wait_at_least(2), Ok(3));
    freed_by_who_is_let_go(EventCount::new_in, wait, |count| assert_eq!(count.advance_by(3), 3));
}

#[test]
fn a_count_that_is_closed() {
    let wait = |count: &EventCount<OneSlot>| assert!(count.wait_at_least(2).is_err());
    freed_by_who_is_let_go(EventCount::new_in, wait, |count| count.close());
}

#[test]
fn a_mutex() {
    let new = || {
        let mutex = RawMutex::<OneSlot>::new_in();
        mutex.acquire();
        mutex
    };
    // SAFETY: locked by `new`, on behalf of this thread.
    freed_by_who_is_let_go(new, |mutex| mutex.acquire(), |mutex| unsafe { mutex.release() });
}

#[test]
fn a_fair_mutex() {
    // Not beside the mutex, which would not be all that a reference to both claims.
    static TICKET: Mutex<Option<Ticket>> = Mutex::new(None);
    let new = || {
        let mutex = RawFairMutex::<OneSlot>::new_in();
        *TICKET.lock().unwrap() = Some(mutex.acquire());
        mutex
    };
    let release = |mutex: &RawFairMutex<OneSlot>| {
        let ticket = TICKET.lock().unwrap().take().unwrap();
        // SAFETY: its own ticket.
        unsafe { mutex.release(ticket) };
    };
    freed_by_who_is_let_go(new, |mutex| drop(mutex.acquire()), release);
}
