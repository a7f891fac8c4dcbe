//! A fence for every thread of the process at once, called by one of them: `membarrier` on Linux, `FlushProcessWriteBuffers` on
//! Windows.
//!
//! Costs an interrupt of each CPU that runs a thread of this process: microseconds, for those who are about to sleep anyway.

#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_model, layby_coherence, miri))))]
mod imp {
    use super::super::{errno, nap::nap};
    use std::{sync::OnceLock, time::Duration};

    // linux/membarrier.h
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes numbers only, and touches no memory of ours.
        errno::kept(|| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 })
    }

    /// Registers the process, once: milliseconds, if it has several threads by then.
    pub(crate) fn is_available() -> bool {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        *REGISTERED.get_or_init(|| membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED))
    }

    /// After a failure, how long a store may take to leave its CPU's store buffer. Arbitrary: they hold dozens of stores, each
    /// of which takes less than a microsecond.
    const NAP: Duration = Duration::from_millis(1);

    pub(crate) fn process_fence() {
        // For a fork's child, should its kernel not have handed the registration down.
        let registered_anew = || membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED);
        if membarrier(PRIVATE_EXPEDITED) || registered_anew() {
            return;
        }
        // The call is forbidden since it was first made. Time must do.
        nap(NAP);
    }
}

#[cfg(all(windows, not(any(layby_model, layby_coherence, miri))))]
mod imp {
    use windows_sys::Win32::System::Threading::FlushProcessWriteBuffers;

    pub(crate) fn is_available() -> bool {
        true
    }

    pub(crate) fn process_fence() {
        // SAFETY: always allowed.
        unsafe { FlushProcessWriteBuffers() }
    }
}

#[cfg(any(not(any(target_os = "linux", target_os = "android", windows)), layby_model, layby_coherence, miri))]
mod imp {
    pub(crate) fn is_available() -> bool {
        false
    }

    pub(crate) fn process_fence() {
        unreachable!("there is none here");
    }
}

pub(crate) use imp::{is_available, process_fence};
