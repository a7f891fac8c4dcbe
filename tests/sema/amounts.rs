//! Amounts that are not the caller's to choose: what is there, what fits, what is to be fewer; and guards that are divided.

use super::{MAX, MOMENT, panic_of, state};
use crate::common::{eventually, scaled, watchdog};
use layby::sema::{OwnedPermit, Permit, Semaphore};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

#[test]
fn what_is_there_is_taken_and_no_more() {
    let semaphore = Semaphore::new(5);
    assert_eq!(semaphore.take_up_to(0), 0);
    assert_eq!(semaphore.take_up_to(2), 2);
    assert_eq!(semaphore.take_up_to(u64::MAX), 3);
    assert_eq!(semaphore.drain(), 0);
    semaphore.post_many(7);
    assert_eq!(semaphore.drain(), 7);
    assert_eq!(state(&semaphore), (0, 0));
}

/// Among threads that take and post, each permit is counted once.
#[test]
fn nothing_is_drained_twice() {
    let posts = scaled(10_000) as u64;
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    let drained: u64 = thread::scope(|s| {
        let drains = [(); 2].map(|()| s.spawn(|| (0..posts).map(|_| semaphore.drain()).sum::<u64>()));
        (0..posts).for_each(|_| semaphore.post());
        drains.map(|drain| drain.join().unwrap()).iter().sum()
    });
    assert_eq!(drained + semaphore.available(), posts);
}

/// Those who waited before come first; what is claimed comes next.
#[test]
fn what_is_to_be_fewer_waits_in_line_for_nobody() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(1);
    semaphore.reduce(0);
    semaphore.reduce(1);
    assert_eq!(state(&semaphore), (0, 0));
    thread::scope(|s| {
        let before = s.spawn(|| semaphore.take());
        eventually(|| semaphore.waiters() == 1);
        semaphore.reduce(2);
        let behind = s.spawn(|| semaphore.take());
        eventually(|| semaphore.waiters() == 4);
        semaphore.post();
        before.join().unwrap();
        semaphore.post_many(2);
        assert_eq!(semaphore.waiters(), 1);
        assert!(!behind.is_finished());
        semaphore.post();
        behind.join().unwrap();
    });
    assert_eq!(state(&semaphore), (0, 0));
    assert!(panic_of(|| semaphore.reduce(MAX + 1)).contains("more permits than a semaphore can hold"));
}

#[test]
fn a_post_that_does_not_fit_is_refused() {
    let semaphore = Semaphore::new(MAX - 1);
    assert!(semaphore.try_post_many(0));
    assert!(!semaphore.try_post_many(2));
    assert!(!semaphore.try_post_many(u64::MAX));
    assert_eq!(state(&semaphore), (MAX - 1, 0));
    assert!(semaphore.try_post());
    assert!(!semaphore.try_post());
    assert_eq!(state(&semaphore), (MAX, 0));
}

#[test]
fn a_post_stops_at_its_limit() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(2);
    assert_eq!(semaphore.post_up_to(1, 3), 1);
    assert_eq!(semaphore.post_up_to(1, 3), 0);
    assert_eq!(semaphore.post_up_to(9, 2), 0, "there are more already");
    assert_eq!(semaphore.post_up_to(9, 0), 0);
    assert_eq!(semaphore.post_up_to(u64::MAX, u64::MAX), MAX - 3);
    assert_eq!(semaphore.drain(), MAX);
    thread::scope(|s| {
        for n in [1, 4] {
            let semaphore = &semaphore;
            s.spawn(move || semaphore.take_many(n));
        }
        eventually(|| semaphore.waiters() == 5);
        // What those who wait take does not count towards the limit.
        assert_eq!(semaphore.post_up_to(4, 1), 4);
        assert_eq!(semaphore.post_up_to(9, 1), 2);
    });
    assert_eq!(state(&semaphore), (1, 0));
}

/// The ticket of a take that has given up is in line, and nobody takes what is granted to it.
#[test]
fn those_who_have_given_up_do_not_count_as_waiting() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    thread::scope(|s| {
        s.spawn(|| semaphore.take());
        eventually(|| semaphore.waiters() == 1);
        let gives_up = s.spawn(|| assert!(!semaphore.take_timeout(20 * MOMENT)));
        eventually(|| gives_up.is_finished() || semaphore.waiters() == 2);
        s.spawn(|| semaphore.take());
        gives_up.join().unwrap();
        eventually(|| semaphore.waiters() == 2);
        assert_eq!(semaphore.post_up_to(9, 1), 3);
    });
    assert_eq!(state(&semaphore), (1, 0));
}

#[test]
fn guards_are_divided_and_joined() {
    let semaphore = Semaphore::new(10);
    let mut guard = semaphore.acquire_many(6);
    assert!(std::ptr::eq(guard.semaphore(), &semaphore));
    assert!(guard.split(7).is_none());
    let part = guard.split(2).unwrap();
    let none = guard.split(0).unwrap();
    assert_eq!((guard.permits(), part.permits(), none.permits()), (4, 2, 0));
    drop(part);
    assert_eq!(semaphore.available(), 6);
    guard.merge(semaphore.acquire_many(3));
    guard.merge(none);
    assert_eq!(guard.permits(), 7);
    drop(guard);
    assert_eq!(semaphore.available(), 10);

    let (one, another) = (Semaphore::new(1), Semaphore::new(1));
    let mut guard = one.acquire();
    assert!(panic_of(|| guard.merge(another.acquire())).contains("two different semaphores"));
    assert_eq!((guard.permits(), another.available()), (1, 1));
}

#[test]
fn owned_guards_are_divided_and_joined() {
    let semaphore = Arc::new(Semaphore::new(10));
    let mut guard = semaphore.acquire_many_owned(6);
    assert!(Arc::ptr_eq(guard.semaphore(), &semaphore));
    assert!(guard.split(7).is_none());
    let part = guard.split(2).unwrap();
    assert_eq!((guard.permits(), part.permits(), Arc::strong_count(&semaphore)), (4, 2, 3));
    drop(part);
    assert_eq!(semaphore.available(), 6);
    guard.merge(semaphore.acquire_many_owned(3));
    assert_eq!((guard.permits(), Arc::strong_count(&semaphore)), (7, 2));
    let another = Arc::new(Semaphore::new(1));
    assert!(panic_of(|| guard.merge(another.acquire_owned())).contains("two different semaphores"));
    drop(guard);
    assert_eq!((semaphore.available(), another.available()), (10, 1));
}

/// Every combination of one or several, borrowed or owned, at once or in time.
#[test]
fn every_form_of_acquire() {
    let semaphore = Arc::new(Semaphore::new(3));
    let soon = || Instant::now() + MOMENT;
    let count = |permit: Option<Permit<'_>>| permit.map_or(0, |permit| permit.permits());
    let borrowed = [
        count(semaphore.acquire_deadline(soon())),
        count(semaphore.acquire_many_deadline(3, soon())),
        count(semaphore.acquire_many_timeout(3, MOMENT)),
    ];
    let count = |permit: Option<OwnedPermit>| permit.map_or(0, |permit| permit.permits());
    let owned = [
        count(semaphore.acquire_owned_deadline(soon())),
        count(semaphore.acquire_owned_timeout(MOMENT)),
        count(Some(semaphore.acquire_many_owned(3))),
        count(semaphore.try_acquire_many_owned(3)),
        count(semaphore.acquire_many_owned_timeout(3, MOMENT)),
        count(semaphore.acquire_many_owned_deadline(3, soon())),
    ];
    assert_eq!((borrowed, owned), ([1, 3, 3], [1, 1, 3, 3, 3, 3]));

    let all = semaphore.acquire_many(3);
    assert!(semaphore.acquire_deadline(Instant::now()).is_none());
    assert!(semaphore.acquire_many_deadline(2, Instant::now()).is_none());
    assert!(semaphore.acquire_owned_deadline(Instant::now()).is_none());
    assert!(semaphore.try_acquire_many_owned(2).is_none());
    assert!(semaphore.acquire_many_owned_timeout(2, Duration::ZERO).is_none());
    assert!(semaphore.acquire_many_owned_deadline(2, Instant::now()).is_none());
    assert_eq!(state(&semaphore), (0, 0));
    drop(all);
    assert_eq!(state(&semaphore), (3, 0));
}
