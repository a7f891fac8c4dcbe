//! Promise 4 (README): a condition may itself wait, wake and panic; an `Armed` may be forgotten; the thread's element
//! may be used elsewhere meanwhile.

use crate::common::{Form, Rally, Tally, counting_backend, leaked, scaled, watchdog};
use layby::{Key, WaitTable};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Two locations that somebody steps forward in turn, outer before inner.
#[derive(Default)]
struct Steps {
    outer: AtomicUsize,
    inner: AtomicUsize,
}

/// Waits on `outer` in one form, with a condition that waits on `inner` in another form each time it is evaluated.
///
/// In each round the inner wait must be woken for the outer condition to be looked at, and the outer wait must be woken
/// to be over: a wake-up that is lost on either side stops the test.
fn nest(table: &'static WaitTable, outer: Form, inner: Form) {
    let steps = Steps::default();
    let rounds = scaled(20);
    let asked = Tally::new();
    thread::scope(|s| {
        s.spawn(|| {
            for round in 1..=rounds {
                // Answer every question about the inner location until the outer wait of this round is over.
                steps.outer.store(round, Ordering::Relaxed);
                table.wake_all(&steps.outer);
                while steps.outer.load(Ordering::Relaxed) == round {
                    let answered = steps.inner.load(Ordering::Relaxed);
                    if asked.get() > answered {
                        steps.inner.store(answered + 1, Ordering::Relaxed);
                        table.wake_all(&steps.inner);
                    }
                    thread::yield_now();
                }
            }
        });
        for round in 1..=rounds {
            let condition = || {
                asked.add();
                let question = asked.get();
                let answered = || steps.inner.load(Ordering::Relaxed) >= question;
                while !answered() {
                    inner.wait(table, Key::address(&steps.inner), Duration::from_micros(50), answered);
                }
                steps.outer.load(Ordering::Relaxed) == round
            };
            while !condition() {
                outer.wait(table, Key::address(&steps.outer), Duration::from_micros(50), condition);
            }
            steps.outer.store(usize::MAX, Ordering::Relaxed);
        }
    });
}

#[test]
fn every_form_inside_every_form() {
    let _watchdog = watchdog();
    for slots in [1, 64] {
        let table = leaked(slots);
        for outer in Form::ALL {
            for inner in Form::ALL {
                nest(table, outer, inner);
            }
        }
    }
}

#[test]
fn an_inner_arm_ends_the_outer_wait_early() {
    let _watchdog = watchdog();
    let table = leaked(1);
    let (outer, inner) = (Key::ticket(table, 1), Key::ticket(table, 2));
    let first = table.arm(outer);
    let second = table.arm(inner);
    // The thread's element has gone to `inner`: `first` must not wait, since nobody would wake it.
    first.wait();
    assert_eq!(table.wake_all(inner), 1, "waiting on the outer one has disturbed the inner one");
    second.wait();

    let first = table.arm(outer);
    drop(table.arm(inner));
    // There and back again: still not the publication that `first` made.
    drop(table.arm(outer));
    first.wait();
    assert_eq!(table.wake_all(outer), 1);
}

#[test]
#[allow(clippy::forget_non_drop, reason = "that it has nothing to do on drop is what is tested")]
fn a_forgotten_armed_hurts_nobody() {
    let _watchdog = watchdog();
    let table = leaked(1);
    for ticket in 0..10 {
        std::mem::forget(table.arm(Key::ticket(table, ticket)));
    }
    thread::spawn(move || std::mem::forget(table.arm(table))).join().unwrap();
    assert_eq!(table.wake_everybody(), 1, "the thread's one element, and nothing of the thread that has ended");
    Rally::run(table, 2);
}

/// Panics in the n-th evaluation of the condition: the second one is when the element is published.
#[test]
fn a_panicking_condition_leaves_the_table_as_it_was() {
    counting_backend!(Bystander);
    let _watchdog = watchdog();
    let table: WaitTable<Bystander> = WaitTable::with_slots_in(1);
    let bystander_returned = Tally::new();
    thread::scope(|s| {
        s.spawn(|| {
            table.wait_if(&table, || true);
            bystander_returned.add();
        });
        Bystander::waits().reaches(1);
        for fatal in [1, 2] {
            let evaluations = Tally::new();
            let condition = || {
                evaluations.add();
                assert!(evaluations.get() < fatal, "on purpose");
                false
            };
            catch_unwind(AssertUnwindSafe(|| table.wait_until(&table, condition))).unwrap_err();
            assert_eq!(evaluations.get(), fatal);
        }
        let notified_before_panic = AssertUnwindSafe(|| {
            table.wait_if(Key::ticket(&table, 1), || {
                assert_eq!(table.wake_one(Key::ticket(&table, 1)), 1);
                panic!("on purpose")
            });
        });
        catch_unwind(notified_before_panic).unwrap_err();
        assert_eq!(bystander_returned.get(), 0, "a withdrawal has disturbed a bystander");
        assert_eq!(table.wake_all(&table), 1, "the bystander, and nothing of those that panicked");
    });
    assert!(!table.wait_until_deadline(&table, Instant::now(), || false));
}

#[test]
fn a_condition_may_wake_its_own_location() {
    let _watchdog = watchdog();
    let table = WaitTable::with_slots(1);
    let evaluations = Tally::new();
    table.wait_until(&table, || {
        table.wake_all(&table);
        table.wake_one(&table);
        evaluations.add();
        evaluations.get() > 10
    });
}
