//! The time in milliseconds, for reports: one word, so that an atomic can hold it, and read without lock or allocation.

/// Milliseconds on a monotonic clock, wrapping; 0 where there is no clock to read.
///
/// Where a word has 32 bits it wraps every 49 days.
#[cfg(all(unix, not(layby_model), any(feature = "mutex", not(any(target_os = "linux", target_os = "android")))))]
pub(crate) fn millis() -> usize {
    let now = monotonic();
    let millis = (now.tv_sec as usize).wrapping_mul(1000).wrapping_add(now.tv_nsec as usize / 1_000_000);
    millis.max(1)
}

/// The same to a few milliseconds, where that is cheaper: for who stamps the time on a path that counts its nanoseconds.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
pub(crate) fn coarse_millis() -> usize {
    let now = read(libc::CLOCK_MONOTONIC_COARSE);
    let millis = (now.tv_sec as usize).wrapping_mul(1000).wrapping_add(now.tv_nsec as usize / 1_000_000);
    millis.max(1)
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(layby_model))))]
pub(crate) use millis as coarse_millis;

/// The system's monotonic clock.
#[cfg(all(unix, not(layby_model)))]
pub(super) fn monotonic() -> libc::timespec {
    read(libc::CLOCK_MONOTONIC)
}

#[cfg(all(unix, not(layby_model)))]
fn read(clock: libc::clockid_t) -> libc::timespec {
    // SAFETY: an all-zero timespec is a valid one; on some targets it has padding that cannot be named. A clock that is not there
    // leaves it so.
    unsafe {
        let mut now = core::mem::zeroed();
        libc::clock_gettime(clock, &raw mut now);
        now
    }
}

#[cfg(all(windows, not(layby_model)))]
pub(crate) fn millis() -> usize {
    // SAFETY: always allowed.
    let millis = unsafe { windows_sys::Win32::System::SystemInformation::GetTickCount64() };
    (millis as usize).max(1)
}

/// A model must do the same in every execution. Elsewhere std's clock may be missing, and panic.
#[cfg(any(layby_model, not(any(unix, windows))))]
pub(crate) fn millis() -> usize {
    0
}
