//! The worlds that the crate can be built for, and the two fences that it rests on.
//!
//! | flag | world | what it is for |
//! |---|---|---|
//! | none | `std_world` | real use |
//! | `--cfg layby_loom` | `model_world` | every interleaving of a small model, with weak memory order |
//! | `--cfg layby_shuttle` | `model_world` | random schedules of a larger model |
//! | `--cfg layby_coherence` | `coherence_world` | counts of what the caches of many virtual CPUs do; see `sim/` |
//!
//! The code is the same in all of them, because it takes from here whatever a world has its own version of:
//!
//! | name | what it is |
//! |---|---|
//! | `atomic`, `cell` | atomics, fences and cells whose every access the world sees |
//! | `advice` | atomics whose value is only advice: a model does not explore them, the simulator counts their accesses |
//! | `hint`, `thread` | `spin_loop` and `yield_now` |
//! | `in_destructor` | what a destructor does; in a model that has failed it must not panic again |
//! | `now`, `deadline_has_passed` | the clock; in a model a deadline passes when the model says so |
//! | `world_thread_local!` | thread-locals of the world's own threads |
//! | [`world_static!`](statics), [`const_outside_models!`](statics) | statics and constructors |
//! | `parker` | how a thread sleeps in a world without an operating system |
//! | [`IN_A_MODEL`] | whether this is a model checker's world |
//!
//! # Who may name `std`, `loom` or `shuttle`
//!
//! For concurrency, only this module, with these exceptions:
//!
//! - [`unchecked_atomic`] gives out `core`'s atomics in every world, for what no world is to see: diagnostics, values that
//!   are computed once, the count of forks.
//! - [`crate::atomic`] names `core`'s atomics because it extends those of its users.
//! - `sys::thread_id` keeps diagnostics in one of `std`'s thread-locals.
//! - [`crate::sys`] calls the operating system, directly or through `std` and `parking_lot_core`.
//! - `paper::park` keeps the words of threads that have ended in a `Mutex` of `std`'s, which no world sees; a model uses none
//!   again.
//! - `pipeline::control` keeps the reason of a close in a `OnceLock`, which no world sees; that it is closed is an atomic.
//! - `ticket_queue::marker_banks` adds banks with `once_cell`, which no world sees; a model has all its banks from the start.
//!
//! What is not shared between threads, such as `core::cell::Cell`, may be used anywhere.
//!
//! # The fence pair
//!
//! The whole crate rests on one store-buffering argument (see [`crate::wait_table`]). Its two halves are the
//! functions [`fence_after_publish`], or its shorter form [`fence_after_push`], and [`fence_before_peek`]; each names the other.

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

mod statics;

#[cfg(not(any(layby_loom, layby_coherence)))]
pub(crate) mod unchecked_cell;

#[cfg(layby_model)]
pub(crate) mod model;

#[cfg(layby_coherence)]
#[path = "../../sim/mod.rs"]
pub mod coherence;

#[cfg(layby_model)]
pub(crate) use world::checker;

pub(crate) use statics::{const_outside_models, world_static};
pub(crate) use world::{
    advice, atomic, cell, deadline_has_passed, hint, in_destructor, now, thread, world_thread_local,
};

/// How a thread sleeps in a world without an operating system: `sleep`, `wake` and `wake_all`, with the contract of a
/// [backend](crate::sys::Backend).
#[cfg(any(layby_model, layby_coherence))]
pub(crate) mod parker {
    #[cfg(layby_coherence)]
    pub(crate) use super::coherence::{sleep, wake, wake_all};
    #[cfg(layby_model)]
    pub(crate) use super::model::{sleep, wake_all, wake_all as wake};
}

/// Atomics that are not events of a model, and whose accesses the simulator does not count: `core`'s in every world.
pub(crate) mod unchecked_atomic {
    pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize};
}

/// Whether a model checker runs this. Its world must be small, and the same in every execution.
pub(crate) const IN_A_MODEL: bool = cfg!(layby_model);

/// A release store to a word that other threads change by read-modify-writes only, after a load of it.
///
/// A read-modify-write comes right behind what it has read in the order of all changes of the word. So one that has read the same as the
/// caller's load comes before this store. loom does not know that, and takes the two for unordered: there (and only there) it is a swap.
#[inline(always)]
pub(crate) fn store_over_updates(word: &atomic::AtomicU32, value: u32) {
    #[cfg(layby_loom)]
    word.swap(value, Ordering::Release);
    #[cfg(not(layby_loom))]
    word.store(value, Ordering::Release);
}

/// Asks the processor for the cache line at an address, whoever's it is: the line is not read, and one that is nobody's is
/// not asked for. No world sees it, for it changes how long a load takes and nothing else.
#[inline(always)]
pub(crate) fn prefetch(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: it is an instruction of every such processor, and does not fault.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::without_provenance(address));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Keeps the compiler, and nobody else, from exchanging accesses: the same in every world, none of which has a compiler in it.
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub(crate) use core::sync::atomic::compiler_fence;

use atomic::{Ordering, fence};

/// Fence A: a waiter calls it after publishing its element and before loading its condition. Matches fence B,
/// [`fence_before_peek`].
///
/// If A comes first in the order of all `SeqCst` fences, the notifier's peek at the slot sees the element. If B
/// comes first, the waiter's load of the condition sees the notifier's store.
#[inline]
pub(crate) fn fence_after_publish() {
    fence(Ordering::SeqCst);
}

/// Fence A, for a waiter whose last write to shared memory was a read-modify-write that succeeded, `Release` or stronger: the
/// compare-and-swap by which it has published its element, or made it wait on.
///
/// On x86 that was a locked instruction: the store buffer is empty after it, and nothing that comes later is loaded before it. That is
/// all that fence A does, and a second locked instruction would only cost as much again. The compiler must keep to that order,
/// too. `Release` keeps it from moving earlier writes behind the operation. The block below, which for all that it knows reads and writes
/// any memory, keeps it from moving later loads before the block, and the operation behind it; so it must be neither `nomem` nor `readonly` nor
/// `pure`. So here, and nowhere else, an empty block does what `fence(SeqCst)` does.
///
/// Not for `WaitPoint::prepare`, whose change is relaxed, and is left out when the count
/// is full; nor for a group, which may have no member.
#[inline(always)]
pub(crate) fn fence_after_push() {
    #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), not(any(layby_model, layby_coherence, miri))))]
    // SAFETY: there is nothing in it, and what it stands for, a fence, the processor has just made.
    unsafe {
        core::arch::asm!("", options(nostack, preserves_flags));
    }
    #[cfg(not(all(any(target_arch = "x86", target_arch = "x86_64"), not(any(layby_model, layby_coherence, miri)))))]
    {
        fence_after_publish();
    }
}

/// Fence B: a notifier calls it after changing the condition and before peeking at the slot. Matches fence A,
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
