//! Promise 6 (README): waits that end because something else happens. Nothing is lost, nobody is held up, and nothing is
//! left at rest.
//!
//! Blind to: memory orders, and rare interleavings, which are for `tests/loom/cancel.rs`. Signal handlers are in
//! `tests/signals.rs`.

#![cfg(not(layby_model))]

mod common;

use common::{Queue, Tally, assert_at_rest, eventually, on_every_backend, scaled, watchdog};
use layby::{
    Cancel, Limit, Location, Stopped, WaitTable,
    mutex::{FairMutex, LockWithin, Mutex, RawFairMutex, RawMutex},
    sema::Semaphore,
    sys::{Native, Park},
    wait_table::{Activity, Home, global},
    wait_until_within,
};
use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const FOREVER: Duration = Duration::from_secs(1 << 30);

/// Returns when `count` threads sleep for `location`, or in it.
fn asleep<H: Home, T>(location: &T, count: usize) {
    eventually(|| {
        let mut found = 0;
        H::TABLE.for_each_waiter(|waiter| {
            let is_asleep = waiter.activity() == Activity::Asleep && waiter.key().is_within(location);
            found += usize::from(is_asleep);
        });
        found >= count
    });
}

fn a_take_that_sleeps<H: Home>() {
    let (mut permits, cancel) = (Semaphore::<H>::new_in(0), Cancel::new());
    thread::scope(|s| {
        let taker = s.spawn(|| permits.take_within(&cancel));
        asleep::<H, _>(&permits, 1);
        cancel.cancel();
        assert_eq!(taker.join().unwrap(), Err(Stopped::Cancelled));
    });
    assert_at_rest(&mut permits, 0);
    assert_eq!(global().wake_all(&cancel), 0);
}

fn what_is_there_wins<H: Home>() {
    let (permits, cancel) = (Arc::new(Semaphore::<H>::new_in(7)), Cancel::new());
    cancel.cancel();
    assert_eq!(permits.take_within(&cancel), Ok(()));
    assert_eq!(permits.take_many_within(2, &cancel), Ok(()));
    assert_eq!(permits.acquire_within(&cancel).map(|permit| permit.permits()), Ok(1));
    assert_eq!(permits.acquire_many_within(2, &cancel).map(|permit| permit.permits()), Ok(2));
    assert_eq!(permits.acquire_owned_within(&cancel).map(|permit| permit.permits()), Ok(1));
    assert_eq!(permits.acquire_many_owned_within(2, &cancel).map(|permit| permit.permits()), Ok(2));
    assert_eq!(permits.take_many_within(0, &cancel), Ok(()));
    assert_eq!(permits.available(), 4);
    assert_eq!(permits.take_many_within(5, &cancel), Err(Stopped::Cancelled));
    assert_eq!((permits.available(), permits.waiters()), (4, 0), "none was taken");
}

fn one_cancellation_ends_all<H: Home>() {
    let takers = scaled(32);
    let (mut permits, cancel) = (Semaphore::<H>::new_in(0), Cancel::new());
    thread::scope(|s| {
        let takers: Vec<_> = (0..takers).map(|_| s.spawn(|| permits.take_within(&cancel))).collect();
        eventually(|| permits.waiters() == takers.len() as u64);
        cancel.cancel();
        for taker in takers {
            assert_eq!(taker.join().unwrap(), Err(Stopped::Cancelled));
        }
    });
    assert_at_rest(&mut permits, 0);
}

/// It keeps its place until it is cancelled, and those behind it get theirs when it is.
fn the_middle_of_a_line<H: Home>() {
    let (mut permits, cancel, never) = (Semaphore::<H>::new_in(0), Cancel::new(), Cancel::new());
    thread::scope(|s| {
        let mut queue = Queue::new(s, &permits);
        let take = |permits: &Semaphore<H>| permits.take_within(&never).is_ok();
        queue.join(1, take);
        let cancelled = queue.join(1, |permits| permits.take_within(&cancel).is_ok());
        queue.join(1, |permits| {
            permits.take();
            true
        });
        queue.join(1, take);
        permits.post();
        assert_eq!(queue.next_admitted(), 0);
        cancel.cancel();
        assert!(!cancelled.join().unwrap());
        for number in [2, 3] {
            permits.post();
            assert_eq!(queue.next_admitted(), number);
        }
    });
    assert_at_rest(&mut permits, 0);
}

/// Permits that came for a take of many go to the next in line.
fn a_take_of_many_that_was_partly_granted<H: Home>() {
    let (mut permits, cancel) = (Semaphore::<H>::new_in(0), Cancel::new());
    thread::scope(|s| {
        let mut queue = Queue::new(s, &permits);
        let many = queue.join(3, |permits| permits.take_many_within(3, &cancel).is_ok());
        queue.join(2, |permits| {
            permits.take_many(2);
            true
        });
        permits.post_many(2);
        assert!(!queue.is_anyone_admitted());
        cancel.cancel();
        assert!(!many.join().unwrap());
        assert_eq!(queue.next_admitted(), 1);
    });
    assert_at_rest(&mut permits, 0);
}

/// At the same moment, a hundred thousand times on all backends together: the permit was taken, or is there.
fn a_cancellation_against_a_post<H: Home>() {
    let rounds = scaled(34_000);
    let (mut permits, cancel) = (Semaphore::<H>::new_in(0), Cancel::new());
    let taken = AtomicUsize::new(0);
    // Each goes on when both others have come as far.
    let (posts, takes) = (Tally::new(), Tally::new());
    thread::scope(|s| {
        s.spawn(|| {
            for round in 1..=rounds {
                posts.reaches(round - 1);
                match permits.take_within(&cancel) {
                    Ok(()) => drop(taken.fetch_add(1, Ordering::Relaxed)),
                    Err(stopped) => assert_eq!(stopped, Stopped::Cancelled),
                }
                takes.add();
            }
        });
        for round in 1..=rounds {
            if round % 2 == 0 {
                cancel.cancel();
                permits.post();
            } else {
                permits.post();
                cancel.cancel();
            }
            takes.reaches(round);
            // Whatever has not been taken.
            taken.fetch_add(usize::from(permits.try_take()), Ordering::Relaxed);
            assert_eq!((permits.available(), permits.waiters()), (0, 0));
            assert_eq!(taken.load(Ordering::Relaxed), round, "a permit was lost or made");
            assert!(cancel.reset());
            posts.add();
        }
    });
    assert_at_rest(&mut permits, 0);
}

/// Takers come and go, cancelled over and over, while as many permits as they put back go round.
fn permits_go_round<H: Home>() {
    let rounds = scaled(2_000);
    let (mut permits, cancel, done) = (Semaphore::<H>::new_in(2), Cancel::new(), AtomicBool::new(false));
    thread::scope(|s| {
        let takers: Vec<_> = (0..4)
            .map(|_| {
                s.spawn(|| {
                    for _ in 0..rounds {
                        if permits.take_within(&cancel).is_ok() {
                            thread::yield_now();
                            permits.post();
                        }
                    }
                })
            })
            .collect();
        let canceller = s.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                cancel.cancel();
                thread::yield_now();
                cancel.reset();
            }
        });
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        done.store(true, Ordering::Relaxed);
        canceller.join().unwrap();
    });
    assert_at_rest(&mut permits, 2);
}

fn locks_that_are_held<H: Home>() {
    let (mutex, fair, cancel) = (RawMutex::<H>::new_in(), RawFairMutex::<H>::new_in(), Cancel::new());
    mutex.acquire();
    let ticket = fair.acquire();
    thread::scope(|s| {
        let waiters =
            [s.spawn(|| mutex.acquire_within(&cancel)), s.spawn(|| fair.acquire_within(&cancel).map(|_ticket| ()))];
        asleep::<H, _>(&mutex, 1);
        asleep::<H, _>(&fair, 1);
        cancel.cancel();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Err(Stopped::Cancelled));
        }
    });
    assert_eq!(fair.waiters(), 0);
    #[allow(unsafe_code, reason = "gives the locks back")]
    // SAFETY: both are ours.
    unsafe {
        mutex.release();
        fair.release(ticket);
    }
    assert_eq!(mutex.acquire_within(&cancel), Ok(()), "what is there wins");
    assert!(fair.acquire_within(&cancel).is_ok(), "what is there wins");
}

#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
fn counts_and_wait_points<H: Home>() {
    use layby::{
        WaitError,
        eventcount::{EventCount, WaitPoint},
    };

    let (count, point, cancel) = (EventCount::<H>::new_in(), WaitPoint::<H>::new_in(), Cancel::new());
    thread::scope(|s| {
        let counting = s.spawn(|| count.wait_at_least_within(1, &cancel));
        let pointing = s.spawn(|| point.wait_until_within(&cancel, || false).err());
        // A commit may return early: when both withdraw at once, one may find the other's element in its hands.
        let committing = s.spawn(|| {
            loop {
                if let Err(stopped) = point.prepare().commit_within(&cancel) {
                    return Some(stopped);
                }
            }
        });
        asleep::<H, _>(&count, 1);
        asleep::<H, _>(&point, 2);
        cancel.cancel();
        assert_eq!(counting.join().unwrap(), Err(WaitError::Cancelled));
        for waiter in [pointing, committing] {
            assert_eq!(waiter.join().unwrap(), Some(Stopped::Cancelled));
        }
    });
    count.advance();
    assert_eq!(count.wait_at_least_within(1, &cancel), Ok(1), "what is there wins");
    assert_eq!(point.wait_until_within(&cancel, || true), Ok(()), "what is there wins");
    assert!(format!("{point:?}").contains("waiters: 0"), "{point:?}");
}

#[cfg(any(not(target_has_atomic = "64"), layby_narrow))]
fn counts_and_wait_points<H: Home>() {}

on_every_backend!(
    a_take_that_sleeps,
    what_is_there_wins,
    one_cancellation_ends_all,
    the_middle_of_a_line,
    a_take_of_many_that_was_partly_granted,
    a_cancellation_against_a_post,
    permits_go_round,
    locks_that_are_held,
    counts_and_wait_points,
);

/// One cancellation ends waits in tables of their own, whatever they sleep by, and on addresses.
#[test]
fn one_cancellation_reaches_every_table() {
    let _watchdog = watchdog();
    let (cancel, never) = (Cancel::new(), AtomicBool::new(false));
    let (natively, by_park): (WaitTable<Native>, WaitTable<Park>) =
        (WaitTable::with_slots(1), WaitTable::with_slots_in(1));
    let is_set = || never.load(Ordering::Relaxed);
    thread::scope(|s| {
        let waiters = [
            s.spawn(|| natively.wait_until_within(&never, &cancel, is_set)),
            s.spawn(|| by_park.wait_until_within(&never, &cancel, is_set)),
            s.spawn(|| wait_until_within(&never, &cancel, is_set)),
            s.spawn(|| by_park.wait_until_any_within(&[never.key()], &cancel, is_set)),
        ];
        eventually(|| natively.waiters().len() == 1 && by_park.waiters().len() == 2);
        cancel.cancel();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Err(Stopped::Cancelled));
        }
    });
}

/// Locks of lock_api, by their guards.
#[test]
fn guards_within_a_limit() {
    let _watchdog = watchdog();
    let (barging, fair, cancel) = (Mutex::new(1), FairMutex::new(1), Cancel::new());
    *barging.lock_within(&cancel).unwrap() += 1;
    *fair.lock_within(&cancel).unwrap() += 1;
    let held = (barging.lock(), fair.lock());
    thread::scope(|s| {
        let waiters = [
            s.spawn(|| barging.lock_within(&cancel).map(drop)),
            s.spawn(|| fair.lock_within(&cancel).map(drop)),
            s.spawn(|| fair.lock_within(Limit::from(&cancel).or(FOREVER)).map(drop)),
        ];
        cancel.cancel();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Err(Stopped::Cancelled));
        }
    });
    assert_eq!(barging.lock_within(Duration::from_millis(1)).map(drop), Err(Stopped::TimedOut));
    drop(held);
    assert_eq!((*barging.lock(), *fair.lock_within(&cancel).unwrap()), (2, 2));
}

/// A wait point and a lock are a condition variable that can be cancelled.
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
#[test]
fn a_condition_under_a_lock() {
    use layby::{eventcount::WaitPoint, mutex::MutexGuard};

    let _watchdog = watchdog();
    let (open, changed, cancel) = (Mutex::new(false), WaitPoint::new(), Cancel::new());
    let pass = || {
        let mut open = open.lock();
        while !*open {
            let prepared = changed.prepare();
            MutexGuard::unlocked(&mut open, || prepared.commit_within(&cancel))?;
        }
        Ok(())
    };
    thread::scope(|s| {
        let guest = s.spawn(pass);
        asleep::<layby::wait_table::Global, _>(&changed, 1);
        cancel.cancel();
        assert_eq!(guest.join().unwrap(), Err(Stopped::Cancelled));
        cancel.reset();
        let guest = s.spawn(pass);
        *open.lock() = true;
        changed.notify_all();
        assert_eq!(guest.join().unwrap(), Ok(()));
    });
}

#[test]
fn whichever_comes_first() {
    let _watchdog = watchdog();
    let (permits, cancel) = (Semaphore::new(0), Cancel::new());
    let soon = Duration::from_millis(2);
    let started = Instant::now();
    assert_eq!(permits.take_within(Limit::from(soon).or(&cancel)), Err(Stopped::TimedOut));
    assert!(started.elapsed() >= soon);
    assert_eq!(permits.take_within(Limit::from(FOREVER).or(started)), Err(Stopped::TimedOut), "the earlier of two");
    thread::scope(|s| {
        let taker = s.spawn(|| permits.take_within(Limit::from(&cancel).or(FOREVER)));
        eventually(|| permits.waiters() == 1);
        cancel.cancel();
        assert_eq!(taker.join().unwrap(), Err(Stopped::Cancelled));
    });
    assert_eq!(Limit::from(started).or(&cancel).check(), Err(Stopped::Cancelled), "of both, the cancellation");
    cancel.reset();
    assert_eq!(Limit::from(started).or(&cancel).check(), Err(Stopped::TimedOut));
    assert_eq!(Limit::NONE.check(), Ok(()));
}

/// Any of several, and each of them alone.
#[test]
fn several_cancellations() {
    let _watchdog = watchdog();
    let permits = Semaphore::new(0);
    let cancels = [const { Cancel::new() }; Limit::MOST_CANCELS];
    let limit = cancels.iter().fold(Limit::NONE, |limit, cancel| limit.or(cancel));
    for cancel in &cancels {
        thread::scope(|s| {
            let taker = s.spawn(|| permits.take_within(limit));
            eventually(|| permits.waiters() == 1);
            cancel.cancel();
            assert_eq!(taker.join().unwrap(), Err(Stopped::Cancelled));
        });
        assert!(cancel.reset() && !cancel.reset());
    }
    let again = cancels.iter().fold(limit, |limit, cancel| limit.or(cancel));
    assert_eq!(format!("{again:?}"), format!("{limit:?}"), "those that it has already");
}

#[test]
#[should_panic(expected = "more than 4 cancellations")]
fn too_many_cancellations_are_refused() {
    let cancels = [const { Cancel::new() }; Limit::MOST_CANCELS + 1];
    let _ = cancels.iter().fold(Limit::NONE, |limit, cancel| limit.or(cancel));
}

/// Nobody but the waits that name it is disturbed, and those that have it in their limit and got what they wanted are not
/// either.
#[test]
fn a_cancellation_is_seen_by_its_own() {
    let _watchdog = watchdog();
    let (permits, cancel, other) = (Semaphore::new(0), Cancel::new(), Cancel::new());
    thread::scope(|s| {
        let taker = s.spawn(|| permits.take_within(&cancel));
        eventually(|| permits.waiters() == 1);
        other.cancel();
        permits.post();
        assert_eq!(taker.join().unwrap(), Ok(()));
    });
    assert!(!cancel.is_cancelled() && other.is_cancelled());
    assert_eq!(format!("{other:?}"), "Cancel { cancelled: true }");
}

#[test]
fn errors_can_be_told() {
    fn told(error: impl std::error::Error + Send + Sync + 'static) -> String {
        error.to_string()
    }
    assert_eq!(told(Stopped::TimedOut), "timed out before what was waited for came");
    assert_eq!(told(Stopped::Cancelled), "cancelled before what was waited for came");
}

/// What starts at once: no barrier is fair enough to make this the only test of the moment, but it is the longest race that
/// there is.
#[test]
fn a_crowd_is_cancelled_while_it_arrives() {
    let _watchdog = watchdog();
    let rounds = scaled(300);
    for _ in 0..rounds {
        let (permits, cancel, start) = (Semaphore::new(1), Cancel::new(), Barrier::new(5));
        let taken = thread::scope(|s| {
            let takers: Vec<_> = (0..4)
                .map(|_| {
                    s.spawn(|| {
                        start.wait();
                        permits.take_within(&cancel).is_ok()
                    })
                })
                .collect();
            start.wait();
            cancel.cancel();
            takers.into_iter().map(|taker| u64::from(taker.join().unwrap())).sum::<u64>()
        });
        assert_eq!((taken + permits.available(), permits.waiters()), (1, 0));
    }
}
