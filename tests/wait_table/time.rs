//! Promise 5 (README): deadlines are absolute, the past and the end of time are deadlines like any other, no timeout is
//! early, and a wake-up that came is never reported as a timeout. No test here has an upper bound on time.

#![allow(unsafe_code, reason = "a backend of its own")]

use crate::common::{Tally, counting_backend, end_of_time, eventually, leaked_on, scaled, watchdog};
use layby::{
    WaitOutcome, WaitTable,
    sys::{AtomicU32, Backend, Native},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Waits in every form with a deadline until it passes, on a table where nobody wakes anybody.
fn time_out_in_every_form<B: Backend>(table: &'static WaitTable<B>, timeout: Duration) {
    let check = |form: &str, wait: &dyn Fn(Instant)| {
        let deadline = Instant::now() + timeout;
        wait(deadline);
        assert!(Instant::now() >= deadline, "{form} timed out early, after less than {timeout:?}");
    };
    check("wait_until_deadline", &|at| assert!(!table.wait_until_deadline(table, at, || false)));
    check("wait_until_timeout", &|_| assert!(!table.wait_until_timeout(table, timeout, || false)));
    check("wait_if_deadline", &|at| assert_eq!(table.wait_if_deadline(table, at, || true), WaitOutcome::TimedOut));
    assert_eq!(table.wake_all(table), 0, "a timed-out element stayed behind");
    check("location_wait_deadline", &|at| while table.location_wait_deadline(table, at) != WaitOutcome::TimedOut {});
    check("Armed::wait_deadline", &|at| assert_eq!(table.arm(table).wait_deadline(at), WaitOutcome::TimedOut));
}

/// Two threads that come back late could otherwise have each other's elements flushed every time, each take that for a wake-up, and
/// never leave. libFuzzer found the schedule.
#[test]
fn a_wait_if_that_comes_late_is_not_published() {
    let table: WaitTable = WaitTable::with_slots(1);
    let late = Instant::now();
    let outcome = table.wait_if_deadline(&table, late, || {
        assert_eq!(table.wake_one(&table), 0, "it is published");
        true
    });
    assert_eq!(outcome, WaitOutcome::TimedOut);
    assert_eq!(table.wait_if_deadline(&table, late, || false), WaitOutcome::Woken);
}

#[test]
fn timeouts_are_never_early() {
    let _watchdog = watchdog();
    for micros in [0, 1, 50, 999, 1001, 5000] {
        time_out_in_every_form(leaked_on::<Native>(1), Duration::from_micros(micros));
    }
}

/// A backend that never sleeps: each of its returns is early.
struct Restless;

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for Restless {
    const NAME: &'static str = "restless";

    fn wait(_: &AtomicU32, _: u32, _: Option<Instant>) {
        thread::yield_now();
    }

    fn wake(_: *const AtomicU32) {}
}

#[test]
fn an_early_return_is_never_a_timeout() {
    let _watchdog = watchdog();
    let table = leaked_on::<Restless>(1);
    time_out_in_every_form(table, Duration::from_millis(20));
    let open = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| table.wait_until(&open, || open.load(Ordering::Relaxed)));
        open.store(true, Ordering::Relaxed);
        table.wake_all(&open);
    });
}

#[test]
fn deadlines_in_the_past() {
    let table = leaked_on::<Native>(1);
    let past = Instant::now();
    thread::sleep(Duration::from_millis(1));
    assert!(!table.wait_until_deadline(table, past, || false));
    assert!(table.wait_until_deadline(table, past, || true), "a condition that holds is no timeout");
    let evaluations = Tally::new();
    let comes_true = || {
        evaluations.add();
        evaluations.get() > 1
    };
    assert!(table.wait_until_deadline(table, past, comes_true), "the last look comes after the deadline");
    assert!(!table.wait_until_timeout(table, Duration::ZERO, || false));
    assert!(table.wait_until_timeout(table, Duration::ZERO, || true));
    assert_eq!(table.wait_if_deadline(table, past, || true), WaitOutcome::TimedOut);
    assert_eq!(table.wait_if_deadline(table, past, || false), WaitOutcome::Woken, "nothing was waited for");
    assert_eq!(table.location_wait_deadline(table, past), WaitOutcome::TimedOut);
    table.location_wait(table);
    assert_eq!(table.location_wait_deadline(table, past), WaitOutcome::TimedOut);
    assert_eq!(table.arm(table).wait_deadline(past), WaitOutcome::TimedOut);
}

#[test]
fn deadlines_at_the_end_of_time() {
    counting_backend!(Endless);
    let _watchdog = watchdog();
    let table = leaked_on::<Endless>(1);
    let open = AtomicBool::new(false);
    let holds = || open.load(Ordering::Relaxed);
    let end = end_of_time();
    type Wait<'a> = &'a (dyn Fn() -> bool + Sync);
    let forms: [(&str, Wait<'_>); 5] = [
        ("wait_until_deadline", &|| table.wait_until_deadline(&open, end, holds)),
        ("wait_until_timeout", &|| table.wait_until_timeout(&open, Duration::MAX, holds)),
        ("wait_if_deadline", &|| table.wait_if_deadline(&open, end, || !holds()) == WaitOutcome::Woken),
        ("location_wait_deadline", &|| {
            while !holds() {
                assert_eq!(table.location_wait_deadline(&open, end), WaitOutcome::Woken);
            }
            true
        }),
        ("Armed::wait_deadline", &|| table.arm(&open).wait_deadline(end) == WaitOutcome::Woken),
    ];
    for (name, wait) in forms {
        open.store(false, Ordering::Relaxed);
        let before = Endless::waits().get();
        thread::scope(|s| {
            let waiter = s.spawn(wait);
            Endless::waits().reaches(before + 1);
            assert!(!waiter.is_finished(), "{name} took the end of time for a deadline that has passed");
            open.store(true, Ordering::Relaxed);
            assert_eq!(table.wake_all(&open), 1);
            assert!(waiter.join().unwrap(), "{name} called a wake-up a timeout");
        });
    }
}

/// A backend that oversleeps: its wait returns when the test says so, whoever woke it.
struct Oversleeper;

static ASLEEP: Tally = Tally::new();
static ALARM: AtomicBool = AtomicBool::new(false);

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for Oversleeper {
    const NAME: &'static str = "oversleeper";

    fn wait(_: &AtomicU32, _: u32, _: Option<Instant>) {
        ASLEEP.add();
        eventually(|| ALARM.load(Ordering::SeqCst));
    }

    fn wake(_: *const AtomicU32) {}
}

/// The notifier comes while the waiter sleeps, and the waiter looks at its gate only after the deadline: the wake-up
/// was used up, so it counts.
#[test]
fn a_wake_up_beats_the_timeout() {
    let _watchdog = watchdog();
    let table = leaked_on::<Oversleeper>(1);
    type Wait = fn(&'static WaitTable<Oversleeper>, Instant) -> WaitOutcome;
    let forms: [(&str, Wait); 3] = [
        ("wait_if_deadline", |table, at| table.wait_if_deadline(table, at, || true)),
        ("location_wait_deadline", |table, at| {
            table.location_wait(table);
            table.location_wait_deadline(table, at)
        }),
        ("Armed::wait_deadline", |table, at| table.arm(table).wait_deadline(at)),
    ];
    for (name, wait) in forms {
        for after_the_deadline in [false, true] {
            ALARM.store(false, Ordering::SeqCst);
            let before = ASLEEP.get();
            let deadline = Instant::now() + Duration::from_millis(20);
            thread::scope(|s| {
                let waiter = s.spawn(move || wait(table, deadline));
                // A thread that was not run before the deadline does not sleep in some forms; then it has timed out.
                eventually(|| ASLEEP.get() > before || waiter.is_finished());
                if after_the_deadline {
                    eventually(|| Instant::now() > deadline);
                }
                let notified = table.wake_all(table);
                eventually(|| Instant::now() > deadline);
                ALARM.store(true, Ordering::SeqCst);
                let outcome = waiter.join().unwrap();
                if ASLEEP.get() > before {
                    assert_eq!((notified, outcome), (1, WaitOutcome::Woken), "{name}");
                }
            });
        }
    }
}

/// Timeouts race with wake-ups of one; every wake-up of one that reached an element must be reported as such.
#[test]
fn no_wake_up_disappears_in_a_timeout() {
    let _watchdog = watchdog();
    let table = WaitTable::with_slots(1);
    let (woken, running) = (Tally::new(), Tally::new());
    let waiters = 4;
    let mut notified = 0;
    thread::scope(|s| {
        for waiter in 0..waiters {
            let (table, woken, running) = (&table, &woken, &running);
            s.spawn(move || {
                for round in 0..scaled(2000) {
                    let deadline = Instant::now() + Duration::from_micros(((round * 7 + waiter) % 60) as u64);
                    if table.wait_if_deadline(table, deadline, || true) == WaitOutcome::Woken {
                        woken.add();
                    }
                }
                running.add();
            });
        }
        while running.get() < waiters {
            notified += table.wake_one(&table);
        }
    });
    // More may be woken than one call reports: a picker that was asked to flush notifies on the notifier's behalf.
    assert!(woken.get() >= notified, "{notified} elements were notified, {} waits said so", woken.get());
    assert_eq!(table.wake_all(&table), 0);
}
