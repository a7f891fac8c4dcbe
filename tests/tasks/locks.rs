//! Tasks that lock, beside threads; and that wait for conditions.

use crate::common::task::{Woken, block_on, poll, poll_once};
use crate::common::{scaled, watchdog};
use crate::hostile::{When, hostile, waker};
use layby::mutex::{Condvar, CondvarAsync, FairCondvar, FairMutex, LockAsync, Mutex, OwnedMutexGuard};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

/// Runs a test of both kinds of lock.
macro_rules! of_both {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            let _watchdog = watchdog();
            on::$name::<layby::mutex::RawMutex>();
            on::$name::<layby::mutex::RawFairMutex>();
        })+
    };
}

of_both! {
    a_lock_that_is_free_is_locked_at_once
    a_task_gets_the_lock_when_it_is_unlocked
    a_lock_given_to_a_future_that_is_dropped_goes_to_the_next
    an_owned_guard_keeps_its_lock_alive
    threads_and_tasks_exclude_each_other
    a_future_may_be_dropped_after_any_poll
    a_waker_that_panics_loses_no_lock
}

mod on {
    use super::*;
    use layby::mutex::lock_api::{self, RawMutex};

    type Lock<R> = lock_api::Mutex<R, usize>;

    pub(super) fn a_lock_that_is_free_is_locked_at_once<R: RawMutex + 'static>()
    where
        Lock<R>: LockAsync,
    {
        let mutex = Lock::<R>::new(0);
        let Poll::Ready(guard) = poll_once(Box::pin(mutex.lock_async()).as_mut()) else { panic!("it is free") };
        assert!(mutex.is_locked());
        drop(guard);
        assert!(!mutex.is_locked());
    }

    pub(super) fn a_task_gets_the_lock_when_it_is_unlocked<R: RawMutex + 'static>()
    where
        Lock<R>: LockAsync,
    {
        let mutex = Lock::<R>::new(0);
        let held = mutex.lock();
        let (mut future, woken) = (Box::pin(mutex.lock_async()), Woken::new());
        assert!(poll(future.as_mut(), &woken).is_pending());
        drop(held);
        woken.reaches(1);
        assert!(poll(future.as_mut(), &woken).is_ready());
        drop(future);
        assert!(!mutex.is_locked());
    }

    pub(super) fn a_lock_given_to_a_future_that_is_dropped_goes_to_the_next<R: RawMutex + 'static>()
    where
        Lock<R>: LockAsync,
    {
        let mutex = Lock::<R>::new(0);
        let held = mutex.lock();
        let mut first = Box::pin(mutex.lock_async());
        let (mut second, woken) = (Box::pin(mutex.lock_async()), Woken::new());
        assert!(poll_once(first.as_mut()).is_pending());
        assert!(poll(second.as_mut(), &woken).is_pending());
        drop(held);
        drop(first);
        assert!(woken.count() > 0);
        assert!(poll(second.as_mut(), &woken).is_ready());
    }

    pub(super) fn an_owned_guard_keeps_its_lock_alive<R: RawMutex + 'static>()
    where
        Lock<R>: LockAsync<OwnedGuard = OwnedMutexGuard<R, usize>>,
    {
        let mutex = Arc::new(Lock::<R>::new(0));
        let weak = Arc::downgrade(&mutex);
        let held = mutex.lock();
        let mut future = Box::pin(mutex.lock_arc_async());
        assert!(poll_once(future.as_mut()).is_pending());
        drop(held);
        drop(mutex);
        let Poll::Ready(mut guard) = poll_once(future.as_mut()) else { panic!("it is unlocked") };
        drop(future);
        *guard += 7;
        assert_eq!((*guard, OwnedMutexGuard::mutex(&guard).is_locked()), (7, true));
        let again = Arc::clone(OwnedMutexGuard::mutex(&guard));
        drop(guard);
        assert_eq!(*again.lock(), 7);
        drop(again);
        assert!(weak.upgrade().is_none());
    }

    pub(super) fn threads_and_tasks_exclude_each_other<R: RawMutex + Send + Sync + 'static>()
    where
        for<'a> Lock<R>: LockAsync<Guard<'a> = lock_api::MutexGuard<'a, R, usize>>,
    {
        let (mutex, rounds) = (Lock::<R>::new(0), scaled(3_000));
        std::thread::scope(|s| {
            for nth in 0..4 {
                let mutex = &mutex;
                s.spawn(move || {
                    for round in 0..rounds {
                        if nth == 0 {
                            *mutex.lock() += 1;
                        } else if round % 4 == nth {
                            // Given up, in line or not.
                            let _ = poll_once(Box::pin(mutex.lock_async()).as_mut()).map(|mut guard| *guard += 1);
                        } else {
                            block_on(async { *mutex.lock_async().await += 1 });
                        }
                    }
                });
            }
        });
        assert!(!mutex.is_locked());
        assert!(*mutex.lock() >= 3 * rounds);
    }

    /// Polled `k` times and dropped, locked or not in between.
    pub(super) fn a_future_may_be_dropped_after_any_poll<R: RawMutex + 'static>()
    where
        Lock<R>: LockAsync,
    {
        for polls in 0..4 {
            for unlocked_at in 0..4 {
                let mutex = Lock::<R>::new(0);
                let mut held = Some(mutex.lock());
                let mut future = Box::pin(mutex.lock_async());
                let (mut behind, woken) = (Box::pin(mutex.lock_async()), Woken::new());
                let (mut is_ready, mut waits) = (false, false);
                for round in 0..polls {
                    if !is_ready {
                        is_ready = poll_once(future.as_mut()).is_ready();
                    }
                    if round == 0 {
                        waits = poll(behind.as_mut(), &woken).is_pending();
                    }
                    if round == unlocked_at {
                        held = None;
                    }
                }
                drop(future);
                drop(held);
                assert!(!waits || woken.count() > 0, "{polls} {unlocked_at}");
                assert!(!waits || poll(behind.as_mut(), &woken).is_ready(), "{polls} {unlocked_at}");
                drop(behind);
                assert!(mutex.try_lock().is_some(), "{polls} {unlocked_at}");
            }
        }
    }

    /// In the unlock, and when it is cloned for the second time; with few behind it, of whom each stays on the chain until it is polled,
    /// and with many, who are taken off it.
    pub(super) fn a_waker_that_panics_loses_no_lock<R: RawMutex + 'static>()
    where
        Lock<R>: LockAsync,
    {
        for (when, many) in [(When::Wake, 0), (When::Clone, 0), (When::Wake, 20), (When::Clone, 20)] {
            let mutex = Lock::<R>::new(0);
            let held = mutex.lock();
            let panics = hostile(when, || resume_unwind(Box::new("as intended")));
            let mut first = Box::pin(mutex.lock_async());
            if when == When::Clone {
                assert!(poll_once(first.as_mut()).is_pending());
            } else {
                assert!(first.as_mut().poll(&mut Context::from_waker(&waker(&panics))).is_pending());
            }
            let (mut second, woken) = (Box::pin(mutex.lock_async()), Woken::new());
            assert!(poll(second.as_mut(), &woken).is_pending());
            let mut behind: Vec<_> = (0..many).map(|_| Box::pin(mutex.lock_async())).collect();
            behind.iter_mut().for_each(|future| assert!(poll_once(future.as_mut()).is_pending()));
            panics.arm();
            let unlocked = catch_unwind(AssertUnwindSafe(|| drop(held)));
            assert_eq!(unlocked.is_err(), when == When::Wake);
            if when == When::Clone {
                // It was woken, and is overtaken.
                let barged = mutex.try_lock();
                let waker = waker(&panics);
                let polled =
                    catch_unwind(AssertUnwindSafe(|| first.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()));
                assert_eq!(polled.is_err(), barged.is_some());
                drop(barged);
            }
            drop(first);
            assert!(woken.count() > 0, "{when:?}, {many} behind it");
            assert!(poll(second.as_mut(), &woken).is_ready(), "{when:?}, {many} behind it");
            drop((second, behind));
            assert!(!mutex.is_locked());
        }
    }
}

#[test]
fn futures_can_be_sent_if_the_data_can() {
    fn assert_send<T: Send>(_: &T) {}
    let (mutex, fair, condvar) = (Mutex::new(0), FairMutex::new(0), Condvar::new());
    assert_send(&mutex.lock_async());
    assert_send(&fair.lock_async());
    assert_send(&condvar.wait_async(mutex.lock()));
    assert_send(&Arc::new(Mutex::new(0)).lock_arc_async());
}

#[test]
fn the_fair_lock_serves_threads_and_tasks_in_order() {
    let _watchdog = watchdog();
    let mutex = FairMutex::new(vec![]);
    let held = mutex.lock();
    std::thread::scope(|s| {
        // SAFETY: only looked at.
        #[allow(unsafe_code, reason = "lock_api hides its words")]
        let word = unsafe { mutex.raw() };
        let mut first = Box::pin(mutex.lock_async());
        assert!(poll_once(first.as_mut()).is_pending());
        s.spawn(|| mutex.lock().push(1));
        while word.waiters() != 2 {
            std::thread::yield_now();
        }
        let mut last = Box::pin(mutex.lock_async());
        assert!(poll_once(last.as_mut()).is_pending());
        drop(held);
        assert!(mutex.try_lock().is_none(), "it is the first task's");
        let Poll::Ready(mut guard) = poll_once(first.as_mut()) else { panic!("it is its turn") };
        guard.push(0);
        drop(guard);
        block_on(async { last.await.push(2) });
    });
    assert_eq!(*mutex.lock(), [0, 1, 2]);
}

/// It is woken again, whoever took the lock before it.
#[test]
fn a_task_that_was_overtaken_is_woken_again() {
    let mutex = Mutex::new(());
    let held = mutex.lock();
    let (mut future, woken) = (Box::pin(mutex.lock_async()), Woken::new());
    assert!(poll(future.as_mut(), &woken).is_pending());
    drop(held);
    for overtaken in 1..4 {
        let barged = mutex.try_lock().expect("newcomers barge");
        assert!(poll(future.as_mut(), &woken).is_pending());
        drop(barged);
        assert_eq!(woken.count(), 1 + overtaken);
    }
    assert!(poll(future.as_mut(), &woken).is_ready());
}

/// It may be this very thread that should poll it. Only tasks behind it wait for that.
#[test]
fn a_mutex_is_not_kept_for_a_task_that_is_not_polled() {
    let _watchdog = watchdog();
    let mutex = Mutex::new(());
    let held = mutex.lock();
    let (mut first, first_woken) = (Box::pin(mutex.lock_async()), Woken::new());
    let (mut second, second_woken) = (Box::pin(mutex.lock_async()), Woken::new());
    assert!(poll(first.as_mut(), &first_woken).is_pending());
    assert!(poll(second.as_mut(), &second_woken).is_pending());
    drop(held);
    (0..3).for_each(|_| drop(mutex.lock()));
    first_woken.reaches(1);
    assert_eq!(second_woken.count(), 0);
    drop(first);
    second_woken.reaches(1);
    assert!(poll(second.as_mut(), &second_woken).is_ready());
}

#[test]
fn a_task_waits_for_a_condition() {
    let _watchdog = watchdog();
    let (queue, not_empty) = (Mutex::new(vec![]), Condvar::new());
    std::thread::scope(|s| {
        s.spawn(|| {
            for item in 0..scaled(1_000) {
                queue.lock().push(item);
                not_empty.notify_one();
            }
        });
        block_on(async {
            let mut seen = 0;
            while seen < scaled(1_000) {
                let mut queue = not_empty.wait_while_async(queue.lock_async().await, |queue| queue.is_empty()).await;
                seen += queue.drain(..).count();
            }
        });
    });
}

/// It unlocks when it is first polled, and not before; and not at all if it is dropped before.
#[test]
fn a_wait_unlocks_when_it_is_polled() {
    let (mutex, condvar) = (FairMutex::new(()), FairCondvar::new());
    let mut wait = Box::pin(condvar.wait_async(mutex.lock()));
    assert!(mutex.is_locked());
    assert!(poll_once(wait.as_mut()).is_pending());
    let held = mutex.try_lock().expect("unlocked while it waits");
    condvar.notify_one();
    assert!(poll_once(wait.as_mut()).is_pending(), "it is locked");
    drop(held);
    assert!(poll_once(wait.as_mut()).is_ready());
    drop(wait);
    drop(condvar.wait_async(mutex.lock()));
    assert!(!mutex.is_locked());
}

/// Before it has locked again, and before it has been polled.
#[test]
fn a_notification_that_chose_a_wait_that_is_dropped_goes_to_the_next() {
    for is_polled in [false, true] {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let mut first = Box::pin(condvar.wait_async(mutex.lock()));
        assert!(poll_once(first.as_mut()).is_pending());
        let (mut second, woken) = (Box::pin(condvar.wait_async(mutex.lock())), Woken::new());
        assert!(poll(second.as_mut(), &woken).is_pending());
        let held = mutex.lock();
        condvar.notify_one();
        assert_eq!(woken.count(), 0);
        assert!(!is_polled || poll_once(first.as_mut()).is_pending());
        drop(first);
        drop(held);
        assert!(woken.count() > 0);
        assert!(poll(second.as_mut(), &woken).is_ready());
    }
}

/// The task is polled though nobody has woken it, finds the lock free, and has its waker still.
#[test]
fn a_waker_whose_drop_panics_loses_no_lock() {
    let mutex = Mutex::new(());
    let held = mutex.lock();
    let (mut first, woken) = (Box::pin(mutex.lock_async()), Woken::new());
    assert!(poll(first.as_mut(), &woken).is_pending());
    let panics = hostile(When::Drop, || resume_unwind(Box::new("as intended")));
    let mut second = Box::pin(mutex.lock_async());
    assert!(second.as_mut().poll(&mut Context::from_waker(&waker(&panics))).is_pending());
    drop(held);
    panics.arm();
    let locked = catch_unwind(AssertUnwindSafe(|| poll_once(second.as_mut()).is_ready()));
    assert!(locked.is_err() && panics.is_done());
    drop(second);
    assert!(mutex.try_lock().is_some(), "nobody has been told of the lock, so it is given back");
    drop(first);
}
