//! A nap from within a wait.
//!
//! The C library's `nanosleep` is a cancellation point, as its `read` is (`files.rs`): a thread that `pthread_cancel` was called for
//! would be unwound there, out of the middle of its wait. A backend's wait is none.

use core::time::Duration;

/// Sleeps for about so long, or less.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
pub(super) fn nap(time: Duration) {
    use super::{Backend, futex::Futex};
    use crate::sync::{atomic::AtomicU32, now};

    // Nobody knows the word, so nobody wakes us.
    Futex::wait(&AtomicU32::new(0), 0, now().checked_add(time));
}

#[cfg(any(not(any(target_os = "linux", target_os = "android")), layby_model))]
pub(super) fn nap(time: Duration) {
    std::thread::sleep(time);
}
