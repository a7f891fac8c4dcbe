//! Atomics that pay for their cache lines: as large as the real ones, and at the same addresses.

use super::{Operation, scheduler};
use core::fmt;
use core::ptr;
use core::sync::atomic as real;
pub use core::sync::atomic::Ordering;

/// Pays for the line that an operation needs.
fn touch<T>(place: &T, operation: Operation) {
    scheduler::access(ptr::from_ref(place).addr(), operation);
}

/// A fence. It costs time and moves no line.
pub fn fence(order: Ordering) {
    scheduler::spend(|costs| costs.fence);
    real::fence(order);
}

macro_rules! updates {
    ($value:ty: $($name:ident)+) => { $(
        #[doc = concat!("Like `", stringify!($name), "` of the real one.")]
        pub fn $name(&self, value: $value, order: Ordering) -> $value {
            touch(self, Operation::Update);
            self.0.$name(value, order)
        }
    )+ };
}

macro_rules! every_atomic {
    ($real:ident, $value:ty $(, $of:ident)?) => {
        impl$(<$of>)? $real$(<$of>)? {
            /// An atomic with this value. Making it costs nothing.
            pub const fn new(value: $value) -> Self {
                Self(real::$real::new(value))
            }

            /// Like `load` of the real one.
            pub fn load(&self, order: Ordering) -> $value {
                touch(self, Operation::Load);
                self.0.load(order)
            }

            /// Like `store` of the real one.
            pub fn store(&self, value: $value, order: Ordering) {
                touch(self, Operation::Store);
                self.0.store(value, order);
            }

            updates!($value: swap);

            /// Like `compare_exchange` of the real one.
            #[allow(clippy::missing_errors_doc, reason = "the real one's")]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                touch(self, Operation::Update);
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Like [`compare_exchange`](Self::compare_exchange): with spurious failures, runs would differ.
            #[allow(clippy::missing_errors_doc, reason = "the real one's")]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
        }

        impl$(<$of>)? fmt::Debug for $real$(<$of>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

macro_rules! integers {
    ($($real:ident $value:ty)+) => { $(
        #[doc = concat!("An `", stringify!($real), "` that pays for its cache line.")]
        #[repr(transparent)]
        pub struct $real(real::$real);

        every_atomic!($real, $value);

        impl Default for $real {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl $real {
            updates!($value: fetch_add fetch_sub fetch_or fetch_and fetch_max);

            /// Like `fetch_update` of the real one: a load, and a compare-and-swap for each attempt.
            #[allow(clippy::missing_errors_doc, reason = "the real one's")]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut seen = self.load(failure);
                while let Some(new) = change(seen) {
                    match self.compare_exchange_weak(seen, new, success, failure) {
                        Ok(before) => return Ok(before),
                        Err(now) => seen = now,
                    }
                }
                Err(seen)
            }
        }
    )+ };
}

integers! { AtomicU32 u32 AtomicU64 u64 AtomicUsize usize }

/// An `AtomicPtr` that pays for its cache line.
#[repr(transparent)]
pub struct AtomicPtr<T>(real::AtomicPtr<T>);

every_atomic!(AtomicPtr, *mut T, T);

/// A cell whose accesses are loads and stores.
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        touch(self, Operation::Load);
        f(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        touch(self, Operation::Store);
        f(self.0.get())
    }
}
