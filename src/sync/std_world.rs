//! The real world: `core` and `std`.

pub(crate) mod atomic {
    pub use core::sync::atomic::AtomicU32;
    #[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
    pub(crate) use core::sync::atomic::AtomicU64;
    pub(crate) use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
}

pub(crate) use super::unchecked_cell as cell;

pub(crate) mod hint {
    pub(crate) use core::hint::spin_loop;
}

pub(crate) mod thread {
    pub(crate) use std::thread::yield_now;
}

/// Makes a function `const` outside the models, whose atomics cannot be built in a `const`.
macro_rules! const_outside_models {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis const fn $($rest)* };
}
pub(crate) use const_outside_models;

/// A thread-local, initialized by a constant expression.
macro_rules! world_thread_local {
    ($(#[$meta:meta])* static $name:ident: $ty:ty = $init:expr;) => {
        std::thread_local! { $(#[$meta])* static $name: $ty = const { $init }; }
    };
}
pub(crate) use world_thread_local;

/// A function that returns the one instance of a static: a true `static` here, one for each execution in a model.
macro_rules! world_static {
    ($(#[$meta:meta])* $vis:vis fn $name:ident() -> &'static $ty:ty { const { $init:expr } model { $model:expr } }) => {
        $(#[$meta])*
        #[inline(always)]
        $vis fn $name() -> &'static $ty {
            static INSTANCE: $ty = $init;
            &INSTANCE
        }
    };
}
pub(crate) use world_static;
