//! Everything that [`Semaphore`] and its permits can do, one call at a time: values, bad input, time, moves.

#![cfg(not(layby_model))]

#[path = "../common/mod.rs"]
mod common;

mod amounts;
mod crowd;
mod free;
mod ported;
mod queue;
mod random;

use common::{
    a_granted_ticket_was_given_up, end_of_time, eventually,
    homes::{OneSlot, Parking, Spinning},
    watchdog,
};
use layby::{
    Cancel,
    sema::{OwnedPermit, Permit, Semaphore},
    wait_table::{Global, Home},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

const MOMENT: Duration = Duration::from_millis(5);
const MAX: u64 = Semaphore::MAX_PERMITS;

/// Permits available, permits waited for.
fn state<H: Home>(semaphore: &Semaphore<H>) -> (u64, u64) {
    (semaphore.available(), semaphore.waiters())
}

/// What `call` panics with.
fn panic_of(call: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("this must panic");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().expect("a panic with a text").to_string(),
    }
}

fn take_and_post<H: Home>() {
    let semaphore = Semaphore::<H>::new_in(3);
    assert_eq!(state(&semaphore), (3, 0));
    semaphore.take();
    assert!(semaphore.try_take());
    assert!(semaphore.take_timeout(Duration::ZERO));
    assert_eq!(state(&semaphore), (0, 0));
    assert!(!semaphore.try_take());
    assert!(!semaphore.take_timeout(Duration::ZERO));
    assert!(!semaphore.take_deadline(Instant::now()));
    assert_eq!(state(&semaphore), (0, 0), "failed takes leave no trace");
    semaphore.post();
    semaphore.post_many(4);
    semaphore.post_conservatively();
    assert_eq!(state(&semaphore), (6, 0));
    semaphore.take_many(2);
    assert!(!semaphore.try_take_many(5));
    assert!(!semaphore.take_many_timeout(5, MOMENT));
    assert!(!semaphore.take_many_deadline(5, Instant::now()));
    assert_eq!(state(&semaphore), (4, 0), "what a failed take_many had been granted is back");
    assert!(semaphore.try_take_many(2));
    assert!(semaphore.take_many_timeout(1, MOMENT));
    assert!(semaphore.take_many_deadline(1, Instant::now() + MOMENT));
    assert_eq!(state(&semaphore), (0, 0));
}

#[test]
fn take_and_post_in_every_home() {
    let _watchdog = watchdog();
    take_and_post::<Global>();
    take_and_post::<OneSlot>();
    take_and_post::<Parking>();
    take_and_post::<Spinning>();
}

#[test]
fn none_is_no_work() {
    let semaphore = Semaphore::new(0);
    semaphore.take_many(0);
    semaphore.post_many(0);
    assert!(semaphore.try_take_many(0));
    assert!(semaphore.take_many_timeout(0, Duration::ZERO));
    assert!(semaphore.take_many_deadline(0, Instant::now()));
    let none = semaphore.acquire_many(0);
    assert_eq!(none.permits(), 0);
    drop(none);
    assert_eq!(state(&semaphore), (0, 0));
}

#[test]
fn permits_go_back_on_drop() {
    let semaphore = Semaphore::new(10);
    let held: [Permit<'_>; 4] = [
        semaphore.acquire(),
        semaphore.try_acquire().unwrap(),
        semaphore.acquire_timeout(MOMENT).unwrap(),
        semaphore.acquire_deadline(Instant::now() + MOMENT).unwrap(),
    ];
    assert!(held.iter().all(|permit| permit.permits() == 1));
    let many: [Permit<'_>; 3] = [
        semaphore.acquire_many(2),
        semaphore.try_acquire_many(2).unwrap(),
        semaphore.acquire_many_timeout(2, MOMENT).unwrap(),
    ];
    assert!(many.iter().all(|permit| permit.permits() == 2));
    assert_eq!(semaphore.available(), 0);
    assert!(semaphore.try_acquire().is_none());
    assert!(semaphore.try_acquire_many(2).is_none());
    assert!(semaphore.acquire_timeout(Duration::ZERO).is_none());
    assert!(semaphore.acquire_deadline(Instant::now()).is_none());
    assert!(semaphore.acquire_many_timeout(2, Duration::ZERO).is_none());
    drop(many);
    assert_eq!(semaphore.available(), 6);
    drop(held);
    assert_eq!(semaphore.available(), 10);
    semaphore.acquire_many(3).forget();
    assert_eq!(semaphore.available(), 7);
}

#[test]
fn a_panic_puts_permits_back() {
    let semaphore = Semaphore::new(1);
    panic_of(|| {
        let _permit = semaphore.acquire();
        panic!("while a permit is held");
    });
    assert_eq!(semaphore.available(), 1);
}

/// A drop must not panic: it may be part of unwinding.
#[test]
fn permits_that_do_not_fit_are_left_out() {
    let semaphore = Arc::new(Semaphore::new(MAX));
    let (three, two, none) = (semaphore.acquire_many(3), semaphore.acquire_many(2), semaphore.acquire_many(0));
    let (all, one) = (semaphore.acquire_many(MAX - 6), semaphore.acquire_owned());
    assert_eq!(semaphore.available(), 0);
    semaphore.post_many(MAX - 1);
    drop(three);
    assert_eq!(semaphore.available(), MAX, "as many as fit");
    drop((two, none, all));
    assert!(semaphore.try_take_many(MAX));
    assert_eq!(semaphore.available(), 0, "no more than fit");
    semaphore.post_many(MAX);
    semaphore.take();
    drop(one);
    assert_eq!(semaphore.available(), MAX, "room was made");
}

/// Guards that are merged may have more permits than a semaphore has room for, and more than can be counted.
#[test]
fn merged_permits_that_do_not_fit_are_left_out() {
    let semaphore = Semaphore::new(MAX);
    let mut all = semaphore.acquire_many(MAX);
    let another = || {
        semaphore.post_many(MAX);
        semaphore.acquire_many(MAX)
    };
    // With narrow counters it takes years to have more than can be counted.
    let (times, can_overflow) = if u64::MAX / MAX < 100 { (u64::MAX / MAX, true) } else { (100, false) };
    (1..times).for_each(|_| all.merge(another()));
    let last = catch_unwind(AssertUnwindSafe(|| all.merge(another())));
    assert_eq!(last.is_err(), can_overflow);
    let (merged, put_back) = if can_overflow { (times, MAX) } else { (times + 1, 0) };
    assert_eq!((all.permits(), semaphore.available()), (merged * MAX, put_back), "the other one's are put back");
    assert!(semaphore.try_take_many(put_back));
    drop(all);
    assert_eq!(semaphore.available(), MAX);
}

#[test]
fn owned_permits_keep_the_semaphore_alive() {
    let semaphore = Arc::new(Semaphore::new(3));
    let permits: [OwnedPermit; 3] = [
        semaphore.acquire_owned(),
        semaphore.try_acquire_owned().unwrap(),
        semaphore.acquire_owned_timeout(MOMENT).unwrap(),
    ];
    assert!(permits.iter().all(|permit| permit.permits() == 1));
    assert_eq!(Arc::strong_count(&semaphore), 4);
    assert!(semaphore.try_acquire_owned().is_none());
    assert!(semaphore.acquire_owned_timeout(Duration::ZERO).is_none());
    assert_eq!(Arc::strong_count(&semaphore), 4, "a failed take keeps nothing alive");
    let [first, second, third] = permits;
    first.forget();
    assert_eq!((semaphore.available(), Arc::strong_count(&semaphore)), (0, 3));
    drop(second);
    assert_eq!((semaphore.available(), Arc::strong_count(&semaphore)), (1, 2));
    let weak = Arc::downgrade(&semaphore);
    drop(semaphore);
    assert!(weak.upgrade().is_some(), "a permit is still out");
    thread::spawn(move || drop(third)).join().unwrap();
    assert!(weak.upgrade().is_none());
}

#[test]
fn types_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Semaphore>();
    crosses::<Semaphore<Parking>>();
    crosses::<Permit<'_>>();
    crosses::<OwnedPermit>();
}

#[test]
fn debug_tells_the_state() {
    let semaphore = Arc::new(Semaphore::new(5));
    assert_eq!(format!("{semaphore:?}"), "Semaphore { available: 5, waiters: 0 }");
    assert_eq!(format!("{:?}", semaphore.acquire_many(2)), "Permit { permits: 2, .. }");
    assert_eq!(format!("{:?}", semaphore.acquire_owned()), "OwnedPermit { permits: 1, .. }");
}

#[test]
fn statics_need_no_initialization() {
    let _watchdog = watchdog();
    static GLOBAL: Semaphore = Semaphore::new(0);
    static PRIVATE: Semaphore<Parking> = Semaphore::new_in(0);
    let taker = thread::spawn(|| {
        GLOBAL.take();
        PRIVATE.take();
    });
    GLOBAL.post();
    PRIVATE.post();
    taker.join().unwrap();
    assert_eq!((state(&GLOBAL), state(&PRIVATE)), ((0, 0), (0, 0)));
}

/// Promise 9 (README).
#[test]
fn more_than_fits_is_refused() {
    let too_many = "more permits than a semaphore can hold";
    let overflow = "would overflow the semaphore";
    let semaphore = Semaphore::new(MAX - 1);
    assert!(panic_of(|| assert_eq!(Semaphore::new(MAX + 1).waiters(), 0)).contains(too_many));
    assert!(panic_of(|| semaphore.take_many(MAX + 1)).contains(too_many));
    assert!(panic_of(|| drop(semaphore.acquire_many(u64::MAX))).contains(too_many));
    assert!(panic_of(|| assert!(semaphore.take_many_timeout(MAX + 1, MOMENT))).contains(too_many));
    assert!(panic_of(|| assert!(semaphore.take_many_deadline(u64::MAX, Instant::now()))).contains(too_many));
    assert!(panic_of(|| semaphore.post_many(MAX + 1)).contains(too_many));
    assert!(!semaphore.try_take_many(MAX + 1), "never available, so not now either");
    assert!(semaphore.try_acquire_many(u64::MAX).is_none());
    assert!(panic_of(|| semaphore.post_many(2)).contains(overflow));
    assert_eq!(state(&semaphore), (MAX - 1, 0), "what panicked has done nothing");
    semaphore.post_many(1);
    assert!(panic_of(|| semaphore.post_many(1)).contains(overflow));
    assert_eq!(state(&semaphore), (MAX, 0));
    semaphore.take_many(MAX);
    assert_eq!(state(&semaphore), (0, 0));
}

/// Tickets are counted too: waiting for more permits than the counters hold must not wrap them, which would admit
/// somebody for nothing.
#[test]
fn waiting_for_more_than_fits_is_refused() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    const HOUR: Duration = Duration::from_secs(3600);
    let mut refused = 0;
    thread::scope(|s| {
        let takers: Vec<_> = (0..6)
            .map(|_| {
                let before = semaphore.waiters();
                let taker = s.spawn(|| catch_unwind(AssertUnwindSafe(|| semaphore.take_many_timeout(MAX, HOUR))));
                eventually(|| semaphore.waiters() != before || taker.is_finished());
                taker
            })
            .collect();
        assert!(semaphore.waiters() >= MAX);
        for taker in takers {
            if taker.is_finished() {
                assert!(taker.join().unwrap().is_err(), "a take that nobody posted for");
                refused += 1;
            } else {
                semaphore.post_many(MAX);
                assert!(taker.join().unwrap().unwrap());
            }
        }
    });
    assert!(refused >= 1);
    assert_eq!(state(&semaphore), (0, 0));
}

/// Whether counters have 64 bits; single takes are then not counted, since there cannot be too many.
const WIDE: bool = cfg!(all(target_has_atomic = "64", not(layby_narrow)));

/// Single posts are not counted either: what they put on top of a full semaphore is there, and can be taken.
#[test]
fn single_posts_to_a_full_semaphore_are_not_lost() {
    if !WIDE {
        return;
    }
    let semaphore = Semaphore::new(MAX - 1);
    semaphore.post();
    semaphore.post();
    semaphore.post_conservatively();
    assert_eq!(state(&semaphore), (MAX, 0), "as many as can be taken at once");
    assert!(semaphore.try_take_many(semaphore.available()), "what is shown cannot be taken");
    assert_eq!(state(&semaphore), (2, 0));
}

/// A waiter looks before its tickets for those that were given up, each time that it sees another `grant`.
#[test]
fn who_waits_looks_at_each_grant_for_those_who_left() {
    let _watchdog = watchdog();
    a_granted_ticket_was_given_up();
    let (semaphore, other) = (Semaphore::new(0), Semaphore::new(0));
    let (leaves, leaves_other) = (Cancel::new(), Cancel::new());
    thread::scope(|s| {
        let joined_by = |semaphore: &Semaphore, nth| eventually(|| semaphore.waiters() == nth);
        // As long as somebody has left another semaphore's line, those who wait look.
        let left = s.spawn(|| other.take_within(&leaves_other));
        joined_by(&other, 1);
        s.spawn(|| other.take());
        joined_by(&other, 2);
        leaves_other.cancel();
        left.join().unwrap().unwrap_err();
        s.spawn(|| semaphore.take());
        joined_by(&semaphore, 1);
        let second = s.spawn(|| semaphore.take_within(&leaves));
        joined_by(&semaphore, 2);
        s.spawn(|| semaphore.take());
        joined_by(&semaphore, 3);
        // By then the third has looked, as a rule.
        thread::sleep(MOMENT);
        leaves.cancel();
        second.join().unwrap().unwrap_err();
        semaphore.post_conservatively();
        joined_by(&semaphore, 1);
        semaphore.post_conservatively();
        joined_by(&semaphore, 0);
        other.post();
    });
    assert_eq!((state(&semaphore), state(&other)), ((0, 0), (0, 0)));
}

/// Behind a line as long as can be, what is tried for is as far away as can be.
#[test]
fn trying_behind_a_long_line_gets_nothing() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    let more = if WIDE { 4 } else { 0 };
    thread::scope(|s| {
        s.spawn(|| semaphore.take_many(MAX));
        eventually(|| semaphore.waiters() == MAX);
        for _ in 0..more {
            s.spawn(|| semaphore.take());
        }
        eventually(|| semaphore.waiters() == MAX + more);
        for n in [1, 2, MAX - 1, MAX] {
            assert!(!semaphore.try_take_many(n), "{n} permits of none");
            assert!(semaphore.try_acquire_many(n).is_none());
        }
        assert_eq!(state(&semaphore), (0, MAX + more));
        semaphore.post_many(MAX);
        semaphore.post_many(more);
    });
    assert_eq!(state(&semaphore), (0, 0));
}

#[test]
fn waiting_for_one_more_than_fits_is_refused() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    thread::scope(|s| {
        s.spawn(|| semaphore.take());
        eventually(|| semaphore.waiters() == 1);
        let one_too_many = catch_unwind(AssertUnwindSafe(|| semaphore.take_many_timeout(MAX, Duration::ZERO)));
        let as_many_as_fit = semaphore.take_many_timeout(MAX - 1, Duration::ZERO);
        semaphore.post();
        assert!(one_too_many.is_err());
        assert!(!as_many_as_fit);
    });
    assert_eq!(state(&semaphore), (0, 0));
}

/// A narrow counter is full sooner than there are threads: takes that have timed out count while others are behind them.
#[cfg(any(not(target_has_atomic = "64"), layby_narrow))]
#[test]
fn single_takes_and_posts_are_counted_where_counters_are_narrow() {
    use layby::paper::{RawSemaphore, TicketSemaphore};
    let _watchdog = watchdog();
    let refused = |call: &dyn Fn()| assert!(panic_of(call).contains("would overflow the semaphore"));
    let semaphore = Semaphore::new(0);
    thread::scope(|s| {
        s.spawn(|| semaphore.take_many(MAX));
        eventually(|| semaphore.waiters() == MAX);
        refused(&|| semaphore.take());
        refused(&|| assert!(semaphore.take_timeout(MOMENT)));
        assert_eq!(state(&semaphore), (0, MAX));
        semaphore.post_many(MAX);
    });
    semaphore.post_many(MAX);
    refused(&|| semaphore.post());
    refused(&|| semaphore.post_conservatively());
    refused(&|| TicketSemaphore::with_permits(MAX).post());
    assert_eq!(state(&semaphore), (MAX, 0));
}

/// The counters wrap after 2^32 permits where they have 32 bits, and after 2^64, which posts of very many get to, where
/// they have 64. Nobody notices.
#[test]
fn counters_wrap() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    let mut posted: u128 = 0;
    for _ in 0..40 {
        semaphore.post_many(MAX);
        posted += u128::from(MAX);
        assert_eq!(state(&semaphore), (MAX, 0));
        semaphore.take_many(MAX - 2);
        // On both sides of wherever the counter is now: somebody who waits, and somebody who gives up.
        semaphore.take_many(2);
        assert!(!semaphore.take_many_timeout(3, Duration::ZERO));
        thread::scope(|s| {
            s.spawn(|| semaphore.take_many(3));
            eventually(|| semaphore.waiters() == 3);
            semaphore.post();
            semaphore.post_many(2);
        });
        assert_eq!(state(&semaphore), (0, 0));
    }
    let narrow = MAX < u64::from(u32::MAX);
    assert!(
        posted > u128::from(if narrow { u64::from(u32::MAX) } else { u64::MAX }),
        "the counters have passed their end"
    );
    semaphore.post();
    semaphore.take();
    assert_eq!(state(&semaphore), (0, 0));
}

#[test]
fn deadlines_of_the_past_and_of_the_end_of_time() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(1);
    let past = Instant::now().checked_sub(Duration::from_secs(1)).unwrap_or_else(Instant::now);
    assert!(semaphore.take_deadline(past), "a permit that is there needs no time");
    assert!(!semaphore.take_deadline(past));
    assert!(!semaphore.take_many_deadline(2, past));
    assert_eq!(state(&semaphore), (0, 0));
    thread::scope(|s| {
        s.spawn(|| assert!(semaphore.take_timeout(Duration::MAX)));
        s.spawn(|| assert!(semaphore.take_many_timeout(2, Duration::MAX)));
        s.spawn(|| assert!(semaphore.take_deadline(end_of_time())));
        s.spawn(|| assert!(semaphore.take_many_deadline(2, end_of_time())));
        eventually(|| semaphore.waiters() == 6);
        semaphore.post_many(6);
    });
    assert_eq!(state(&semaphore), (0, 0));
}

#[test]
fn a_timed_take_is_not_early() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(1);
    for timeout in [Duration::ZERO, Duration::from_micros(30), MOMENT] {
        let start = Instant::now();
        assert!(!semaphore.take_many_timeout(2, timeout));
        assert!(start.elapsed() >= timeout);
    }
    assert_eq!(state(&semaphore), (1, 0));
}

#[test]
fn a_semaphore_moves_between_waits() {
    let _watchdog = watchdog();
    let mut home = vec![Semaphore::new(0)];
    for round in 0..50 {
        let semaphore = home.pop().unwrap();
        thread::scope(|s| {
            let giving_up = s.spawn(|| semaphore.take_timeout(Duration::from_micros(300)));
            s.spawn(|| semaphore.take());
            assert!(!giving_up.join().unwrap());
            semaphore.post();
        });
        assert_eq!(state(&semaphore), (0, 0), "after {round} rounds");
        // Somewhere else each time, while the old place may be given to another.
        let boxed = Box::new(semaphore);
        home = Vec::with_capacity(round % 7 + 1);
        home.push(*boxed);
    }
}
