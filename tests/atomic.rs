//! `layby::atomic`, the drop-in for the crate atomic-wait, and the wake-up of one that it rests on.

#![cfg(not(layby_model))]

mod common;

use common::{Random, Tally, counting_backend, eventually, scaled, watchdog};
use layby::{
    Key, WaitOutcome, WaitTable,
    atomic::{wait, wait_deadline, wake_all, wake_one},
    location_wake_one, wait_if, wait_if_deadline,
    wait_table::global,
};
use std::{
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{self, AtomicPtr, AtomicU32, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// For tests that count waiters of the global table: no other test's wake-ups may reach them by a shared slot.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a change and a wake-up, for a change only (the value has changed before the wait), and for a time.
macro_rules! every_width {
    ($($name:ident: $atomic:ty, $from:expr, $to:expr;)+) => { $(
        #[test]
        fn $name() {
            let (_watchdog, _alone) = (watchdog(), alone());
            let (from, to) = ($from, $to);
            let atomic = <$atomic>::new(from);
            wait(&atomic, to);
            assert_eq!(wait_deadline(&atomic, to, Instant::now()), WaitOutcome::Woken);
            let deadline = Instant::now() + Duration::from_millis(1);
            assert_eq!(wait_deadline(&atomic, from, deadline), WaitOutcome::TimedOut);
            assert!(Instant::now() >= deadline);
            for wake in [wake_all, wake_one] {
                let atomic = <$atomic>::new(from);
                thread::scope(|s| {
                    s.spawn(|| {
                        while atomic.load(Ordering::Acquire) == $from {
                            wait(&atomic, $from);
                        }
                    });
                    atomic.store(to, Ordering::Release);
                    wake(&raw const atomic);
                });
            }
        }
    )+ };
}

every_width! {
    width_bool: atomic::AtomicBool, false, true;
    width_u8: atomic::AtomicU8, 0, 0x80;
    width_i8: atomic::AtomicI8, 0, -1;
    width_u16: atomic::AtomicU16, 0, 0x8000;
    width_i16: atomic::AtomicI16, 0, i16::MIN;
    width_u32: atomic::AtomicU32, 0, 0x8000_0000;
    width_i32: atomic::AtomicI32, 0, i32::MIN;
    width_usize: atomic::AtomicUsize, 0, 1 << (usize::BITS - 1);
    width_isize: atomic::AtomicIsize, 0, isize::MIN;
}

// A change in the upper half only, which a wait on 32 bits would miss.
#[cfg(target_has_atomic = "64")]
every_width! {
    width_u64: atomic::AtomicU64, 7, 7 | 1 << 63;
    width_i64: atomic::AtomicI64, 7, 7 | 1 << 40;
}

#[test]
fn pointers() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let (mut a, mut b) = (1, 2);
    let (a, b): (*mut i32, *mut i32) = (&raw mut a, &raw mut b);
    let atomic = AtomicPtr::new(a);
    wait(&atomic, b);
    assert_eq!(wait_deadline(&atomic, a, Instant::now()), WaitOutcome::TimedOut);
    thread::scope(|s| {
        let atomic = &atomic;
        let waiter = s.spawn(move || {
            let mut seen = atomic.load(Ordering::Acquire);
            let first = seen;
            while seen == first {
                wait(atomic, seen);
                seen = atomic.load(Ordering::Acquire);
            }
            seen.addr()
        });
        // If the waiter starts after the change, it waits for the next one.
        eventually(|| {
            let now = atomic.load(Ordering::Relaxed);
            atomic.store(if now == a { b } else { a }, Ordering::Release);
            wake_one(atomic);
            thread::yield_now();
            waiter.is_finished()
        });
        assert!([a.addr(), b.addr()].contains(&waiter.join().unwrap()));
    });
}

#[test]
fn waking_what_is_gone_is_harmless() {
    let gone: *const AtomicU32 = {
        let atomic = Box::new(AtomicU32::new(0));
        &raw const *atomic
    };
    wake_one(gone);
    wake_all(gone);
    wake_all(std::ptr::null::<AtomicU32>());
}

/// What callers of the crate atomic-wait write, and a generic function would not take.
#[test]
fn the_functions_for_u32_take_what_those_of_atomic_wait_take() {
    use layby::atomic::u32::{wait, wake_all, wake_one};
    struct CachePadded(AtomicU32);
    impl std::ops::Deref for CachePadded {
        type Target = AtomicU32;
        fn deref(&self) -> &AtomicU32 {
            &self.0
        }
    }
    static LAZY: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(1));
    let (_watchdog, _alone) = (watchdog(), alone());
    let arc = Arc::new(AtomicU32::new(1));
    wait(&arc, 0);
    wait(&CachePadded(AtomicU32::new(1)), 0);
    wait(&LAZY, 0);
    let untyped: *const () = Arc::as_ptr(&arc).cast();
    wake_one(untyped.cast());
    wake_all(std::ptr::null());
    for wake in [wake_all, wake_one] {
        thread::scope(|s| {
            let waiter = s.spawn(|| wait(&arc, 1));
            eventually(|| {
                wake(&*arc);
                waiter.is_finished()
            });
        });
    }
}

#[test]
fn the_free_functions_wake_one_by_one() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let x = AtomicU32::new(0);
    wait_if(&x, || false);
    assert_eq!(wait_if_deadline(&x, Instant::now(), || false), WaitOutcome::Woken);
    assert_eq!(wait_if_deadline(&x, Instant::now(), || true), WaitOutcome::TimedOut);
    assert_eq!(location_wake_one(&x), 0);
    thread::scope(|s| {
        let waiters = [(); 2].map(|()| s.spawn(|| wait_if(&x, || true)));
        eventually(|| layby::waiters().iter().filter(|waiter| waiter.key() == Key::address(&x)).count() == 2);
        for finished in 1..=2 {
            assert_eq!(location_wake_one(&x), 1);
            eventually(|| waiters.iter().filter(|waiter| waiter.is_finished()).count() == finished);
        }
    });
}

/// A pulse: the value is the same as before, and the wake-up alone ends the wait, as a futex's does.
#[test]
fn a_pulse_returns_the_waiter() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let atomic = AtomicU32::new(5);
    thread::scope(|s| {
        let waiter = s.spawn(|| wait(&atomic, 5));
        // Counted, so that it is the wake-up that ends it.
        eventually(|| global().wake_all(&atomic) == 1);
        waiter.join().unwrap();
        let waiter = s.spawn(|| wait_deadline(&atomic, 5, Instant::now() + Duration::from_secs(3600)));
        eventually(|| global().wake_one(&atomic) == 1);
        assert_eq!(waiter.join().unwrap(), WaitOutcome::Woken);
    });
}

#[test]
fn wake_one_of_the_drop_in_wakes_one() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let waiters = scaled(16);
    let atomic = AtomicU32::new(0);
    let returned = Tally::new();
    thread::scope(|s| {
        for _ in 0..waiters {
            s.spawn(|| {
                wait(&atomic, 0);
                returned.add();
            });
        }
        let in_line = || global().waiters().iter().filter(|waiter| waiter.key() == Key::address(&atomic)).count();
        eventually(|| in_line() == waiters);
        for woken in 1..=waiters {
            wake_one(&atomic);
            assert_eq!(in_line(), waiters - woken, "not exactly one was woken");
            returned.reaches(woken);
        }
    });
}

/// By the drop-in's own functions. Who waits may be there early or late: the longer the pause, the more are asleep.
#[test]
fn the_drop_in_wakes_all_who_are_to_go() {
    const WAITERS: usize = 3;
    let (_watchdog, _alone) = (watchdog(), alone());
    for pause in 0..scaled(100) {
        for one_by_one in [true, false] {
            let atomic = AtomicU32::new(0);
            let coming = Tally::new();
            thread::scope(|s| {
                for _ in 0..WAITERS {
                    s.spawn(|| {
                        coming.add();
                        while atomic.load(Ordering::Acquire) == 0 {
                            wait(&atomic, 0);
                        }
                    });
                }
                coming.reaches(WAITERS);
                (0..pause * 10).for_each(|_| thread::yield_now());
                atomic.store(1, Ordering::Release);
                if one_by_one {
                    (0..WAITERS).for_each(|_| wake_one(&atomic));
                } else {
                    wake_all(&atomic);
                }
            });
        }
    }
}

#[test]
fn wake_one_wakes_exactly_the_oldest() {
    counting_backend!(Queue);
    let _watchdog = watchdog();
    let table: WaitTable<Queue> = WaitTable::with_slots_in(1);
    let (waiters, returned) = (scaled(16), AtomicUsize::new(0));
    let neighbour = Key::ticket(&table, 1);
    thread::scope(|s| {
        // Neighbours on the same chain, before and after: picked up and put back each time, never woken.
        s.spawn(|| table.wait_if(neighbour, || true));
        Queue::waits().reaches(1);
        for nth in 0..waiters {
            let (table, returned) = (&table, &returned);
            s.spawn(move || {
                table.wait_if(table, || true);
                assert_eq!(returned.fetch_add(1, Ordering::SeqCst), nth, "a younger waiter was woken first");
            });
            Queue::waits().reaches(nth + 2);
        }
        s.spawn(|| table.wait_if(neighbour, || true));
        Queue::waits().reaches(waiters + 2);
        for nth in 0..waiters {
            assert_eq!(table.wake_one(&table), 1);
            eventually(|| returned.load(Ordering::SeqCst) == nth + 1);
        }
        assert_eq!(table.wake_one(&table), 0);
        assert_eq!(table.wake_all(neighbour), 2);
    });
}

/// The oldest element is of a thread that finds its value changed and does not wait; behind it one sleeps.
#[test]
fn a_wake_up_of_one_is_not_used_up_by_a_thread_that_does_not_wait() {
    counting_backend!(Passing);
    let _watchdog = watchdog();
    let table: WaitTable<Passing> = WaitTable::with_slots_in(1);
    thread::scope(|s| {
        table.wait_if(&table, || {
            s.spawn(|| table.wait_if(&table, || true));
            Passing::waits().reaches(1);
            assert_eq!(table.wake_one(&table), 1);
            assert_eq!(Passing::wakes().get(), 0, "the oldest was chosen, which does not sleep");
            false
        });
        // The scope ends when the sleeper has returned.
    });
    assert_eq!(Passing::wakes().get(), 1);
}

/// Tokens of several kinds on one slot: each put wakes one, takers time out and come again. A wake-up of one that wakes
/// nobody, while a taker waits, stops the test: the last takers have no timeout.
#[test]
fn wake_one_never_wakes_nobody() {
    const KINDS: usize = 3;
    let _watchdog = watchdog();
    let table = WaitTable::with_slots(1);
    let tokens: [AtomicUsize; KINDS] = Default::default();
    let (takers, takes) = (4, scaled(1000));
    let take = |kind: usize, seed: usize| {
        let shelf = &tokens[kind];
        let mut random = Random::new(seed);
        for _ in 0..takes {
            let take_one = |tokens: usize| tokens.checked_sub(1);
            while shelf.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one).is_err() {
                let is_empty = || shelf.load(Ordering::SeqCst) == 0;
                if random.below(3) == 0 {
                    table.wait_if(shelf, is_empty);
                } else {
                    let deadline = Instant::now() + Duration::from_micros(random.below(40) as u64);
                    let _ = table.wait_if_deadline(shelf, deadline, is_empty);
                }
            }
        }
    };
    thread::scope(|s| {
        for taker in 0..takers * KINDS {
            let take = &take;
            s.spawn(move || take(taker % KINDS, taker));
        }
        for shelf in &tokens {
            let table = &table;
            s.spawn(move || {
                for _ in 0..takers * takes {
                    shelf.fetch_add(1, Ordering::SeqCst);
                    table.wake_one(shelf);
                }
            });
        }
    });
    assert!(tokens.iter().all(|shelf| shelf.load(Ordering::Relaxed) == 0));
    assert_eq!(table.wake_all(&table), 0);
}

/// A mutex and a condition variable as programs write them against atomic-wait: only the line that imports it differs.
mod a_program_for_atomic_wait {
    use layby::atomic as atomic_wait;

    use atomic_wait::{wait, wake_all, wake_one};
    use std::sync::atomic::{AtomicU32, Ordering::*};

    /// 0: free. 1: locked. 2: locked, and somebody may wait.
    #[derive(Default)]
    pub(crate) struct Lock(AtomicU32);

    impl Lock {
        pub(crate) fn lock(&self) {
            if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                while self.0.swap(2, Acquire) != 0 {
                    wait(&self.0, 2);
                }
            }
        }

        pub(crate) fn unlock(&self) {
            if self.0.swap(0, Release) == 2 {
                wake_one(&self.0);
            }
        }
    }

    #[derive(Default)]
    pub(crate) struct Condition(AtomicU32);

    impl Condition {
        pub(crate) fn wait(&self, lock: &Lock) {
            let before = self.0.load(Relaxed);
            lock.unlock();
            wait(&self.0, before);
            lock.lock();
        }

        pub(crate) fn notify_one(&self) {
            self.0.fetch_add(1, Relaxed);
            wake_one(&self.0);
        }

        pub(crate) fn notify_all(&self) {
            self.0.fetch_add(1, Relaxed);
            wake_all(&self.0);
        }
    }

    /// A bounded count, guarded by the lock.
    #[derive(Default)]
    pub(crate) struct Bounded {
        lock: Lock,
        not_full: Condition,
        not_empty: Condition,
        count: AtomicU32,
    }

    impl Bounded {
        const CAPACITY: u32 = 2;

        pub(crate) fn put(&self) {
            self.change(&self.not_full, &self.not_empty, 1);
        }

        pub(crate) fn take(&self) {
            self.change(&self.not_empty, &self.not_full, -1);
        }

        pub(crate) fn count(&self) -> u32 {
            self.count.load(Relaxed)
        }

        fn change(&self, possible: &Condition, then_possible: &Condition, by: i32) {
            self.lock.lock();
            let changed = loop {
                match self.count().checked_add_signed(by) {
                    Some(count) if count <= Self::CAPACITY => break count,
                    _ => possible.wait(&self.lock),
                }
            };
            // Not a read-modify-write, and a pause before it: two threads inside would lose a change.
            std::thread::yield_now();
            self.count.store(changed, Relaxed);
            self.lock.unlock();
            if by > 0 { then_possible.notify_one() } else { then_possible.notify_all() }
        }
    }
}

#[test]
fn programs_for_atomic_wait_run_unchanged() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let bounded = a_program_for_atomic_wait::Bounded::default();
    let rounds = scaled(2000);
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| (0..rounds).for_each(|_| bounded.put()));
            s.spawn(|| (0..rounds).for_each(|_| bounded.take()));
        }
    });
    assert_eq!(bounded.count(), 0);
}
