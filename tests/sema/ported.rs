//! What other systems test of their semaphores, put to ours with the same meaning. Each test names its model.
//!
//! Left out, since there is nothing here to put them to: interruption and cancellation (glibc's tst-sem7 to 9, the JDK's
//! testInterruptible; a take that gives up by time stands in for them where its effect on the queue is what is tested),
//! negative permits (JDK), a maximum of one's own (.NET), processes (glibc's tst-sem3 and 4). Closing, merging and splitting
//! (tokio) are in tests/tasks/ported.rs.

use crate::common::{Queue, Tally, eventually, few, scaled, watchdog};
use layby::sema::Semaphore;
use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

const MOMENT: Duration = Duration::from_millis(12);
/// Far longer than a test takes.
const LONG: Duration = Duration::from_secs(300);
const MAX: u64 = Semaphore::MAX_PERMITS;

mod glibc {
    use super::*;

    /// nptl/tst-sem1: wait, post, trywait once and once too often, post, wait.
    #[test]
    fn wait_post_trywait() {
        let semaphore = Semaphore::new(1);
        semaphore.take();
        semaphore.post();
        assert!(semaphore.try_take());
        assert!(!semaphore.try_take());
        semaphore.post();
        semaphore.take();
    }

    /// nptl/tst-sem2: a wait that nobody ends goes on, whatever wakes the thread up for other reasons meanwhile.
    #[test]
    fn a_wait_does_not_end_by_itself() {
        let _watchdog = watchdog();
        let semaphore = Semaphore::new(0);
        thread::scope(|s| {
            let waiter = s.spawn(|| semaphore.take());
            eventually(|| semaphore.waiters() == 1);
            let start = Instant::now();
            while start.elapsed() < MOMENT {
                waiter.thread().unpark();
                assert!(!waiter.is_finished());
            }
            semaphore.post();
        });
    }

    /// nptl/tst-sem5: a timed wait ends with a timeout, at its time or later.
    #[test]
    fn timedwait_times_out() {
        let semaphore = Semaphore::new(1);
        semaphore.take();
        let deadline = Instant::now() + MOMENT;
        assert!(!semaphore.take_deadline(deadline));
        assert!(Instant::now() >= deadline);
    }

    /// nptl/tst-sem10: a time long past is a timeout, and nothing else is changed by it.
    #[test]
    fn a_deadline_of_yesterday() {
        let semaphore = Semaphore::new(0);
        let yesterday = Instant::now().checked_sub(Duration::from_secs(86_400)).unwrap_or_else(Instant::now);
        assert!(!semaphore.take_deadline(yesterday));
        semaphore.post();
        assert!(semaphore.take_deadline(yesterday));
    }

    /// nptl/tst-sem11, tst-sem12 and tst-sem13: a wait that was broken off is not counted as a waiter any more.
    #[test]
    fn no_waiter_is_left_behind() {
        let semaphore = Semaphore::new(0);
        assert_eq!(semaphore.waiters(), 0);
        assert!(!thread::scope(|s| s.spawn(|| semaphore.take_timeout(MOMENT)).join().unwrap()));
        assert_eq!(semaphore.waiters(), 0);
        assert!(!semaphore.take_deadline(Instant::now()));
        assert_eq!(semaphore.waiters(), 0);
    }

    /// nptl/tst-sem14: threads that are there before the first permit count up under one, many times each.
    #[test]
    fn a_counter_under_one_permit() {
        let _watchdog = watchdog();
        let (threads, rounds) = (few(10), scaled(10_000));
        let semaphore = Semaphore::new(0);
        let counter = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..threads {
                s.spawn(|| {
                    for _ in 0..rounds {
                        semaphore.take();
                        // Not an increment: two at once would lose one.
                        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        semaphore.post();
                    }
                });
            }
            semaphore.post();
        });
        assert_eq!(counter.into_inner(), threads * rounds);
    }

    /// nptl/tst-sem15 and tst-sem16 (and bug 12674): a post that would overflow is refused and changes nothing.
    #[test]
    fn overflow_is_refused() {
        let semaphore = Semaphore::new(MAX);
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| semaphore.post_many(1)));
        assert!(refused.is_err());
        assert_eq!(semaphore.available(), MAX);
        assert!(semaphore.try_take());
    }
}

/// java.util.concurrent's conformance tests (JSR 166 TCK), SemaphoreTest, with `fair`.
mod jdk {
    use super::*;

    /// testConstructor, as far as permits are not negative.
    #[test]
    fn constructor() {
        for permits in [0, 1, 42] {
            assert_eq!(Semaphore::new(permits).available(), permits);
        }
    }

    /// testTryAcquireInSameThread.
    #[test]
    fn try_acquire_in_the_same_thread() {
        let semaphore = Semaphore::new(2);
        for left in [1, 0] {
            assert!(semaphore.try_take());
            assert_eq!(semaphore.available(), left);
        }
        for _ in 0..2 {
            assert!(!semaphore.try_take());
            assert_eq!(semaphore.available(), 0);
        }
    }

    /// testTryAcquire_timeout, testTryAcquireN_timeout.
    #[test]
    fn timed_acquires_time_out() {
        for (permits, wanted) in [(0, 1), (2, 3)] {
            let semaphore = Semaphore::new(permits);
            let start = Instant::now();
            assert!(!semaphore.take_many_timeout(wanted, MOMENT));
            assert!(start.elapsed() >= MOMENT);
            assert_eq!(semaphore.available(), permits);
        }
    }

    /// testHasQueuedThreads and testGetQueueLength; the first in the queue gives up instead of being interrupted.
    #[test]
    fn the_queue_is_counted() {
        let _watchdog = watchdog();
        let semaphore = Semaphore::new(1);
        assert_eq!(semaphore.waiters(), 0);
        semaphore.take();
        thread::scope(|s| {
            let mut queue = Queue::new(s, &semaphore);
            let first = queue.join(1, |semaphore| semaphore.take_timeout(10 * MOMENT));
            let second = queue.join(1, |semaphore| semaphore.take_timeout(LONG));
            assert!(semaphore.waiters() == 2 || first.is_finished());
            assert!(!first.join().unwrap());
            assert_eq!(semaphore.waiters(), 1);
            semaphore.post();
            assert!(second.join().unwrap());
        });
        assert_eq!(semaphore.waiters(), 0);
    }

    /// testDrainPermits, by taking what is available.
    #[test]
    fn drain() {
        let semaphore = Semaphore::new(0);
        semaphore.post_many(10);
        assert_eq!(semaphore.available(), 10);
        assert!(semaphore.try_take_many(semaphore.available()));
        assert_eq!(semaphore.available(), 0);
        assert!(semaphore.try_take_many(semaphore.available()));
    }

    type Acquire = fn(&Semaphore, u64) -> bool;

    /// Every way to acquire: acquire, acquire(N), tryAcquire, tryAcquire(N), and both with time.
    const ACQUIRES: [Acquire; 6] = [
        |semaphore, permits| {
            (0..permits).for_each(|_| semaphore.take());
            true
        },
        |semaphore, permits| {
            semaphore.take_many(permits);
            true
        },
        |semaphore, permits| (0..permits).all(|_| semaphore.try_take()),
        |semaphore, permits| semaphore.try_take_many(permits),
        |semaphore, permits| (0..permits).all(|_| semaphore.take_timeout(LONG)),
        |semaphore, permits| semaphore.take_many_timeout(permits, LONG),
    ];

    /// testReleaseAcquireSameThread: what was released can be acquired, and is gone then.
    #[test]
    fn release_and_acquire_in_the_same_thread() {
        for acquire in ACQUIRES {
            let semaphore = Semaphore::new(1);
            for permits in 1..5 {
                semaphore.post_many(permits);
                assert_eq!(semaphore.available(), 1 + permits);
                assert!(acquire(&semaphore, permits));
                assert_eq!(semaphore.available(), 1);
            }
        }
    }

    /// testReleaseAcquireDifferentThreads: what one thread releases another acquires, in every way that waits. Two
    /// semaphores, so that nobody gets its own permits back.
    #[test]
    fn release_and_acquire_in_different_threads() {
        let _watchdog = watchdog();
        for acquire in [ACQUIRES[0], ACQUIRES[1], ACQUIRES[4], ACQUIRES[5]] {
            let (there, back) = (Semaphore::new(0), Semaphore::new(0));
            thread::scope(|s| {
                s.spawn(|| {
                    for permits in 1..5 {
                        assert!(acquire(&there, permits));
                        back.post_many(permits);
                    }
                });
                for permits in 1..5 {
                    there.post_many(permits);
                    assert!(acquire(&back, permits));
                }
            });
            assert_eq!((there.available(), back.available()), (0, 0));
        }
    }

    /// testFairLocksFifo: the order of the queue is the order of admission.
    #[test]
    fn fair_locks_fifo() {
        let _watchdog = watchdog();
        let semaphore = Semaphore::new(1);
        semaphore.take();
        thread::scope(|s| {
            let mut queue = Queue::new(s, &semaphore);
            for _ in 0..4 {
                queue.join(1, |semaphore| semaphore.take_timeout(LONG));
            }
            for number in 0..4 {
                semaphore.post();
                assert_eq!(queue.next_admitted(), number);
            }
        });
    }

    /// testToString: it tells how many permits there are.
    #[test]
    fn to_string() {
        for permits in [0, 3] {
            assert!(format!("{:?}", Semaphore::new(permits)).contains(&permits.to_string()));
        }
    }
}

mod tokio {
    use super::*;

    /// no_permits, try_acquire.
    #[test]
    fn try_acquire() {
        assert_eq!(Semaphore::new(0).available(), 0);
        let semaphore = Semaphore::new(1);
        {
            let first = semaphore.try_acquire();
            assert!(first.is_some());
            assert!(semaphore.try_acquire().is_none());
        }
        assert!(semaphore.try_acquire().is_some());
    }

    /// acquire: whoever waits gets the permit that is dropped. Also of sync_semaphore_owned.
    #[test]
    fn acquire() {
        let _watchdog = watchdog();
        let semaphore = Arc::new(Semaphore::new(1));
        let permit = semaphore.try_acquire_owned().unwrap();
        let taker = thread::spawn({
            let semaphore = Arc::clone(&semaphore);
            move || drop(semaphore.acquire())
        });
        eventually(|| semaphore.waiters() == 1);
        drop(permit);
        taker.join().unwrap();
        assert_eq!(semaphore.available(), 1);
    }

    /// add_permits, add_permits_open.
    #[test]
    fn add_permits() {
        let _watchdog = watchdog();
        for size in 0..4 {
            for add in 0..4 {
                let semaphore = Semaphore::new(size);
                semaphore.post_many(add);
                assert_eq!(semaphore.available(), size + add);
            }
        }
        let semaphore = Semaphore::new(0);
        thread::scope(|s| {
            s.spawn(|| drop(semaphore.acquire()));
            semaphore.post();
        });
    }

    /// forget; also of sync_semaphore_owned.
    #[test]
    fn forget() {
        let semaphore = Arc::new(Semaphore::new(2));
        semaphore.try_acquire().unwrap().forget();
        assert_eq!(semaphore.available(), 1);
        semaphore.try_acquire_owned().unwrap().forget();
        assert_eq!(semaphore.available(), 0);
        assert!(semaphore.try_acquire().is_none());
    }

    /// stress_test: a thousand come through five permits, and exactly five are left.
    #[test]
    fn stress_test() {
        let _watchdog = watchdog();
        let semaphore = Semaphore::new(5);
        thread::scope(|s| {
            for _ in 0..scaled(1000) {
                let taker = thread::Builder::new().stack_size(64 * 1024);
                taker.spawn_scoped(s, || drop(semaphore.acquire())).unwrap();
            }
        });
        let left: Vec<_> = std::iter::from_fn(|| semaphore.try_acquire()).collect();
        assert_eq!(left.len(), 5);
    }

    /// add_max_amount_permits, add_more_than_max_amount_permits1 and 2, panic_when_exceeds_maxpermits.
    #[test]
    fn as_many_as_fit_and_no_more() {
        let semaphore = Semaphore::new(0);
        semaphore.post_many(MAX);
        assert_eq!(semaphore.available(), MAX);
        let panics = |call: fn()| assert!(std::panic::catch_unwind(call).is_err());
        panics(|| Semaphore::new(1).post_many(MAX));
        panics(|| Semaphore::new(0).post_many(MAX + 1));
        panics(|| assert_eq!(Semaphore::new(MAX + 1).available(), 0));
    }

    /// The batch semaphore's try_acquire_many and poll_acquire_many_unavailable: who waits for many is before who
    /// comes later for few, even while there are permits.
    #[test]
    fn acquire_many_unavailable() {
        let _watchdog = watchdog();
        let semaphore = Semaphore::new(5);
        let one = semaphore.acquire();
        thread::scope(|s| {
            let mut queue = Queue::new(s, &semaphore);
            queue.join(5, |semaphore| semaphore.take_many_timeout(5, LONG));
            queue.join(3, |semaphore| semaphore.take_many_timeout(3, LONG));
            assert!(!queue.is_anyone_admitted() && semaphore.try_acquire().is_none());
            drop(one);
            assert_eq!(queue.next_admitted(), 0);
            semaphore.post_many(2);
            assert!(!queue.is_anyone_admitted());
            semaphore.post();
            assert_eq!(queue.next_admitted(), 1);
        });
    }

    /// The batch semaphore's cancel_acquire_releases_permits: what a broken-off acquire had been assigned is free again.
    #[test]
    fn a_broken_off_acquire_releases_permits() {
        let semaphore = Semaphore::new(10);
        semaphore.acquire_many(4).forget();
        assert!(semaphore.acquire_many_timeout(8, MOMENT).is_none());
        assert_eq!(semaphore.available(), 6);
        assert!(semaphore.try_acquire_many(6).is_some());
    }
}

/// .NET's SemaphoreSlimTests and SemaphoreTests.
mod dotnet {
    use super::*;

    /// RunSemaphoreSlimTest1_Wait: permits, timeout, and whether the wait succeeds.
    #[test]
    fn wait() {
        for (permits, timeout, succeeds) in [
            (10, Duration::MAX, true),
            (1, Duration::MAX, true),
            (10, Duration::ZERO, true),
            (1, Duration::ZERO, true),
            (0, Duration::ZERO, false),
            (10, MOMENT, true),
            (1, MOMENT, true),
            (0, MOMENT, false),
        ] {
            let semaphore = Semaphore::new(permits);
            assert_eq!(semaphore.take_timeout(timeout), succeeds, "{permits} permits, {timeout:?}");
            assert_eq!(semaphore.available(), permits - u64::from(succeeds));
        }
    }

    /// RunSemaphoreSlimTest2_Release and RunSemaphoreSlimTest4_CurrentCount.
    #[test]
    fn release() {
        for (permits, released) in [(5, 1), (0, 1), (5, 5)] {
            let semaphore = Semaphore::new(permits);
            semaphore.post_many(released);
            assert_eq!(semaphore.available(), permits + released);
            semaphore.take();
            assert_eq!(semaphore.available(), permits + released - 1);
        }
    }

    /// RunSemaphoreSlimTest7_AnonymousProducerConsumer: each item announced is consumed once.
    #[test]
    fn producers_and_consumers() {
        let _watchdog = watchdog();
        for (producers, consumers) in [(1, 1), (1, 4), (4, 1), (4, 4)] {
            let items = Semaphore::new(0);
            let each = scaled(400);
            let consumed = Tally::new();
            thread::scope(|s| {
                for _ in 0..producers {
                    s.spawn(|| (0..each).for_each(|_| items.post()));
                }
                for nth in 0..consumers {
                    let share = producers * each / consumers + usize::from(nth < producers * each % consumers);
                    let (items, consumed) = (&items, &consumed);
                    s.spawn(move || {
                        for _ in 0..share {
                            items.take();
                            consumed.add();
                        }
                    });
                }
            });
            assert_eq!(consumed.get(), producers * each);
            assert_eq!((items.available(), items.waiters()), (0, 0));
        }
    }

    /// RunSemaphoreSlimTest5_ConcurrentWaitRelease: as many waits as releases, begun together, some before others:
    /// everybody gets through, and the count is as before.
    #[test]
    fn concurrent_waits_and_releases() {
        let _watchdog = watchdog();
        for (permits, pairs) in [(5, few(50)), (0, few(50)), (5, few(5))] {
            let semaphore = Semaphore::new(permits);
            let start = Barrier::new(2 * pairs);
            thread::scope(|s| {
                for _ in 0..pairs {
                    s.spawn(|| {
                        start.wait();
                        assert!(semaphore.take_timeout(LONG));
                    });
                    s.spawn(|| {
                        start.wait();
                        semaphore.post();
                    });
                }
            });
            assert_eq!((semaphore.available(), semaphore.waiters()), (permits, 0));
        }
    }

    /// SemaphoreTests' AnonymousProducerConsumer with a bounded buffer of two semaphores.
    #[test]
    fn a_bounded_buffer() {
        let _watchdog = watchdog();
        const ROOM: usize = 3;
        let (free, full) = (Semaphore::new(ROOM as u64), Semaphore::new(0));
        let (send, receive) = mpsc::channel();
        let inside = AtomicUsize::new(0);
        let count = scaled(2000);
        thread::scope(|s| {
            let (free, full, inside) = (&free, &full, &inside);
            s.spawn(move || {
                for item in 0..count {
                    free.take();
                    assert!(inside.fetch_add(1, Ordering::Relaxed) < ROOM);
                    send.send(item).unwrap();
                    full.post();
                }
            });
            for expected in 0..count {
                full.take();
                assert_eq!(receive.try_recv(), Ok(expected), "announced, so it is there");
                inside.fetch_sub(1, Ordering::Relaxed);
                free.post();
            }
        });
    }
}

/// std::sync::Semaphore, as it was until Rust 1.9, and the crate std-semaphore.
mod std_semaphore {
    use super::*;

    /// test_sem_acquire_release, test_sem_basic: with a guard and without.
    #[test]
    fn basic() {
        let semaphore = Semaphore::new(1);
        semaphore.take();
        semaphore.post();
        semaphore.take();
        semaphore.post();
        drop(semaphore.acquire());
        drop(semaphore.acquire());
    }

    /// test_sem_as_mutex, test_sem_multi_resource: two with two permits are inside at once, each seeing the other.
    #[test]
    fn multi_resource() {
        let _watchdog = watchdog();
        let semaphore = Semaphore::new(2);
        let (to_parent, from_child) = mpsc::channel();
        let (to_child, from_parent) = mpsc::channel();
        thread::scope(|s| {
            let semaphore = &semaphore;
            s.spawn(move || {
                let _permit = semaphore.acquire();
                from_parent.recv().unwrap();
                to_parent.send(()).unwrap();
            });
            let _permit = semaphore.acquire();
            to_child.send(()).unwrap();
            from_child.recv().unwrap();
        });
    }

    /// test_sem_as_cvar: to signal and to wait, in both orders.
    #[test]
    fn as_a_condition_variable() {
        let _watchdog = watchdog();
        let (ping, pong) = (Semaphore::new(0), Semaphore::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                ping.post();
                pong.take();
            });
            ping.take();
            pong.post();
        });
        assert_eq!((ping.available(), pong.available()), (0, 0));
    }

    /// test_sem_runtime_friendly_blocking: a waiter does not keep its holder from running.
    #[test]
    fn a_waiter_lets_others_run() {
        let _watchdog = watchdog();
        let semaphore = Semaphore::new(1);
        thread::scope(|s| {
            let permit = semaphore.acquire();
            let waiter = s.spawn(|| drop(semaphore.acquire()));
            eventually(|| semaphore.waiters() == 1);
            drop(permit);
            waiter.join().unwrap();
        });
    }
}
