//! What ends a wait besides what it waits for: a deadline as a C `timespec`, and a flag.

use crate::outcome::{Code, unless};
use layby::{Cancel, Limit};
use libc::{EINVAL, timespec};
use std::{ffi::c_int, time::Duration};

/// `layby_cancel_t`.
pub type layby_cancel_t = Cancel;

// LAYBY_CANCEL_INIT, and the header's own assertions.
const _: () = {
    assert!(size_of::<Cancel>() == 4 && align_of::<Cancel>() == 4);
    // SAFETY: of one size; any bits are a u32.
    assert!(unsafe { std::mem::transmute::<Cancel, u32>(Cancel::new()) } == 0);
};

/// Ends every wait that `cancel` is the limit of, until it is reset.
///
/// # Safety
/// `cancel` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_cancel_raise(cancel: *const layby_cancel_t) {
    // SAFETY: by the caller's promise.
    unsafe { &*cancel }.cancel();
}

/// Whether it has been raised.
///
/// # Safety
/// `cancel` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_cancel_is_raised(cancel: *const layby_cancel_t) -> c_int {
    // SAFETY: by the caller's promise.
    c_int::from(unsafe { &*cancel }.is_cancelled())
}

/// Makes it as new; returns whether it had been raised.
///
/// # Safety
/// `cancel` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_cancel_reset(cancel: *const layby_cancel_t) -> c_int {
    // SAFETY: by the caller's promise.
    c_int::from(unsafe { &*cancel }.reset())
}

/// Sets `deadline` to so many nanoseconds from now; to the end of time if the clock cannot represent that.
///
/// # Safety
/// `deadline` points to a timespec that may be written.
#[unsafe(no_mangle)]
#[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions, reason = "narrower on some targets")]
pub unsafe extern "C" fn layby_deadline_after(deadline: *mut timespec, nanoseconds: u64) {
    let at = since_boot().saturating_add(Duration::from_nanos(nanoseconds));
    let seconds = at.as_secs().try_into().unwrap_or(libc::time_t::MAX);
    // SAFETY: an all-zero timespec is a valid one; on some targets it has padding that cannot be named.
    let mut written: timespec = unsafe { std::mem::zeroed() };
    written.tv_sec = seconds;
    // Below 10^9: it fits any long.
    written.tv_nsec = at.subsec_nanos() as _;
    // SAFETY: by the caller's promise.
    unsafe { deadline.write(written) };
}

/// The limit of a wait that ends at `deadline`, by `cancel`, or by neither if they are null. EINVAL for a deadline that is none.
///
/// # Safety
/// Each of the two is null or points to an object that is initialised, and alive as long as the limit.
pub(crate) unsafe fn limit<'a>(deadline: *const timespec, cancel: *const Cancel) -> Result<Limit<'a>, Code> {
    // SAFETY: by the caller's promise, both.
    let (deadline, cancel) = unsafe { (deadline.as_ref(), cancel.as_ref()) };
    let time = match deadline {
        Some(deadline) => Limit::from(time_left(deadline)?),
        None => Limit::NONE,
    };
    Ok(match cancel {
        Some(cancel) => time.or(cancel),
        None => time,
    })
}

/// How long it is until `deadline`. The crate reads its clock when it is told, which is later: so a wait may end that much later,
/// but never early.
#[allow(clippy::unnecessary_cast, reason = "of another type on some targets")]
fn time_left(deadline: &timespec) -> Result<Duration, Code> {
    let nanos = deadline.tv_nsec as i64;
    unless(!(0..1_000_000_000).contains(&nanos), EINVAL)?;
    // One before the clock began has passed.
    let at = u64::try_from(deadline.tv_sec).map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanos as u32));
    Ok(at.saturating_sub(since_boot()))
}

/// CLOCK_MONOTONIC.
#[cfg(unix)]
#[allow(clippy::unnecessary_cast, reason = "of another type on some targets")]
fn since_boot() -> Duration {
    // SAFETY: an all-zero timespec is a valid one, and alive for the call. A clock that is not there leaves it so.
    let now = unsafe {
        let mut now: timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        now
    };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What MinGW's `clock_gettime` reads as CLOCK_MONOTONIC.
#[cfg(windows)]
fn since_boot() -> Duration {
    use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
    let (mut count, mut frequency) = (0_i64, 0_i64);
    // SAFETY: both are live locals. Neither call fails since Windows XP.
    unsafe {
        QueryPerformanceCounter(&raw mut count);
        QueryPerformanceFrequency(&raw mut frequency);
    }
    let (count, frequency) = (count.cast_unsigned(), frequency.cast_unsigned().max(1));
    let nanos = u128::from(count % frequency) * 1_000_000_000 / u128::from(frequency);
    Duration::new(count / frequency, nanos as u32)
}
