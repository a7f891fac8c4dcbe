//! Promise 10 (README): nothing here allocates, and wake-ups work inside a global allocator.

#![cfg(not(layby_model))]
#![allow(unsafe_code, reason = "a global allocator")]

mod common;

use common::{Form, Tally, eventually, leaked, watchdog};
use layby::{
    Cancel, Key, Stopped, WaitTable, location_wake_all,
    sema::Semaphore,
    sys::{Backend, Native, Park},
    wait_table::global,
    wait_until,
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    any::TypeId,
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// Counts allocations, of the process and of each thread, and wakes whoever waits for the count: while it allocates.
struct WakingAllocator;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OURS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for WakingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        OURS.with(|ours| ours.set(ours.get() + 1));
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // If this allocated, it would never end.
        location_wake_all(&ALLOCATIONS);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: WakingAllocator = WakingAllocator;

/// How many allocations the calling thread makes in `work`.
fn allocations_in(work: impl FnOnce()) -> usize {
    let before = OURS.get();
    work();
    OURS.get() - before
}

/// Whether the platform's backend promises a wake of sleepers without an allocation.
fn wakes_without_allocation() -> bool {
    TypeId::of::<Native>() != TypeId::of::<Park>()
}

#[test]
fn the_allocator_counts() {
    assert_eq!(allocations_in(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn an_allocator_may_wake() {
    let _watchdog = watchdog();
    if !wakes_without_allocation() {
        return;
    }
    let target = ALLOCATIONS.load(Ordering::Relaxed) + 100;
    thread::scope(|s| {
        s.spawn(|| wait_until(&ALLOCATIONS, || ALLOCATIONS.load(Ordering::Relaxed) >= target));
        eventually(|| {
            drop(std::hint::black_box(Box::new(1)));
            ALLOCATIONS.load(Ordering::Relaxed) >= target
        });
    });
}

#[test]
fn wake_ups_do_not_allocate() {
    let _watchdog = watchdog();
    let own = WaitTable::with_slots(1);
    let wake_in_every_way = |table: &WaitTable, key: Key| {
        allocations_in(|| {
            table.wake_one(key);
            table.wake_all_seqcst(key);
            table.wake_all(key);
        })
    };
    for table in [&own, global()] {
        assert_eq!(wake_in_every_way(table, Key::address(&own)), 0, "with nobody waiting");
    }
    if !wakes_without_allocation() {
        return;
    }
    let open = AtomicBool::new(false);
    let is_open = || open.load(Ordering::Relaxed);
    for table in [&own, global()] {
        open.store(false, Ordering::Relaxed);
        let published = Tally::new();
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    while !is_open() {
                        table.wait_if(&own, || {
                            published.add();
                            !is_open()
                        });
                    }
                });
            }
            for rounds in 1..=20 {
                published.reaches(4 * rounds);
                assert_eq!(wake_in_every_way(table, Key::address(&own)), 0, "with waiters");
            }
            open.store(true, Ordering::Relaxed);
            table.wake_all(&own);
        });
    }
}

#[test]
fn a_report_does_not_allocate() {
    struct Lines(usize);
    impl std::fmt::Write for Lines {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text.matches('\n').count();
            Ok(())
        }
    }
    const WAITERS: usize = 20;
    let _watchdog = watchdog();
    let own = WaitTable::with_slots(1);
    let open = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..WAITERS {
            s.spawn(|| own.wait_until(&open, || open.load(Ordering::Relaxed)));
        }
        eventually(|| own.waiters().len() == WAITERS);
        let mut lines = Lines(0);
        assert_eq!(allocations_in(|| own.dump_waiters(&mut lines).unwrap()), 0);
        assert_eq!(lines.0, WAITERS + 1);
        open.store(true, Ordering::Relaxed);
        own.wake_all(&open);
    });
}

/// No form of waiting allocates either. What `Park` does for its own part is not ours to promise.
#[test]
fn waits_do_not_allocate() {
    let _watchdog = watchdog();
    if Native::NAME == Park::NAME {
        return;
    }
    let table = leaked(1);
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            for form in Form::ALL {
                let looks = Cell::new(0);
                let third_look = || {
                    looks.set(looks.get() + 1);
                    looks.get() > 3
                };
                let allocations = allocations_in(|| {
                    form.wait(table, Key::address(table), Duration::from_micros(50), third_look);
                    form.wait(table, Key::address(table), Duration::from_micros(50), third_look);
                });
                assert_eq!(allocations, 0, "{form:?}");
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            table.wake_all(table);
            thread::yield_now();
        }
    });
}

/// Up to sixteen locations are on the stack, more in one allocation; a cancellation allocates nothing.
#[test]
fn groups_allocate_as_documented() {
    let _watchdog = watchdog();
    if Native::NAME == Park::NAME {
        return;
    }
    let (table, cancel) = (leaked(64), Cancel::new());
    for (count, expected) in [(1, 0), (15, 0), (16, 1), (100, 1)] {
        // The cancellation is one more.
        let keys: Vec<_> = (0..count).map(|ticket| Key::ticket(table, ticket)).collect();
        let looks = Cell::new(0);
        let second_look = || {
            looks.set(looks.get() + 1);
            looks.get() == 2
        };
        assert_eq!(allocations_in(|| table.wait_until_any_within(&keys, &cancel, second_look).unwrap()), expected);
    }
    let permits = Semaphore::new(0);
    thread::scope(|s| {
        let taker = s.spawn(|| permits.take_within(&cancel));
        eventually(|| permits.waiters() == 1);
        assert_eq!(allocations_in(|| cancel.cancel()), 0);
        assert_eq!(taker.join().unwrap(), Err(Stopped::Cancelled));
    });
}
