//! Promise 10 (README): a signal handler may wake, whatever its thread was in the middle of. Where the platform's own
//! backend is `Park` that is promised only while nobody sleeps, so this is for Linux.

#![cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_model, layby_park))))]
#![allow(unsafe_code, reason = "sigaction and pthread_kill")]

mod common;

use common::{Tally, eventually, scaled, watchdog};
use layby::{
    Key, WaitTable, location_wake_all,
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
                    TABLE.wait_until_deadline(&TABLE, soon, || false);
                    // A picker most of the time: each of many withdrawals takes up what the others have published.
                    wait_nested(&TABLE, 50);
                    TABLE.wake_one(neighbour);
                    TABLE.wait_if_deadline(neighbour, soon, || true);
                    TABLE.location_wait_deadline(&TABLE, soon + Duration::from_micros(5));
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
