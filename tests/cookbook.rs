//! The recipes of `examples/cookbook/`, with more threads than the models have. Blind to weak memory, which `tests/loom` sees.

#![cfg(not(layby_model))]

mod common;
#[path = "../examples/cookbook/mod.rs"]
mod cookbook;

use common::{eventually, watchdog};
use cookbook::{
    auto_reset_event::AutoResetEvent, barrier::Barrier, bounded_queue::BoundedQueue, latch::Latch, once::Once,
    pool_sleep::PoolSleep, rate_limiter::RateLimiter, ticket_lock::TicketLock,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

const THREADS: usize = 4;
const ROUNDS: usize = 1000;

#[test]
fn an_event_lets_one_go_for_each_time_it_is_set() {
    let _watchdog = watchdog();
    let (event, passed) = (AutoResetEvent::new(), AtomicUsize::new(0));
    assert!(!event.wait_deadline(Instant::now()));
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                event.wait();
                passed.fetch_add(1, Ordering::Relaxed);
            });
        }
        for set in 1..=THREADS {
            event.set();
            eventually(|| passed.load(Ordering::Relaxed) == set);
        }
    });
    event.set();
    event.set();
    assert!(event.wait_deadline(Instant::now()), "it is set until somebody comes");
    assert!(!event.wait_deadline(Instant::now()), "and was set once");
}

#[test]
fn a_latch_opens_when_all_have_counted() {
    let _watchdog = watchdog();
    let (latch, counted) = (Latch::new(THREADS), AtomicUsize::new(0));
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                latch.wait();
                assert_eq!(counted.load(Ordering::Relaxed), THREADS);
            });
            s.spawn(|| {
                counted.fetch_add(1, Ordering::Relaxed);
                latch.count_down();
            });
        }
    });
    assert!(catch_unwind(AssertUnwindSafe(|| latch.count_down())).is_err());
}

#[test]
fn a_barrier_holds_back_whoever_is_ahead() {
    let _watchdog = watchdog();
    let (barrier, arrivals, leaders) = (Barrier::new(THREADS as u64), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for round in 1..=ROUNDS {
                    arrivals.fetch_add(1, Ordering::Relaxed);
                    leaders.fetch_add(barrier.wait().into(), Ordering::Relaxed);
                    assert!(arrivals.load(Ordering::Relaxed) >= round * THREADS);
                }
            });
        }
    });
    assert_eq!(leaders.into_inner(), ROUNDS);
}

#[test]
fn what_is_done_once_is_done_again_after_a_panic_only() {
    let _watchdog = watchdog();
    let (once, calls) = (Once::new(), AtomicUsize::new(0));
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                let call = || {
                    once.call_once(|| assert!(calls.fetch_add(1, Ordering::Relaxed) > 0, "on purpose"));
                };
                if catch_unwind(AssertUnwindSafe(call)).is_ok() {
                    assert_eq!(calls.load(Ordering::Relaxed), 2);
                }
            });
        }
    });
    assert_eq!(calls.into_inner(), 2);
}

#[test]
fn a_ticket_lock_excludes() {
    let _watchdog = watchdog();
    let (lock, total) = (TicketLock::new(), AtomicUsize::new(0));
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for _ in 0..ROUNDS {
                    let _guard = lock.lock();
                    total.store(total.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(total.into_inner(), THREADS * ROUNDS);
}

#[test]
fn a_queue_passes_everything_on() {
    let _watchdog = watchdog();
    let queue = BoundedQueue::new(3);
    let sum: usize = thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| (1..=ROUNDS).for_each(|item| queue.push(item)));
        }
        let consumers = [(); THREADS].map(|()| s.spawn(|| (0..ROUNDS).map(|_| queue.pop()).sum::<usize>()));
        consumers.map(|consumer| consumer.join().unwrap()).iter().sum()
    });
    assert_eq!(sum, THREADS * ROUNDS * (ROUNDS + 1) / 2);
}

/// Each worker has a set of jobs of its own, 64 bits, and steals from the others'.
#[test]
fn a_pool_finds_every_job() {
    let _watchdog = watchdog();
    let (sleep, sets) = (PoolSleep::new(), [(); THREADS].map(|()| AtomicU64::new(0)));
    let steal_from = |set: &AtomicU64| {
        let lowest =
            set.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |jobs| (jobs != 0).then(|| jobs & (jobs - 1)));
        lowest.ok().map(u64::trailing_zeros)
    };
    let search = || sets.iter().find_map(steal_from);
    let found: usize = thread::scope(|s| {
        let workers = [(); THREADS].map(|()| s.spawn(|| std::iter::from_fn(|| sleep.find(search)).count()));
        for job in 0..64 {
            for set in &sets {
                set.fetch_or(1 << job, Ordering::Release);
                sleep.added();
            }
        }
        sleep.close();
        workers.map(|worker| worker.join().unwrap()).iter().sum()
    });
    assert_eq!(found, 64 * THREADS);
}

#[test]
fn a_bucket_does_not_overflow() {
    let _watchdog = watchdog();
    let limiter = RateLimiter::new(2);
    assert_eq!(limiter.refill(5), 0);
    limiter.acquire();
    limiter.acquire();
    assert!(!limiter.acquire_timeout(Duration::ZERO));
    assert_eq!(limiter.refill(5), 2);
    let calls = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| limiter.run(Duration::from_micros(10), || calls.load(Ordering::Relaxed) < ROUNDS));
        for _ in 0..ROUNDS {
            limiter.acquire();
            calls.fetch_add(1, Ordering::Relaxed);
        }
    });
}
