//! Many threads on one semaphore, with takes that give up when the deadlines pass. When all threads are done the books
//! must be right.

use crate::schedules::both_ways;
use layby::{Key, wait_table::global};
use layby::{model, sema::Semaphore};
use shuttle::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};
use std::{
    future::Future,
    task::{Context, Wake, Waker},
    time::Instant,
};

/// How many schedules of each kind; arbitrary.
const SCHEDULES: usize = 3_000;

fn check(model: fn()) {
    both_ways(SCHEDULES, model);
}

/// A semaphore, and how many permits takers have got and kept.
struct World {
    semaphore: Semaphore,
    kept: AtomicU64,
}

impl World {
    /// Puts back what it gets, so that those without a deadline do not get too little.
    fn take_in_time(&self, n: u64) {
        if self.semaphore.take_many_deadline(n, Instant::now()) {
            self.semaphore.post_many(n);
        }
    }

    fn take(&self, n: u64) {
        self.semaphore.take_many(n);
        self.kept.fetch_add(n, Ordering::SeqCst);
    }
}

/// Runs `bodies` and the passing of all deadlines as threads, then checks: what was posted is kept or available, nobody
/// is in line, and the semaphore works elsewhere.
fn run(permits: u64, posted: u64, bodies: Vec<fn(&World)>) {
    let world = Arc::new(World { semaphore: Semaphore::new(permits), kept: AtomicU64::new(0) });
    let mut threads = vec![thread::spawn(model::expire_deadlines)];
    for body in bodies {
        let world = Arc::clone(&world);
        threads.push(thread::spawn(move || body(&world)));
    }
    for thread in threads {
        thread.join().unwrap();
    }
    let World { semaphore, kept } = Arc::into_inner(world).unwrap();
    assert_eq!(semaphore.available() + kept.into_inner(), permits + posted);
    assert_eq!(semaphore.waiters(), 0);
    let moved = Box::new(semaphore);
    let available = moved.available();
    assert!(moved.try_take_many(available) && !moved.try_take());
    moved.post();
    moved.take();
}

/// More who give up than there are marker cells in a block, between some who stay.
#[test]
fn abandoned_tickets_between_others() {
    check(|| {
        let give_up: fn(&World) = |world| world.take_in_time(1);
        let stay: fn(&World) = |world| world.take(1);
        let post: fn(&World) = |world| world.semaphore.post();
        run(0, 3, vec![give_up, stay, give_up, stay, give_up, post, stay, post, give_up, post, give_up]);
    });
}

/// Takers of many that are partly granted when they give up.
#[test]
fn parts_go_on() {
    check(|| {
        let many: fn(&World) = |world| world.take_in_time(3);
        let few: fn(&World) = |world| world.take(2);
        let post_many: fn(&World) = |world| world.semaphore.post_many(2);
        let post: fn(&World) = |world| world.semaphore.post_conservatively();
        run(1, 5, vec![many, few, many, post_many, few, many, post, post_many]);
    });
}

/// Nobody posts, all give up, and come back: nothing is left.
#[test]
fn all_give_up() {
    check(|| {
        let twice: fn(&World) = |world| {
            world.take_in_time(1);
            world.take_in_time(2);
        };
        run(0, 0, vec![twice; 6]);
    });
}

/// Mutual exclusion, with some who give up.
#[test]
fn a_lock_with_timeouts() {
    check(|| {
        let critical: fn(&World) = |world| {
            if world.semaphore.take_deadline(Instant::now()) {
                assert_eq!(world.kept.fetch_add(1, Ordering::SeqCst), 0);
                thread::yield_now();
                world.kept.fetch_sub(1, Ordering::SeqCst);
                world.semaphore.post();
            }
        };
        let patient: fn(&World) = |world| {
            let permit = world.semaphore.acquire();
            assert_eq!(world.kept.fetch_add(1, Ordering::SeqCst), 0);
            thread::yield_now();
            world.kept.fetch_sub(1, Ordering::SeqCst);
            drop(permit);
        };
        run(1, 0, vec![critical, patient, critical, patient, critical, patient]);
    });
}

/// A waker that locks, as an executor's may.
struct Locking(Arc<Mutex<()>>);

impl Wake for Locking {
    fn wake(self: std::sync::Arc<Self>) {
        drop(self.0.lock().unwrap());
    }
}

/// One who drops a future has another's in hand, gives its permit to a task, and calls that task's waker. This may wait for the
/// other, who sleeps until it is let go (D4).
#[test]
fn a_waker_may_wait_for_who_drops_another_future() {
    check(|| {
        let (semaphore, lock) = (std::sync::Arc::new(Semaphore::new(0)), Arc::new(Mutex::new(())));
        let mut idle = Context::from_waker(Waker::noop());
        // All addresses are alike in a model, and like the first ticket. The first bank is too small for two of them, the second is not.
        let elsewhere = || Box::pin(global().wait_until_async(Key::address(&0_u8), || false));
        let mut first = elsewhere();
        assert!(first.as_mut().poll(&mut idle).is_pending());
        let mut granted = Box::pin(semaphore.acquire_owned_async());
        assert!(granted.as_mut().poll(&mut idle).is_pending());
        semaphore.post();
        let mut stranger = elsewhere();
        assert!(stranger.as_mut().poll(&mut idle).is_pending());
        let mut next = Box::pin(semaphore.acquire_owned_async());
        let waker = Waker::from(std::sync::Arc::new(Locking(lock.clone())));
        assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());

        let gives_up = thread::spawn(move || drop(granted));
        let drops = thread::spawn(move || {
            let _lock = lock.lock().unwrap();
            drop(stranger);
        });
        gives_up.join().unwrap();
        drops.join().unwrap();
        assert!(next.as_mut().poll(&mut idle).is_ready());
    });
}
