//! What a notifier does with a slot that is occupied.
//!
//! | | notifies | puts back |
//! |---|---|---|
//! | [`wake_those`] | the elements whose keys are wanted | the others, and tasks that are [called](super::task) instead |
//! | [`wake_one_of`] | the oldest selectable element of a key, and all of the key that are not selectable | likewise |
//! | [`wake_or_rename`] | those of a key whose owners are awake, or all of it if none is | the others; those of the key have another name then |
//! | [`wake_chain`] | every element, whatever its key | none |
//!
//! What is due to those who are notified, such as the system calls that end their sleep, is noted for the caller.
//!
//! None of them waits for anybody. The first three have to choose: if a picker is at work for too long, they have it flush
//! the chain instead, which is the fourth. That wakes too many and loses nobody.

#[cfg(feature = "mutex")]
use super::element::Element;
use super::{
    Key,
    linked::Linked,
    pop_stack::{Chosen, PICK_ATTEMPTS, Pick, Picked, Slot},
};
use crate::sync::hint;
use crate::sys::Backend;

/// Notifies every element of a slot; those in a picker's hands are left to the picker. Returns how many of those that this
/// call notified have a key that is `wanted`.
#[inline(never)]
pub(super) fn wake_chain<B: Backend, E: Linked>(
    slot: &Slot<E>,
    wanted: impl Fn(Key) -> bool,
    due: &mut E::Due<B>,
) -> usize {
    let chain = slot.detach_all();
    let count = chain.count_those(wanted);
    chain.notify_all::<B>(due);
    count
}

/// What a wake of one has found so far, in the slots of a key.
#[derive(Default)]
pub(super) struct OneOf {
    /// Whether it has chosen the one. What a flush notifies does not count: it may be another's choice (K4).
    pub(super) is_chosen: bool,
    /// How many of the key it has notified.
    pub(super) count: usize,
}

/// Notifies one selectable element of a key, the oldest, unless one is chosen already, and all of the key that are not
/// selectable.
pub(super) fn wake_one_of<B: Backend, E: Linked>(slot: &Slot<E>, key: Key, found: &mut OneOf, due: &mut E::Due<B>) {
    let is_chosen = &mut found.is_chosen;
    let choose = |picked: &mut Picked<'_, E>, due: &mut _| picked.choose_one_of::<B>(key, is_chosen, due);
    found.count += wake_chosen::<B, E>(slot, |other| other == key, choose, due);
}

/// Notifies the elements whose key is `wanted`, and leaves the others undisturbed.
#[inline]
pub(super) fn wake_those<B: Backend, E: Linked>(
    slot: &Slot<E>,
    wanted: impl Fn(Key) -> bool,
    due: &mut E::Due<B>,
) -> usize {
    wake_chosen::<B, E>(slot, &wanted, |picked, due| picked.choose_those::<B>(&wanted, due), due)
}

/// What has become of the elements of a key.
#[cfg(feature = "mutex")]
#[derive(Default)]
pub(crate) struct Renamed {
    pub(crate) renamed: usize,
    pub(crate) notified: usize,
}

/// Notifies the elements of `key`; but if some of their owners are awake, renames those that sleep instead.
#[cfg(feature = "mutex")]
pub(super) fn wake_or_rename<B: Backend>(
    slot: &Slot<Element>,
    key: Key,
    name: Key,
    due: &mut <Element as Linked>::Due<B>,
) -> Renamed {
    let mut renamed = 0;
    let choose = |picked: &mut Picked<'_, Element>, due: &mut _| {
        renamed = picked.rename_sleepers(key, name);
        picked.choose_those::<B>(|other| other == key, due)
    };
    let notified = wake_chosen::<B, Element>(slot, |other| other == key, choose, due);
    Renamed { renamed, notified }
}

fn spin_and_try_again(_attempt: u32) -> bool {
    hint::spin_loop();
    true
}

/// Wakes those that `choose` chooses, whose keys are `wanted`.
#[inline]
fn wake_chosen<B: Backend, E: Linked>(
    slot: &Slot<E>,
    wanted: impl Fn(Key) -> bool,
    choose: impl FnOnce(&mut Picked<'_, E>, &mut E::Due<B>) -> Chosen<E>,
    due: &mut E::Due<B>,
) -> usize {
    match slot.pick_patiently(PICK_ATTEMPTS, spin_and_try_again) {
        Pick::Got(mut picked) => {
            let chosen = choose(&mut picked, due);
            // Put back first: what is in hand is out of reach of its own notifiers, so keep that short.
            picked.put_back::<B>(due);
            chosen.notify_all::<B>(due)
        }
        Pick::Empty => 0,
        Pick::Busy => wake_chain::<B, E>(slot, wanted, due),
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::super::{
        WaitTable,
        limit::Limit,
        linked::{Label, settling},
        publication::with_published,
        trace::Stamp,
    };
    use super::*;
    use crate::sys::Native;

    /// As in a handler that has interrupted a picker of its own thread: the picker does what is asked of it.
    #[test]
    fn a_wake_does_not_wait_for_a_picker() {
        let table = WaitTable::<Native>::with_slots(1);
        let label = Label { key: Key::address(&table), selectable: false };
        let slot = table.enter(label.key);
        let ((), notified) = with_published(&table, label, Stamp::NONE, &Limit::NONE, |_| {
            let Pick::Got(picked) = slot.try_pick() else { unreachable!("nobody else is here") };
            let one = || {
                let mut found = OneOf::default();
                settling(|due| wake_one_of::<Native, _>(slot, label.key, &mut found, due));
                found.count
            };
            assert_eq!(one(), 0, "it is in our hands");
            settling(|due| picked.put_back::<Native>(due));
        });
        assert!(notified.is_some());
    }
}
