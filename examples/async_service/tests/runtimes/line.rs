//! Promise 13: one line for the tasks of all runtimes and for threads.

use crate::{EACH, leaked, watchdog::watchdog};
use async_service::runtimes::{Everybody, Runtime};
use layby::{
    eventcount::EventCount,
    mutex::{FairMutex, LockAsync},
    rwlock::{RwLock, RwLockAsync},
    sema::Semaphore,
};
use std::{
    sync::{Mutex, PoisonError},
    thread,
};

/// How many come: tasks of each runtime, and threads, by turns.
const ALL: usize = EACH * (Runtime::ALL.len() + 1);

/// Lets them come one by one: each when the one before it is in line.
struct Arrivals(&'static EventCount);

impl Arrivals {
    fn new() -> Self {
        Self(leaked(EventCount::new()))
    }

    /// Calls in one after the other, by whoever can see that it is in line.
    fn call_in(&self, is_in_line: impl Fn(usize) -> bool) {
        for nth in 0..ALL {
            self.0.advance();
            while !is_in_line(nth) {
                thread::yield_now();
            }
        }
    }
}

/// Everybody, with the number by which each is called in.
fn everybody<F: Future<Output = ()> + Send + 'static>(
    arrivals: &Arrivals,
    task: impl Fn(usize) -> F,
    job: impl FnOnce(usize) + Send + Copy + 'static,
) -> Everybody {
    let (mut all, called) = (Everybody::default(), arrivals.0);
    for number in 0..ALL {
        let turn = number as u64 + 1;
        match Runtime::ALL.get(number % (Runtime::ALL.len() + 1)) {
            Some(runtime) => {
                let task = task(number);
                all.task(*runtime, async move {
                    called.wait_at_least_async(turn).await.expect("it stays open");
                    task.await;
                });
            }
            None => {
                _ = all.threads(1, move || {
                    called.wait_at_least(turn).expect("it stays open");
                    job(number);
                })
            }
        }
    }
    all
}

#[test]
fn permits_are_granted_in_the_order_of_arrival() {
    let _watchdog = watchdog();
    let (semaphore, admitted) = (leaked(Semaphore::new(0)), leaked(Mutex::new(vec![])));
    let note = |number| admitted.lock().unwrap_or_else(PoisonError::into_inner).push(number);
    let arrivals = Arrivals::new();
    let mut all = everybody(
        &arrivals,
        |number| async move {
            semaphore.take_async().await;
            note(number);
        },
        move |number| {
            semaphore.take();
            note(number);
        },
    );
    thread::scope(|s| {
        s.spawn(move || all.run());
        arrivals.call_in(|nth| semaphore.waiters() == nth as u64 + 1);
        for nth in 0..ALL {
            semaphore.post();
            while admitted.lock().unwrap().len() != nth + 1 {
                thread::yield_now();
            }
        }
    });
    assert_eq!(*admitted.lock().unwrap(), (0..ALL).collect::<Vec<_>>());
}

/// Who waits on this object or a part of it, by its tickets.
fn waiting_on<T>(object: &T) -> usize {
    let report = layby::waiters();
    let tickets =
        report.iter().filter(|waiter| waiter.key().is_within(object)).map(|waiter| waiter.key().ticket_number());
    tickets.collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn a_fair_lock_is_handed_on_in_the_order_of_arrival() {
    let _watchdog = watchdog();
    let mutex = leaked(FairMutex::new(vec![]));
    let (held, arrivals) = (mutex.lock(), Arrivals::new());
    let mut all = everybody(
        &arrivals,
        |number| async move { mutex.lock_async().await.push(number) },
        |number| mutex.lock().push(number),
    );
    thread::scope(|s| {
        s.spawn(move || all.run());
        arrivals.call_in(|nth| waiting_on(mutex) == nth + 1);
        drop(held);
    });
    assert_eq!(*mutex.lock(), (0..ALL).collect::<Vec<_>>());
}

/// Every third writes; readers note how much has been written when they get in.
#[test]
fn readers_see_the_writes_of_those_before_them_and_no_other() {
    let _watchdog = watchdog();
    let lock = leaked(RwLock::new(0));
    let (held, arrivals) = (lock.write(), Arrivals::new());
    let written_before = |number: usize| number.div_ceil(3);
    let mut all = everybody(
        &arrivals,
        move |number| async move {
            if number.is_multiple_of(3) {
                *lock.write_async().await += 1;
            } else {
                assert_eq!(*lock.read_async().await, written_before(number));
            }
        },
        move |number| {
            if number.is_multiple_of(3) {
                *lock.write() += 1;
            } else {
                assert_eq!(*lock.read(), written_before(number));
            }
        },
    );
    thread::scope(|s| {
        s.spawn(move || all.run());
        arrivals.call_in(|nth| waiting_on(lock) == nth + 1);
        drop(held);
    });
    assert_eq!(*lock.read(), written_before(ALL));
}
