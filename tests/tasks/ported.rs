//! What tokio tests of its `Semaphore`, `Mutex`, `RwLock` and `Notify`, put to ours with the same meaning; on no runtime, since ours
//! need none. examples/async_service has tokio's own.
//!
//! Left out, since there is nothing here to put them to: a most of readers, guards that are downgraded through a map, `notify_last`, and
//! the panic of a blocking call within tokio's runtime, of which we do not know. A closed semaphore is our `Pool`, which refuses to lend and keeps its permits to itself.

use crate::common::task::{Woken, block_on, poll, poll_once};
use crate::common::{scaled, watchdog};
use layby::Closed;
use layby::eventcount::WaitPoint;
use layby::mutex::{FairMutex, LockAsync, Mutex};
use layby::rwlock::{RwLock, RwLockAsync, RwLockWriteGuard};
use layby::sema::{Pool, Semaphore};
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

/// What is ready when it is polled now.
#[track_caller]
fn now<F: Future + ?Sized>(future: Pin<&mut F>) -> F::Output {
    match poll_once(future) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it is not ready"),
    }
}

mod semaphore {
    use super::*;

    #[test]
    fn there_may_be_none() {
        assert_eq!(Semaphore::new(0).available(), 0);
    }

    #[test]
    fn a_permit_that_is_dropped_can_be_had_again() {
        let semaphore = Arc::new(Semaphore::new(1));
        {
            let _permit = semaphore.try_acquire().expect("there is one");
            assert!(semaphore.try_acquire().is_none() && semaphore.try_acquire_owned().is_none());
        }
        assert!(semaphore.try_acquire().is_some() && semaphore.try_acquire_owned().is_some());
    }

    #[test]
    fn a_permit_that_is_dropped_or_added_wakes_a_task() {
        for start in 0..2 {
            let semaphore = Arc::new(Semaphore::new(start));
            let held = semaphore.try_acquire();
            let (mut task, woken) = (Box::pin(semaphore.acquire_owned_async()), Woken::new());
            assert!(poll(task.as_mut(), &woken).is_pending());
            match held {
                Some(permit) => drop(permit),
                None => semaphore.post(),
            }
            woken.reaches(1);
            assert_eq!(now(task.as_mut()).permits(), 1);
        }
    }

    #[test]
    fn what_is_added_is_there() {
        for size in 0..4 {
            for more in 0..4 {
                let semaphore = Semaphore::new(size);
                semaphore.post_many(more);
                assert_eq!(semaphore.available(), size + more);
            }
        }
    }

    #[test]
    fn as_many_as_there_are_can_be_forgotten() {
        for size in 0..4 {
            for fewer in 0..4 {
                let semaphore = Semaphore::new(size);
                assert_eq!(semaphore.take_up_to(fewer), fewer.min(size));
                assert_eq!(semaphore.available(), size.saturating_sub(fewer));
            }
        }
    }

    #[test]
    fn a_forgotten_permit_does_not_come_back() {
        let semaphore = Arc::new(Semaphore::new(2));
        semaphore.try_acquire().expect("there are two").forget();
        semaphore.try_acquire_owned().expect("there is one").forget();
        assert_eq!(semaphore.available(), 0);
        assert!(semaphore.try_acquire().is_none());
    }

    #[test]
    fn permits_are_merged() {
        let semaphore = Arc::new(Semaphore::new(3));
        {
            let mut permit = semaphore.try_acquire().expect("there are three");
            permit.merge(semaphore.try_acquire_many(2).expect("there are two"));
            assert_eq!((permit.permits(), semaphore.available()), (3, 0));
        }
        {
            let mut permit = semaphore.try_acquire_owned().expect("there are three");
            permit.merge(semaphore.try_acquire_many_owned(2).expect("there are two"));
            assert_eq!((permit.permits(), semaphore.available()), (3, 0));
        }
        assert_eq!(semaphore.available(), 3);
    }

    #[test]
    #[should_panic(expected = "two different semaphores")]
    fn permits_of_two_semaphores_are_not() {
        let (one, another) = (Semaphore::new(3), Semaphore::new(3));
        let mut permit = one.acquire();
        permit.merge(another.acquire());
    }

    #[test]
    fn permits_are_split() {
        let semaphore = Semaphore::new(5);
        let mut three = semaphore.try_acquire_many(3).expect("there are five");
        let mut one = three.split(1).expect("it has three");
        let none = three.split(0).expect("it has none");
        assert_eq!((three.permits(), one.permits(), none.permits(), semaphore.available()), (2, 1, 0, 2));
        drop(three);
        assert_eq!(semaphore.available(), 4);
        let last = one.split(1).expect("it has one");
        assert!(one.split(1).is_none());
        drop((one, none));
        assert_eq!((last.permits(), semaphore.available()), (1, 4));
        drop(last);
        assert_eq!(semaphore.available(), 5);
    }

    #[test]
    fn a_thousand_tasks_leave_five_permits() {
        let _watchdog = watchdog();
        let semaphore = Arc::new(Semaphore::new(5));
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    let tasks: Vec<_> = (0..scaled(250)).map(|_| semaphore.acquire_owned_async()).collect();
                    tasks.into_iter().for_each(|task| drop(block_on(task)));
                });
            }
        });
        let five = [(); 5].map(|()| semaphore.try_acquire().expect("there are five"));
        assert!(semaphore.try_acquire().is_none());
        drop(five);
    }

    #[test]
    fn as_many_as_there_can_be() {
        let semaphore = Semaphore::new(0);
        semaphore.post_many(Semaphore::MAX_PERMITS);
        assert_eq!(semaphore.available(), Semaphore::MAX_PERMITS);
        Semaphore::new(Semaphore::MAX_PERMITS - 1).post();
    }

    #[test]
    #[should_panic(expected = "permits")]
    fn one_more_than_there_can_be() {
        let semaphore = Semaphore::new(Semaphore::MAX_PERMITS - 1);
        semaphore.post();
        semaphore.post_many(1);
    }

    #[test]
    #[should_panic(expected = "permits")]
    fn one_more_from_the_beginning() {
        let _ = Semaphore::new(Semaphore::MAX_PERMITS + 1);
    }

    #[test]
    fn a_pool_that_is_closed_lends_nothing() {
        let pool = Pool::new(2);
        assert!(pool.close() && pool.is_closed());
        assert_eq!(pool.acquire().unwrap_err(), Closed);
        assert_eq!(pool.acquire_many(2).unwrap_err(), Closed);
        assert_eq!(pool.try_acquire().unwrap_err(), Closed);
        assert_eq!(now(pin!(pool.acquire_async())).unwrap_err(), Closed);
        assert_eq!(now(pin!(pool.acquire_many_async(2))).unwrap_err(), Closed);
    }
}

/// Of both kinds of mutex: both are tokio's, which serves in order.
macro_rules! of_mutex {
    ($name:ident, $mutex:ident) => {
        mod $name {
            use super::*;

            #[test]
            fn it_is_locked_again_and_again() {
                let mutex = Arc::new($mutex::new(100));
                *now(pin!(mutex.lock_async())) -= 1;
                *now(pin!(mutex.lock_arc_async())) -= 1;
                assert_eq!(*now(pin!(mutex.lock_async())), 98);
            }

            #[test]
            fn it_is_had_when_the_guard_is_gone() {
                let mutex = Arc::new($mutex::new(100));
                let guard = now(pin!(mutex.lock_arc_async()));
                let (mut task, woken) = (pin!(mutex.lock_async()), Woken::new());
                assert!(poll(task.as_mut(), &woken).is_pending());
                drop(guard);
                woken.reaches(1);
                drop(now(task));
            }

            /// With the lock, and on the way to it.
            #[test]
            fn a_future_that_is_aborted_does_not_keep_it() {
                let mutex = Arc::new($mutex::new(0));
                let mut holds = Box::pin(async {
                    let _guard = mutex.lock_async().await;
                    pending::<()>().await
                });
                assert!(poll_once(holds.as_mut()).is_pending());
                let mut waits = Box::pin(mutex.lock_async());
                assert!(poll_once(waits.as_mut()).is_pending());
                drop(waits);
                assert!(mutex.try_lock().is_none());
                drop(holds);
                drop(now(pin!(mutex.lock_async())));
            }

            #[test]
            fn it_is_shown() {
                let mutex = $mutex::new("data");
                assert_eq!(format!("{mutex:?}"), r#"Mutex { data: "data" }"#);
                let guard = now(pin!(mutex.lock_async()));
                assert_eq!(format!("{guard:?}"), r#""data""#);
                assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
            }
        }
    };
}

of_mutex!(mutex, Mutex);
of_mutex!(fair_mutex, FairMutex);

mod rwlock {
    use super::*;

    #[test]
    fn readers_share() {
        let lock = RwLock::new(100);
        let _both = (now(pin!(lock.read_async())), now(pin!(lock.read_async())));
        assert!(lock.try_read().is_some() && lock.try_write().is_none());
    }

    #[test]
    fn a_writer_is_alone() {
        let lock = RwLock::new(100);
        let mut guard = now(pin!(lock.write_async()));
        *guard += 50;
        assert!(poll_once(pin!(lock.read_async())).is_pending());
        assert!(poll_once(pin!(lock.write_async())).is_pending());
        assert!(lock.try_read().is_none() && lock.try_write().is_none());
        drop(guard);
        assert_eq!(*now(pin!(lock.read_async())), 150);
        assert_eq!(lock.into_inner(), 150);
    }

    #[test]
    fn a_writer_comes_in_when_the_readers_are_gone() {
        let lock = RwLock::new(100);
        let reading = now(pin!(lock.read_async()));
        let (mut writer, woken) = (Box::pin(lock.write_async()), Woken::new());
        assert!(poll(writer.as_mut(), &woken).is_pending());
        drop(reading);
        woken.reaches(1);
        drop(now(writer.as_mut()));
    }

    #[test]
    fn readers_behind_a_writer_wait_until_it_is_dropped() {
        let lock = RwLock::new(100);
        let _reading = (now(pin!(lock.read_async())), now(pin!(lock.read_async())));
        let mut writer = Box::pin(lock.write_async());
        assert!(poll_once(writer.as_mut()).is_pending());
        let (mut reader, woken) = (pin!(lock.read_async()), Woken::new());
        assert!(poll(reader.as_mut(), &woken).is_pending());
        drop(writer);
        woken.reaches(1);
        drop(now(reader));
    }

    /// Not the order in which the futures were made.
    #[test]
    fn the_order_is_that_of_the_polls() {
        let lock = RwLock::new(vec![]);
        let second = async { lock.write_async().await.push(2) };
        let first = async { lock.write_async().await.push(1) };
        block_on(first);
        block_on(second);
        assert_eq!(*lock.read(), [1, 2]);
    }

    #[test]
    fn writers_of_several_threads() {
        let _watchdog = watchdog();
        let (lock, rounds) = (RwLock::new(0), scaled(1_000));
        thread::scope(|s| {
            for step in [2, 3, 5, 7] {
                let lock = &lock;
                s.spawn(move || (0..rounds).for_each(|_| block_on(async { *lock.write_async().await += step })));
            }
        });
        assert_eq!(*lock.read(), 17 * rounds);
    }

    #[test]
    fn readers_come_in_when_a_writer_becomes_one() {
        let lock = RwLock::new(0);
        let writing = now(pin!(lock.write_async()));
        let mut reader = pin!(lock.read_async());
        assert!(poll_once(reader.as_mut()).is_pending());
        let reading = RwLockWriteGuard::downgrade(writing);
        assert!(std::ptr::eq(&*reading, &*now(reader)));
    }
}

mod notify {
    use super::*;

    /// README's recipe. With a flag instead, two notifications of two who wait would be one.
    #[test]
    fn each_lets_one_go_and_one_is_kept() {
        let notify = Semaphore::new(0);
        let [mut first, mut second] = [(); 2].map(|()| Box::pin(notify.take_async()));
        assert!(poll_once(first.as_mut()).is_pending() && poll_once(second.as_mut()).is_pending());
        (0..2).for_each(|_| _ = notify.post_up_to(1, 1));
        now(first.as_mut());
        now(second.as_mut());
        (0..3).for_each(|_| _ = notify.post_up_to(1, 1));
        assert_eq!(notify.available(), 1);
    }

    /// What tokio's does, of a flag, a count and a wait point: for one who waits at a time.
    #[derive(Default)]
    struct Notify {
        is_set: AtomicBool,
        to_all: AtomicU64,
        changed: WaitPoint,
    }

    impl Notify {
        /// For one who waits, or else for the next who comes.
        fn notify_one(&self) {
            self.is_set.store(true, Ordering::Release);
            self.changed.notify_one();
        }

        /// For all whose futures have been made.
        fn notify_waiters(&self) {
            self.to_all.fetch_add(1, Ordering::Release);
            self.changed.notify_all();
        }

        fn notified(&self) -> impl Future<Output = ()> + Send + '_ {
            let since = self.to_all.load(Ordering::Acquire);
            let is_for_all = move || self.to_all.load(Ordering::Acquire) != since;
            self.changed.wait_until_async(move || is_for_all() || self.is_set.swap(false, Ordering::Acquire))
        }
    }

    type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

    /// Three that wait, and how often each has been woken.
    fn line(notify: &Notify) -> [(Task<'_>, Arc<Woken>); 3] {
        [(); 3].map(|()| {
            let (mut task, woken): (Task<'_>, _) = (Box::pin(notify.notified()), Woken::new());
            assert!(poll(task.as_mut(), &woken).is_pending());
            (task, woken)
        })
    }

    #[test]
    fn a_notification_is_kept_for_one() {
        let notify = Notify::default();
        let mut early = pin!(notify.notified());
        notify.notify_one();
        notify.notify_one();
        now(early.as_mut());
        let (mut task, woken) = (pin!(notify.notified()), Woken::new());
        assert!(poll(task.as_mut(), &woken).is_pending());
        notify.notify_one();
        woken.reaches(1);
        now(task);
    }

    #[test]
    fn who_has_waited_longest_is_notified() {
        let notify = Notify::default();
        let [(mut first, woken), (mut second, not_woken), _third] = line(&notify);
        notify.notify_one();
        woken.reaches(1);
        assert_eq!(not_woken.count(), 0);
        now(first.as_mut());
        assert!(poll_once(second.as_mut()).is_pending());
    }

    #[test]
    fn one_that_is_dropped_passes_it_on() {
        let notify = Notify::default();
        let [(first, _), (mut second, woken), (mut third, not_woken)] = line(&notify);
        notify.notify_one();
        drop(first);
        woken.reaches(1);
        assert_eq!(not_woken.count(), 0);
        now(second.as_mut());
        assert!(poll_once(third.as_mut()).is_pending());
    }

    #[test]
    fn one_that_left_before_is_passed_over() {
        let notify = Notify::default();
        let [(first, _), (mut second, woken), _third] = line(&notify);
        drop(first);
        notify.notify_one();
        woken.reaches(1);
        now(second.as_mut());
    }

    #[test]
    fn all_are_notified_whether_polled_or_not() {
        let notify = Notify::default();
        let (tasks, mut unpolled) = (line(&notify), pin!(notify.notified()));
        notify.notify_waiters();
        let mut late = pin!(notify.notified());
        for (mut task, woken) in tasks {
            woken.reaches(1);
            now(task.as_mut());
        }
        now(unpolled.as_mut());
        assert!(poll_once(late.as_mut()).is_pending());
    }

    /// Who is let go with all the others does not use up what was for one.
    #[test]
    fn a_notification_of_all_leaves_that_of_one() {
        let notify = Notify::default();
        let (mut first, unpolled) = (Box::pin(notify.notified()), notify.notified());
        assert!(poll_once(first.as_mut()).is_pending());
        notify.notify_waiters();
        notify.notify_one();
        drop(first);
        now(pin!(unpolled));
        now(pin!(notify.notified()));
    }

    #[test]
    fn the_waker_of_the_last_poll_is_woken() {
        let notify = Notify::default();
        let (mut task, woken) = (pin!(notify.notified()), Woken::new());
        assert!(poll_once(task.as_mut()).is_pending());
        assert!(poll(task.as_mut(), &woken).is_pending());
        notify.notify_one();
        woken.reaches(1);
    }

    /// A waker that notifies when it is dropped, within a notification.
    #[test]
    fn a_notification_within_a_notification() {
        let _watchdog = watchdog();
        struct NotifiesOnDrop(Arc<Notify>);
        impl Wake for NotifiesOnDrop {
            fn wake(self: Arc<Self>) {
                drop(self);
            }
        }
        impl Drop for NotifiesOnDrop {
            fn drop(&mut self) {
                self.0.notify_waiters();
            }
        }
        let notify = Arc::new(Notify::default());
        let mut task = pin!(notify.notified());
        let waker = Waker::from(Arc::new(NotifiesOnDrop(Arc::clone(&notify))));
        assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        notify.notify_waiters();
        assert_eq!(notify.to_all.load(Ordering::Relaxed), 2);
        now(task);
    }
}
