//! The crate `atomic-wait`'s three functions with its very signatures: for `AtomicU32` alone.
//!
//! Since they are not generic, the compiler derefs what they are called with, as it does for `atomic-wait`, and knows what a
//! pointer without a type points to. In place of `use atomic_wait::{wait, wake_one, wake_all}`:
//!
//! ```
//! use layby::atomic::u32::{wait, wake_all};
//! use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
//!
//! let state = Arc::new(AtomicU32::new(0));
//! std::thread::scope(|s| {
//!     s.spawn(|| {
//!         while state.load(Ordering::Acquire) == 0 {
//!             wait(&state, 0);
//!         }
//!     });
//!     state.store(1, Ordering::Release);
//!     wake_all(&*state);
//! });
//! wake_all(std::ptr::null());
//! ```

use core::sync::atomic::AtomicU32;

/// [`atomic::wait`](super::wait) for an `AtomicU32`.
pub fn wait(atomic: &AtomicU32, value: u32) {
    super::wait(atomic, value);
}

/// [`atomic::wake_one`](super::wake_one) for an `AtomicU32`.
pub fn wake_one(atomic: *const AtomicU32) {
    super::wake_one(atomic);
}

/// [`atomic::wake_all`](super::wake_all) for an `AtomicU32`.
pub fn wake_all(atomic: *const AtomicU32) {
    super::wake_all(atomic);
}
