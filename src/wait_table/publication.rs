//! An element on a chain for the length of one call (the paper's listing 3), and how an element leaves its chain.

#![allow(unsafe_code)]

use super::{
    element::{Element, Label},
    pop_stack::{PICK_ATTEMPTS, Pick, Slot},
    trace::Stamp,
    wake::{wake_chain, wake_one_of},
};
use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{fence_after_publish, hint};
use crate::sys::{Backend, fork::Birth};
use core::{cell::Cell, marker::PhantomData};

/// Publishes an element, runs `during`, and withdraws the element, also when `during` panics. `since` says when the wait
/// first slept, if it has published before.
///
/// Returns what `during` returned, and whether the element was notified.
pub(super) fn with_published<B: Backend, R>(
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
    // `Published` is dropped and has withdrawn it. It is a local of a function that is not `async` and was not
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
    /// Waits until notified or until the deadline has passed. In the child of a fork it returns at once.
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

    /// Whether a wake of one chose the element though its owner did not wait: its condition was against it, or panicked.
    /// Another thread that does wait may have been passed over for it.
    fn must_pass_wake_on(&self) -> bool {
        self.label.selectable && !self.waited.get() && self.element.is_notified() && self.born.is_of_this_process()
    }
}

impl<B: Backend> Drop for Published<'_, B> {
    fn drop(&mut self) {
        withdraw::<B>(self.slot, self.element, self.born);
        if self.must_pass_wake_on() {
            // No fence B: an element that was passed over was put back before our gate was set, so we find it on the chain.
            wake_one_of::<B>(self.slot, self.label.key);
        }
    }
}

/// Takes a published element off its chain. When this returns nobody but the owner can reach it.
///
/// | the element is | then |
/// |---|---|
/// | notified already | done |
/// | on the chain | it is picked, and the others are put back undisturbed |
/// | in a notifier's hands | the gate will be set soon: wait for it |
/// | in a picker's hands | try again until notified; if that takes too long, ask for a flush, and wait for the gate |
/// | a parent process's | done: its chain is not ours |
pub(super) fn withdraw<B: Backend>(slot: &Slot, element: &Element, born: Birth) {
    if !born.is_of_this_process() || element.is_notified() {
        return;
    }
    let try_again = |_| {
        hint::spin_loop();
        !element.is_notified()
    };
    let taken = match slot.pick_patiently(PICK_ATTEMPTS, try_again) {
        Pick::Got(mut picked) => {
            let taken = picked.take(element);
            picked.put_back::<B>();
            taken
        }
        Pick::Empty => false,
        Pick::Busy => {
            if !element.is_notified() {
                wake_chain::<B>(slot);
            }
            false
        }
    };
    if !taken {
        element.wait::<B>(Deadline::NEVER, SpinFirst::Briefly);
    }
}
