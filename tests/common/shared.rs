//! Something without an owner that the compiler knows of: for tests in which the last to use a thing frees it.

#![allow(unsafe_code, reason = "what is freed while somebody else still returns from it")]

pub(crate) struct Shared<T>(*const T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

// SAFETY: what it refers to is `Sync`, and may be dropped by any thread.
unsafe impl<T: Send + Sync> Send for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Box::into_raw(Box::new(value)))
    }

    /// # Safety
    /// It is not freed while the reference is used, except by one who was let go by that use.
    pub(crate) unsafe fn get<'a>(self) -> &'a T {
        // SAFETY: the caller's.
        unsafe { &*self.0 }
    }

    /// # Safety
    /// Nobody else uses it any more, except to return from the use that let the caller go.
    pub(crate) unsafe fn free(self) {
        // SAFETY: made by `Box`, freed once.
        drop(unsafe { Box::from_raw(self.0.cast_mut()) });
    }
}
