//! The recipes of `examples/cookbook/`, as they are: whoever may go on does, and sees what came before.

#[path = "../../examples/cookbook/mod.rs"]
mod recipes;

use crate::explore::{explore_orders, explore_run};
use layby::model::expire_deadlines;
use loom::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use loom::thread;
use recipes::{
    auto_reset_event::AutoResetEvent, barrier::Barrier, bounded_queue::BoundedQueue, latch::Latch, once::Once,
    pool_sleep::PoolSleep, rate_limiter::RateLimiter, ticket_lock::TicketLock,
};
use std::time::Instant;

/// Explores what `roles` do at once with a recipe.
fn explore<T: Send + Sync + 'static, const N: usize>(preemptions: usize, make: fn() -> T, roles: [fn(&T); N]) {
    explore_orders(preemptions, roles, move |roles| {
        let shared = Arc::new(make());
        let threads = roles.map(|role| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || role(&shared))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A recipe, and a word that is not atomic as a whole: what was written before is seen by who goes on.
type With<T> = (T, AtomicU32);

fn with<T>(recipe: T) -> With<T> {
    (recipe, AtomicU32::new(0))
}

fn write<T>((_, data): &With<T>) {
    data.store(1, Ordering::Relaxed);
}

fn assert_written<T>((_, data): &With<T>) {
    assert_eq!(data.load(Ordering::Relaxed), 1, "went on without what came before");
}

#[test]
fn an_event_that_is_set() {
    explore::<With<AutoResetEvent>, _>(
        3,
        || with(AutoResetEvent::new()),
        [
            |shared| {
                shared.0.wait();
                assert_written(shared);
            },
            |shared| {
                write(shared);
                shared.0.set();
            },
        ],
    );
}

/// The second thread sets the event again when it has had it: nobody is left behind, and nobody goes twice.
#[test]
fn an_event_that_is_passed_on() {
    explore::<AutoResetEvent, _>(
        2,
        AutoResetEvent::new,
        [
            |event| event.wait(),
            |event| {
                event.set();
                if event.wait_deadline(Instant::now()) {
                    event.set();
                }
            },
            |_| expire_deadlines(),
        ],
    );
}

#[test]
fn a_latch_of_two() {
    explore::<With<Latch>, _>(
        2,
        || with(Latch::new(2)),
        [
            |shared| {
                shared.0.wait();
                assert_written(shared);
            },
            |shared| {
                write(shared);
                shared.0.count_down();
            },
            |shared| shared.0.count_down(),
        ],
    );
}

#[test]
fn a_barrier_of_two_twice() {
    explore::<With<Barrier>, _>(
        2,
        || with(Barrier::new(2)),
        [
            |shared| {
                write(shared);
                shared.0.wait();
                shared.0.wait();
            },
            |shared| {
                shared.0.wait();
                assert_written(shared);
                shared.0.wait();
            },
        ],
    );
}

#[test]
fn once_by_two() {
    let call: fn(&With<Once>) = |shared| {
        shared.0.call_once(|| write(shared));
        assert_written(shared);
    };
    explore::<With<Once>, _>(3, || with(Once::new()), [call, call]);
}

#[test]
fn a_ticket_lock_of_two() {
    let add: fn(&With<TicketLock>) = |(lock, data)| {
        let _guard = lock.lock();
        data.store(data.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    };
    explore_run(3, move || {
        let shared = Arc::new(with(TicketLock::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || add(&other));
        add(&shared);
        thread.join().unwrap();
        assert_eq!(shared.1.load(Ordering::Relaxed), 2);
    });
}

/// Of one place, so that both ends have to wait.
#[test]
fn a_queue_of_one() {
    explore::<BoundedQueue<u32>, _>(
        2,
        || BoundedQueue::new(1),
        [
            |queue| (0..2).for_each(|item| queue.push(item)),
            |queue| (0..2).for_each(|item| assert_eq!(queue.pop(), item)),
        ],
    );
}

#[test]
fn a_pool_that_closes() {
    explore::<With<PoolSleep>, _>(
        2,
        || with(PoolSleep::new()),
        [
            |(sleep, jobs)| {
                let search = || jobs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).ok();
                assert!(sleep.find(search).is_some(), "a job is left behind");
                assert!(sleep.find(search).is_none(), "a job is found that is not there");
            },
            |(sleep, jobs)| {
                jobs.fetch_add(1, Ordering::Relaxed);
                sleep.added();
                sleep.close();
            },
        ],
    );
}

#[test]
fn a_limiter_with_one_who_waits() {
    explore::<RateLimiter, _>(
        2,
        || RateLimiter::new(1),
        [
            |limiter| (0..2).for_each(|_| limiter.acquire()),
            // Until the bucket has room, or somebody waits.
            |limiter| {
                while limiter.refill(1) == 0 {
                    thread::yield_now();
                }
            },
        ],
    );
}
