//! Several elements of one thread, published at once, and the one word that it sleeps on: any of several locations, or what
//! is waited for and a cancellation.
//!
//! Each member has a gate of its own, which says what it always says: when it is open, the member is its owner's alone. The
//! owner waits for the group's gate, which says that it is time to look. A notifier with a member in hand opens both.
//!
//! # Why each gate is needed
//!
//! With the group's gate alone, the owner cannot know when a notifier has let go of a member, and so when it may leave its
//! frame (I2). With the members' gates alone there are several words to sleep on. And the order between the two
//! matters, and how they are opened. Wrong, if the group's gate is opened last:
//!
//! ```text
//! owner                                    notifier, with x in hand
//! the deadline passes
//! withdraw x: not on the chain             open x's gate
//! x's gate is open: return
//! (the frame is another's)                 open the group's gate, which is gone
//! ```
//!
//! Wrong, if the member's gate is opened by a store, because the owner sleeps elsewhere anyway:
//!
//! ```text
//! owner                                    notifier, with x in hand
//!                                          open the group's gate: it was WAITING
//! NOTIFIED: withdraw all
//! x is not on its chain: SLEEPING on x's gate
//!                                          store NOTIFIED in x's gate, and wake nobody: the group did not sleep
//! (sleeps forever)
//! ```
//!
//! Wrong, if the owner, woken for nothing, closes the group's gate again while its members are published:
//!
//! ```text
//! owner                                    first notifier (for nothing)  second notifier
//!                                          takes x; opens the group's gate
//! NOTIFIED, but nothing holds
//! every gate is closed: all are published
//! close the group's gate; SLEEPING
//!                                          opens x's gate
//!                                                                         x's condition = true
//!                                                                         x's slot is empty: nobody to wake
//! (sleeps forever)
//! ```
//!
//! # Invariants
//!
//! - **G1.** A notifier opens the group's gate, then the member's; after that it touches neither, and wakes by name.
//! - **G2.** Both by a swap. If the member's said `SLEEPING`, its owner sleeps there, in its withdrawal, and is woken there: it
//!   has left the group's gate before. Otherwise, if the group's said `SLEEPING`, it is woken there.
//! - **G3.** The owner leaves when each member is withdrawn: taken off its chain by the owner, or its own gate is open.
//! - **G4.** The group's gate is closed when no member is published: each round of a wait makes a new one.
//! - **G5.** A member may be chosen by a wake of one only if its owner then says that it was woken, whatever else has
//!   happened. So the members of [`wait_until_any`](super::wait_until_any) cannot be chosen, nor can those that wait for a
//!   cancellation: a wake of one wakes them besides the one. The member at the location of a `wait_if` can, and
//!   a cancellation never hides that it was.
//!
//! No wake-up is lost: of each location by the argument of [`crate::wait_table`], since all members are published before
//! fence A, and every condition is looked at after it. By G4 a notifier of the round before has let go of its member
//! before the next round begins, so that nobody is published who cannot be found.
//!
//! # Orders
//!
//! Opening the group's gate needs none: whoever sees it open withdraws the members, and acquires what was done before their
//! gates were opened. Opening a member's gate releases, as an element's always does, and with it the access to the group's gate
//! before it: whoever sees it open may free both.
//!
//! # How it sleeps
//!
//! Members of a group may be in different tables, and so may be found by notifiers that know different backends. The owner
//! sleeps by the one of its own wait, so it tells in the group's gate how it is woken there. On a member's gate it sleeps, and
//! is woken, by the backend of that member's table.

#![allow(unsafe_code)]

use super::{
    Cancel, Key, Location,
    bank::Slot,
    element::Element,
    gate::{Gate, Sleeper},
    global,
    limit::Limit,
    linked::Label,
    publication::withdraw_thread,
    trace::Stamp,
};
use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{
    atomic::{AtomicU32, Ordering},
    fence_after_publish,
};
use crate::sys::{Backend, Native, fork::Birth};
use core::{marker::PhantomData, mem::MaybeUninit, ptr, slice};

/// How many members a thread has on its stack; more are on the heap. Arbitrary: 2 KiB.
const ON_STACK: usize = 16;

/// What the owner of a group waits for. Aligned like an element.
#[repr(align(128))]
pub(super) struct GroupGate {
    gate: Gate,
    /// That of the backend that the owner sleeps by.
    wake: fn(*const AtomicU32),
}

impl GroupGate {
    /// The gate of a group whose owner will sleep by `B`.
    pub(super) fn new<B: Backend>() -> Self {
        Self { gate: Gate::new(), wake: B::wake }
    }

    /// By a notifier that has a member in hand: if the owner sleeps here, returns who is to be woken.
    #[must_use = "a sleeper must be woken"]
    pub(super) fn open(&self) -> Option<Sleeper> {
        // Ordering: relaxed; see "Orders".
        // SAFETY: the gate is there, since it is borrowed.
        unsafe { Gate::open(&raw const self.gate, Ordering::Relaxed) }.sleeper(self.wake)
    }

    pub(super) fn is_open(&self) -> bool {
        self.gate.is_notified()
    }

    /// Whether the owner sleeps, or is on its way to or from sleep; for reports.
    pub(super) fn is_asleep(&self) -> bool {
        self.gate.is_asleep()
    }

    /// By the owner, whose backend is `B`: as [`Element::wait`].
    pub(super) fn wait<B: Backend>(&self, deadline: Deadline, spin: SpinFirst, before_sleep: impl FnOnce()) {
        self.gate.wait::<B>(deadline, spin, || {
            before_sleep();
            None
        });
    }
}

/// Where a member is published, for what, and how it is withdrawn from there.
pub(super) struct Place<'a> {
    slot: &'a Slot,
    key: Key,
    /// Whether reports show it.
    shown: bool,
    withdraw: fn(&Slot, &Element, Birth),
}

impl<'a> Place<'a> {
    /// A slot of a table with the backend `B`.
    pub(super) fn on<B: Backend>(slot: &'a Slot, key: Key) -> Self {
        Self { slot, key, shown: true, withdraw: withdraw_thread::<B> }
    }

    /// Where a wait is published that can be cancelled. Reports do not show it: they say what a thread waits for.
    pub(super) fn of(cancel: &Cancel) -> Self {
        let key = cancel.key();
        Self { shown: false, ..Self::on::<Native>(global().enter(key), key) }
    }
}

/// Publishes a member of the group at each of `count` places, runs `during`, and withdraws them, also when `during` panics.
/// Up to `N` of them are on this frame, more on the heap. Fence A is left to `during`.
pub(super) fn with_members<'a, const N: usize, R>(
    group: &GroupGate,
    count: usize,
    place: impl Fn(usize) -> Place<'a>,
    since: Stamp,
    during: impl FnOnce(&[Element]) -> R,
) -> R {
    let mut on_stack = [const { MaybeUninit::<Element>::uninit() }; N];
    let mut on_heap = Vec::new();
    let room = if count <= N {
        on_stack.as_mut_ptr()
    } else {
        on_heap.reserve_exact(count);
        on_heap.spare_capacity_mut().as_mut_ptr()
    };
    let mut members = Members { first: room.cast(), published: 0, place, born: Birth::now() };
    for _ in 0..count {
        // SAFETY: there is room for `count` of them, on this frame or on the heap, which stays until `members` is dropped and
        // has withdrawn them; and so does the group's gate, which is borrowed.
        unsafe { members.publish(group, since) };
    }
    during(members.elements())
}

/// Members that are published.
struct Members<'a, F: Fn(usize) -> Place<'a>> {
    first: *mut Element,
    published: usize,
    place: F,
    born: Birth,
}

impl<'a, F: Fn(usize) -> Place<'a>> Members<'a, F> {
    /// Publishes one more.
    ///
    /// # Safety
    /// There is room for it behind the others. That and the group's gate stay where they are until `self` is dropped.
    unsafe fn publish(&mut self, group: &GroupGate, since: Stamp) {
        let place = (self.place)(self.published);
        let label = Label { key: place.key, selectable: false };
        // SAFETY: by the caller's promise there is room, where nobody else has anything yet; and the group's gate stays for
        // as long as the element.
        let element = unsafe {
            let room = self.first.add(self.published);
            room.write(Element::member_of(group, label));
            &*room
        };
        element.trace.begin(since, place.shown);
        self.published += 1;
        // SAFETY: the element is new, and stays until `self` is dropped and has withdrawn it.
        unsafe { place.slot.push(element) };
    }

    fn elements(&self) -> &[Element] {
        // SAFETY: so many have been made, and they are reached by shared references only.
        unsafe { slice::from_raw_parts(self.first, self.published) }
    }
}

impl<'a, F: Fn(usize) -> Place<'a>> Drop for Members<'a, F> {
    fn drop(&mut self) {
        for (nth, element) in self.elements().iter().enumerate() {
            let place = (self.place)(nth);
            (place.withdraw)(place.slot, element, self.born);
        }
        // SAFETY: they are withdrawn, and in nobody's hands (G3); nobody uses them from here on.
        unsafe { ptr::slice_from_raw_parts_mut(self.first, self.published).drop_in_place() };
    }
}

/// A group without a first among its members, as `during` of [`with_group`] sees it.
pub(super) struct Group<'a, B: Backend> {
    gate: &'a GroupGate,
    members: &'a [Element],
    born: Birth,
    backend: PhantomData<B>,
}

impl<B: Backend> Group<'_, B> {
    /// Waits until a member is notified, or the limit is reached. In the child of a fork it returns at once.
    pub(super) fn wait(&self, limit: &Limit<'_>, spin: SpinFirst) {
        if self.born.is_of_this_process() && !limit.is_cancelled() {
            counters::count(Event::Wait);
            let stamp = || self.members.iter().for_each(|member| member.trace.stamp());
            self.gate.wait::<B>(limit.deadline(), spin, stamp);
        }
    }

    /// When the wait first slept.
    pub(super) fn since(&self) -> Stamp {
        self.members.first().map_or(Stamp::NONE, |member| member.trace.since())
    }
}

/// Publishes a member at each of `count` places, runs `during`, and withdraws them, also when `during` panics.
///
/// Returns what `during` returned, and whether any was notified.
pub(super) fn with_group<'a, B: Backend, R>(
    count: usize,
    place: impl Fn(usize) -> Place<'a>,
    since: Stamp,
    during: impl FnOnce(&Group<'_, B>) -> R,
) -> (R, bool) {
    let gate = GroupGate::new::<B>();
    let result = with_members::<ON_STACK, _>(&gate, count, place, since, |members| {
        fence_after_publish();
        during(&Group { gate: &gate, members, born: Birth::now(), backend: PhantomData })
    });
    (result, gate.is_open())
}
