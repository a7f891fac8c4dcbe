//! Eventcounts, wait points and mutexes.

use crate::schedules::both_ways;
use layby::eventcount::{EventCount, Sequencer, WaitPoint};
use layby::model::expire_deadlines;
use layby::mutex::{RawFairMutex, RawMutex, Ticket};
use layby::{Closed, Key, WaitError};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::{Context, Wake};
use std::time::Instant;

/// How many schedules of each kind; arbitrary.
const SCHEDULES: usize = 500;

fn check(model: fn()) {
    both_ways(SCHEDULES, model);
}

/// Runs `count` threads over `shared`, each with its number, while all deadlines expire at some moment.
fn run<S: Send + Sync + 'static>(shared: &Arc<S>, count: usize, body: fn(&S, usize)) {
    let mut threads: Vec<_> = (0..count)
        .map(|number| {
            let shared = shared.clone();
            thread::spawn(move || body(&shared, number))
        })
        .collect();
    threads.push(thread::spawn(expire_deadlines));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn every_value_is_reached() {
    check(|| {
        let count = Arc::new(EventCount::new());
        run(&count, 12, |count, number| match number {
            0..6 => assert!(count.wait_at_least(number as u64 + 1).is_ok_and(|seen| seen > number as u64)),
            // By more than the model's table has slots, too.
            6 => assert!(count.advance_by(5) >= 5),
            7 | 8 => assert!(count.advance() >= 1),
            _ => assert!(matches!(count.wait_at_least_deadline(7, Instant::now()), Ok(7) | Err(WaitError::TimedOut))),
        });
        assert_eq!(count.read(), 7);
    });
}

#[test]
fn closing_reaches_everybody() {
    check(|| {
        let count = Arc::new(EventCount::new());
        run(&count, 10, |count, number| match number {
            0 => count.close(),
            1..4 => assert!(count.advance() <= 3),
            _ => assert_eq!(count.wait_at_least(number as u64), Err(Closed)),
        });
    });
}

#[test]
fn tickets_are_served_in_order() {
    check(|| {
        let shared = Arc::new((Sequencer::new(), EventCount::new()));
        run(&shared, 8, |(tickets, served), _| {
            let mine = tickets.ticket();
            assert_eq!(served.wait_at_least(mine), Ok(mine));
            assert_eq!(served.advance(), mine + 1);
        });
    });
}

#[test]
fn no_token_is_left_while_somebody_waits() {
    check(|| {
        let shared = Arc::new((AtomicUsize::new(0), WaitPoint::new()));
        run(&shared, 12, |(tokens, arrived), number| {
            let try_take =
                || tokens.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            if number < 5 {
                arrived.wait_until(try_take);
            } else if number < 10 {
                tokens.fetch_add(1, Ordering::SeqCst);
                arrived.notify_one();
            } else if arrived.wait_until_deadline(Instant::now(), try_take) {
                // Not needed after all.
                tokens.fetch_add(1, Ordering::SeqCst);
                arrived.notify_one();
            }
        });
        assert_eq!(shared.0.load(Ordering::SeqCst), 0);
    });
}

/// A count that is not changed atomically: two holders at once would lose an addition.
fn count_one(count: &AtomicUsize) {
    let before = count.load(Ordering::SeqCst);
    count.store(before + 1, Ordering::SeqCst);
}

/// How many of the threads below got the lock, and what they counted while they held it.
#[derive(Default)]
struct Tally {
    counted: AtomicUsize,
    locked: AtomicUsize,
}

impl Tally {
    fn holding_the_lock(&self) {
        count_one(&self.counted);
        self.locked.fetch_add(1, Ordering::SeqCst);
    }

    fn assert_exclusive(&self, at_least: usize) {
        let locked = self.locked.load(Ordering::SeqCst);
        assert_eq!(self.counted.load(Ordering::SeqCst), locked);
        assert!(locked >= at_least, "who has no deadline gets the lock");
    }
}

#[test]
fn one_barging_holder_at_a_time() {
    check(|| {
        let shared = Arc::new((RawMutex::new(), Tally::default()));
        run(&shared, 10, |(mutex, tally), number| {
            let locked = match number {
                0..6 => {
                    mutex.acquire();
                    true
                }
                6..9 => mutex.acquire_deadline(Instant::now()),
                _ => mutex.try_acquire(),
            };
            if locked {
                tally.holding_the_lock();
                release(mutex);
            }
        });
        shared.1.assert_exclusive(6);
        assert!(shared.0.try_acquire(), "left locked");
    });
}

/// The starving one gives up while the lock is on its way to it, and another who was woken sleeps again for its sake.
#[test]
fn who_gives_up_leaves_the_lock_to_somebody() {
    let model = || {
        let mutex = Arc::new(RawMutex::new());
        run(&mutex, 4, |mutex, number| {
            let rounds = if number < 2 { 3 } else { 0 };
            for _ in 0..rounds {
                mutex.acquire();
                // Held for a while, so that who is woken may come too late.
                (0..4).for_each(|_| thread::yield_now());
                release(mutex);
            }
            if number >= 2 && mutex.acquire_deadline(Instant::now()) {
                release(mutex);
            }
        });
    };
    // One schedule of a few thousand shows it.
    both_ways(100 * SCHEDULES, model);
}

/// A waker that unwinds.
struct Unwinding;

impl Wake for Unwinding {
    fn wake(self: std::sync::Arc<Self>) {
        // Not from a destructor: that ends the process.
        if !std::thread::panicking() {
            resume_unwind(Box::new("as intended"));
        }
    }
}

/// A thread that is woken as it finds the lock free wakes the next, here a task, whose waker unwinds. What was handed to the thread
/// is anybody's then, and somebody else is in charge. The tasks are there to the end, and nobody polls them again.
#[test]
fn who_unwinds_leaves_the_lock_to_somebody() {
    let model = || {
        let mutex = Arc::new(RawMutex::new());
        let mut tasks = std::array::from_fn::<_, 8, _>(|_| Box::pin(mutex.acquire_async()));
        mutex.acquire();
        for task in &mut tasks {
            let waker = std::sync::Arc::new(Unwinding).into();
            assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let threads = std::array::from_fn::<_, 3, _>(|number| {
            let mutex = mutex.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    let locked = catch_unwind(AssertUnwindSafe(|| mutex.acquire())).is_ok();
                    let unlock = || if number < 2 { hand_over(&mutex) } else { release(&mutex) };
                    let _ = locked.then(|| catch_unwind(AssertUnwindSafe(unlock)));
                }
            })
        });
        let _ = catch_unwind(AssertUnwindSafe(|| hand_over(&mutex)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(mutex.try_acquire(), "it is kept for who is gone");
        for task in tasks {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
        }
    };
    both_ways(40 * SCHEDULES, model);
}

#[test]
fn one_fair_holder_at_a_time() {
    check(|| {
        let shared = Arc::new((RawFairMutex::new(), Tally::default()));
        run(&shared, 10, |(mutex, tally), number| {
            let locked = match number {
                0..6 => Some(mutex.acquire()),
                6..9 => mutex.acquire_deadline(Instant::now()),
                _ => mutex.try_acquire(),
            };
            if let Some(ticket) = locked {
                tally.holding_the_lock();
                release_fair(mutex, ticket);
            }
        });
        shared.1.assert_exclusive(6);
        assert!(shared.0.try_acquire().is_some(), "left locked");
        assert_eq!(shared.0.waiters(), 0);
    });
}

#[allow(unsafe_code)]
fn release(mutex: &RawMutex) {
    // SAFETY: a model releases what it holds.
    unsafe { mutex.release() }
}

#[allow(unsafe_code)]
fn hand_over(mutex: &RawMutex) {
    // SAFETY: as above.
    unsafe { mutex.release_fair() }
}

#[allow(unsafe_code)]
fn release_fair(mutex: &RawFairMutex, ticket: Ticket) {
    // SAFETY: as above, by the mutex's own ticket.
    unsafe { mutex.release(ticket) }
}

/// Its task waits in a slot that the release looks at, and another wakes there at the same time, so that one of them wakes all.
#[test]
fn a_strangers_waker_that_panics_keeps_no_lock_from_its_waiter() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: std::sync::Arc<Self>) {
            resume_unwind(Box::new(()));
        }
    }
    // The release's first look is for ticket 2, and in a model tickets alone choose the slot.
    const SLOT: u64 = 2;
    check(|| {
        let mutex = Arc::new(RawMutex::new());
        mutex.acquire();
        let unlock = |mutex: &RawMutex| _ = catch_unwind(AssertUnwindSafe(|| release(mutex)));
        let waiter = {
            let mutex = mutex.clone();
            thread::spawn(move || {
                mutex.acquire();
                unlock(&mutex);
            })
        };
        let (of_the_task, of_the_other) = (Box::new(0_u8), Box::new(0_u8));
        let mut task = Box::pin(layby::wait_until_async(Key::ticket_at(&raw const *of_the_task, SLOT), || false));
        let waker = std::sync::Arc::new(Panics).into();
        assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let other = thread::spawn(move || {
            _ = catch_unwind(AssertUnwindSafe(|| {
                layby::location_wake_all(Key::ticket_at(&raw const *of_the_other, SLOT))
            }));
        });
        unlock(&mutex);
        other.join().unwrap();
        // Somebody comes and goes.
        mutex.acquire();
        unlock(&mutex);
        waiter.join().unwrap();
        _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
    });
}
