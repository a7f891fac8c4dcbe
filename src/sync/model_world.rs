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

pub(crate) mod advice {
    pub(crate) use core::sync::atomic::AtomicUsize;
}

pub(crate) mod hint {
    pub(crate) use super::checker::hint::spin_loop;
}

pub(crate) mod thread {
    pub(crate) use super::checker::thread::yield_now;
}

pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

pub(crate) use super::model::deadline_has_passed;

macro_rules! const_outside_models {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis fn $($rest)* };
}
pub(crate) use const_outside_models;

macro_rules! world_thread_local {
    ($(#[$meta:meta])* static $name:ident: $ty:ty = $init:expr;) => {
        $crate::sync::checker::thread_local! { $(#[$meta])* static $name: $ty = $init; }
    };
}
pub(crate) use world_thread_local;

/// One instance for each execution, made by its first user and never dropped: a thread-local's destructor may be the last
/// to use it, and loom's own statics are gone by then.
macro_rules! world_static {
    ($(#[$meta:meta])* $vis:vis fn $name:ident() -> &'static $ty:ty { const { $init:expr } model { $model:expr } }) => {
        $(#[$meta])*
        $vis fn $name() -> &'static $ty {
            // The real thread's: a checker runs all threads of an execution on one.
            std::thread_local! {
                static INSTANCE: core::cell::Cell<(u64, Option<&'static $ty>)> = const { core::cell::Cell::new((0, None)) };
            }
            let execution = $crate::sync::model::execution();
            match INSTANCE.get() {
                (made_in, Some(instance)) if made_in == execution => instance,
                _ => {
                    let instance: &'static $ty = Box::leak(Box::new($model));
                    INSTANCE.set((execution, Some(instance)));
                    instance
                }
            }
        }
    };
}
pub(crate) use world_static;
