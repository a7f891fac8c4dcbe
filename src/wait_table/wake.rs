//! What a notifier does with a slot that is occupied.
//!
//! | | notifies | puts back |
//! |---|---|---|
//! | [`wake_chain`] | every element, whatever its key | none |
//! | [`wake_those`] | the elements whose keys are wanted | the others |
//! | [`wake_one_of`] | the oldest selectable element of a key, and all of the key that are not selectable | the others |
//!
//! None of them waits for anybody. One that has to choose while a picker is at work for too long has the picker flush the
//! chain instead, which wakes too many and loses nobody.

use super::{
    Key,
    pop_stack::{Chain, PICK_ATTEMPTS, Pick, Picked, Slot},
};
use crate::sync::hint;
use crate::sys::Backend;

/// Notifies every element of a slot; those in a picker's hands are left to the picker. Returns how many this call notified.
pub(super) fn wake_chain<B: Backend>(slot: &Slot) -> usize {
    slot.detach_all().notify_all::<B>()
}

/// Notifies one selectable element of a key, the oldest, and all of the key that are not selectable.
pub(super) fn wake_one_of<B: Backend>(slot: &Slot, key: Key) -> usize {
    wake_chosen::<B>(slot, |picked| picked.take_one_of(key))
}

/// Notifies the elements whose key is `wanted`, and leaves the others undisturbed.
pub(super) fn wake_those<B: Backend>(slot: &Slot, wanted: impl Fn(Key) -> bool) -> usize {
    wake_chosen::<B>(slot, |picked| picked.take_those(&wanted))
}

fn spin_and_try_again(_attempt: u32) -> bool {
    hint::spin_loop();
    true
}

/// Notifies the elements that `choose` takes.
fn wake_chosen<B: Backend>(slot: &Slot, choose: impl FnOnce(&mut Picked<'_>) -> Chain) -> usize {
    match slot.pick_patiently(PICK_ATTEMPTS, spin_and_try_again) {
        Pick::Got(mut picked) => {
            let chosen = choose(&mut picked);
            // Put back first: what is in hand is out of reach of its own notifiers, so keep that short.
            picked.put_back::<B>();
            chosen.notify_all::<B>()
        }
        Pick::Empty => 0,
        Pick::Busy => wake_chain::<B>(slot),
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::super::{element::Label, publication::with_published, trace::Stamp};
    use super::*;
    use crate::sys::Native;

    /// As in a handler that has interrupted a picker of its own thread: the picker does what is asked of it.
    #[test]
    fn a_wake_does_not_wait_for_a_picker() {
        let slot = Slot::new();
        let label = Label { key: Key::address(&slot), selectable: false };
        let ((), notified) = with_published::<Native, _>(&slot, label, Stamp::NONE, |_| {
            let Pick::Got(picked) = slot.try_pick() else { unreachable!("nobody else is here") };
            assert_eq!(wake_one_of::<Native>(&slot, label.key), 0, "it is in our hands");
            picked.put_back::<Native>();
        });
        assert!(notified);
    }
}
