//! Panics about bad input point at the line that made the call, and name the numbers.
//!
//! A binary of its own: the hook that sees where a panic was is the process's.

#![cfg(not(layby_model))]

use layby::{WaitTable, sema::Semaphore};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

/// File and text of the last panic.
static LAST: Mutex<Option<(String, String)>> = Mutex::new(None);

/// What `call` panics with, if the panic is said to be here.
fn panic_here(call: impl FnOnce()) -> String {
    catch_unwind(AssertUnwindSafe(call)).expect_err("this must panic");
    let (file, text) = LAST.lock().unwrap().take().expect("the hook has seen it");
    assert_eq!(file, file!(), "{text}");
    text
}

#[test]
fn a_panic_points_at_the_caller() {
    const MAX: u64 = Semaphore::MAX_PERMITS;
    let print = take_hook();
    set_hook(Box::new(move |info| {
        print(info);
        let file = info.location().map(|location| location.file().to_string()).unwrap_or_default();
        *LAST.lock().unwrap() = Some((file, info.to_string()));
    }));
    let semaphore = Semaphore::new(MAX - 1);
    let most = if MAX == (1 << 61) - 1 { "2^61 - 1" } else { "2^29 - 1" };
    for text in [
        panic_here(|| assert_eq!(Semaphore::new(MAX + 1).waiters(), 0)),
        panic_here(|| semaphore.take_many(MAX + 1)),
        panic_here(|| drop(semaphore.acquire_many(u64::MAX))),
        panic_here(|| assert!(semaphore.take_many_timeout(u64::MAX, std::time::Duration::ZERO))),
        panic_here(|| semaphore.post_many(u64::MAX)),
        panic_here(|| semaphore.reduce(u64::MAX)),
    ] {
        assert!(text.contains(most), "{text}");
    }
    let text = panic_here(|| semaphore.post_many(7));
    assert!(text.contains("posting 7 permits") && text.contains("room for 1"), "{text}");
    let (one, another) = (Semaphore::new(1), Semaphore::new(1));
    panic_here(|| one.acquire().merge(another.acquire()));
    let text = panic_here(|| drop(WaitTable::with_slots(3)));
    assert!(text.contains("not 3"), "{text}");
    counts();
}

#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
fn counts() {
    use layby::eventcount::{EventCount, Sequencer};
    let count = EventCount::new();
    count.advance_by(5);
    let text = panic_here(|| assert_eq!(count.advance_by(u64::MAX), 0));
    assert!(text.contains("a count of 5 cannot grow by 18446744073709551615"), "{text}");
    count.advance_by(EventCount::MAX - 5);
    panic_here(|| assert_eq!(count.advance(), 0));
    panic_here(|| assert_eq!(Sequencer::new().tickets(EventCount::MAX + 1), 0));
}

#[cfg(not(all(target_has_atomic = "64", not(layby_narrow))))]
fn counts() {}
