//! The real world: `core` and `std`.

pub(crate) mod atomic {
    pub use core::sync::atomic::AtomicU32;
    #[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
    pub(crate) use core::sync::atomic::AtomicU64;
    pub(crate) use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
}

pub(crate) use super::unchecked_cell as cell;

/// Atomics whose value is only advice, so that a model need not explore it. The simulator counts their accesses.
pub(crate) mod advice {
    pub(crate) use core::sync::atomic::AtomicUsize;
}

pub(crate) mod hint {
    pub(crate) use core::hint::spin_loop;
}

pub(crate) mod thread {
    pub(crate) use std::thread::yield_now;
}

/// Runs what a destructor does.
#[inline(always)]
pub(crate) fn in_destructor(act: impl FnOnce()) {
    act();
}

pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

pub(crate) fn deadline_has_passed(at: std::time::Instant) -> bool {
    at <= now()
}

/// A thread-local. The initial value must be a constant expression.
macro_rules! world_thread_local {
    ($(#[$meta:meta])* static $name:ident: $ty:ty = $init:expr;) => {
        std::thread_local! { $(#[$meta])* static $name: $ty = const { $init }; }
    };
}
pub(crate) use world_thread_local;
