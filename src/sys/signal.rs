//! Running a report when a signal comes.

use std::io;

/// A report that allocates nothing, takes no lock, does not panic and leaves `errno` alone, so that a signal handler may make
/// it.
pub(crate) trait SignalSafe {
    fn report();
}

/// Has the report made in the handler of `signal` from now on, by whichever thread gets it.
///
/// Only where the platform's own backend wakes without a lock; elsewhere an error. Nor for a fault: after its handler
/// returns, the instruction that faulted would do so again, forever, where the process was to die. (POSIX leaves it
/// undefined.) Nor where another handler would never run again.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_park, layby_model))))]
pub(crate) fn on_signal<R: SignalSafe>(signal: i32) -> io::Result<()> {
    let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    match signal {
        libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE => {
            return refuse("layby: a handler for SIGSEGV, SIGBUS, SIGILL or SIGFPE must not return, and a report does");
        }
        libc::SIGKILL | libc::SIGSTOP => return refuse("layby: SIGKILL and SIGSTOP cannot be handled"),
        _ => {}
    }

    extern "C" fn handle<R: SignalSafe>(_: libc::c_int) {
        R::report();
    }

    let ours = handle::<R> as *const () as usize;
    // SAFETY: an all-zero sigaction is a valid one with an empty mask, and a place for another.
    let (mut action, mut before) = unsafe { core::mem::zeroed::<(libc::sigaction, libc::sigaction)>() };
    action.sa_sigaction = ours;
    // The interrupted code need not notice.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: a place to write to.
    if unsafe { libc::sigaction(signal, core::ptr::null(), &raw mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if ![libc::SIG_DFL, libc::SIG_IGN, ours].contains(&before.sa_sigaction) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "layby: the signal has a handler already"));
    }
    // SAFETY: the handler does only what a handler may, by the promise of `SignalSafe`.
    let result = unsafe { libc::sigaction(signal, &raw const action, core::ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(any(not(any(target_os = "linux", target_os = "android")), layby_park, layby_model))]
pub(crate) fn on_signal<R: SignalSafe>(_signal: i32) -> io::Result<()> {
    let _unused: fn() = R::report;
    Err(io::ErrorKind::Unsupported.into())
}
