//! Tasks: poll against wake, a waker that is replaced, drop against wake and against pickers, a wake of one that is passed on,
//! and banks that are added meanwhile.

use crate::bell::{Bell, block_on, poll, poll_once};
use crate::world::{World, explore, explore_growth, is_set};
use loom::thread;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

fn wait_for_x(w: &World) {
    block_on(pin!(w.table.wait_until_async(&w.x, || is_set(&w.x))), &Bell::new());
}

/// Waits for x in the form that `wake_one` may choose, while another future leaves.
fn wait_behind_what_leaves(w: &World, leave: impl FnOnce()) {
    let (bell, mut second) = (Bell::new(), Box::pin(w.table.wait_if_async(&w.x, || !is_set(&w.x))));
    let is_pending = poll(second.as_mut(), &bell).is_pending();
    leave();
    if is_pending {
        bell.wait();
        block_on(second.as_mut(), &bell);
    }
}

/// Polls once, and drops the future.
fn cancel_x(w: &World) {
    poll_once(pin!(w.table.wait_if_async(&w.x, || true)));
}

#[test]
fn poll_against_wake() {
    explore(3, [wait_for_x, |w| w.wake_all_after_set(&w.x)]);
}

/// The second wake comes when the first has been for nothing.
#[test]
fn poll_against_two_wakes() {
    explore(
        3,
        [wait_for_x, |w| {
            w.wake_all_idly(&w.x);
            w.wake_all_after_set(&w.x);
        }],
    );
}

/// A future is polled with one waker and then with another, and only the other is listened to.
fn replace_the_waker(w: &World) {
    let mut future = pin!(w.table.wait_until_async(&w.x, || is_set(&w.x)));
    if poll(future.as_mut(), &Bell::new()).is_pending() {
        let bell = Bell::new();
        while poll(future.as_mut(), &bell).is_pending() {
            bell.wait();
            // A poll rings its own bell while a notifier has the old waker in hand: that one must get to run.
            thread::yield_now();
        }
    }
}

#[test]
fn a_waker_is_replaced_against_a_wake() {
    explore(3, [replace_the_waker, |w| w.wake_all_after_set(&w.x)]);
}

/// The first wake is for nothing, and may be about to take the old waker.
#[test]
fn a_waker_is_replaced_against_two_wakes() {
    explore(
        2,
        [replace_the_waker, |w| {
            w.wake_all_idly(&w.x);
            w.wake_all_after_set(&w.x);
        }],
    );
}

/// While another future waits on the slot: then those that are woken do not stay on the chain.
fn in_a_crowd(w: &World, role: fn(&World)) {
    let mut other = pin!(w.table.wait_until_async(&w.y, || false));
    poll_once(other.as_mut());
    role(w);
}

/// A crowd: see [`in_a_crowd`].
#[test]
fn poll_against_two_wakes_in_a_crowd() {
    explore(
        2,
        [
            |w| in_a_crowd(w, wait_for_x),
            |w| {
                w.wake_all_idly(&w.x);
                w.wake_all_after_set(&w.x);
            },
        ],
    );
}

#[test]
fn a_waker_is_replaced_in_a_crowd() {
    explore(2, [|w| in_a_crowd(w, replace_the_waker), |w| w.wake_all_after_set(&w.x)]);
}

/// The first wake is for nothing, and may be about to give the old waker and the element up.
#[test]
fn a_waker_is_replaced_in_a_crowd_against_two_wakes() {
    explore(
        2,
        [
            |w| in_a_crowd(w, replace_the_waker),
            |w| {
                w.wake_all_idly(&w.x);
                w.wake_all_after_set(&w.x);
            },
        ],
    );
}

#[test]
fn drop_against_wake_in_a_crowd() {
    explore(2, [|w| in_a_crowd(w, cancel_x), |w| w.wake_all_idly(&w.x)]);
}

/// A future is dropped while a picker may have it in hand, or have put it back, above another, which its owner then finds.
#[test]
fn a_drop_leaves_those_below() {
    fn one_above_another(w: &World) {
        let mut below = pin!(w.table.wait_until_async(&w.x, || false));
        poll_once(below.as_mut());
        poll_once(pin!(w.table.wait_until_async(&w.y, || false)));
    }
    // Nobody waits there, but a look at the keys is needed to know that.
    explore(3, [one_above_another, |w| _ = w.table.wake_all(&w.table)]);
}

/// A future is dropped, and another made in its place, which must not get what was due to the first.
#[test]
fn drop_against_wake() {
    fn cancel_and_wait(w: &World) {
        let new = |flag| w.table.wait_until_async(flag, move || is_set(flag));
        let mut future = pin!(new(&w.x));
        poll_once(future.as_mut());
        future.set(new(&w.y));
        block_on(future, &Bell::new());
    }
    explore(
        3,
        [cancel_and_wait, |w| {
            w.wake_all_idly(&w.x);
            w.wake_all_after_set(&w.y);
        }],
    );
}

/// A drop has the element of y's waiter in its hands when y's notifier looks.
#[test]
fn drop_as_a_picker_against_a_notifier() {
    fn wait_and_cancel(w: &World) {
        let (bell, mut future) = (Bell::new(), pin!(w.table.wait_until_async(&w.y, || is_set(&w.y))));
        if poll(future.as_mut(), &bell).is_pending() {
            cancel_x(w);
            bell.wait();
            block_on(future, &bell);
        }
    }
    explore(3, [wait_and_cancel, |w| w.wake_all_after_set(&w.y)]);
}

/// Each finds the other at work.
#[test]
fn two_drops() {
    explore(3, [cancel_x, |w| poll_once(pin!(w.table.wait_until_async(&w.y, || false)))]);
}

/// The one that was chosen is dropped before it knows; there is one behind it.
#[test]
fn a_wake_of_one_is_passed_on_by_a_drop() {
    fn wait_behind(w: &World) {
        let mut first = Box::pin(w.table.wait_if_async(&w.x, || true));
        poll_once(first.as_mut());
        wait_behind_what_leaves(w, || drop(first));
    }
    explore(3, [wait_behind, |w| w.wake_one_after_set(&w.x)]);
}

/// The one that was chosen finds at the same time that it need not wait.
#[test]
fn a_wake_of_one_is_passed_on_by_a_future_that_is_ready() {
    fn wait_behind(w: &World) {
        let mut waits = None;
        let mut second = Box::pin(w.table.wait_if_async(&w.x, || !is_set(&w.x)));
        let bell = Bell::new();
        poll_once(pin!(w.table.wait_if_async(&w.x, || {
            waits = Some(poll(second.as_mut(), &bell).is_pending());
            false
        })));
        if waits == Some(true) {
            bell.wait();
            block_on(second.as_mut(), &bell);
        }
    }
    explore(3, [wait_behind, |w| w.wake_one_after_set(&w.x)]);
}

/// From a thread that does not wait to a task that does.
#[test]
fn a_wake_of_one_is_passed_on_to_a_task() {
    fn wait_behind(w: &World) {
        let mut waits = None;
        let mut second = Box::pin(w.table.wait_if_async(&w.x, || !is_set(&w.x)));
        let bell = Bell::new();
        w.table.wait_if(&w.x, || {
            waits = Some(poll(second.as_mut(), &bell).is_pending());
            false
        });
        if waits == Some(true) {
            bell.wait();
            block_on(second.as_mut(), &bell);
        }
    }
    explore(3, [wait_behind, |w| w.wake_one_after_set(&w.x)]);
}

/// A waker that drops another future of the same slot and key, which its notifier may have had in hand.
#[test]
fn a_waker_drops_another_future() {
    struct Dropper(std::sync::Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>, Arc<Bell>);

    impl Wake for Dropper {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take());
            self.1.wake_by_ref();
        }
    }

    fn wait(w: &'static World) {
        let other = w.table.wait_until_async(&w.x, || false);
        let mut other: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(other);
        poll_once(other.as_mut());
        let bell = Bell::new();
        let waker = Waker::from(Arc::new(Dropper(std::sync::Mutex::new(Some(other)), Arc::clone(&bell))));
        let mut future = pin!(w.table.wait_until_async(&w.x, || is_set(&w.x)));
        while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            bell.wait();
        }
    }
    crate::world::explore_lingering(3, [wait, |w| w.wake_all_after_set(&w.x)]);
}

/// Two futures of one slot, the second of which has a new bank made.
#[test]
fn growth_against_wakes() {
    fn wait_for_both(w: &World) {
        let mut first = Box::pin(w.table.wait_until_async(&w.x, || is_set(&w.x)));
        let mut second = Box::pin(w.table.wait_until_async(&w.y, || is_set(&w.y)));
        let bells = [Bell::new(), Bell::new()];
        let pending = [poll(first.as_mut(), &bells[0]).is_pending(), poll(second.as_mut(), &bells[1]).is_pending()];
        if pending[0] {
            bells[0].wait();
            block_on(first.as_mut(), &bells[0]);
        }
        if pending[1] {
            bells[1].wait();
            block_on(second.as_mut(), &bells[1]);
        }
    }
    explore_growth(
        3,
        [wait_for_both, |w| {
            w.wake_all_after_set(&w.x);
            w.wake_all_after_set(&w.y);
        }],
    );
}

/// One of two futures of a thread is in the second bank, and leaves from there.
#[test]
fn growth_against_a_wake_and_a_drop() {
    fn two(w: &World) {
        let mut first = Box::pin(w.table.wait_until_async(&w.x, || is_set(&w.x)));
        let bell = Bell::new();
        if poll(first.as_mut(), &bell).is_pending() {
            poll_once(pin!(w.table.wait_until_async(&w.x, || false)));
            bell.wait();
            block_on(first.as_mut(), &bell);
        }
    }
    explore_growth(3, [two, |w| w.wake_all_after_set(&w.x)]);
}

/// Two that make a bank at once.
#[test]
fn two_add_a_bank() {
    explore_growth(3, [cancel_x, |w| poll_once(pin!(w.table.wait_until_async(&w.y, || false)))]);
}

/// The slot of the first bank is in the hands of a drop, and the one to be woken waits in the second.
#[test]
fn a_wake_of_one_finds_a_picker_in_the_first_bank() {
    fn wait_behind(w: &World) {
        let mut first = Box::pin(w.table.wait_if_async(&w.y, || true));
        poll_once(first.as_mut());
        wait_behind_what_leaves(w, || drop(first));
    }
    explore_growth(3, [wait_behind, |w| w.wake_one_after_set(&w.x)]);
}
