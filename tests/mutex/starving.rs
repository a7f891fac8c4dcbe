//! The first of a barging mutex's waiters: it naps, and when it has been overtaken for long enough the lock is for it alone. And
//! those to whom a fair unlock hands the lock, asleep or napping.
//! It knows by its backend's calls when the waiter sleeps, so its tests run one at a time.

use crate::common::{Tally, eventually, home, homes::OneSlot, scaled, watchdog};
use layby::mutex::{MutexIn, RawMutex, lock_api::MutexGuard};
use layby::sys::{AtomicU32, Backend, Native};
use layby::wait_table::Home;
use layby::{Cancel, Stopped};
use std::future::Future;
use std::pin::pin;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::task::{Context, Wake};
use std::thread;
use std::time::{Duration, Instant};

/// How often a waiter has gone to sleep until it is woken. Naps end by themselves, and do not count.
static SLEEPS: Tally = Tally::new();
/// How often it has napped.
static NAPS: Tally = Tally::new();

/// Tells when a waiter sleeps.
struct Telling;

// SAFETY: as its target.
#[allow(unsafe_code)]
unsafe impl Backend for Telling {
    const NAME: &'static str = "Telling";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        if deadline.is_none() { &SLEEPS } else { &NAPS }.add();
        Native::wait(word, expected, deadline);
    }

    fn wake(word: *const AtomicU32) {
        Native::wake(word);
    }
}

home!(OfOurOwn, Telling, 64);

/// One test at a time: they share the backend's count.
static ALONE: Mutex<()> = Mutex::new(());

#[allow(unsafe_code)]
fn release<H: Home>(mutex: &RawMutex<H>) {
    // SAFETY: a test releases what it holds.
    unsafe { mutex.release() }
}

#[test]
fn the_starving_one_is_not_overtaken() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::<OfOurOwn>::new_in();
    for _ in 0..scaled(50) {
        let (served, slept) = (AtomicBool::new(false), SLEEPS.get());
        mutex.acquire();
        thread::scope(|s| {
            s.spawn(|| {
                mutex.acquire();
                served.store(true, Ordering::SeqCst);
                release(mutex);
            });
            SLEEPS.reaches(slept + 1);
            // It looks for nothing, naps, and says that it starves before it sleeps again.
            OfOurOwn::TABLE.wake_everybody();
            SLEEPS.reaches(slept + 2);
            release(mutex);
            eventually(|| mutex.try_acquire());
            let in_time = served.load(Ordering::SeqCst);
            release(mutex);
            assert!(in_time, "the starving one was overtaken");
        });
    }
}

/// The lock is not kept for a first one that has given up.
#[test]
fn a_first_one_that_gives_up_leaves_no_mark() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::<OfOurOwn>::new_in();
    let (cancel, slept) = (Cancel::new(), SLEEPS.get());
    mutex.acquire();
    thread::scope(|s| {
        let waiter = s.spawn(|| mutex.acquire_within(&cancel));
        SLEEPS.reaches(slept + 1);
        OfOurOwn::TABLE.wake_everybody();
        SLEEPS.reaches(slept + 2);
        cancel.cancel();
        assert_eq!(waiter.join().unwrap(), Err(Stopped::Cancelled));
    });
    release(mutex);
    assert!(mutex.try_acquire(), "it is kept for one who has left");
}

/// Two have been woken: the first is the starving one, and is served first; then the other, which has gone back to sleep.
#[test]
fn there_is_one_first_waiter_at_a_time() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::<OfOurOwn>::new_in();
    for _ in 0..scaled(50) {
        let served = AtomicUsize::new(0);
        mutex.acquire();
        thread::scope(|s| {
            for nth in 0..2 {
                let (served, slept) = (&served, SLEEPS.get());
                s.spawn(move || {
                    mutex.acquire();
                    let before = served.fetch_add(1, Ordering::SeqCst);
                    release(mutex);
                    assert_eq!(before, nth, "the starving one was overtaken");
                });
                SLEEPS.reaches(slept + 1);
                // How many it has woken does not say who: one that moves on to another chain may be woken twice.
                OfOurOwn::TABLE.wake_everybody();
                SLEEPS.reaches(slept + 2 + nth);
            }
            release(mutex);
        });
    }
}

#[allow(unsafe_code)]
fn release_fair<H: Home>(mutex: &RawMutex<H>) {
    // SAFETY: a test releases what it holds.
    unsafe { mutex.release_fair() }
}

/// A fair unlock when a waiter is as `prepare` makes it, given how many sleeps there were before; then we try to overtake it.
fn hands_over(prepare: fn(usize)) {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::<OfOurOwn>::new_in();
    for _ in 0..scaled(50) {
        let (served, slept) = (AtomicBool::new(false), SLEEPS.get());
        mutex.acquire();
        thread::scope(|s| {
            s.spawn(|| {
                mutex.acquire();
                served.store(true, Ordering::SeqCst);
                release(mutex);
            });
            SLEEPS.reaches(slept + 1);
            prepare(slept);
            release_fair(mutex);
            eventually(|| mutex.try_acquire());
            let in_time = served.load(Ordering::SeqCst);
            release_fair(mutex);
            assert!(in_time, "it was overtaken");
        });
        assert!(mutex.try_acquire(), "it is kept for nobody");
        release_fair(mutex);
    }
}

#[test]
fn a_fair_unlock_hands_over_to_who_sleeps() {
    hands_over(|_| ());
}

#[test]
fn a_fair_unlock_hands_over_to_who_naps() {
    hands_over(|slept| {
        let napped = NAPS.get();
        OfOurOwn::TABLE.wake_everybody();
        // On a slow machine a nap may be over before it has begun.
        eventually(|| NAPS.get() > napped || SLEEPS.get() > slept + 1);
    });
}

#[test]
fn a_bump_serves_who_waits() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let served = &MutexIn::<_, OfOurOwn>::new(0);
    type Guard<'a> = MutexGuard<'a, RawMutex<OfOurOwn>, u32>;
    let yield_it: [fn(&mut Guard<'_>); 2] =
        [|guard| MutexGuard::bump(guard), |guard| MutexGuard::unlocked_fair(guard, || ())];
    for yield_it in yield_it {
        let slept = SLEEPS.get();
        let mut guard = served.lock();
        thread::scope(|s| {
            s.spawn(|| *served.lock() += 1);
            SLEEPS.reaches(slept + 1);
            let before = *guard;
            yield_it(&mut guard);
            assert_eq!(*guard, before + 1, "it has served itself");
            // Nobody waits: it keeps the lock.
            yield_it(&mut guard);
            assert!(served.is_locked());
            MutexGuard::unlock_fair(guard);
        });
        assert!(served.try_lock().is_some());
    }
}

/// All in one slot, so that they are woken for nothing too, and give up at any moment: no count is lost, and nobody is left behind.
#[test]
fn fair_and_plain_unlocks_exclude_side_by_side() {
    const THREADS: usize = 6;
    let _watchdog = watchdog();
    let (mutex, count) = (&RawMutex::<OneSlot>::new_in(), &AtomicUsize::new(0));
    let counted: usize = thread::scope(|s| {
        let work = |thread| {
            move || {
                let turn = |n: usize| {
                    let locked = match (n + thread) % 3 {
                        0 => mutex.acquire_timeout(Duration::from_micros(n as u64 % 200)),
                        _ => {
                            mutex.acquire();
                            true
                        }
                    };
                    if locked {
                        // Not a read-modify-write: two at once would lose one.
                        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        if n.is_multiple_of(2) { release_fair(mutex) } else { release(mutex) }
                    }
                    locked
                };
                (0..scaled(2_000)).filter(|n| turn(*n)).count()
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| s.spawn(work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(count.load(Ordering::Relaxed), counted);
    assert!(mutex.try_acquire(), "it is kept for nobody");
}

/// Tells that it has been called.
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The lock is for the thread; the task is told all the same, and may leave.
#[test]
fn a_fair_unlock_wakes_a_task_beside_the_thread() {
    let (_watchdog, _alone) = (watchdog(), ALONE.lock());
    let mutex = &RawMutex::<OfOurOwn>::new_in();
    let (may_end, slept) = (Tally::new(), SLEEPS.get());
    mutex.acquire();
    thread::scope(|s| {
        s.spawn(|| {
            mutex.acquire();
            may_end.reaches(1);
            release_fair(mutex);
        });
        SLEEPS.reaches(slept + 1);
        let bell = Arc::new(Bell(AtomicBool::new(false)));
        let mut task = pin!(mutex.acquire_async());
        assert!(task.as_mut().poll(&mut Context::from_waker(&bell.clone().into())).is_pending());
        release_fair(mutex);
        assert!(bell.0.load(Ordering::SeqCst), "the task was not woken");
        assert!(task.as_mut().poll(&mut Context::from_waker(&bell.clone().into())).is_pending(), "it overtook");
        may_end.add();
    });
    assert!(mutex.try_acquire(), "it is kept for a task that is gone");
}

/// Naps, and does not come back before it is let.
struct Oversleeping;

static MAY_COME_BACK: Tally = Tally::new();
static LATE_NAPS: Tally = Tally::new();
static LONG_SLEEPS: Tally = Tally::new();

// SAFETY: as its target; it may return late.
#[allow(unsafe_code)]
unsafe impl Backend for Oversleeping {
    const NAME: &'static str = "Oversleeping";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        if deadline.is_none() {
            LONG_SLEEPS.add();
        }
        Native::wait(word, expected, deadline);
        if deadline.is_some() {
            LATE_NAPS.add();
            MAY_COME_BACK.reaches(1);
        }
    }

    fn wake(word: *const AtomicU32) {
        Native::wake(word);
    }
}

home!(OfOversleepers, Oversleeping, 64);

/// The operating system may not let it run when its nap is over. Then it is not overtaken for ever all the same.
#[test]
fn one_that_does_not_come_back_from_its_nap_is_not_overtaken_for_ever() {
    let _watchdog = watchdog();
    let mutex = &RawMutex::<OfOversleepers>::new_in();
    // On a slow machine a nap may be over before it has begun; then another one tries.
    while LATE_NAPS.get() == 0 {
        let slept = LONG_SLEEPS.get();
        mutex.acquire();
        thread::scope(|s| {
            s.spawn(|| {
                mutex.acquire();
                release(mutex);
            });
            LONG_SLEEPS.reaches(slept + 1);
            OfOversleepers::TABLE.wake_everybody();
            eventually(|| LATE_NAPS.get() > 0 || LONG_SLEEPS.get() > slept + 1);
            release(mutex);
            if LATE_NAPS.get() > 0 {
                // We overtake it, and when it is due we cannot any more.
                eventually(|| {
                    let locked = mutex.try_acquire();
                    if locked {
                        release(mutex);
                    }
                    !locked
                });
                MAY_COME_BACK.add();
            }
        });
    }
    assert!(mutex.try_acquire(), "it is kept for one who has been served");
}
