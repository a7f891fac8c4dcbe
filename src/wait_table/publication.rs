//! An element on a chain for the length of one call (the paper's listing 3), and how an element gets off its chain.

#![allow(unsafe_code)]

use super::{
    Key,
    element::{Element, Label},
    pop_stack::{Chain, Pick, Picked, Slot},
    trace::Stamp,
};
use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{IN_A_MODEL, fence_after_publish, hint};
use crate::sys::{Backend, fork::Birth};
use core::{cell::Cell, marker::PhantomData};

/// How often a thread that finds a picker at work looks again before it asks for a flush. Arbitrary: a picker holds a
/// chain for about as many instructions as the chain has elements.
const PATIENCE: u32 = if IN_A_MODEL { 1 } else { 100 };

/// Publishes an element, runs `during`, and gets the element off its chain again, also when `during` panics. `since` says
/// when the wait first slept, if it has published before.
///
/// Returns what `during` returned, and whether the element was notified.
pub(super) fn published<B: Backend, R>(
    slot: &Slot,
    label: Label,
    since: Stamp,
    during: impl FnOnce(&Published<'_, B>) -> R,
) -> (R, bool) {
    let element = Element::new(Some(label));
    element.trace.begin(since, true);
    let published = Published::<B> {
        slot,
        label,
        element: &element,
        born: Birth::now(),
        waited: Cell::new(false),
        backend: PhantomData,
    };
    // SAFETY: the element is new. It lives on this frame, which is not left, by return or by unwinding, before
    // `Published` is dropped and has got it off the chain. It is a local of a function that is not `async` and was not
    // moved since, so it has an address of its own.
    unsafe { slot.push(&element) };
    fence_after_publish();
    let result = during(&published);
    drop(published);
    (result, element.is_notified())
}

/// A published element, as `during` sees it.
pub(super) struct Published<'a, B: Backend> {
    slot: &'a Slot,
    label: Label,
    element: &'a Element,
    born: Birth,
    waited: Cell<bool>,
    backend: PhantomData<B>,
}

impl<B: Backend> Published<'_, B> {
    /// Waits until notified or until the deadline has passed. Returns at once in the child of a fork.
    pub(super) fn wait(&self, deadline: Deadline, spin: SpinFirst) {
        if self.born.is_of_this_process() {
            self.waited.set(true);
            counters::count(Event::Wait);
            self.element.wait::<B>(deadline, spin);
        }
    }

    /// When the wait first slept.
    pub(super) fn since(&self) -> Stamp {
        self.element.trace.since()
    }

    /// Whether the element was chosen by a wake of one though its owner did not wait: its condition was against it, or
    /// panicked. Somebody else who waits may have been passed over for it.
    fn holds_a_strangers_wake(&self) -> bool {
        self.label.selectable && !self.waited.get() && self.element.is_notified() && self.born.is_of_this_process()
    }
}

impl<B: Backend> Drop for Published<'_, B> {
    fn drop(&mut self) {
        withdraw::<B>(self.slot, self.element, self.born);
        if self.holds_a_strangers_wake() {
            // No fence B: who was passed over was put back before our gate was set, and so is on the chain for us.
            wake_one_of::<B>(self.slot, self.label.key);
        }
    }
}

/// Gets a published element off its chain. When this returns nobody but the owner can reach it.
///
/// | the element is | then |
/// |---|---|
/// | notified already | done |
/// | on the chain | it is picked, and the others are put back undisturbed |
/// | in a notifier's hands | the gate will be set soon: wait for it |
/// | in a picker's hands | try again; if that takes too long, ask for a flush, and wait for the gate |
/// | of a parent process | done: its chain is not ours |
pub(super) fn withdraw<B: Backend>(slot: &Slot, element: &Element, born: Birth) {
    if !born.is_of_this_process() {
        return;
    }
    for _ in 0..PATIENCE {
        if element.is_notified() {
            return;
        }
        match slot.try_pick() {
            Pick::Got(mut picked) => {
                let taken = picked.take(element);
                picked.put_back::<B>();
                if !taken {
                    element.wait::<B>(Deadline::NEVER, SpinFirst::Briefly);
                }
                return;
            }
            Pick::Empty => {
                element.wait::<B>(Deadline::NEVER, SpinFirst::Briefly);
                return;
            }
            Pick::Busy => hint::spin_loop(),
        }
    }
    wake_chain::<B>(slot);
    element.wait::<B>(Deadline::NEVER, SpinFirst::Briefly);
}

/// Notifies every element of a slot, with the help of a picker if there is one; returns how many this call notified.
pub(super) fn wake_chain<B: Backend>(slot: &Slot) -> usize {
    slot.detach_all().notify_all::<B>()
}

/// Notifies one selectable element of a key, and all of the key that are not selectable.
pub(super) fn wake_one_of<B: Backend>(slot: &Slot, key: Key) -> usize {
    wake_chosen::<B>(slot, |picked| picked.take_one_of(key))
}

/// Notifies the elements whose key is `wanted`, and leaves the others undisturbed.
pub(super) fn wake_those<B: Backend>(slot: &Slot, wanted: impl Fn(Key) -> bool) -> usize {
    wake_chosen::<B>(slot, |picked| picked.take_those(&wanted))
}

/// Notifies the elements that `choose` takes. More only if a picker is at work for so long that the chain has to be
/// flushed.
fn wake_chosen<B: Backend>(slot: &Slot, mut choose: impl FnMut(&mut Picked<'_>) -> Chain) -> usize {
    for _ in 0..PATIENCE {
        match slot.try_pick() {
            Pick::Got(mut picked) => {
                let chosen = choose(&mut picked);
                // Back first: what is in hand is out of reach of its own notifiers, so keep that short.
                picked.put_back::<B>();
                return chosen.notify_all::<B>();
            }
            Pick::Empty => return 0,
            Pick::Busy => hint::spin_loop(),
        }
    }
    wake_chain::<B>(slot)
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::*;
    use crate::sys::Native;

    /// As in a handler that has interrupted a picker of its own thread: the picker does what is asked of it.
    #[test]
    fn a_wake_does_not_wait_for_a_picker() {
        let slot = Slot::new();
        let label = Label { key: Key::address(&slot), selectable: false };
        let ((), notified) = published::<Native, _>(&slot, label, Stamp::NONE, |_| {
            let Pick::Got(picked) = slot.try_pick() else { unreachable!("nobody else is here") };
            assert_eq!(wake_one_of::<Native>(&slot, label.key), 0, "it is in our hands");
            picked.put_back::<Native>();
        });
        assert!(notified);
    }
}
