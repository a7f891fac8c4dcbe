//! The thread's own element: lazy removal against notifiers, thread exit, arm/check/wait.

use crate::explore::ALL;
use crate::world::{World, explore_lingering, is_set};

#[test]
fn the_loop_form() {
    explore_lingering(ALL, [|w| w.loop_until_set(&w.x), |w| w.wake_all_after_set(&w.x)]);
}

/// The element lingers for x when its thread goes on to wait for y.
fn linger_for_x_then_wait_for_y(w: &'static World) {
    w.table.location_wait(&w.x);
    w.loop_until_set(&w.y);
}

/// A lingering element is taken off its chain first, whoever has it in hand.
#[test]
fn lingering_for_x_then_waiting_for_y() {
    explore_lingering(2, [linger_for_x_then_wait_for_y, |w| w.wake_all_idly(&w.x), |w| w.wake_all_after_set(&w.y)]);
}

/// As above, with a notifier that reads what the elements wait for.
#[test]
fn lingering_against_a_picker() {
    explore_lingering(2, [linger_for_x_then_wait_for_y, |w| w.wake_one_idly(&w.x), |w| w.wake_all_after_set(&w.y)]);
}

/// As above, and the notifier of y wakes nobody who waits for something else.
#[test]
fn lingering_for_x_and_chosen_for_y() {
    explore_lingering(2, [linger_for_x_then_wait_for_y, |w| w.wake_one_idly(&w.x), |w| w.wake_one_after_set(&w.y)]);
}

/// As above, with another element on the slot: the chain is not empty while the lingering one is in the picker's hands.
#[test]
fn lingering_beside_another() {
    fn linger_nested(w: &'static World) {
        w.table.wait_if(&w.y, || {
            linger_for_x_then_wait_for_y(w);
            false
        });
    }
    explore_lingering(2, [linger_nested, |w| w.wake_one_idly(&w.x), |w| w.wake_all_after_set(&w.y)]);
}

/// A thread ends with its element on a chain, or in the hands of a notifier.
#[test]
fn exit_while_lingering() {
    explore_lingering(2, [|w| w.table.location_wait(&w.x), |w| w.wake_one_idly(&w.y), |w| w.wake_all_idly(&w.x)]);
}

#[test]
fn arm_check_wait() {
    fn arm_until_set(w: &'static World) {
        loop {
            let armed = w.table.arm(&w.x);
            if is_set(&w.x) {
                break;
            }
            armed.wait();
        }
    }
    explore_lingering(ALL, [arm_until_set, |w| w.wake_all_after_set(&w.x)]);
}

/// What comes between arming and waiting arms for the same key, and may use up the wake-up.
#[test]
fn armed_twice() {
    fn arm_twice_until_set(w: &'static World) {
        loop {
            let armed = w.table.arm(&w.x);
            if is_set(&w.x) {
                break;
            }
            drop(w.table.arm(&w.x));
            armed.wait();
        }
    }
    explore_lingering(ALL, [arm_twice_until_set, |w| w.wake_all_after_set(&w.x)]);
}

/// What comes between the check and the wait in the loop form arms for the same key: the wait does not take that
/// element for one that was there when the condition was checked.
#[test]
fn armed_within_a_loop() {
    fn loop_and_arm_until_set(w: &'static World) {
        while !is_set(&w.x) {
            drop(w.table.arm(&w.x));
            w.table.location_wait(&w.x);
        }
    }
    explore_lingering(3, [loop_and_arm_until_set, |w| w.wake_all_after_set(&w.x)]);
}

/// The element of an earlier loop, over since, is still there when the next loop on the same key begins.
#[test]
fn two_loops_on_one_key() {
    explore_lingering(
        ALL,
        [
            |w| {
                w.table.location_wait(&w.x);
                w.loop_until_set(&w.x);
                w.loop_until_set(&w.x);
            },
            |w| w.wake_all_after_set(&w.x),
        ],
    );
}

/// The element leaves x's chain while another thread reads what it waits for, and is then y's.
#[test]
fn an_element_moves_on_while_a_picker_looks() {
    fn linger_for_x_then_for_y(w: &'static World) {
        w.table.location_wait(&w.x);
        w.table.location_wait(&w.y);
    }
    explore_lingering(2, [linger_for_x_then_for_y, |w| w.wake_one_idly(&w.y)]);
}
