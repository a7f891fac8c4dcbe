//! Running a report when a signal comes.

use std::io;

/// A report that allocates nothing, takes no lock and does not panic, so that a signal handler may make it.
pub(crate) trait SignalSafe {
    fn report();
}

/// Has the report made in the handler of `signal` from now on, by whichever thread gets it.
///
/// Only where the platform's own backend wakes without a lock; elsewhere an error.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_park, layby_model))))]
pub(crate) fn on_signal<R: SignalSafe>(signal: i32) -> io::Result<()> {
    #[cfg(target_os = "android")]
    use libc::__errno as errno;
    #[cfg(target_os = "linux")]
    use libc::__errno_location as errno;

    extern "C" fn handle<R: SignalSafe>(_: libc::c_int) {
        // SAFETY: the thread's own errno, which the interrupted code may be about to read.
        let before = unsafe { *errno() };
        R::report();
        // SAFETY: as above.
        unsafe { *errno() = before };
    }

    // SAFETY: an all-zero sigaction is a valid one with an empty mask. The handler restores errno and does only what a
    // handler may, by the promise of `SignalSafe`. SA_RESTART: the interrupted code need not notice.
    let result = unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handle::<R> as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, core::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(any(not(any(target_os = "linux", target_os = "android")), layby_park, layby_model))]
pub(crate) fn on_signal<R: SignalSafe>(_signal: i32) -> io::Result<()> {
    let _unused: fn() = R::report;
    Err(io::ErrorKind::Unsupported.into())
}
