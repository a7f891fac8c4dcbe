//! A report on waiters against all that changes a chain: push, notify, a wake of one, withdrawal, lingering. Nobody's
//! wake-up is lost, nobody is notified twice (`Element::notify` asserts it), and the visitor may wait.

use crate::explore::ALL;
use crate::world::{World, explore, explore_lingering};

fn report(w: &World) {
    w.table.for_each_waiter(|waiter| assert!(waiter.key().is_within(w)));
}

/// The report holds the waiter's element in its hands when the notifier looks.
#[test]
fn a_report_against_a_notifier() {
    explore(2, [|w| w.wait_for(&w.x), report, |w| w.wake_all_after_set(&w.x)]);
}

#[test]
fn a_report_against_a_wake_of_one() {
    explore(2, [|w| w.wait_if_unset(&w.x), report, |w| w.wake_one_after_set(&w.x)]);
}

/// Who leaves the chain finds its element in the report's hands.
#[test]
fn a_report_against_a_withdrawal() {
    explore(2, [|w| w.publish_and_withdraw(&w.x), report, |w| w.publish_and_withdraw(&w.y)]);
}

#[test]
fn a_report_against_a_lingering_element() {
    fn wait_here_and_there(w: &'static World) {
        w.loop_until_set(&w.x);
        w.table.location_wait(&w.y);
    }
    explore_lingering(2, [wait_here_and_there, |w| report(w), |w| w.wake_all_after_set(&w.x)]);
}

/// Who is not shown was out of reach, and the report says so.
#[test]
fn a_report_says_what_it_could_not_see() {
    fn report_on_itself(w: &World) {
        w.table.wait_if(&w.x, || {
            let mut seen = 0;
            let busy = w.table.for_each_waiter(|_| seen += 1);
            assert_eq!(seen + busy, 1, "{seen} seen, {busy} busy");
            false
        });
    }
    explore(ALL, [report_on_itself, report]);
}

/// One of them finds the slot busy, or both see all.
#[test]
fn two_reports_against_a_notifier() {
    fn notify_and_report(w: &World) {
        w.wake_all_after_set(&w.x);
        report(w);
    }
    explore(2, [|w| w.wait_for(&w.x), report, notify_and_report]);
}

/// The visitor waits for what the visited does next.
#[test]
fn a_visitor_that_waits() {
    fn pass_on(w: &World) {
        w.wait_for(&w.x);
        w.wake_all_after_set(&w.y);
    }
    fn visit(w: &World) {
        w.table.for_each_waiter(|_| w.wait_for(&w.y));
    }
    explore(2, [pass_on, visit, |w| w.wake_all_after_set(&w.x)]);
}
