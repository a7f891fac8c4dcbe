//! Signals that wait while a thread must not be interrupted.

use core::{ffi::c_int, mem::MaybeUninit, ptr};

/// All signals of the calling thread are blocked that can be.
pub(crate) struct SignalsBlocked {
    before: libc::sigset_t,
}

impl SignalsBlocked {
    pub(crate) fn begin() -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first call writes the first set, the second call the other.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Self { before: before.assume_init() }
        }
    }

    pub(crate) fn end(self) {
        // SAFETY: a set that the C library has written.
        let restored: c_int =
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
        debug_assert_eq!(restored, 0);
    }
}
