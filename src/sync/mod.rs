//! The one place that names `std`, `loom` or `shuttle` concurrency.
//!
//! Everything else in the crate takes its atomics, cells, thread-locals, hints and clock from here, so that
//! `--cfg layby_loom` and `--cfg layby_shuttle` put the very same code into a model checker's world, and
//! `--cfg layby_coherence` on a virtual machine of many CPUs that counts what its caches do.
//!
//! # The fence pair
//!
//! The whole crate rests on one store-buffering argument (see [`crate::wait_table`]). Its two halves are the
//! functions [`fence_after_publish`] and [`fence_before_peek`]; each names the other, and a build in which either
//! is emptied (`--cfg layby_mutant="no_publish_fence"`, `"no_look_fence"`) must fail the models.

#![allow(unsafe_code)]

#[cfg(not(any(layby_model, layby_coherence)))]
#[path = "std_world.rs"]
mod world;

#[cfg(layby_coherence)]
#[path = "coherence_world.rs"]
mod world;

#[cfg(layby_model)]
#[path = "model_world.rs"]
mod world;

#[cfg(not(any(layby_loom, layby_coherence)))]
pub(crate) mod unchecked_cell;

#[cfg(not(layby_model))]
mod real_statics;

pub(crate) use world::{advice, atomic, cell, deadline_has_passed, hint, now, thread, world_thread_local};

#[cfg(not(layby_model))]
pub(crate) use real_statics::{const_outside_models, world_static};
#[cfg(layby_model)]
pub(crate) use world::{checker, const_outside_models, world_static};

#[cfg(layby_model)]
pub mod model;

#[cfg(layby_coherence)]
#[path = "../../sim/mod.rs"]
pub mod coherence;

/// Atomics that are no event of a model, and no access that the simulator counts: `core`'s in every world.
pub(crate) mod unchecked_atomic {
    pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
}

/// Whether a model checker runs this: its world must be small, and the same in every execution.
pub(crate) const IN_A_MODEL: bool = cfg!(layby_model);

/// How a thread sleeps in a world without an operating system.
#[cfg(layby_coherence)]
pub(crate) use coherence as parker;
#[cfg(layby_model)]
pub(crate) use model as parker;

use atomic::{Ordering, fence};

/// Fence A: a waiter calls it after publishing its element and before loading its condition. Matches fence B,
/// [`fence_before_peek`].
///
/// If A comes first in the order of all `SeqCst` fences, the notifier's look at the slot sees the element. If B
/// comes first, the waiter's load of the condition sees the notifier's store.
#[inline]
pub(crate) fn fence_after_publish() {
    fence(Ordering::SeqCst);
}

/// Fence B: a notifier calls it after changing the condition and before looking at the slot. Matches fence A,
/// [`fence_after_publish`].
#[inline]
pub(crate) fn fence_before_peek() {
    fence(Ordering::SeqCst);
}

/// Fence B for a notifier that changed the condition by a `SeqCst` store or read-modify-write: no instruction.
///
/// That operation and the `SeqCst` load of the slot that follows are in the one order S of all `SeqCst` operations
/// already, and so is fence A. Suppose the wake-up were lost: the slot's load reads from before the push, so it
/// precedes A in S; the waiter's load of the condition, after A, reads from before the change, so A precedes the
/// change in S; the change precedes the slot's load by program order. That is a cycle, which S cannot have.
/// loom takes `SeqCst` accesses as `AcqRel`, so there (and only there) it is a fence. What the language says is checked by
/// `ci/litmus.py`, for each client with its own orders.
#[inline]
pub(crate) fn fence_before_peek_seqcst() {
    #[cfg(layby_loom)]
    fence_before_peek();
}
