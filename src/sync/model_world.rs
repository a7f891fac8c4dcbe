//! A model checker's world. loom: every interleaving and every allowed stale read, up to a bound. shuttle: deep random
//! schedules of many threads, sequentially consistent.

#[cfg(layby_loom)]
pub(crate) use loom as checker;
#[cfg(layby_shuttle)]
pub(crate) use shuttle as checker;

#[cfg(layby_shuttle)]
pub(crate) use super::unchecked_cell as cell;
#[cfg(layby_loom)]
pub(crate) use loom::cell;

pub(crate) mod atomic {
    pub use super::checker::sync::atomic::AtomicU32;
    #[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
    pub(crate) use super::checker::sync::atomic::AtomicU64;
    pub(crate) use super::checker::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
}

/// Not explored: advice may be wrong, so no value of it can break a protocol.
pub(crate) mod advice {
    pub(crate) use core::sync::atomic::AtomicUsize;
}

pub(crate) mod hint {
    pub(crate) use super::checker::hint::spin_loop;
}

pub(crate) mod thread {
    pub(crate) use super::checker::thread::yield_now;
}

/// The real clock, on whose value no model depends: deadlines pass when the model says so, and policies that go by the
/// clock have no patience there.
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

pub(crate) use super::model::{deadline_has_passed, in_destructor};

/// A thread-local of the checker's threads.
macro_rules! world_thread_local {
    ($(#[$meta:meta])* static $name:ident: $ty:ty = $init:expr;) => {
        $crate::sync::checker::thread_local! { $(#[$meta])* static $name: $ty = $init; }
    };
}
pub(crate) use world_thread_local;
