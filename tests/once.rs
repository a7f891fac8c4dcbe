//! What `Once` promises: one closure runs, whoever goes on goes after it, and a panic is everybody's.
//!
//! Blind to memory orders, which are for the models in `tests/loom/once.rs`.

#![cfg(not(layby_model))]

mod common;

use common::{Tally, eventually, scaled, watchdog};
use layby::once::Once;
use layby::wait_table::Home;
use layby::{Cancel, Stopped};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::Duration;

common::on_every_backend!(
    one_of_many_runs_it_and_all_go_after_it,
    a_wait_begins_nothing_and_ends_when_it_is_done,
    who_waits_panics_when_the_closure_does,
    a_limit_ends_a_wait,
);

#[test]
fn it_takes_four_bytes_and_can_be_static() {
    let _watchdog = watchdog();
    static ONCE: Once = Once::new();
    assert_eq!(size_of::<Once>(), 4);
    assert_eq!(format!("{ONCE:?}"), "Once { completed: false, .. }");
    ONCE.call_once(|| ());
    ONCE.call_once(|| unreachable!("it has been done"));
    ONCE.call_once_force(|_| unreachable!("it has been done"));
    ONCE.wait();
    assert_eq!(format!("{ONCE:?}"), "Once { completed: true, .. }");
}

fn one_of_many_runs_it_and_all_go_after_it<H: Home>() {
    const THREADS: usize = 8;
    for _ in 0..scaled(50) {
        let (once, calls, start) = (Once::<H>::new_in(), Tally::new(), Barrier::new(THREADS));
        let written = OnceLock::new();
        thread::scope(|s| {
            for n in 0..THREADS {
                let (once, calls, start, written) = (&once, &calls, &start, &written);
                s.spawn(move || {
                    start.wait();
                    once.call_once(|| {
                        calls.add();
                        thread::yield_now();
                        written.set(n).expect("one closure");
                    });
                    assert!(once.is_completed() && written.get().is_some());
                });
            }
        });
        assert_eq!(calls.get(), 1);
    }
}

fn a_wait_begins_nothing_and_ends_when_it_is_done<H: Home>() {
    let (once, done) = (Once::<H>::new_in(), OnceLock::new());
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                once.wait();
                assert_eq!(done.get(), Some(&()));
            });
        }
        eventually(|| asleep_on(&once) == 2);
        assert!(!once.is_completed());
        once.call_once(|| done.set(()).unwrap());
    });
}

/// How many threads wait for it.
fn asleep_on<H: Home>(once: &Once<H>) -> usize {
    H::TABLE.waiters().iter().filter(|waiter| waiter.key().is_within(once)).count()
}

/// Calls a closure that unwinds.
fn poison<H: Home>(once: &Once<H>, before: impl FnOnce()) {
    let call = AssertUnwindSafe(|| {
        once.call_once(|| {
            before();
            resume_unwind(Box::new("in the closure"));
        });
    });
    assert_eq!(catch_unwind(call).unwrap_err().downcast_ref(), Some(&"in the closure"));
}

fn who_waits_panics_when_the_closure_does<H: Home>() {
    let once = Once::<H>::new_in();
    thread::scope(|s| {
        let wait = || once.wait();
        let call = || once.call_once(|| unreachable!("it is poisoned"));
        let mut waiters = vec![];
        poison(&once, || {
            waiters.extend([s.spawn(wait), s.spawn(call)]);
            eventually(|| asleep_on(&once) == 2);
        });
        for waiter in waiters {
            let message = waiter.join().expect_err("it panics");
            assert!(message.downcast_ref::<&str>().is_some_and(|text| text.contains("call_once_force")));
        }
    });
    assert!(!once.is_completed());
}

#[test]
fn a_panic_is_for_later_calls_too_until_one_insists() {
    let _watchdog = watchdog();
    let once = Once::new();
    poison(&once, || ());
    assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| once.wait())).is_err());
    // One that insists may fail, too.
    let insist = || once.call_once_force(|before| resume_unwind(Box::new(before.is_poisoned())));
    assert_eq!(catch_unwind(AssertUnwindSafe(insist)).unwrap_err().downcast_ref(), Some(&true));
    once.call_once_force(|before| assert!(before.is_poisoned()));
    once.call_once(|| unreachable!("it has been done"));
    once.wait();
    let fresh = Once::new();
    fresh.call_once_force(|before| assert!(!before.is_poisoned()));
    assert!(fresh.is_completed());
}

fn a_limit_ends_a_wait<H: Home>() {
    let (once, cancel) = (Once::<H>::new_in(), Cancel::new());
    assert_eq!(once.wait_within(Duration::ZERO), Err(Stopped::TimedOut));
    cancel.cancel();
    assert_eq!(once.wait_within(&cancel), Err(Stopped::Cancelled));
    once.call_once(|| ());
    assert_eq!(once.wait_within(&cancel), Ok(()));
}
