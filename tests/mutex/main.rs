//! Both mutexes and their condition variables on the real backend: each test is written once, for any kind of mutex.

#![cfg(not(layby_model))]

#[path = "../common/mod.rs"]
mod common;

mod condvar;
mod starving;

use common::{Shared, eventually, scaled, watchdog};
use layby::mutex::{FairMutex, FairMutexGuard, RawCondvar, RawFairMutex, RawMutex, Ticket};
use layby::wait_table::Home;
use lock_api::{MappedMutexGuard, Mutex, MutexGuard, RawMutexTimed};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A kind of mutex, by its word.
trait Kind:
    RawMutexTimed<Duration = Duration, Instant = Instant, Guard: Send + Sync> + Send + Sync + Sized + 'static
{
    fn in_a_static() -> &'static Mutex<Self, usize>;
    fn condvar_in_a_static() -> &'static Condvar<Self>;
}

type Condvar<K> = lock_api::Condvar<RawCondvar<K>>;

/// Says that a word is a kind, by the crate's own names for what is made of it.
macro_rules! kind {
    ($raw:ident: $mutex:ident, $guard:ident, $mapped:ident, $condvar:ident) => {
        impl Kind for $raw {
            fn in_a_static() -> &'static Mutex<Self, usize> {
                static MUTEX: layby::mutex::$mutex<usize> = layby::mutex::$mutex::new(0);
                &MUTEX
            }

            fn condvar_in_a_static() -> &'static Condvar<Self> {
                static CONDVAR: layby::mutex::$condvar = layby::mutex::$condvar::new();
                &CONDVAR
            }
        }

        const _: fn(layby::mutex::$guard<'_, ()>) -> MutexGuard<'_, $raw, ()> = |guard| guard;
        const _: fn(layby::mutex::$mapped<'_, ()>) -> MappedMutexGuard<'_, $raw, ()> = |guard| guard;
    };
}

kind!(RawMutex: Mutex, MutexGuard, MappedMutexGuard, Condvar);
kind!(RawFairMutex: FairMutex, FairMutexGuard, MappedFairMutexGuard, FairCondvar);

/// Makes tests of functions that are generic over a kind: one of each kind.
macro_rules! of_both_kinds {
    ($barging:ident, $fair:ident: $($test:ident)+) => {
        mod $barging {
            $(#[test] fn $test() { let _watchdog = super::watchdog(); super::$test::<super::RawMutex>(); })+
        }
        mod $fair {
            $(#[test] fn $test() { let _watchdog = super::watchdog(); super::$test::<super::RawFairMutex>(); })+
        }
    };
}

of_both_kinds!(barging, fair:
    is_free_again_after_the_guard
    one_at_a_time
    locks_after_a_long_wait
    gives_back_what_it_holds
    drops_what_it_holds_even_when_locked
    nests
    a_panic_unlocks_and_does_not_poison
    protects_unsized_data
    guards_are_sync_and_can_be_sent
    says_whether_it_is_locked
    guards_can_be_mapped_or_not
    guards_can_own_their_mutex
    can_be_unlocked_for_a_while
    the_next_holder_may_free_it
    notifying_nobody_does_nothing
    a_notification_is_not_lost_between_unlock_and_sleep
    notify_all_reaches_all
    one_condvar_serves_two_mutexes
    a_bounded_queue_loses_nothing
);

of_both_kinds!(barging_timed, fair_timed:
    a_timed_lock_gives_up_after_its_time_and_not_before
    a_timed_lock_is_woken_by_unlock
    giving_up_loses_nothing
    a_timed_wait_tells_a_timeout_from_a_notification
);

common::on_every_backend!(
    locks_on_any_backend,
    a_fair_mutex_serves_in_the_order_of_arrival,
    who_gave_up_does_not_stand_in_line
);

/// Set when dropped.
struct Flag<'a>(&'a AtomicBool);

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        assert!(!self.0.swap(true, Ordering::Relaxed), "dropped twice");
    }
}

fn is_free_again_after_the_guard<K: Kind>() {
    let mutex = Mutex::<K, _>::new(());
    drop(mutex.lock());
    drop(mutex.lock());
    let guard = mutex.try_lock().unwrap();
    assert!(mutex.is_locked());
    assert!(mutex.try_lock().is_none());
    drop(guard);
    assert!(!mutex.is_locked());
    assert!(mutex.try_lock().is_some());
}

fn one_at_a_time<K: Kind>() {
    const THREADS: usize = 6;
    let rounds = scaled(2000);
    let sum = K::in_a_static();
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for _ in 0..rounds {
                    let mut sum = sum.lock();
                    let before = *sum;
                    std::hint::spin_loop();
                    *sum = before + 1;
                }
            });
        }
    });
    assert_eq!(*sum.lock(), THREADS * rounds);
}

fn locks_after_a_long_wait<K: Kind>() {
    let mutex = Mutex::<K, _>::new(0);
    let started = AtomicUsize::new(0);
    thread::scope(|s| {
        let guard = mutex.lock();
        for _ in 0..4 {
            s.spawn(|| {
                started.fetch_add(1, Ordering::Relaxed);
                *mutex.lock() += 1;
            });
        }
        while started.load(Ordering::Relaxed) < 4 {
            thread::yield_now();
        }
        // Long enough for most of them to be asleep; nothing depends on it.
        thread::sleep(Duration::from_millis(10));
        assert_eq!(*guard, 0);
        drop(guard);
    });
    assert!(!mutex.is_locked());
    assert_eq!(mutex.into_inner(), 4);
}

fn gives_back_what_it_holds<K: Kind>() {
    let dropped = AtomicBool::new(false);
    let held = Mutex::<K, _>::new(Flag(&dropped)).into_inner();
    assert!(!dropped.load(Ordering::Relaxed));
    drop(held);
    assert!(dropped.load(Ordering::Relaxed));

    let mut mutex = Mutex::<K, _>::new(String::from("a"));
    mutex.get_mut().push('b');
    assert_eq!(mutex.into_inner(), "ab");
}

fn drops_what_it_holds_even_when_locked<K: Kind>() {
    let dropped = AtomicBool::new(false);
    let mutex = Mutex::<K, _>::new(Flag(&dropped));
    std::mem::forget(mutex.lock());
    drop(mutex);
    assert!(dropped.load(Ordering::Relaxed));
}

fn nests<K: Kind>() {
    let outer = Mutex::<K, _>::new(Mutex::<K, _>::new(1));
    thread::scope(|s| {
        s.spawn(|| {
            let inner = outer.lock();
            *inner.lock() += 1;
        });
    });
    assert_eq!(outer.into_inner().into_inner(), 2);
}

fn a_panic_unlocks_and_does_not_poison<K: Kind>() {
    struct LocksOnDrop<K: Kind>(Arc<Mutex<K, i32>>);
    impl<K: Kind> Drop for LocksOnDrop<K> {
        fn drop(&mut self) {
            *self.0.lock() += 1;
        }
    }
    let mutex = Arc::new(Mutex::<K, _>::new(1));
    let theirs = mutex.clone();
    let panicked = thread::spawn(move || {
        let _later = LocksOnDrop(theirs.clone());
        let _guard = theirs.lock();
        std::panic::resume_unwind(Box::new("on purpose"));
    })
    .join();
    assert!(panicked.is_err());
    assert_eq!(*mutex.lock(), 2);
}

fn protects_unsized_data<K: Kind>() {
    let mutex: &Mutex<K, [i32]> = &Mutex::<K, _>::new([1, 2, 3]);
    mutex.lock()[1] = 20;
    assert_eq!(*mutex.lock(), [1, 20, 3]);
}

fn guards_are_sync_and_can_be_sent<K: Kind>() {
    fn requires<T: Send + Sync>(_: &T) {}
    let mutex = Mutex::<K, _>::new(5);
    let guard = mutex.lock();
    requires(&guard);
    thread::scope(|s| {
        s.spawn(move || drop(guard));
    });
    assert!(!mutex.is_locked(), "unlocked by the other thread");
}

fn says_whether_it_is_locked<K: Kind>() {
    let mutex = Mutex::<K, _>::new([7_u8]);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: [7] }");
    let _guard = mutex.lock();
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
}

fn guards_can_be_mapped_or_not<K: Kind>() {
    let mutex = Mutex::<K, _>::new(vec![String::from("one"), String::from("two")]);
    let guard = mutex.lock();
    let Err((guard, reason)) = MutexGuard::try_map_or_err(guard, |all| all.get_mut(5).ok_or("too far")) else {
        panic!("there are only two");
    };
    assert_eq!(reason, "too far");
    let mut first = MutexGuard::map(guard, |all| &mut all[0]);
    first.push('!');
    let Err((first, ())) = MappedMutexGuard::try_map_or_err(first, |_| Err::<&mut str, ()>(())) else {
        panic!("it was refused");
    };
    assert_eq!(&*MappedMutexGuard::map(first, String::as_mut_str), "one!");
    assert!(!mutex.is_locked());
}

fn guards_can_own_their_mutex<K: Kind>() {
    let mutex = Arc::new(Mutex::<K, _>::new(0));
    let mut guard = mutex.lock_arc();
    assert!(mutex.try_lock_arc().is_none());
    *guard += 1;
    thread::spawn(move || drop(guard)).join().unwrap();
    assert_eq!(*mutex.lock(), 1);
}

fn can_be_unlocked_for_a_while<K: Kind>() {
    let mutex = Mutex::<K, _>::new(0);
    let mut guard = mutex.lock();
    MutexGuard::unlocked(&mut guard, || *mutex.lock() += 1);
    assert_eq!(*guard, 1);
    assert!(mutex.try_lock().is_none());
}

/// Promise 8 (README). For Miri and a sanitizer to see; without them the test shows that nothing hangs.
#[allow(unsafe_code)]
fn the_next_holder_may_free_it<K: Kind>() {
    for _ in 0..scaled(500) {
        let mutex = Shared::new(Mutex::<K, _>::new(()));
        // SAFETY: alive until the thread below has locked and unlocked it.
        let guard = unsafe { mutex.get() }.lock();
        let last = thread::spawn(move || {
            // SAFETY: the other thread unlocks it, and never touches it after that.
            unsafe {
                drop(mutex.get().lock());
                mutex.free();
            }
        });
        drop(guard);
        last.join().unwrap();
    }
}

fn notifying_nobody_does_nothing<K: Kind>() {
    let changed = K::condvar_in_a_static();
    assert!(!changed.notify_one());
    assert_eq!(changed.notify_all(), 0);
    assert_eq!(format!("{changed:?}"), "Condvar { .. }");
}

fn a_notification_is_not_lost_between_unlock_and_sleep<K: Kind>() {
    let (turn, changed) = (Mutex::<K, _>::new(0), Condvar::<K>::new());
    let rounds = scaled(2000);
    thread::scope(|s| {
        for parity in 0..2 {
            let (turn, changed) = (&turn, &changed);
            s.spawn(move || {
                let mut turn = turn.lock();
                while *turn < rounds {
                    if *turn % 2 == parity {
                        *turn += 1;
                        changed.notify_one();
                    } else {
                        changed.wait(&mut turn);
                    }
                }
            });
        }
    });
    assert_eq!(*turn.lock(), rounds);
}

fn notify_all_reaches_all<K: Kind>() {
    const WAITERS: usize = 10;
    let (waiting, all_wait, go) = (Mutex::<K, _>::new(0), Condvar::<K>::new(), Condvar::<K>::new());
    thread::scope(|s| {
        for _ in 0..WAITERS {
            s.spawn(|| {
                let mut waiting = waiting.lock();
                *waiting += 1;
                all_wait.notify_one();
                go.wait_while(&mut waiting, |waiting| *waiting != 0);
            });
        }
        let mut waiting = waiting.lock();
        all_wait.wait_while(&mut waiting, |waiting| *waiting != WAITERS);
        *waiting = 0;
        go.notify_all();
    });
}

fn one_condvar_serves_two_mutexes<K: Kind>() {
    let (one, other, changed) = (Mutex::<K, _>::new(false), Mutex::<K, _>::new(false), Condvar::<K>::new());
    thread::scope(|s| {
        for mutex in [&one, &other] {
            let changed = &changed;
            s.spawn(move || changed.wait_while(&mut mutex.lock(), |open| !*open));
        }
        *one.lock() = true;
        *other.lock() = true;
        changed.notify_all();
    });
}

/// Producers and consumers with a small queue, in the manner of WebKit's tests.
fn a_bounded_queue_loses_nothing<K: Kind>() {
    const CAPACITY: usize = 3;
    let each = scaled(500);
    let queue = Mutex::<K, _>::new(VecDeque::new());
    let (not_empty, not_full) = (Condvar::<K>::new(), Condvar::<K>::new());
    let sum = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for n in 1..=each {
                    let mut queue = queue.lock();
                    not_full.wait_while(&mut queue, |queue| queue.len() == CAPACITY);
                    queue.push_back(n);
                    drop(queue);
                    not_empty.notify_one();
                }
            });
            s.spawn(|| {
                for _ in 0..each {
                    let mut queue = queue.lock();
                    not_empty.wait_while(&mut queue, |queue| queue.is_empty());
                    sum.fetch_add(queue.pop_front().unwrap(), Ordering::Relaxed);
                    drop(queue);
                    not_full.notify_one();
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), 4 * each * (each + 1) / 2);
}

fn a_timed_lock_gives_up_after_its_time_and_not_before<K: Kind>() {
    let mutex = Mutex::<K, _>::new(());
    let guard = mutex.lock();
    let start = Instant::now();
    assert!(mutex.try_lock_for(Duration::from_millis(5)).is_none());
    assert!(start.elapsed() >= Duration::from_millis(5));
    assert!(mutex.try_lock_until(start).is_none());
    let soon = Instant::now() + Duration::from_millis(5);
    assert!(mutex.try_lock_until(soon).is_none());
    assert!(Instant::now() >= soon);
    assert!(mutex.try_lock_for(Duration::ZERO).is_none());
    drop(guard);
    assert!(mutex.try_lock_until(start).is_some(), "free: no need to wait");
    assert!(mutex.try_lock_for(Duration::MAX).is_some());
    assert!(!mutex.is_locked());
}

fn a_timed_lock_is_woken_by_unlock<K: Kind>() {
    let mutex = Mutex::<K, _>::new(0);
    thread::scope(|s| {
        let guard = mutex.lock();
        let (sender, started) = mpsc::channel();
        for timeout in [Duration::MAX, Duration::from_secs(3600)] {
            let (mutex, sender) = (&mutex, sender.clone());
            s.spawn(move || {
                sender.send(()).unwrap();
                *mutex.try_lock_for(timeout).unwrap() += 1;
            });
        }
        started.recv().unwrap();
        started.recv().unwrap();
        drop(guard);
    });
    assert_eq!(mutex.into_inner(), 2);
}

/// Those who give up must neither take the lock with them nor the wake-up of those who stay.
fn giving_up_loses_nothing<K: Kind>() {
    let mutex = Mutex::<K, _>::new(0);
    let (given_up, rounds) = (AtomicUsize::new(0), scaled(300));
    thread::scope(|s| {
        for thread in 0..6 {
            let (mutex, given_up) = (&mutex, &given_up);
            s.spawn(move || {
                for round in 0..rounds {
                    if thread < 3 {
                        *mutex.lock() += 1;
                    } else if let Some(mut sum) = mutex.try_lock_for(Duration::from_micros(round as u64 % 50)) {
                        *sum += 1;
                        if round % 8 == 0 {
                            thread::sleep(Duration::from_micros(50));
                        }
                    } else {
                        given_up.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(!mutex.is_locked());
    assert_eq!(mutex.into_inner() + given_up.into_inner(), 6 * rounds);
}

fn a_timed_wait_tells_a_timeout_from_a_notification<K: Kind>() {
    let (mutex, changed) = (Mutex::<K, _>::new(false), Condvar::<K>::new());
    let mut guard = mutex.lock();
    let deadline = Instant::now() + Duration::from_millis(5);
    while !changed.wait_until(&mut guard, deadline).timed_out() {}
    assert!(Instant::now() >= deadline);
    assert!(mutex.is_locked(), "locked again after the timeout");
    assert!(changed.wait_while_for(&mut guard, |open| !*open, Duration::from_millis(1)).timed_out());
    let mut looks = 0;
    let second_look = |_: &mut bool| {
        looks += 1;
        looks == 1
    };
    assert!(!changed.wait_while_until(&mut guard, second_look, Instant::now()).timed_out());
    thread::scope(|s| {
        s.spawn(|| {
            *mutex.lock() = true;
            changed.notify_one();
        });
        assert!(!changed.wait_while_for(&mut guard, |open| !*open, Duration::MAX).timed_out());
    });
}

/// Every way to lock, against each other.
fn locks_on_any_backend<H: Home>() {
    let (barging, fair) = (lock_api::Mutex::<RawMutex<H>, _>::new(0), lock_api::Mutex::<RawFairMutex<H>, _>::new(0));
    let expected = AtomicUsize::new(0);
    let count = |done: bool| expected.fetch_add(usize::from(done), Ordering::Relaxed);
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..scaled(200) {
                    *barging.lock() += 1;
                    *fair.lock() += 1;
                    count(true);
                    let both = barging.try_lock_for(Duration::from_micros(20)).zip(fair.try_lock());
                    count(both.is_some());
                    if let Some((mut one, mut other)) = both {
                        *one += 1;
                        *other += 1;
                    }
                }
            });
        }
    });
    assert_eq!([barging.into_inner(), fair.into_inner()], [expected.load(Ordering::Relaxed); 2]);
}

#[test]
fn sizes() {
    let _watchdog = watchdog();
    assert!(size_of::<RawMutex>() <= 8);
    assert!(size_of::<RawFairMutex>() <= 16);
    assert_eq!(size_of::<layby::mutex::Mutex<u32>>(), 8);
}

#[test]
fn a_fair_mutex_is_unlocked_fairly() {
    let _watchdog = watchdog();
    let mutex = FairMutex::new(());
    FairMutexGuard::unlock_fair(mutex.lock());
    let mut guard = mutex.try_lock().expect("it was unlocked");
    thread::scope(|s| {
        let next = s.spawn(|| drop(mutex.lock()));
        // The next in line comes first, whoever else wants the lock.
        while !next.is_finished() {
            FairMutexGuard::bump(&mut guard);
        }
    });
    assert!(mutex.try_lock().is_none(), "locked again");
}

/// A thread that does nothing but lock and unlock cannot keep a waiter out forever.
#[test]
fn a_waiter_is_served_while_others_barge() {
    let _watchdog = watchdog();
    let mutex = layby::mutex::Mutex::new(0_u64);
    let served = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while !served.load(Ordering::Relaxed) {
                    *mutex.lock() += 1;
                }
            });
        }
        for _ in 0..50 {
            drop(mutex.lock());
        }
        served.store(true, Ordering::Relaxed);
    });
}

#[allow(unsafe_code)]
fn release<H: Home>(mutex: &RawFairMutex<H>, ticket: Ticket) {
    // SAFETY: a test releases the mutex whose ticket it has.
    unsafe { mutex.release(ticket) }
}

fn who_gave_up_does_not_stand_in_line<H: Home>() {
    let mutex = RawFairMutex::<H>::new_in();
    thread::scope(|s| {
        let ticket = mutex.acquire();
        let gives_up = s.spawn(|| mutex.acquire_timeout(Duration::from_millis(100)).is_none());
        eventually(|| mutex.waiters() == 1 || gives_up.is_finished());
        s.spawn(|| {
            let ticket = mutex.acquire();
            release(&mutex, ticket);
        });
        assert!(gives_up.join().unwrap());
        eventually(|| mutex.waiters() == 1);
        release(&mutex, ticket);
    });
    assert_eq!(mutex.waiters(), 0);
}

fn a_fair_mutex_serves_in_the_order_of_arrival<H: Home>() {
    const THREADS: usize = 6;
    let (mutex, served) = (RawFairMutex::<H>::new_in(), AtomicUsize::new(0));
    thread::scope(|s| {
        let ticket = mutex.acquire();
        for n in 0..THREADS {
            let (mutex, served) = (&mutex, &served);
            s.spawn(move || {
                let ticket = mutex.acquire();
                assert_eq!(served.fetch_add(1, Ordering::Relaxed), n);
                release(mutex, ticket);
            });
            // The next one starts when this one stands in line.
            while mutex.waiters() < n as u64 + 1 {
                thread::yield_now();
            }
        }
        release(&mutex, ticket);
    });
    assert_eq!(served.into_inner(), THREADS);
    assert_eq!(mutex.waiters(), 0);
}
