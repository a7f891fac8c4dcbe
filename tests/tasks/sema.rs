//! Tasks in a semaphore's line: order, permits of futures that are dropped, and threads before, between and behind them.

use crate::common::{
    home, sampled, scaled,
    task::{Woken, block_on, poll, poll_once},
    watchdog,
};
use layby::sema::{AcquireAsync, AcquireOwnedAsync, Semaphore, TakeAsync};
use layby::wait_table::Home;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

#[test]
fn futures_are_small_and_can_be_sent() {
    fn assert_send<T: Send>() {}
    assert_send::<(TakeAsync<'_>, AcquireAsync<'_>, AcquireOwnedAsync)>();
    if cfg!(target_pointer_width = "64") {
        let sizes = [size_of::<TakeAsync<'_>>(), size_of::<AcquireAsync<'_>>(), size_of::<AcquireOwnedAsync>()];
        assert_eq!(sizes, [80; 3]);
        assert_eq!(size_of::<Semaphore>(), 16);
    }
}

#[test]
fn a_permit_that_is_there_is_taken_at_once() {
    let semaphore = Semaphore::new(3);
    let Poll::Ready(two) = poll_once(pin!(semaphore.acquire_many_async(2))) else { panic!("there are three") };
    assert_eq!((two.permits(), semaphore.available()), (2, 1));
    assert!(poll_once(pin!(semaphore.take_async())).is_ready());
    assert!(poll_once(pin!(semaphore.acquire_async())).is_pending());
    assert!(poll_once(pin!(semaphore.take_many_async(0))).is_ready(), "to take none never waits");
    drop(two);
    assert_eq!((semaphore.available(), semaphore.waiters()), (2, 0));
}

#[test]
fn a_post_wakes_the_task_whose_turn_it_is_and_no_other() {
    let semaphore = Semaphore::new(0);
    let mut line: Vec<_> = (0..8).map(|_| (Box::pin(semaphore.take_async()), Woken::new())).collect();
    for (future, woken) in &mut line {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    assert_eq!(semaphore.waiters(), 8);
    for turn in 0..8 {
        semaphore.post();
        let counts: Vec<usize> = line.iter().map(|(_, woken)| woken.count()).collect();
        assert!(counts.iter().enumerate().all(|(nth, count)| *count == usize::from(nth <= turn)), "{counts:?}");
    }
    assert!(!semaphore.try_take(), "all permits have an owner");
    for (mut future, woken) in line.into_iter().rev() {
        assert!(poll(future.as_mut(), &woken).is_ready());
    }
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// Wakers run oldest first, however many of them one post lets go.
#[test]
fn a_post_of_many_wakes_its_tasks_in_the_order_of_the_line() {
    use std::sync::Mutex;
    use std::task::{Context, Wake, Waker};
    struct Note(usize, Arc<Mutex<Vec<usize>>>);
    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    for n in [5, 100] {
        let (semaphore, order) = (Semaphore::new(0), Arc::default());
        let mut line: Vec<_> = (0..n).map(|_| Box::pin(semaphore.take_async())).collect();
        for (nth, future) in line.iter_mut().enumerate() {
            let waker = Waker::from(Arc::new(Note(nth, Arc::clone(&order))));
            assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        semaphore.post_many(n as u64);
        let order = order.lock().unwrap();
        assert_eq!(*order, (0..n).collect::<Vec<_>>());
        drop(order);
        assert!(line.iter_mut().all(|future| poll_once(future.as_mut()).is_ready()));
    }
}

#[test]
fn a_post_of_more_permits_than_there_are_slots_finds_everybody() {
    home!(OneSlot, layby::sys::Native, 1);
    let semaphore = Semaphore::<OneSlot>::new_in(0);
    let mut line: Vec<_> = (0..3).map(|_| (Box::pin(semaphore.take_async()), Woken::new())).collect();
    for (future, woken) in &mut line {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    semaphore.post_many(2);
    assert_eq!(line.iter().map(|(_, woken)| woken.count()).collect::<Vec<_>>(), [1, 1, 0]);
}

home!(OfTheCrowd, layby::sys::Native, 1);

/// Whoever wakes them all: nobody draws a second ticket, and nobody goes before its turn. They are so many on one chain that
/// those who are woken are off it, and are published again.
#[test]
fn a_task_that_is_woken_for_nothing_keeps_its_place() {
    let semaphore = Semaphore::<OfTheCrowd>::new_in(0);
    let mut line = [(); 20].map(|()| Box::pin(semaphore.take_async()));
    for _ in 0..3 {
        assert!(line.iter_mut().all(|future| poll_once(future.as_mut()).is_pending()));
        assert_eq!(semaphore.waiters(), 20);
        assert_eq!(OfTheCrowd::TABLE.wake_everybody(), 20);
    }
    for mut future in line {
        semaphore.post();
        assert!(poll_once(future.as_mut()).is_ready());
    }
}

#[test]
fn a_future_that_is_dropped_loses_its_place_and_holds_up_nobody() {
    let semaphore = Semaphore::new(0);
    let mut futures: Vec<_> = (0..3).map(|_| Some(Box::pin(semaphore.take_async()))).collect();
    let woken = [Woken::new(), Woken::new(), Woken::new()];
    for (future, woken) in futures.iter_mut().zip(&woken) {
        assert!(poll(future.as_mut().unwrap().as_mut(), woken).is_pending());
    }
    futures[1] = None;
    assert_eq!(semaphore.waiters(), 2);
    semaphore.post_many(2);
    assert_eq!(woken.each_ref().map(|woken| woken.count()), [1, 0, 1]);
    for nth in [0, 2] {
        assert!(poll(futures[nth].as_mut().unwrap().as_mut(), &woken[nth]).is_ready());
    }
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

#[test]
fn a_permit_granted_to_a_future_that_is_dropped_goes_to_the_next() {
    for conservatively in [false, true] {
        let semaphore = Semaphore::new(0);
        let mut first = Box::pin(semaphore.take_async());
        let (mut second, woken) = (Box::pin(semaphore.take_async()), Woken::new());
        assert!(poll_once(first.as_mut()).is_pending());
        assert!(poll(second.as_mut(), &woken).is_pending());
        if conservatively {
            semaphore.post_conservatively()
        } else {
            semaphore.post()
        }
        assert_eq!(woken.count(), 0);
        drop(first);
        woken.reaches(1);
        assert!(poll(second.as_mut(), &woken).is_ready());
        drop(second);
        assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
    }
}

#[test]
fn a_permit_granted_to_the_last_future_stays_in_the_semaphore() {
    let semaphore = Semaphore::new(0);
    let mut future = Box::pin(semaphore.acquire_async());
    assert!(poll_once(future.as_mut()).is_pending());
    semaphore.post();
    assert_eq!(semaphore.available(), 0, "it is the task's");
    drop(future);
    assert_eq!(semaphore.available(), 1);
}

/// What came for it until then goes on.
#[test]
fn a_take_of_many_that_is_dropped_gives_back_what_it_had() {
    let semaphore = Semaphore::new(0);
    let mut many = Box::pin(semaphore.take_many_async(3));
    let (mut behind, woken) = (Box::pin(semaphore.take_many_async(2)), Woken::new());
    assert!(poll_once(many.as_mut()).is_pending());
    assert!(poll(behind.as_mut(), &woken).is_pending());
    semaphore.post_many(2);
    assert!(poll_once(many.as_mut()).is_pending(), "one is missing");
    assert_eq!((woken.count(), semaphore.waiters()), (0, 3));
    drop(many);
    woken.reaches(1);
    assert!(poll(behind.as_mut(), &woken).is_ready());
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// A conservative post wakes, by name, the task behind one that has left, and that passes the permit on to itself.
#[test]
fn a_conservative_post_goes_past_those_who_left() {
    let semaphore = Semaphore::new(0);
    let mut line: Vec<_> = (0..4).map(|_| Some(Box::pin(semaphore.take_async()))).collect();
    let woken = Woken::new();
    for future in &mut line {
        assert!(poll(future.as_mut().unwrap().as_mut(), &woken).is_pending());
    }
    (line[0], line[1]) = (None, None);
    semaphore.post_conservatively();
    woken.reaches(1);
    assert!(poll(line[2].as_mut().unwrap().as_mut(), &woken).is_ready());
    semaphore.post_conservatively();
    assert!(poll(line[3].as_mut().unwrap().as_mut(), &woken).is_ready());
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// The same, if they are so many that their markers are in several cells, and some of them stand for many.
#[test]
fn a_conservative_post_goes_past_very_many_who_left() {
    const LEAVE: usize = 199;
    for stay in [0, 1, 31] {
        let semaphore = Semaphore::new(0);
        let mut line: Vec<_> = (0..stay + LEAVE).map(|_| Some(Box::pin(semaphore.take_async()))).collect();
        for future in &mut line {
            assert!(poll_once(future.as_mut().unwrap().as_mut()).is_pending());
        }
        let (mut last, woken) = (Box::pin(semaphore.take_async()), Woken::new());
        assert!(poll(last.as_mut(), &woken).is_pending());
        for future in &mut line[..stay] {
            semaphore.post_conservatively();
            assert!(poll_once(future.as_mut().unwrap().as_mut()).is_ready());
        }
        // In another order than that of the line.
        (0..LEAVE).for_each(|nth| line[stay + nth * 7 % LEAVE] = None);
        assert_eq!(woken.count(), 0);
        semaphore.post_conservatively();
        woken.reaches(1);
        assert!(poll(last.as_mut(), &woken).is_ready());
        assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
    }
}

#[test]
fn threads_and_tasks_are_admitted_in_the_order_of_the_line() {
    let _watchdog = watchdog();
    let (semaphore, order) = (Semaphore::new(0), std::sync::Mutex::new(vec![]));
    std::thread::scope(|s| {
        let mut tasks = vec![];
        for nth in 0..10_u64 {
            if nth % 2 == 0 {
                let mut future = Box::pin(semaphore.take_async());
                assert!(poll_once(future.as_mut()).is_pending());
                tasks.push((nth, future));
            } else {
                let (semaphore, order) = (&semaphore, &order);
                s.spawn(move || {
                    semaphore.take();
                    order.lock().unwrap().push(nth);
                });
                while semaphore.waiters() != nth + 1 {
                    std::thread::yield_now();
                }
            }
        }
        for nth in 0..10_u64 {
            semaphore.post();
            match tasks.iter_mut().find(|(number, _)| *number == nth) {
                Some((_, future)) => assert!(poll_once(future.as_mut()).is_ready()),
                None => {
                    while order.lock().unwrap().last() != Some(&nth) {
                        std::thread::yield_now();
                    }
                }
            }
        }
    });
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// A thread's timeout between tasks, and a task that leaves between threads.
#[test]
fn a_thread_that_times_out_before_a_task_does_not_hold_it_up() {
    let semaphore = Semaphore::new(0);
    let (mut first, mut behind) = (Box::pin(semaphore.take_async()), Box::pin(semaphore.take_async()));
    assert!(poll_once(first.as_mut()).is_pending());
    assert!(!semaphore.take_deadline(Instant::now()));
    assert!(!semaphore.take_timeout(Duration::from_micros(50)));
    assert!(poll_once(behind.as_mut()).is_pending());
    semaphore.post_many(2);
    assert!(poll_once(first.as_mut()).is_ready());
    assert!(poll_once(behind.as_mut()).is_ready());
}

#[test]
fn an_owned_future_keeps_its_semaphore_alive() {
    let semaphore = Arc::new(Semaphore::new(1));
    let held = semaphore.acquire_owned();
    let weak = Arc::downgrade(&semaphore);
    let mut future = Box::pin(semaphore.acquire_owned_async());
    assert!(poll_once(future.as_mut()).is_pending());
    drop(semaphore);
    drop(held);
    let Poll::Ready(permit) = poll_once(future.as_mut()) else { panic!("it is granted") };
    drop(future);
    assert_eq!(permit.permits(), 1);
    drop(permit);
    assert!(weak.upgrade().is_none());
}

#[test]
#[should_panic(expected = "more permits than a semaphore can hold")]
fn more_permits_than_there_can_be_are_refused() {
    drop(Semaphore::new(0).acquire_many_async(Semaphore::MAX_PERMITS + 1));
}

/// Refused when it would join the line; and nothing is left of the attempt.
#[test]
fn more_than_the_line_holds_is_refused_at_the_first_poll() {
    let semaphore = Semaphore::new(0);
    let mut most = Box::pin(semaphore.take_many_async(Semaphore::MAX_PERMITS));
    assert!(poll_once(most.as_mut()).is_pending());
    let mut more = Box::pin(semaphore.take_many_async(2));
    for _ in 0..2 {
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll_once(more.as_mut())));
        assert!(refused.is_err());
    }
    drop(more);
    drop(most);
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
    semaphore.post();
    assert_eq!(semaphore.available(), 1);
}

#[test]
#[should_panic(expected = "polled again though it was ready")]
fn a_future_is_not_polled_again() {
    let semaphore = Semaphore::new(2);
    let mut future = pin!(semaphore.take_async());
    assert!(poll_once(future.as_mut()).is_ready());
    let _ = poll_once(future);
}

/// Tasks of many threads, each on an executor of its own, and threads that take by themselves.
#[test]
fn a_pool_is_shared_by_threads_and_tasks() {
    let _watchdog = watchdog();
    let rounds = scaled(2_000);
    let pool = Arc::new(Semaphore::new(2));
    let inside = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|s| {
        for nth in 0..4 {
            let (pool, inside) = (&pool, &inside);
            s.spawn(move || {
                let check = || {
                    use std::sync::atomic::Ordering::Relaxed;
                    assert!(inside.fetch_add(1, Relaxed) < 2);
                    inside.fetch_sub(1, Relaxed);
                };
                for _ in 0..rounds {
                    match nth {
                        0 => {
                            let _permit = pool.acquire();
                            check();
                        }
                        1 => block_on(async {
                            let _permit = pool.acquire_owned_async().await;
                            check();
                        }),
                        _ => block_on(async {
                            let _permit = pool.acquire_async().await;
                            check();
                        }),
                    }
                }
            });
        }
    });
    assert_eq!((pool.available(), pool.waiters()), (2, 0));
}

/// Polled `k` times and dropped, for every `k` up to the one that is ready: with a permit or without, woken or not.
#[test]
fn a_future_may_be_dropped_after_any_poll() {
    type Step = fn(&Semaphore);
    let steps: [Step; 4] = [
        |_| {},
        Semaphore::post,
        Semaphore::post_conservatively,
        |semaphore| {
            assert!(!semaphore.take_deadline(Instant::now()));
        },
    ];
    // All programs of three steps, which run between the polls.
    for program in sampled(64) {
        for polls in 0..=3 {
            let semaphore = Semaphore::new(0);
            let mut before: Pin<Box<TakeAsync<'_>>> = Box::pin(semaphore.take_async());
            assert!(poll_once(before.as_mut()).is_pending());
            let mut future = Box::pin(semaphore.take_async());
            let mut behind = Box::pin(semaphore.take_async());
            let (mut posted, mut taken) = (0, 0);
            for round in 0..polls {
                if taken == 0 && poll_once(future.as_mut()).is_ready() {
                    taken = 1;
                }
                if round == 0 {
                    let _ = poll_once(behind.as_mut());
                }
                let step = program >> (2 * round) & 3;
                steps[step](&semaphore);
                posted += u64::from([1, 2].contains(&step));
            }
            drop(future);
            drop(before);
            drop(behind);
            assert_eq!((semaphore.available(), semaphore.waiters()), (posted - taken, 0), "{program} {polls}");
            let available = semaphore.available();
            assert!(semaphore.try_take_many(available), "{program} {polls}: an abandoned ticket is left");
        }
    }
}
