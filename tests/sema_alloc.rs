//! Promise 10 (README), of semaphores: take and post do not allocate; giving up does so only when it runs out of markers,
//! which are used again.

#![cfg(not(layby_model))]
#![allow(unsafe_code, reason = "a global allocator")]

mod common;

use common::{Random, eventually, scaled, watchdog};
use layby::{
    sema::Semaphore,
    sys::{Backend, Native, Park},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Counts each thread's allocations.
struct CountingAllocator;

thread_local! {
    static OURS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        OURS.with(|ours| ours.set(ours.get() + 1));
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Fails if the calling thread allocates in `work`. What `Park` does for its own part is not ours to promise.
fn without_allocation<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let before = OURS.get();
    let result = work();
    let allocations = OURS.get() - before;
    assert!(allocations == 0 || Native::NAME == Park::NAME, "{what} allocates {allocations} times");
    result
}

#[test]
fn the_allocator_counts() {
    let before = OURS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(OURS.get() - before, 1);
}

#[test]
fn calls_that_need_not_wait() {
    let semaphore = Semaphore::new(5);
    without_allocation("a semaphore without waiters", || {
        semaphore.take();
        assert!(semaphore.try_take() && semaphore.take_timeout(Duration::from_secs(1)));
        drop(semaphore.acquire_many(2));
        assert!(!semaphore.take_many_timeout(3, Duration::from_micros(50)));
        assert!(!semaphore.take_many_deadline(3, Instant::now()));
        semaphore.post();
        semaphore.post_many(2);
    });
    assert_eq!(semaphore.available(), 5);
}

#[test]
fn calls_that_wait_and_wake() {
    let _watchdog = watchdog();
    let (ping, pong) = (Semaphore::new(0), Semaphore::new(0));
    let rounds = scaled(2000);
    thread::scope(|s| {
        s.spawn(|| {
            without_allocation("a partner", || {
                for _ in 0..rounds {
                    ping.take_many(2);
                    pong.post();
                }
            });
        });
        without_allocation("a player", || {
            for _ in 0..rounds {
                ping.post();
                ping.post();
                while !pong.take_timeout(Duration::from_micros(20)) {}
            }
        });
    });
}

/// A takes, B takes, A gives up, A takes again, B gives up, and so on: somebody is always in line, so no moment of rest
/// clears anything up. No marker may stay behind: they would fill the cells and then the heap.
#[test]
fn overlapping_takers_that_give_up() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    let rounds = scaled(10_000);
    let start = Barrier::new(2);
    let taker = |seed: usize| {
        let mut random = Random::new(seed);
        start.wait();
        without_allocation("giving up", || {
            for _ in 0..rounds {
                let patience = Duration::from_micros(random.below(60) as u64 + 1);
                assert!(!semaphore.take_timeout(patience), "nobody posts");
            }
        });
    };
    thread::scope(|s| {
        s.spawn(|| taker(1));
        taker(2);
    });
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// The same behind one who stays, with more threads, and without a moment of rest.
#[test]
fn many_give_up_behind_one_who_stays() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    let (one_is_in, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| semaphore.take());
        eventually(|| semaphore.waiters() == 1);
        for seed in 0..3 {
            let (semaphore, one_is_in, stop) = (&semaphore, &one_is_in, &stop);
            s.spawn(move || {
                let mut random = Random::new(seed);
                one_is_in.store(true, Ordering::Relaxed);
                without_allocation("giving up", || {
                    while !stop.load(Ordering::Relaxed) {
                        assert!(!semaphore.take_timeout(Duration::from_micros(random.below(60) as u64 + 1)));
                    }
                });
            });
        }
        eventually(|| one_is_in.load(Ordering::Relaxed));
        for _ in 0..scaled(2000) {
            assert!(!semaphore.take_timeout(Duration::from_micros(40)));
        }
        stop.store(true, Ordering::Relaxed);
        eventually(|| semaphore.waiters() == 1);
        semaphore.post();
    });
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}
