//! An element on a chain for the length of one call (the paper's listing 3), and how an element leaves its chain.
//!
//! # Late
//!
//! A wait whose deadline has passed needs its element back before it returns, and so does a thread that ends with one
//! that lingers. From the chain it takes it. From somebody's hands it cannot: it sleeps until its gate is set, and that has
//! no deadline.
//!
//! ```text
//! waiter                              notifier
//!                                     detach: e is in its hands
//! the deadline passes                 (does not run: preempted, stopped, or in a signal handler)
//! withdraw: e is not on the chain
//! sleep on e's gate
//!                                     set e's gate, wake
//! return, late
//! ```
//!
//! It cannot be bounded as long as elements are on the stack. The notifier has e's address and will write to it, sooner or
//! later, whatever we do; so e's memory must stay what it is until then (I2).
//!
//! | way | verdict |
//! |---|---|
//! | leave e behind, in memory that stays | each notifier that does not run keeps one, so they would have to be allocated. And a wake of one that has chosen e is lost: nobody runs who knows of it and could pass it on |
//! | have a notifier announce what it touches next, and keep clear of that | a fence for each element of each wake; and it may stop right there |
//! | make the time short | **kept** |
//!
//! How short: a notifier has an element in hand while it goes through the chain, a few instructions for each element, and
//! makes no system call meanwhile, unless there are more than sixteen sleepers to notify ([`notify_all`]). A picker, which is
//! also every notifier of another key, goes through the chain and puts back. So a wait is late only if one of these threads
//! is taken off its CPU in these very instructions, and then until it is back. In a table of one's own these are one's own
//! threads. A signal handler that sleeps or waits prolongs it for as long, if it has interrupted a wake there; such a
//! handler is the program's own doing.
//!
//! [`notify_all`]: super::linked::Sleepers

#![allow(unsafe_code)]

use super::{
    Key, WaitTable,
    bank::Slot,
    element::Element,
    group::{GroupGate, Place, with_members},
    limit::Limit,
    linked::{Label, Linked, settling},
    pop_stack::{self, PICK_ATTEMPTS, Pick},
    trace::{Stamp, Trace},
    wake::wake_chain,
};
use crate::counters::{self, Event};
use crate::spin_policy::SpinFirst;
use crate::sync::{fence_after_push, hint, in_destructor};
use crate::sys::{Backend, fork::Birth};
use core::cell::Cell;

/// Publishes an element, runs `during`, and withdraws the element, also when `during` panics. `since` says when the wait
/// first slept, if it has published before. If the wait can be cancelled, the element is one of a group, whose other
/// members are published for the cancellations of `limit`.
///
/// Returns what `during` returned, and if the element was notified, or renamed and so about to be, the key that it had then.
#[inline]
pub(super) fn with_published<B: Backend, R>(
    table: &WaitTable<B>,
    label: Label,
    since: Stamp,
    limit: &Limit<'_>,
    during: impl FnOnce(&Published<'_, B>) -> R,
) -> (R, Option<Key>) {
    if limit.has_cancels() {
        // In parts, so that the label need not be in memory for this.
        with_published_in_a_group(table, label.key.packed(), label.selectable, since, limit, during)
    } else {
        with_element(table, label, None, since, during)
    }
}

/// The same, if the wait can be cancelled.
#[inline(never)]
fn with_published_in_a_group<B: Backend, R>(
    table: &WaitTable<B>,
    (address, ticket, rest): (usize, u64, u8),
    selectable: bool,
    since: Stamp,
    limit: &Limit<'_>,
    during: impl FnOnce(&Published<'_, B>) -> R,
) -> (R, Option<Key>) {
    let label = Label { key: Key::unpacked(address, ticket, rest), selectable };
    let group = GroupGate::new::<B>();
    let place = |nth| Place::of(limit.nth_cancel(nth).expect("one of those that were counted"));
    with_members::<{ Limit::MOST_CANCELS }, _>(&group, limit.cancels().count(), place, since, |_| {
        with_element(table, label, Some(&group), since, during)
    })
}

/// Publishes an element, which may be one of a group, as above.
#[inline(always)]
fn with_element<B: Backend, R>(
    table: &WaitTable<B>,
    label: Label,
    group: Option<&GroupGate>,
    since: Stamp,
    during: impl FnOnce(&Published<'_, B>) -> R,
) -> (R, Option<Key>) {
    let hash = label.key.hash();
    let slot = table.enter_hashed(hash);
    let element = match group {
        None => Element::new(Some(label)),
        // SAFETY: it is borrowed for longer than this frame is there, and the element with it.
        Some(group) => unsafe { Element::member_of(group, label) },
    };
    let element = element.traced(Trace::begun(since, true));
    let result = {
        let published = Published::<B> {
            table,
            slot,
            label,
            element: &element,
            group,
            born: Birth::now(),
            waited: Cell::new(false),
        };
        // SAFETY: the element is new. It lives on this frame, which is not left, by return or by unwinding, before
        // `Published` is dropped and has withdrawn it. It is a local of a function that is not `async` and was not
        // moved since, so it has an address of its own.
        unsafe { slot.push_hashed(&element, hash) };
        fence_after_push();
        during(&published)
        // Dropped in its place: to move it would be to copy it.
    };
    if !label.selectable {
        // Nobody renames it.
        return (result, element.is_notified().then_some(label.key));
    }
    // SAFETY: it is ours again.
    let key = unsafe { element.label() }.map_or(label.key, |label| label.key);
    (result, (element.is_notified() || key != label.key).then_some(key))
}

/// A published element, as `during` sees it.
pub(super) struct Published<'a, B: Backend> {
    table: &'a WaitTable<B>,
    slot: &'a Slot,
    label: Label,
    element: &'a Element,
    group: Option<&'a GroupGate>,
    born: Birth,
    waited: Cell<bool>,
}

impl<B: Backend> Published<'_, B> {
    /// Waits until notified or until the limit is reached. In the child of a fork it returns at once.
    #[inline(always)]
    pub(super) fn wait(&self, limit: &Limit<'_>, spin: SpinFirst) {
        if !self.born.is_of_this_process() {
            return;
        }
        self.waited.set(true);
        match self.group {
            // The ratification, as of any condition.
            Some(_) if limit.is_cancelled() => {}
            Some(group) => {
                counters::count(Event::Wait);
                let trace = &self.element.trace;
                group.wait::<B>(limit.deadline(), spin, || trace.stamp());
            }
            None => {
                counters::count(Event::Wait);
                self.element.wait::<B>(Some(self.label), limit.deadline(), spin);
            }
        }
    }

    /// When the wait first slept.
    #[inline]
    pub(super) fn since(&self) -> Stamp {
        self.element.trace.since()
    }

    /// Whether a wake of one chose the element though its owner did not wait: its condition was against it, or panicked.
    /// Another thread that does wait may have been passed over for it. (In the child of a fork there is none: it finds the table
    /// not its own, or empty.)
    fn must_pass_wake_on(&self) -> bool {
        self.label.selectable && !self.waited.get() && self.element.is_notified()
    }
}

impl<B: Backend> Drop for Published<'_, B> {
    #[inline(always)]
    fn drop(&mut self) {
        in_destructor(|| {
            withdraw_thread::<B>(self.slot, self.element, self.born);
            if self.must_pass_wake_on() {
                pass_wake_on(self.table, self.label.key);
            }
        });
    }
}

/// By one that was chosen though it did not wait.
#[cold]
fn pass_wake_on<B: Backend>(table: &WaitTable<B>, key: Key) {
    // No fence B: an element that was passed over was put back before our gate was set, so we find it.
    settling(|due| table.wake_one_noting(key, due));
}

/// [`withdraw`], of a thread's element.
#[inline]
pub(super) fn withdraw_thread<B: Backend>(slot: &Slot, element: &Element, born: Birth) {
    // Most often it is off its chain because it has been notified.
    if !element.is_notified() {
        withdraw_published_thread::<B>(slot, element, born);
    }
}

#[inline(never)]
fn withdraw_published_thread<B: Backend>(slot: &Slot, element: &Element, born: Birth) {
    settling(|due| withdraw::<B, _>(slot, element, born, due));
}

/// Takes a published element off its chain. When this returns nobody but the owner can reach it.
///
/// | the element is | then |
/// |---|---|
/// | notified already | done |
/// | alone on the chain | it is taken off |
/// | on the chain | it is picked, and the others are put back undisturbed |
/// | in a notifier's hands | the gate will be set soon: wait for it |
/// | in a picker's hands | try again until notified; if that takes too long, ask for a flush, and wait for the gate |
/// | a parent process's | done: its chain is not ours |
pub(super) fn withdraw<B: Backend, E: Linked>(
    slot: &pop_stack::Slot<E>,
    element: &E,
    born: Birth,
    due: &mut E::Due<B>,
) {
    if !born.is_of_this_process() || element.is_notified() || slot.take_alone(element) {
        return;
    }
    let try_again = |_| {
        hint::spin_loop();
        !element.is_notified()
    };
    let taken = match slot.pick_patiently(PICK_ATTEMPTS, try_again) {
        Pick::Got(mut picked) => {
            let taken = picked.take(element);
            picked.put_back::<B>(due);
            taken
        }
        Pick::Empty => false,
        Pick::Busy => {
            if !element.is_notified() {
                wake_chain::<B, E>(slot, |_| true, due);
            }
            false
        }
    };
    if !taken {
        element.wait_to_be_released::<B>();
    }
}
