//! Promise 10 (README): after a fork the child's tables are empty and usable, whatever the parent's threads were doing.
//!
//! Where the platform's own backend is `Park` nothing is promised: a child inherits the locks that the parent's threads
//! held in `parking_lot_core`, and hangs on one sooner or later. So this is for Linux.

#![cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_model, layby_park, layby_no_fork))))]
#![allow(unsafe_code, reason = "a new semaphore in the place of an old one")]

mod common;

use common::{
    Queue, Rally, Tally, assert_at_rest,
    child::{Child, alone},
    counting_backend, eventually, home, leaked, process, scaled,
    task::{Woken, poll, poll_once},
    watchdog,
};
use layby::{
    Cancel, Key, Limit, WaitOutcome, WaitTable, location_wake_all,
    mutex::{RawFairMutex, RawMutex, Ticket},
    paper::{RawSemaphore, TwaChainSemaphore},
    sema::Semaphore,
    sys::{AtomicU32, Backend, Native},
    wait_table::{Activity, Home, Slots, global},
    wait_until,
};
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Uses a table as a child may: wakes, waits, starts threads that wait (on stacks that the parent's waiters had).
fn use_fully(table: &'static WaitTable) {
    assert_eq!(table.waiters().len(), 0, "the parent's waiters are not the child's");
    assert_eq!(table.wake_all(table) + table.wake_all_seqcst(table) + table.wake_one(table), 0, "not empty");
    assert!(!table.wait_until_timeout(table, Duration::from_millis(1), || false));
    Rally::run(table, scaled(20));
    let open = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| table.wait_until(table, || open.load(Ordering::Relaxed)));
        }
        open.store(true, Ordering::Relaxed);
        table.wake_all(table);
    });
}

/// Waiters of the parent on a table of one's own, on one in a static and on the global one.
#[test]
fn with_waiters_in_the_parent() {
    static SLOTS: Slots<1> = Slots::new();
    static IN_A_STATIC: WaitTable = WaitTable::from_slots(&SLOTS);
    let (_watchdog, _alone) = (watchdog(), alone());
    for table in [leaked(1), &IN_A_STATIC, global()] {
        for generations in [1, 3] {
            let open = AtomicBool::new(false);
            let published = Tally::new();
            thread::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| {
                        table.wait_if(table, || {
                            published.add();
                            true
                        });
                        table.wait_until(table, || open.load(Ordering::Relaxed));
                    });
                }
                published.reaches(4);
                descend(generations, table);
                // The parent's waiters are none the worse for it.
                assert_eq!(table.wake_all(table), 4);
                open.store(true, Ordering::Relaxed);
                table.wake_all(table);
            });
        }
    }
}

/// Tasks of the parent: the child has none, may drop and poll those futures of which it has a copy, and wait in banks of its own.
#[test]
fn tasks_of_the_parent() {
    use std::task::{Context, Waker};

    let (_watchdog, _alone) = (watchdog(), alone());
    let mut context = Context::from_waker(Waker::noop());
    for table in [leaked(64), global()] {
        let open = AtomicBool::new(false);
        let is_open = || open.load(Ordering::Relaxed);
        let mut futures = [(); 3].map(|()| Box::pin(table.wait_until_async(table, is_open)));
        futures[..2].iter_mut().for_each(|future| assert!(future.as_mut().poll(&mut context).is_pending()));
        let [dropped, polled, fresh] = &mut futures;
        let child = Child::that(|| {
            assert_eq!(table.wake_all(table) + table.wake_everybody(), 0, "not empty");
            let mut context = Context::from_waker(Waker::noop());
            dropped.set(table.wait_until_async(table, is_open));
            for future in [&mut *dropped, &mut *polled, &mut *fresh] {
                assert!(future.as_mut().poll(&mut context).is_pending());
            }
            assert_eq!(table.waiters().len(), 3);
            open.store(true, Ordering::Relaxed);
            assert_eq!(table.wake_all(table), 3);
            assert!(polled.as_mut().poll(&mut context).is_ready());
        });
        child.succeeds();
        assert_eq!(table.wake_all(table), 2, "the parent's are none the worse for it");
    }
}

/// The child's copy of a future is on no chain, whether its condition forks in the first poll or in a later one, which a wake has asked for
/// or nobody.
#[test]
fn inside_a_tasks_condition() {
    let (_watchdog, _alone, _unwinding) = (watchdog(), alone(), Child::unwinding_fails());
    for table in [leaked(64), global()] {
        let cases = [(2, false), (3, false), (3, true)];
        for ((fork_at, is_idle), uses_table) in cases.into_iter().flat_map(|case| [(case, true), (case, false)]) {
            let (open, evaluations, woken) = (AtomicBool::new(false), Tally::new(), Woken::new());
            let mut child = None;
            let mut is_child = false;
            {
                let mut future = Box::pin(table.wait_until_async(table, || {
                    evaluations.add();
                    if evaluations.get() == fork_at {
                        child = Child::fork();
                        is_child = child.is_none();
                        if is_child && uses_table {
                            // By this thread alone: another test may have been starting one when it forked, which std has a lock for.
                            assert!(!table.wait_until_timeout(table, Duration::from_millis(1), || false));
                        }
                    }
                    open.load(Ordering::Relaxed)
                }));
                for nth in 1..fork_at {
                    assert!(poll(future.as_mut(), &woken).is_pending());
                    let forks_next = nth + 2 == fork_at;
                    if is_idle && forks_next {
                        continue;
                    }
                    table.wake_all(table);
                    // In the child it may be that it has woken itself, to be published by its next poll.
                    woken.reaches(if is_idle { 1 } else { nth });
                }
                assert!(poll(future.as_mut(), &woken).is_pending());
                open.store(true, Ordering::Relaxed);
                assert_eq!(table.wake_all(table), 1);
                assert!(poll_once(future.as_mut()).is_ready());
            }
            match child {
                Some(child) => child.succeeds(),
                None => Child::live(|| assert!(is_child)),
            }
        }
    }
}

/// The visitor of a report forks: the child is shown no more of its parent's waiters than have been looked at already.
#[test]
fn inside_a_report() {
    const WAITERS: usize = 40;
    let (_watchdog, _alone, _unwinding) = (watchdog(), alone(), Child::unwinding_fails());
    let (table, open, published) = (leaked(1), AtomicBool::new(false), Tally::new());
    thread::scope(|s| {
        for _ in 0..WAITERS {
            s.spawn(|| {
                table.wait_if(table, || {
                    published.add();
                    true
                });
                table.wait_until(table, || open.load(Ordering::Relaxed));
            });
        }
        published.reaches(WAITERS);
        let mut child = None;
        let mut seen = 0;
        table.for_each_waiter(|_| {
            seen += 1;
            if seen == 1 {
                child = Child::fork();
            }
        });
        match child {
            None => Child::live(|| {
                assert!(seen < WAITERS, "{seen}");
                use_fully(table);
            }),
            Some(child) => child.succeeds(),
        }
        assert_eq!(seen, WAITERS);
        open.store(true, Ordering::Relaxed);
        table.wake_all(table);
    });
}

/// Children, their children and so on: each finds the table empty, though its parent has a waiter on it.
fn descend(generations: usize, table: &'static WaitTable) {
    let child = Child::that(|| {
        use_fully(table);
        if generations > 1 {
            let published = Tally::new();
            thread::scope(|s| {
                s.spawn(|| {
                    table.wait_if(table, || {
                        published.add();
                        true
                    });
                });
                published.reaches(1);
                descend(generations - 1, table);
                assert!(table.wake_all(table) >= 1);
            });
        }
    });
    child.succeeds();
}

#[test]
fn with_the_forking_threads_element_lingering() {
    let (_watchdog, _alone) = (watchdog(), alone());
    for same_key in [true, false] {
        for table in [leaked(1), global()] {
            let (ours, other) = (Key::ticket(table, 1), Key::ticket(table, 2));
            let next = if same_key { ours } else { other };
            table.location_wait(ours);
            let armed = table.arm(ours);
            let child = Child::that(|| {
                assert_eq!(table.wake_all(ours), 0, "the parent's element is on the child's chain");
                // Armed in the parent: on no chain here, so it must not wait.
                armed.wait();
                table.location_wait(next);
                assert_eq!(table.wake_all(next), 1, "the child's wait was not published");
                table.location_wait(next);
                use_fully(table);
                // The end of a thread whose element lingers in the child.
                thread::spawn(move || table.location_wait(ours)).join().unwrap();
                use_fully_but_for_ours(table);
            });
            child.succeeds();
            assert_eq!(table.wake_all(ours), 1, "the parent's element still lingers");
        }
    }
}

/// The rally leaves this thread's element on the chain.
fn use_fully_but_for_ours(table: &'static WaitTable) {
    table.wake_all(table);
    use_fully(table);
}

/// The element of the outer wait lies on the stack of the thread that forks.
#[test]
fn inside_a_condition() {
    let (_watchdog, _alone, _unwinding) = (watchdog(), alone(), Child::unwinding_fails());
    for table in [leaked(1), global()] {
        // The second evaluation is made with the element published; so is the second one after a fork in it.
        for (fork_at, rouse_at) in [(1, 2), (2, 4)] {
            let evaluations = Tally::new();
            let mut child = None;
            let mut helper = None;
            let open: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
            let is_child = AtomicBool::new(false);
            table.wait_until(table, || {
                evaluations.add();
                if evaluations.get() == fork_at {
                    child = Child::fork();
                    is_child.store(child.is_none(), Ordering::Relaxed);
                    return child.is_some();
                }
                if is_child.load(Ordering::Relaxed) && evaluations.get() == rouse_at {
                    helper = Some(thread::spawn(move || {
                        open.store(true, Ordering::Relaxed);
                        table.wake_all(table)
                    }));
                }
                open.load(Ordering::Relaxed)
            });
            match child {
                Some(child) => child.succeeds(),
                None => Child::live(|| {
                    assert!(open.load(Ordering::Relaxed));
                    helper.unwrap().join().unwrap();
                    use_fully(table);
                }),
            }
        }
    }
}

/// The same of a wait on several locations, in two tables.
#[test]
fn inside_the_condition_of_a_group() {
    let (_watchdog, _alone, _unwinding) = (watchdog(), alone(), Child::unwinding_fails());
    let table = leaked(1);
    static NEVER: Cancel = Cancel::new();
    let evaluations = Tally::new();
    let mut child = None;
    let deadline = Instant::now() + Duration::from_secs(1 << 30);
    let ended = table.wait_until_any_within(
        &[Key::address(table), Key::ticket(table, 1)],
        Limit::from(deadline).or(&NEVER),
        || {
            evaluations.add();
            // The second evaluation is made with all published.
            if evaluations.get() == 2 {
                child = Child::fork();
                return child.is_some();
            }
            // In the child the wait returns at once, and publishes anew.
            evaluations.get() == 3
        },
    );
    assert_eq!(ended, Ok(()));
    match child {
        Some(child) => child.succeeds(),
        None => Child::live(|| {
            assert_eq!(evaluations.get(), 3);
            use_fully(table);
            use_fully(global());
        }),
    }
}

/// A wait that sleeps in the parent while another thread forks, over and over; then the child's own sleepers.
#[test]
fn while_others_publish_and_withdraw() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let table = leaked(1);
    let stop = AtomicBool::new(false);
    let stopped = || stop.load(Ordering::Relaxed);
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| while !table.wait_until_timeout(table, Duration::from_micros(30), stopped) {});
        }
        s.spawn(|| {
            while !stopped() {
                table.wake_one(Key::ticket(table, 1));
                table.wake_all(table);
            }
        });
        for _ in 0..scaled(40) {
            Child::that(|| use_fully(table)).succeeds();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// The child is emptying its parent's table when another of its threads forks: the grandchild must not wait for the
/// thread that does not exist there.
///
/// In a process of its own: the child starts a thread, for which std takes a lock that another test's thread may have had when it was forked.
#[test]
fn while_the_table_is_being_emptied() {
    const IN_ITS_OWN: &str = "LAYBY_TEST_IN_ITS_OWN_PROCESS";
    if std::env::var_os(IN_ITS_OWN).is_none() {
        let status = process::running("while_the_table_is_being_emptied", IN_ITS_OWN, "yes").status().unwrap();
        assert!(status.success(), "{status}");
        return;
    }
    let (_watchdog, _alone) = (watchdog(), alone());
    // Large, so that emptying takes long enough to fork in.
    let table = leaked(1 << 20);
    drop(table.arm(table));
    for _ in 0..scaled(10) {
        let child = Child::that(|| {
            let about_to_wait: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
            let waiter = thread::spawn(move || {
                about_to_wait.store(true, Ordering::SeqCst);
                table.wait_until_timeout(table, Duration::from_millis(1), || false)
            });
            eventually(|| about_to_wait.load(Ordering::SeqCst));
            for _ in 0..4 {
                let grandchild = Child::that(|| {
                    assert_eq!(table.wake_all(table), 0);
                    assert!(!table.wait_until_timeout(table, Duration::from_millis(1), || false));
                });
                grandchild.succeeds();
            }
            assert!(!waiter.join().unwrap());
        });
        child.succeeds();
    }
}

/// A sleeper whose gate says so in the copy: the child neither wakes it nor calls the kernel for it.
#[test]
fn makes_no_system_calls_for_the_parents_sleepers() {
    counting_backend!(Forked);
    let (_watchdog, _alone) = (watchdog(), alone());
    let table: WaitTable<Forked> = WaitTable::with_slots_in(1);
    thread::scope(|s| {
        s.spawn(|| table.wait_if(&table, || true));
        Forked::waits().reaches(1);
        let child = Child::that(|| {
            assert_eq!(table.wake_all(&table) + table.wake_one(&table), 0);
            assert_eq!(Forked::wakes().get(), 0);
        });
        child.succeeds();
        assert_eq!(table.wake_all(&table), 1);
    });
}

/// A report in the child names the child's thread, though the thread that forked has asked for its number before.
#[test]
fn the_child_has_a_thread_number_of_its_own() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let table = leaked(1);
    let reported = || {
        let mut number = None;
        table.wait_if(table, || {
            number = table.waiters().first().and_then(|waiter| waiter.thread_id());
            false
        });
        number.expect("the caller itself")
    };
    let of_the_parent = reported();
    Child::that(|| assert_ne!(reported(), of_the_parent)).succeeds();
}

/// A condition forks though its wait has been chosen by a wake of one: to hand that on is the parent's business.
#[test]
fn a_wake_up_is_not_handed_on_in_the_child() {
    counting_backend!(HandedOn);
    let (_watchdog, _alone) = (watchdog(), alone());
    let table: WaitTable<HandedOn> = WaitTable::with_slots_in(1);
    thread::scope(|s| {
        let mut child = None;
        table.wait_if(&table, || {
            assert_eq!(table.wake_one(&table), 1);
            s.spawn(|| table.wait_if(&table, || true));
            HandedOn::waits().reaches(1);
            child = Child::fork();
            false
        });
        match child {
            Some(child) => child.succeeds(),
            None => Child::live(|| assert_eq!(HandedOn::wakes().get(), 0)),
        }
        assert_eq!(HandedOn::wakes().get(), 1);
    });
}

/// A wait with a deadline returns at once in a child that its condition has made, and that is no timeout.
#[test]
fn a_return_in_the_child_is_no_timeout() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let table = leaked(1);
    let far = Instant::now() + Duration::from_secs(3600);
    let mut child = None;
    let outcome = table.wait_if_deadline(table, far, || {
        child = Child::fork();
        child.is_none()
    });
    match child {
        Some(child) => child.succeeds(),
        None => Child::live(|| assert_eq!(outcome, WaitOutcome::Woken)),
    }
}

/// In the parent a ticket of a semaphore was abandoned, with somebody in line behind it. The child makes a new semaphore in
/// the same place, as a new thread of it does that gets the stack of one of the parent's.
#[test]
fn nothing_is_left_of_the_parents_abandoned_tickets() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let mut semaphore = Box::new(Semaphore::new(0));
    let place = &raw mut *semaphore;
    thread::scope(|s| {
        let semaphore = &semaphore;
        let mut queue = Queue::new(s, semaphore);
        let gives_up = queue.join(1, |semaphore| semaphore.take_timeout(Duration::from_millis(200)));
        let stays = queue.join(1, |semaphore| semaphore.take_timeout(Duration::MAX));
        assert!(!gives_up.join().unwrap());
        let child = Child::that(|| {
            // SAFETY: the threads that borrow the old one do not exist here.
            let semaphore = unsafe {
                place.write(Semaphore::new(0));
                &mut *place
            };
            let in_line = thread::scope(|s| {
                let taker = s.spawn(|| semaphore.take());
                eventually(|| global().waiters().iter().any(|waiter| waiter.key() == Key::ticket_at(semaphore, 0)));
                let in_line = semaphore.waiters();
                semaphore.post();
                taker.join().unwrap();
                in_line
            });
            assert_eq!(in_line, 1);
            assert_at_rest(semaphore, 0);
            // A marker of the child's own, for the ticket that the parent's has: it is found, and the parent's is not.
            *semaphore = Semaphore::new(0);
            thread::scope(|s| {
                let gives_up = s.spawn(|| semaphore.take_timeout(Duration::from_millis(200)));
                eventually(|| semaphore.waiters() == 1 || gives_up.is_finished());
                let taker = s.spawn(|| semaphore.take());
                assert!(!gives_up.join().unwrap());
                eventually(|| semaphore.waiters() == 1 || taker.is_finished());
                semaphore.post();
            });
            assert_at_rest(semaphore, 0);
            let table = format!("{:?}", global());
            assert!(table.contains("alerts: 0"), "posts look for markers that are not there: {table}");
        });
        semaphore.post();
        assert!(stays.join().unwrap());
        child.succeeds();
    });
    assert_at_rest(&mut semaphore, 0);
}

/// A lock that is held across the fork, with threads of the parent asleep in line for it: the child gives it back, and takes
/// it again and again, alone and with threads of its own.
fn assert_lock_is_the_childs<T>(held: T, lock: impl Fn() -> T + Sync, unlock: impl Fn(T) + Sync) {
    unlock(held);
    for _ in 0..3 {
        unlock(lock());
    }
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| (0..100).for_each(|_| unlock(lock())));
        }
    });
}

/// Waits until `count` threads sleep in line in the global table.
fn asleep(count: usize) {
    eventually(|| global().waiters().iter().filter(|waiter| waiter.activity() == Activity::Asleep).count() == count);
}

#[test]
fn a_held_semaphore_can_be_taken_again_by_the_child() {
    let (_watchdog, _alone) = (watchdog(), alone());
    for post in [Semaphore::post, Semaphore::post_conservatively, |semaphore: &Semaphore| semaphore.post_many(1)] {
        for in_line in [1, 3] {
            let semaphore = Semaphore::new(1);
            semaphore.take();
            thread::scope(|s| {
                for _ in 0..in_line {
                    s.spawn(|| semaphore.take());
                }
                asleep(in_line);
                let child = Child::that(|| {
                    assert_lock_is_the_childs((), || semaphore.take(), |()| post(&semaphore));
                    assert_eq!((semaphore.available(), semaphore.waiters()), (1, 0));
                });
                child.succeeds();
                (0..=in_line).for_each(|_| semaphore.post());
            });
            assert_eq!(semaphore.available(), 1);
        }
    }
}

/// It asks the kernel whether it has other threads.
#[cfg(target_os = "linux")]
#[test]
fn a_take_of_the_child_is_no_cancellation_point() {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
    }
    const DISABLE: libc::c_int = 1;

    let (_watchdog, _alone) = (watchdog(), alone());
    let semaphore = Semaphore::new(0);
    let child = Child::that(|| {
        // SAFETY: the calling thread, which is there; a null place for the old state is allowed.
        unsafe {
            assert_eq!(libc::pthread_cancel(libc::pthread_self()), 0);
            assert!(!semaphore.take_timeout(Duration::from_millis(1)));
            semaphore.post();
            semaphore.post_conservatively();
            assert_eq!(pthread_setcancelstate(DISABLE, std::ptr::null_mut()), 0);
        }
    });
    child.succeeds();
}

/// As with threads, but it is tasks that wait for it, and the child does not poll them.
#[test]
fn what_the_parents_tasks_wait_for_can_be_taken_again_by_the_child() {
    let (_watchdog, _alone) = (watchdog(), alone());
    for in_line in [1, 3] {
        for post in [Semaphore::post, Semaphore::post_conservatively] {
            let semaphore = Semaphore::new(0);
            let mut tasks: Vec<_> = (0..in_line).map(|_| Box::pin(semaphore.take_async())).collect();
            assert!(tasks.iter_mut().all(|task| poll_once(task.as_mut()).is_pending()));
            let child = Child::that(|| assert_lock_is_the_childs((), || semaphore.take(), |()| post(&semaphore)));
            child.succeeds();
        }
        let mutex = RawFairMutex::new();
        let unlock = |ticket: Ticket| {
            // SAFETY: all tickets here are of this mutex.
            unsafe { mutex.release(ticket) };
        };
        let held = mutex.acquire();
        let mut tasks: Vec<_> = (0..in_line).map(|_| Box::pin(mutex.acquire_async())).collect();
        assert!(tasks.iter_mut().all(|task| poll_once(task.as_mut()).is_pending()));
        match Child::fork() {
            None => Child::live(|| assert_lock_is_the_childs(held, || mutex.acquire(), unlock)),
            Some(child) => child.succeeds(),
        }
    }
}

/// A child with one thread has tasks in line while it is in no call: its takes and posts must not take them for its parent's. What it
/// has of its parent's futures draws a new ticket.
#[test]
fn a_childs_tasks_stand_in_line_and_its_parents_do_not() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let semaphore = Semaphore::new(1);
    semaphore.take();
    let mut inherited = Box::pin(semaphore.take_async());
    assert!(poll_once(inherited.as_mut()).is_pending());
    let child = Child::that(|| {
        let mut own = Box::pin(semaphore.take_async());
        assert!(poll_once(own.as_mut()).is_pending());
        assert!(!semaphore.take_timeout(Duration::from_millis(1)));
        assert!(poll_once(own.as_mut()).is_pending());
        assert!(poll_once(inherited.as_mut()).is_pending());
        semaphore.post();
        assert!(poll_once(inherited.as_mut()).is_pending(), "it is behind the other now");
        assert!(poll_once(own.as_mut()).is_ready());
        semaphore.post();
        assert!(poll_once(inherited.as_mut()).is_ready());
        assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
    });
    child.succeeds();
    semaphore.post();
    assert!(poll_once(inherited.as_mut()).is_ready(), "the parent's ticket is as it was");
}

#[test]
fn a_held_fair_mutex_can_be_locked_again_by_the_child() {
    let (_watchdog, _alone) = (watchdog(), alone());
    for in_line in [1, 3] {
        let mutex = RawFairMutex::new();
        let unlock = |ticket: Ticket| {
            // SAFETY: all tickets here are of this mutex.
            unsafe { mutex.release(ticket) };
        };
        let held = mutex.acquire();
        thread::scope(|s| {
            for _ in 0..in_line {
                s.spawn(|| unlock(mutex.acquire()));
            }
            asleep(in_line);
            match Child::fork() {
                None => Child::live(|| {
                    assert_lock_is_the_childs(held, || mutex.acquire(), unlock);
                    assert!(!mutex.is_acquired() && mutex.waiters() == 0);
                }),
                Some(child) => child.succeeds(),
            }
            unlock(held);
        });
        assert!(!mutex.is_acquired());
    }
}

/// Counts those who sleep without a deadline, and may keep them from coming back.
struct Held;

static SLEEPS: Tally = Tally::new();
static ARE_HELD: AtomicBool = AtomicBool::new(false);

// SAFETY: as its target; it may return late.
#[allow(unsafe_code)]
unsafe impl Backend for Held {
    const NAME: &'static str = "Held";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        if deadline.is_none() {
            SLEEPS.add();
        }
        Native::wait(word, expected, deadline);
        eventually(|| !ARE_HELD.load(Ordering::SeqCst));
    }

    fn wake(word: *const AtomicU32) {
        Native::wake(word);
    }
}

home!(OfHeld, Held, 64);

/// Whether it starves, or has just been handed the lock: the child has its mark, and not the thread.
#[test]
fn a_mutex_is_not_kept_for_a_thread_of_the_parent() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let mutex = &RawMutex::<OfHeld>::new_in();
    // SAFETY: a test releases what it holds.
    let (release, release_fair) = (|| unsafe { mutex.release() }, || unsafe { mutex.release_fair() });
    let lock_again = || {
        for _ in 0..3 {
            mutex.acquire();
            release();
        }
    };
    for starves in [true, false] {
        let slept = SLEEPS.get();
        mutex.acquire();
        thread::scope(|s| {
            s.spawn(|| {
                mutex.acquire();
                release();
            });
            SLEEPS.reaches(slept + 1);
            if starves {
                // Woken for nothing, it naps, and then has the lock kept for itself.
                OfHeld::TABLE.wake_everybody();
                SLEEPS.reaches(slept + 2);
                Child::that(|| {
                    release();
                    lock_again();
                })
                .succeeds();
                release();
            } else {
                ARE_HELD.store(true, Ordering::SeqCst);
                release_fair();
                assert!(!mutex.try_acquire(), "it is for the other");
                Child::that(lock_again).succeeds();
                ARE_HELD.store(false, Ordering::SeqCst);
            }
        });
    }
}

/// What a thread of the parent holds stays taken. A take of the child that gives up leaves no trace, and what the child then
/// posts is its own.
#[test]
fn what_the_parents_threads_hold_stays_taken_in_the_child() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let semaphore = Semaphore::new(1);
    let held = AtomicBool::new(true);
    thread::scope(|s| {
        s.spawn(|| {
            semaphore.take();
            wait_until(&held, || !held.load(Ordering::Relaxed));
            semaphore.post();
        });
        eventually(|| semaphore.available() == 0);
        s.spawn(|| {
            semaphore.take();
            semaphore.post();
        });
        asleep(2);
        let child = Child::that(|| {
            assert!(!semaphore.take_timeout(Duration::from_millis(10)), "it is the parent's");
            assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
            assert_lock_is_the_childs((), || semaphore.take(), |()| semaphore.post());
            assert_eq!((semaphore.available(), semaphore.waiters()), (1, 0));
        });
        child.succeeds();
        held.store(false, Ordering::Relaxed);
        location_wake_all(&held);
    });
    assert_eq!(semaphore.available(), 1);
}

/// A handler of the child posts to what its only thread waits for, behind those of the parent.
#[test]
fn a_handler_of_the_child_lets_it_go() {
    static SEMAPHORE: Semaphore = Semaphore::new(0);
    extern "C" fn post(_: libc::c_int) {
        SEMAPHORE.post();
    }
    let (_watchdog, _alone) = (watchdog(), alone());
    thread::scope(|s| {
        s.spawn(|| SEMAPHORE.take());
        asleep(1);
        let child = Child::that(|| {
            // SAFETY: the handler posts, which a handler may.
            unsafe {
                libc::signal(libc::SIGALRM, post as extern "C" fn(libc::c_int) as libc::sighandler_t);
                libc::alarm(1);
            }
            SEMAPHORE.take();
            assert_eq!((SEMAPHORE.available(), SEMAPHORE.waiters()), (0, 0));
        });
        child.succeeds();
        SEMAPHORE.post();
    });
}

/// A handler of the child posts while its only thread does, both to what the parent's threads wait for. When it comes is left to chance.
#[test]
fn a_handler_of_the_child_posts_in_a_post() {
    static SEMAPHORE: Semaphore = Semaphore::new(1);
    static HAS_POSTED: AtomicBool = AtomicBool::new(false);
    const CHILDREN: libc::c_long = 60;
    const LONGEST: libc::c_long = 100_000;
    extern "C" fn post(_: libc::c_int) {
        SEMAPHORE.post();
        HAS_POSTED.store(true, Ordering::Release);
    }
    let (_watchdog, _alone) = (watchdog(), alone());
    SEMAPHORE.take();
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| SEMAPHORE.take());
        }
        asleep(3);
        for nth in 1..=CHILDREN {
            for post_by_thread in [Semaphore::post, Semaphore::post_conservatively] {
                let child = Child::that(|| {
                    // SAFETY: the handler posts, which a handler may; the timer is made before it is set.
                    unsafe {
                        libc::signal(libc::SIGALRM, post as extern "C" fn(libc::c_int) as libc::sighandler_t);
                        let (mut timer, mut when) = (std::mem::zeroed(), std::mem::zeroed::<libc::itimerspec>());
                        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, std::ptr::null_mut(), &raw mut timer), 0);
                        when.it_value.tv_nsec = LONGEST / CHILDREN * nth;
                        assert_eq!(libc::timer_settime(timer, 0, &raw const when, std::ptr::null_mut()), 0);
                    }
                    post_by_thread(&SEMAPHORE);
                    eventually(|| HAS_POSTED.load(Ordering::Acquire));
                    assert_eq!((SEMAPHORE.available(), SEMAPHORE.waiters()), (2, 0));
                });
                child.succeeds();
            }
        }
        SEMAPHORE.post_many(4);
    });
}

/// What is drawn for nobody, so that there are fewer permits, is not a waiter of the parent's.
#[test]
fn a_reduction_by_the_child_stays() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let child = Child::that(|| {
        let semaphore = Semaphore::new(0);
        semaphore.reduce(1);
        assert!(!semaphore.take_timeout(Duration::from_millis(1)));
        semaphore.post();
        assert_eq!(semaphore.available(), 0);
    });
    child.succeeds();
}

/// The chains of listing 3, which are not the table's. The parent's waiter is on one of them, and its stack is taken away in the
/// child: whoever touches its element there ends by a fault.
#[test]
fn with_a_waiter_of_the_parent_on_a_chain_of_listing_3() {
    const CHAINS: usize = 4096;
    let (_watchdog, _alone) = (watchdog(), alone());
    let make = || TwaChainSemaphore::with_permits(0);
    let semaphores: Vec<_> = (0..=CHAINS / size_of::<TwaChainSemaphore>()).map(|_| make()).collect();
    let [parents, .., on_the_same_chain] = semaphores.as_slice() else { unreachable!() };
    let (stack, thread, thread_of_child) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let take = |semaphore: &TwaChainSemaphore, thread: &AtomicUsize| {
        // SAFETY: it has no preconditions.
        thread.store(unsafe { libc::gettid() } as usize, Ordering::Release);
        semaphore.take();
    };
    let is_asleep = |thread: &AtomicUsize| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{}/status", thread.load(Ordering::Acquire)));
        status.is_ok_and(|status| status.contains("State:\tS"))
    };
    thread::scope(|s| {
        let waiter = s.spawn(|| {
            let here = 0_u8;
            stack.store((&raw const here).addr(), Ordering::Relaxed);
            take(parents, &thread);
        });
        eventually(|| is_asleep(&thread));
        let child = Child::that(|| {
            const PAGE: usize = 4096;
            let page = stack.load(Ordering::Relaxed) & !(PAGE - 1);
            // SAFETY: these pages are of the stack of a thread that the child does not have, and no thread below has a stack
            // that is as large.
            let taken_away =
                unsafe { libc::mprotect(std::ptr::without_provenance_mut(page - 4 * PAGE), 5 * PAGE, libc::PROT_NONE) };
            assert_eq!(taken_away, 0);
            parents.post();
            parents.post_politely();
            thread::scope(|s| {
                let take = || take(on_the_same_chain, &thread_of_child);
                thread::Builder::new().stack_size(32 * PAGE).spawn_scoped(s, take).unwrap();
                // On the chain, and so above the parent's element, if that is still there.
                eventually(|| is_asleep(&thread_of_child));
                on_the_same_chain.post();
            });
        });
        child.succeeds();
        parents.post();
        // To its very end: other tests fork.
        waiter.join().unwrap();
    });
}

/// What is dropped was alone on its chain. The child has a copy of that, and no chains at all once it has waited itself; and the ticket is one that
/// the child has given back.
#[test]
fn a_lone_task_of_the_parent_is_dropped_by_the_child() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let semaphores = [Semaphore::new(0), Semaphore::new(0)];
    let [mut before_it_waits, mut after] = semaphores.each_ref().map(|semaphore| Box::pin(semaphore.take_async()));
    for inherited in [&mut before_it_waits, &mut after] {
        assert!(poll_once(inherited.as_mut()).is_pending());
    }
    Child::that(|| {
        semaphores[0].post();
        before_it_waits.set(semaphores[0].take_async());
        assert_eq!(semaphores[0].available(), 1);
        assert!(!global().wait_until_timeout(Key::address(&semaphores), Duration::from_millis(1), || false));
        after.set(semaphores[1].take_async());
    })
    .succeeds();
}
