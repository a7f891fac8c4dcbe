//! The simulator's world: real statics at real addresses, used by virtual CPUs. See [`super::coherence`].

pub(crate) mod atomic {
    pub use super::super::coherence::atomic::AtomicU32;
    pub(crate) use super::super::coherence::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
}

pub(crate) use super::coherence::cell;

pub(crate) mod hint {
    pub(crate) use super::super::coherence::pause as spin_loop;
}

pub(crate) mod thread {
    pub(crate) use super::super::coherence::yield_now;
}

pub(crate) use super::coherence::now;

/// Runs what a destructor does.
pub(crate) fn in_destructor(act: impl FnOnce()) {
    act();
}

pub(crate) fn deadline_has_passed(at: std::time::Instant) -> bool {
    at <= now()
}

/// Counted: a line moves whatever its value is good for.
pub(crate) mod advice {
    pub(crate) use super::super::coherence::atomic::AtomicUsize;
}

/// A thread-local of the virtual threads.
macro_rules! world_thread_local {
    ($(#[$meta:meta])* static $name:ident: $ty:ty = $init:expr;) => {
        $(#[$meta])*
        static $name: $crate::sync::coherence::LocalKey<$ty> = $crate::sync::coherence::LocalKey::new(|| $init);
    };
}
pub(crate) use world_thread_local;
