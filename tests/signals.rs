//! Promise 10 (README): a signal handler may wake, whatever its thread was in the middle of. Where the platform's own
//! backend is `Park` that is promised only while nobody sleeps, so this is for Linux.

#![cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_model, layby_park))))]
#![allow(unsafe_code, reason = "sigaction and pthread_kill")]

mod common;

use common::{Tally, eventually, scaled, watchdog};
use layby::{
    Cancel, Key, Stopped, WaitTable, location_wake_all,
    sema::Semaphore,
    wait_table::{Slots, global},
    wait_until,
};
use std::{
    mem, ptr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: an all-zero sigaction is valid, and the handlers of this file do nothing but atomics and wake-ups.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        assert_eq!(libc::sigaction(signal, &raw const action, ptr::null_mut()), 0);
    }
}

/// A thread that signals can be sent to for as long as it is joined later.
#[derive(Clone, Copy)]
struct Target(libc::pthread_t);

impl Target {
    fn this_thread() -> Self {
        // SAFETY: always allowed.
        Self(unsafe { libc::pthread_self() })
    }

    fn interrupt(self, signal: libc::c_int) {
        // SAFETY: the thread is not joined before the last signal was sent.
        assert_eq!(unsafe { libc::pthread_kill(self.0, signal) }, 0);
    }
}

/// A location with a handler that raises it and wakes whoever waits for that. Each test has a signal of its own.
macro_rules! raised_by {
    ($signal:expr) => {{
        static RAISED: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn raise(_: libc::c_int) {
            RAISED.fetch_add(1, Ordering::Relaxed);
            location_wake_all(&RAISED);
        }
        install($signal, raise);
        &RAISED
    }};
}

fn errno() -> Option<i32> {
    std::io::Error::last_os_error().raw_os_error()
}

/// The system call that wakes a sleeper does not fail.
#[test]
fn a_wake_leaves_errno_alone() {
    let _watchdog = watchdog();
    let (open, posted) = (AtomicBool::new(false), Semaphore::new(0));
    thread::scope(|s| {
        s.spawn(|| wait_until(&open, || open.load(Ordering::Relaxed)));
        s.spawn(|| posted.take());
        eventually(|| {
            layby::waiters()
                .iter()
                .filter(|waiter| waiter.key().is_within(&open) || waiter.key().is_within(&posted))
                .filter(|waiter| waiter.activity() == layby::wait_table::Activity::Asleep)
                .count()
                == 2
        });
        open.store(true, Ordering::Relaxed);
        // SAFETY: there is no such signal, so that the call does nothing but fail.
        assert_eq!(unsafe { libc::raise(-1) }, -1);
        let before = errno();
        assert_ne!(location_wake_all(&open), 0);
        posted.post();
        assert_eq!((before, errno()), (Some(libc::EINVAL), Some(libc::EINVAL)));
    });
}

/// The system call that sleeps fails when the time is over, and a C program that waits through this crate reads `errno`.
#[test]
fn a_wait_leaves_errno_alone() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    // SAFETY: there is no such signal, so that the call does nothing but fail.
    assert_eq!(unsafe { libc::raise(-1) }, -1);
    let before = errno();
    assert!(!semaphore.take_timeout(Duration::from_millis(5)));
    assert_eq!((before, errno()), (Some(libc::EINVAL), Some(libc::EINVAL)));
}

/// Of the C libraries that have it: Bionic does not.
#[cfg(target_os = "linux")]
#[test]
fn a_wait_is_no_cancellation_point() {
    use std::os::unix::thread::JoinHandleExt;

    unsafe extern "C" {
        fn pthread_setcancelstate(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
    }
    const DISABLE: libc::c_int = 1;

    static PERMITS: Semaphore = Semaphore::new(0);
    static OPEN: AtomicBool = AtomicBool::new(false);
    let _watchdog = watchdog();
    let waiter = thread::spawn(|| {
        PERMITS.take();
        wait_until(&OPEN, || OPEN.load(Ordering::Relaxed));
        let timed_out = !PERMITS.take_timeout(Duration::from_millis(1));
        // The end of a thread has cancellation points.
        // SAFETY: a null place for the old state is allowed.
        assert_eq!(unsafe { pthread_setcancelstate(DISABLE, ptr::null_mut()) }, 0);
        timed_out
    });
    let waits_on = |key: Key| {
        let asleep = layby::wait_table::Activity::Asleep;
        eventually(|| layby::waiters().iter().any(|waiter| waiter.key() == key && waiter.activity() == asleep));
    };
    eventually(|| PERMITS.waiters() == 1);
    // SAFETY: the thread has not been joined. It is cancelled only where it holds nothing, if at all.
    assert_eq!(unsafe { libc::pthread_cancel(waiter.as_pthread_t()) }, 0);
    thread::sleep(Duration::from_millis(5));
    PERMITS.post();
    waits_on(Key::address(&OPEN));
    OPEN.store(true, Ordering::Relaxed);
    location_wake_all(&OPEN);
    assert!(waiter.join().unwrap());
}

/// In each round a thread waits until `raised` is more than it was. When it is about to sleep, `interrupt` is called with
/// it, and must end the wait.
fn rounds_of_sleep(raised: &AtomicUsize, interrupt: impl Fn(Target)) {
    for round in 0..scaled(200) {
        let evaluations = Tally::new();
        let (send, receive) = std::sync::mpsc::channel();
        thread::scope(|s| {
            s.spawn(|| {
                send.send(Target::this_thread()).unwrap();
                wait_until(raised, || {
                    evaluations.add();
                    raised.load(Ordering::Relaxed) > round
                });
            });
            let sleeper = receive.recv().unwrap();
            // The second evaluation is made with the element published.
            evaluations.reaches(2);
            interrupt(sleeper);
        });
    }
    assert_eq!(global().wake_all(raised), 0);
}

#[test]
fn a_handler_wakes_a_sleeping_thread() {
    let _watchdog = watchdog();
    rounds_of_sleep(raised_by!(libc::SIGUSR1), |_| Target::this_thread().interrupt(libc::SIGUSR1));
}

/// The handler runs on top of the wait that it ends.
#[test]
fn a_handler_wakes_its_own_sleeping_thread() {
    let _watchdog = watchdog();
    rounds_of_sleep(raised_by!(libc::SIGALRM), |sleeper| sleeper.interrupt(libc::SIGALRM));
}

/// A permit that comes by signal, at any moment of the take.
#[test]
fn a_handler_posts() {
    static PERMITS: Semaphore = Semaphore::new(0);
    extern "C" fn post(_: libc::c_int) {
        PERMITS.post();
    }
    let _watchdog = watchdog();
    install(libc::SIGHUP, post);
    for _ in 0..scaled(200) {
        let (send, receive) = std::sync::mpsc::channel();
        thread::scope(|s| {
            s.spawn(|| {
                send.send(Target::this_thread()).unwrap();
                PERMITS.take();
            });
            receive.recv().unwrap().interrupt(libc::SIGHUP);
        });
    }
    assert_eq!(PERMITS.available(), 0);
}

/// Publishes `depth` elements of one thread, each in the condition of another, and withdraws them.
fn wait_nested(table: &WaitTable, depth: usize) {
    if depth > 0 {
        table.wait_if(Key::ticket(table, 2), || {
            wait_nested(table, depth - 1);
            false
        });
    }
}

/// Interrupts a thread at every place of its pushes, picks, withdrawals and wake-ups, with a handler that wakes the very
/// same slot, or reports on it.
///
/// Breaks (hangs) when a wake-up or a report waits for another one, or for a picker.
#[test]
fn a_handler_interrupts_its_own_threads_waits_and_wakes() {
    static SLOTS: Slots<1> = Slots::new();
    static TABLE: WaitTable = WaitTable::from_slots(&SLOTS);
    static HANDLED: Tally = Tally::new();
    extern "C" fn wake(_: libc::c_int) {
        match HANDLED.get() % 3 {
            0 => TABLE.wake_all(&TABLE),
            1 => TABLE.wake_one(&TABLE),
            _ => TABLE.for_each_waiter(|waiter| assert_eq!(waiter.slot(), 0)),
        };
        HANDLED.add();
    }
    let _watchdog = watchdog();
    install(libc::SIGUSR2, wake);
    let stop = AtomicBool::new(false);
    let stopped = || stop.load(Ordering::Relaxed);
    let neighbour = Key::ticket(&TABLE, 1);
    let (send, receive) = std::sync::mpsc::channel();
    thread::scope(|s| {
        let interrupted = [(); 2].map(|()| {
            let send = send.clone();
            s.spawn(move || {
                send.send(Target::this_thread()).unwrap();
                while !stopped() {
                    let soon = Instant::now() + Duration::from_micros(5);
                    let _ = TABLE.wait_until_deadline(&TABLE, soon, || false);
                    // A picker most of the time: each of many withdrawals takes up what the others have published.
                    wait_nested(&TABLE, 50);
                    TABLE.wake_one(neighbour);
                    let _ = TABLE.wait_if_deadline(neighbour, soon, || true);
                    let _ = TABLE.location_wait_deadline(&TABLE, soon + Duration::from_micros(5));
                    TABLE.wake_all(neighbour);
                }
            })
        });
        // A bystander, to be picked up and put back, and to be woken at the end.
        s.spawn(|| TABLE.wait_until(neighbour, stopped));
        let targets: Vec<_> = receive.iter().take(2).collect();
        for round in 1..=scaled(2000) {
            targets[round % 2].interrupt(libc::SIGUSR2);
            // Signals of one kind are not queued, so one at a time.
            eventually(|| HANDLED.get() >= round);
        }
        stop.store(true, Ordering::Relaxed);
        TABLE.wake_all(neighbour);
        // Joined, and not only left by the scope, so that their elements, which may linger, are gone.
        interrupted.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(TABLE.wake_all(&TABLE), 0);
}

/// The `EINTR` of a blocking call: a handler cancels what its own thread waits for, wherever it interrupts it; the thread
/// resets it, and waits again.
#[test]
fn a_handler_cancels_the_take_of_its_own_thread() {
    static INTERRUPT: Cancel = Cancel::new();
    static HANDLED: Tally = Tally::new();
    extern "C" fn interrupt(_: libc::c_int) {
        INTERRUPT.cancel();
        HANDLED.add();
    }
    let _watchdog = watchdog();
    install(libc::SIGWINCH, interrupt);
    let (permits, interrupted) = (Semaphore::new(0), Tally::new());
    let rounds = scaled(500);
    thread::scope(|s| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (permits, interrupted) = (&permits, &interrupted);
        let taker = s.spawn(move || {
            sender.send(Target::this_thread()).unwrap();
            for _ in 0..rounds {
                assert_eq!(permits.take_within(&INTERRUPT), Err(Stopped::Cancelled));
                assert!(INTERRUPT.reset());
                interrupted.add();
            }
            permits.take_within(&INTERRUPT)
        });
        let taker_thread = receiver.recv().unwrap();
        for round in 1..=rounds {
            // Asleep, about to be, or not there yet.
            if round % 4 == 0 {
                eventually(|| permits.waiters() == 1);
            }
            taker_thread.interrupt(libc::SIGWINCH);
            interrupted.reaches(round);
            HANDLED.reaches(round);
        }
        permits.post();
        assert_eq!(taker.join().unwrap(), Ok(()));
    });
    assert_eq!((permits.available(), permits.waiters()), (0, 0));
}
