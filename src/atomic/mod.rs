//! Wait on an atomic of any width until it changes: the crate `atomic-wait`'s functions, and deadlines.
//!
//! [`wait`], [`wake_one`] and [`wake_all`] work for every atomic of the standard library, pointers included, because what is
//! hashed is the address. In a program that uses the crate `atomic-wait`, take those of [`atomic::u32`](self::u32): its imports
//! are all there is to change. The generic ones are called in the same way, except that the compiler derefs nothing for a
//! generic function: of an `Arc<AtomicU32>` they take `&*arc`, and of `ptr::null()` they want to know the type.
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
use crate::wait_table::{AtHome, Global, Key, Moment, Purpose, WaitOutcome, Waiting, global};
use core::sync::atomic::{self, Ordering};
use std::time::Instant;

pub mod u32;

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

/// Like [`wait`], but gives up at `deadline` ([how late](crate::wait_table#deadlines)).
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
#[must_use = "says whether the deadline has passed"]
pub fn wait_deadline<A: Waitable>(atomic: &A, value: A::Value, deadline: Instant) -> WaitOutcome {
    global().wait_if_deadline(Key::address(atomic), deadline, || atomic.holds(value))
}

/// Waits in a task until the atomic does not hold `value` any more. It is woken by [`wake_one`] and [`wake_all`], and stands in
/// line with threads that [wait].
///
/// The value is compared when the future is polled, so one that changes back before is not seen.
///
/// ```
/// use layby::atomic::{wait_async, wake_one};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// async fn changed(version: &AtomicU32) -> u32 {
///     wait_async(version, 0).await;
///     version.load(Ordering::Acquire)
/// }
/// # let version = AtomicU32::new(0);
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let mut future = std::pin::pin!(changed(&version));
/// # assert!(future.as_mut().poll(&mut context).is_pending());
/// version.store(1, Ordering::Release);
/// wake_one(&version);
/// # assert_eq!(future.as_mut().poll(&mut context), std::task::Poll::Ready(1));
/// ```
#[track_caller]
pub fn wait_async<A: Waitable>(atomic: &A, value: A::Value) -> WaitAsync<'_, A> {
    Waiting::new(AtHome::NEW, Key::address(atomic), true, WhileItHolds { atomic, value })
}

/// The future of [`wait_async`].
pub type WaitAsync<'a, A> = Waiting<AtHome<Global>, WhileItHolds<'a, A>>;

/// What [`wait_async`] waits for: that the atomic does not hold the value.
#[derive(Debug)]
pub struct WhileItHolds<'a, A: Waitable> {
    atomic: &'a A,
    value: A::Value,
}

impl<A: Waitable> Purpose for WhileItHolds<'_, A> {
    type Output = ();

    fn attempt(&mut self, _: Moment, _: Option<Key>) -> Option<()> {
        (!self.atomic.holds(self.value)).then_some(())
    }
}

/// Wakes one that [waits](wait) on this atomic: the thread that has waited longest, or if there is none, the
/// [task](wait_async).
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
