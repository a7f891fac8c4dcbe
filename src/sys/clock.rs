//! The time in milliseconds, for reports: one word, so that an atomic can hold it, and read without lock or allocation.

/// Milliseconds on a monotonic clock, wrapping; 0 where there is no clock to read.
///
/// Where a word has 32 bits it wraps every 49 days.
#[cfg(all(unix, not(layby_model)))]
pub(crate) fn millis() -> usize {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a live timespec, and CLOCK_MONOTONIC is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let millis = (now.tv_sec as usize).wrapping_mul(1000).wrapping_add(now.tv_nsec as usize / 1_000_000);
    millis.max(1)
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
