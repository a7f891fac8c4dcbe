//! Wait on an atomic of any width until it changes: the crate `atomic-wait`'s functions, and deadlines.
//!
//! [`wait`], [`wake_one`] and [`wake_all`] have the signatures of the crate `atomic-wait` for `AtomicU32`, so that
//! `use layby::atomic::{wait, wake_one, wake_all}` is all there is to change. They work for every atomic of the standard
//! library, pointers included, because what is hashed is the address.
//!
//! ```
//! use layby::atomic::{wait, wake_all};
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! let version = AtomicU64::new(0);
//! std::thread::scope(|s| {
//!     s.spawn(|| {
//!         while version.load(Ordering::Acquire) == 0 {
//!             wait(&version, 0);
//!         }
//!     });
//!     version.store(1 << 40, Ordering::Release);
//!     wake_all(&version);
//! });
//! ```

#![forbid(unsafe_code)]
use crate::wait_table::{Key, WaitOutcome, global};
use core::sync::atomic::{self, Ordering};
use std::time::Instant;

/// An atomic that can be waited on.
///
/// Sealed: implemented for every atomic type of the standard library.
pub trait Waitable: sealed::Sealed {
    /// What the atomic holds.
    type Value: Copy + PartialEq;

    #[doc(hidden)]
    fn holds(&self, value: Self::Value) -> bool;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! waitable {
    ($($width:literal: $($atomic:ident $value:ty),+;)+) => { $($(
        #[cfg(target_has_atomic = $width)]
        impl sealed::Sealed for atomic::$atomic {}

        #[cfg(target_has_atomic = $width)]
        impl Waitable for atomic::$atomic {
            type Value = $value;

            #[inline]
            fn holds(&self, value: $value) -> bool {
                // Ordering: acquire, for a caller that finds the value changed and goes on. That no wake-up is lost is
                // the business of fences A and B.
                self.load(Ordering::Acquire) == value
            }
        }
    )+)+ };
}

waitable! {
    "8": AtomicBool bool, AtomicU8 u8, AtomicI8 i8;
    "16": AtomicU16 u16, AtomicI16 i16;
    "32": AtomicU32 u32, AtomicI32 i32;
    "64": AtomicU64 u64, AtomicI64 i64;
    "ptr": AtomicUsize usize, AtomicIsize isize;
}

impl<T> sealed::Sealed for atomic::AtomicPtr<T> {}

impl<T> Waitable for atomic::AtomicPtr<T> {
    type Value = *mut T;

    #[inline]
    fn holds(&self, value: *mut T) -> bool {
        self.load(Ordering::Acquire) == value
    }
}

/// If the atomic holds `value`, waits until it is woken by [`wake_one`] or [`wake_all`].
///
/// May return early, with the value unchanged.
pub fn wait<A: Waitable>(atomic: &A, value: A::Value) {
    global().wait_if(Key::address(atomic), || atomic.holds(value));
}

/// Like [`wait`], but gives up at `deadline`.
///
/// ```
/// use layby::{WaitOutcome, atomic::wait_deadline};
/// use std::{sync::atomic::AtomicU8, time::{Duration, Instant}};
///
/// let x = AtomicU8::new(7);
/// assert_eq!(wait_deadline(&x, 8, Instant::now()), WaitOutcome::Woken);
/// let deadline = Instant::now() + Duration::from_millis(5);
/// while wait_deadline(&x, 7, deadline) == WaitOutcome::Woken {}
/// assert!(Instant::now() >= deadline);
/// ```
pub fn wait_deadline<A: Waitable>(atomic: &A, value: A::Value, deadline: Instant) -> WaitOutcome {
    global().wait_if_deadline(Key::address(atomic), deadline, || atomic.holds(value))
}

/// Wakes one thread that [waits](wait) on this atomic, the one that has waited longest.
///
/// It is safe to call with a pointer to an atomic that no longer exists.
pub fn wake_one<A: Waitable>(atomic: *const A) {
    global().wake_one(atomic);
}

/// Wakes all threads that [wait] on this atomic.
///
/// It is safe to call with a pointer to an atomic that no longer exists.
pub fn wake_all<A: Waitable>(atomic: *const A) {
    global().wake_all(atomic);
}
