//! Several members of one group: `src/wait_table/group.rs`, G1 to G4.

use crate::world::{World, explore, is_set, set, some_time};
use layby::{Key, Location, WaitTable, model::expire_deadlines};
use loom::sync::atomic::AtomicUsize;

fn wait_for_any(w: &World) {
    w.table.wait_until_any(&[w.x.key(), w.y.key()], || is_set(&w.x) || is_set(&w.y));
}

fn wait_for_both(w: &World) {
    w.table.wait_until_any(&[w.x.key(), w.y.key()], || is_set(&w.x) && is_set(&w.y));
}

/// The one of its members that is notified, and the one that it takes off the chain itself, are in one slot.
#[test]
fn any_of_two_against_a_notifier() {
    explore(3, [wait_for_any, |w| w.wake_all_after_set(&w.y)]);
}

/// Each has a member in its hands, and both open the group's gate.
#[test]
fn any_of_two_against_two_notifiers() {
    explore(1, [wait_for_any, |w| w.wake_all_after_set(&w.x), |w| w.wake_all_after_set(&w.y)]);
}

/// The first notification is in vain, and the group is published again before the second, or is not.
#[test]
fn woken_in_vain_and_published_again() {
    explore(1, [wait_for_both, |w| w.wake_all_after_set(&w.x), |w| w.wake_all_after_set(&w.y)]);
}

/// A picker of another key has both members in its hands when a notifier looks.
#[test]
fn any_of_two_against_a_picker() {
    explore(1, [wait_for_any, |w| w.table.wait_if(&w.table, || false), |w| w.wake_all_after_set(&w.y)]);
}

/// The owner leaves while a notifier has a member in its hands.
#[test]
fn a_deadline_against_a_notifier() {
    fn wait(w: &World) {
        let held = w.table.wait_until_any_deadline(&[w.x.key(), w.y.key()], some_time(), || is_set(&w.y));
        assert!(!held || is_set(&w.y), "true, though the condition does not hold");
    }
    explore(2, [wait, |_| expire_deadlines(), |w| w.wake_all_after_set(&w.y)]);
}

/// A location that is named twice has two members, and one notifier takes both.
#[test]
fn the_same_location_twice() {
    explore(3, [|w| w.table.wait_until_any(&[w.x.key(), w.x.key()], || is_set(&w.x)), |w| w.wake_all_after_set(&w.x)]);
}

/// In slots of their own.
#[test]
fn any_of_two_slots() {
    struct Wide {
        table: WaitTable,
        flags: [AtomicUsize; 2],
    }
    impl Wide {
        fn key(&self, nth: usize) -> Key {
            Key::ticket(&self.table, nth as u64)
        }

        fn notify(&self, nth: usize) {
            set(&self.flags[nth]);
            self.table.wake_all(self.key(nth));
        }
    }
    fn wait_for_both(wide: &Wide) {
        wide.table.wait_until_any(&[wide.key(0), wide.key(1)], || wide.flags.iter().all(is_set));
    }
    crate::explore::explore_roles(
        1,
        || Wide { table: WaitTable::with_slots(2), flags: [AtomicUsize::new(0), AtomicUsize::new(0)] },
        [wait_for_both, |wide| wide.notify(0), |wide| wide.notify(1)],
        |_| {},
    );
}
