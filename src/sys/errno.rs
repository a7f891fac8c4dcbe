//! The C library's `errno`, which code that a signal handler or a debugger may call leaves as it was: the code that was
//! interrupted may be about to read it.

/// Makes system calls that may fail, without a trace in `errno`.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn kept<R>(calls: impl FnOnce() -> R) -> R {
    #[cfg(target_os = "android")]
    use libc::__errno as errno;
    #[cfg(target_os = "linux")]
    use libc::__errno_location as errno;

    // SAFETY: always allowed; the thread's own, for as long as it lives.
    let place = unsafe { errno() };
    // SAFETY: as above.
    let before = unsafe { *place };
    let result = calls();
    // SAFETY: as above.
    unsafe { *place = before };
    result
}

/// Nothing is promised to signal handlers here.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn kept<R>(calls: impl FnOnce() -> R) -> R {
    calls()
}
