//! Listing 3's waiting chains: AddressWaitUntil, AddressSignal and AddressSignalPolite. In the listing's order.
//!
//! A chain is a stack of elements on the stacks of waiting threads. It has no links: a waiter pushes itself by one SWAP, which
//! tells it its *successor*, the element that was on top before (`prv`). A notifier detaches the whole chain by another SWAP
//! and pokes the head; the head's thread pokes its successor, that one the next, and so on: **systolic**. So arrival and
//! notification take constant time, whatever the length of the chain.
//!
//! # The protocol
//!
//! Wrong, if a waiter whose condition holds after all leaves without more ado:
//!
//! ```text
//! waiter of e, pushed on p            notifier
//! push: chain -> e, then p
//! satisfied? yes: return
//!                                     detach, poke e                 e is gone: writes to a stack frame of something else
//!                                                                    and p, which only e's thread knows, sleeps forever
//! ```
//!
//! Right: it has *mis-queued* itself, and must get off the chain first. Three ways out, from the cheapest to the surest:
//!
//! | the chain's head is | then e is | way out |
//! |---|---|---|
//! | e | on top, with p below | undo: put p back in its place, by compare-and-swap |
//! | nothing, or e's gate is open | off the chain, in a notifier's or a younger waiter's care | poke p; the gate is open or will be |
//! | another | perhaps buried under younger ones | flush: detach, poke the older suffix p, then the younger prefix; the gate will be opened |
//!
//! # Invariants
//!
//! - **C1.** An element has one *poker*: the owner of the element pushed on top of it, or, as long as it is the head, whoever
//!   takes it off the chain. An undo gives the successor back to be the head.
//! - **C2.** An element is alive until its gate is open, or its push undone: its owner leaves its frame no sooner.
//! - **C3.** Opening the gate is the poker's last access: what it needs to unpark the owner it has read before.
//! - **C4.** Who leaves without undoing its push has poked its successor.
//! - **C5.** Only the owner pushes an element, and nobody puts back one that has left the chain: an undo makes the head again
//!   what was below it all the time. So a head that is `e` says that `e` has not left the chain since its push and is on the
//!   same suffix, whoever came on top and went again; the undo has no ABA problem. (The wait table's pickers put elements
//!   back, so the table has no undo: see DESIGN.md, "One way off a chain".)
//!
//! Nobody is forgotten: by C1 and C4 each element of a detached chain is poked by the thread above it, once that one has
//! been, so it takes all of them to run. Nobody is poked twice, nor when it is gone: C1 and C2.
//!
//! # Ordering
//!
//! The listing has `seq_cst` everywhere but in Poke; here each order is the weakest that its argument needs.
//!
//! - *The pivot.* Wait: SWAP chain; LD condition. Post: ST condition; LD chain. For the polite signal, which loads, that is
//!   store buffering, and all four must be `SeqCst`. [`address_signal`] swaps, and two read-modify-writes of one word are in
//!   order anyway: if the notifier's comes second it gets the element; if it comes first, the waiter's acquires what it
//!   releases, the condition. Others between them only prolong the release sequence.
//! - *An element travels* with the SWAP that pushes it (release) to its poker, which acquires it by the SWAP that pushes on
//!   top or detaches.
//! - *A gate* carries C2: who finds it open (acquire) knows that the poker's accesses are over (release).
//!
//! # After a fork
//!
//! A child has the parent's chains, with elements on stacks that are not threads' any more. Its first wait empties them, and
//! until then its signals leave them alone: `is_left_by_the_parent`.

#![allow(unsafe_code)]

use super::park::Thread;
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicPtr, AtomicU32, Ordering},
    cell::UnsafeCell,
    const_outside_models, fence_before_peek_seqcst, world_static,
};
use crate::sys::fork::Generation;
use core::ptr;

/// One waiting thread. Aligned to 128 bytes and not to 64: x86 fetches lines in pairs.
#[repr(align(128))]
struct WaitElement {
    /// 0, or 1: made ready, notified.
    gate: AtomicU32,
    /// Thread identity for park and unpark. Nobody's before the element is published and after it is gone.
    who: UnsafeCell<Option<&'static Thread>>,
}

impl WaitElement {
    fn new() -> Self {
        Self { gate: AtomicU32::new(0), who: UnsafeCell::new(None) }
    }

    fn gate(&self) -> u32 {
        // Ordering: acquire; matches the release in `poke` (C2).
        self.gate.load(Ordering::Acquire)
    }
}

/// Not in the listing, and not necessary, but good hygiene: a poker that came too late would find nobody; and a checker sees it.
impl Drop for WaitElement {
    fn drop(&mut self) {
        // SAFETY: out of reach (C2).
        self.who.with_mut(|who| unsafe { *who = None });
    }
}

/// A slot of the waiting table: the head of a chain.
pub(crate) struct WaitChain {
    chain: AtomicPtr<WaitElement>,
}

impl WaitChain {
    const_outside_models! {
        fn new() -> Self {
            Self { chain: AtomicPtr::new(ptr::null_mut()) }
        }
    }
}

/// As in the listing: "Empirically, 4096 elements is a reasonable choice for most systems."
const TABLE_SIZE: usize = if IN_A_MODEL { 1 } else { 4096 };
const _: () = assert!(TABLE_SIZE.is_power_of_two());

#[repr(C, align(4096))]
pub(crate) struct WaitSlots {
    slots: [WaitChain; TABLE_SIZE],
    generation: Generation,
}

world_static! {
    /// The waiting table, shared by all semaphores of this kind. Aligned to pages, for the translation lookaside buffer's sake.
    pub(crate) fn wait_slots() -> &'static WaitSlots {
        const { WaitSlots { slots: [const { WaitChain::new() }; TABLE_SIZE], generation: Generation::new() } }
        model { WaitSlots { slots: core::array::from_fn(|_| WaitChain::new()), generation: Generation::current() } }
    }
}

fn key_to_chain(key: u32) -> &'static WaitChain {
    let ix = key as usize & (TABLE_SIZE - 1);
    &wait_slots().slots[ix]
}

/// Notifies one element, whose thread notifies its successor.
///
/// # Safety
/// `e` is null, or the caller is its poker (C1), and is not any more.
unsafe fn poke(e: *mut WaitElement) {
    if e.is_null() {
        return;
    }
    // SAFETY: alive, for its gate is not open (C2); its owner writes `who` only before it is published and when it is gone.
    let who = unsafe { (*e).who.with(|who| *who) };
    // SAFETY: as above.
    let gate = unsafe { &(*e).gate };
    debug_assert_eq!(gate.load(Ordering::Relaxed), 0, "an element was poked twice");
    // Ordering: release; matches the acquire in `gate`.
    gate.store(1, Ordering::Release);
    // Once the gate is open, e may fall out of scope at once: it is no longer safe to access it (C3). It is safe, however, to
    // unpark a stale thread.
    if let Some(who) = who {
        who.unpark();
    }
}

/// Notifies those who wait at the key's slot.
pub(super) fn address_signal(key: u32) {
    let slot = key_to_chain(key);
    if is_left_by_the_parent(slot) {
        return;
    }
    // Ordering: release; matches the acquire of the SWAP of a waiter that comes later, which then sees the condition. Acquire;
    // matches the release of the SWAP that pushed the head.
    // SAFETY: we have taken the head off the chain (C1).
    unsafe { poke(slot.chain.swap(ptr::null_mut(), Ordering::AcqRel)) };
}

/// The polite form does not write to a slot that is empty: less coherence traffic if nobody waits. The caller has changed the
/// condition by a `SeqCst` operation.
pub(super) fn address_signal_polite(key: u32) {
    let slot = key_to_chain(key);
    fence_before_peek_seqcst();
    // Ordering: SeqCst; the pivot.
    if slot.chain.load(Ordering::SeqCst).is_null() || is_left_by_the_parent(slot) {
        return;
    }
    // Ordering: acquire; matches the release of the SWAP that pushed the head.
    // SAFETY: we have taken the head off the chain (C1).
    unsafe { poke(slot.chain.swap(ptr::null_mut(), Ordering::Acquire)) };
}

/// Whether what hangs on a slot, if anything, is a parent process's. For a notifier that has changed the condition.
///
/// A generation that is current says that the slots have been emptied. If it is not, the slot is read first and the generation
/// after it: a waiter of this process whose SWAP the load sees has emptied the slots before; one whose SWAP it does not see
/// sees the condition, by the pivot.
fn is_left_by_the_parent(slot: &WaitChain) -> bool {
    let generation = &wait_slots().generation;
    // Ordering: SeqCst; the pivot, as in the polite signal.
    !generation.is_current() && !slot.chain.load(Ordering::SeqCst).is_null() && !generation.is_current()
}

/// Waits until `satisfied` has a value, and returns it.
///
/// # Safety
/// `satisfied` does not unwind: the element is on this frame.
pub(super) unsafe fn address_wait_until<V>(key: u32, satisfied: impl Fn() -> Option<V>) -> V {
    // Optional optimization: before we go to the expense of becoming visible.
    if let Some(v) = satisfied() {
        return v;
    }

    // Switch to a more polite waiting strategy: local spinning, and parking.
    let s = key_to_chain(key);
    wait_slots().generation.enter(forget_the_parents);
    loop {
        // Optional optimization, for less coherence traffic on the chain.
        if let Some(v) = satisfied() {
            return v;
        }

        // Publish e on the chain: from now on we wait by e instead of looking at the condition.
        let e = WaitElement::new();
        let me = Thread::current();
        // SAFETY: not published yet.
        e.who.with_mut(|who| unsafe { *who = Some(me) });
        let at_e = ptr::from_ref(&e).cast_mut();
        // Ordering: SeqCst; the pivot. With release for e, and acquire for prv.
        let prv = s.chain.swap(at_e, Ordering::SeqCst);
        debug_assert_ne!(prv, at_e, "pushed twice");
        fence_before_peek_seqcst();

        // Ratify: a notifier that came before the SWAP does not know of us.
        if let Some(v) = satisfied() {
            // We have mis-queued ourselves. We expect this to be rare.
            //
            // Undo the push, if nobody is on top of e: then e has not left the chain, and the suffix is what it was (C5).
            // Ordering: relaxed; of e nobody knows, and of prv those who knew.
            let undone = s.chain.compare_exchange(at_e, prv, Ordering::Relaxed, Ordering::Relaxed);
            let (Ok(k) | Err(k)) = undone;
            if k == at_e {
                debug_assert_eq!(e.gate(), 0, "e was on the chain");
                return v;
            }

            // Off the chain with everybody else: we are next, or soon will be.
            if k.is_null() {
                // SAFETY: e is prv's only one on top (C1), and poked it neither before nor will.
                unsafe { poke(prv) };
                while e.gate() == 0 {
                    me.park();
                }
                return v;
            }

            // Off the chain, and others have come since: no need to disturb them.
            if e.gate() != 0 {
                // SAFETY: as above.
                unsafe { poke(prv) };
                return v;
            }

            // Flush. The older ones of the suffix are poked before the younger ones of the prefix, but after the prefix is
            // detached: they might come back before, and be flushed again.
            // Ordering: acquire; matches the release of the SWAP that pushed the head.
            let prefix = s.chain.swap(ptr::null_mut(), Ordering::Acquire);
            debug_assert!(prv != prefix || prv.is_null(), "twice on one chain");
            // SAFETY: as above, and we have taken the prefix off the chain (C1).
            unsafe {
                poke(prv);
                poke(prefix);
            }
            while e.gate() == 0 {
                me.park();
            }
            return v;
        }

        // Properly queued. We expect this to be the normal case.
        while e.gate() == 0 {
            me.park();
        }

        // Propagate the systolic wake-up through the rest of the chain, if any.
        // SAFETY: as above.
        unsafe { poke(prv) };

        // Signalled, flushed, or woken for another key of the slot: e is out of reach, and the condition tells which.
    }
}

/// Empties the slots of what a parent process has left there.
fn forget_the_parents() {
    // Ordering: relaxed; released by the generation that says that they are empty.
    wait_slots().slots.iter().for_each(|slot| slot.chain.store(ptr::null_mut(), Ordering::Relaxed));
}
