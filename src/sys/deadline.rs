//! Time: absolute deadlines on the monotonic clock.

pub(crate) use crate::sync::now;
use std::time::{Duration, Instant};

/// The deadline `timeout` from now; `None`, for ever, if the clock cannot represent it.
pub(crate) fn after(timeout: Duration) -> Option<Instant> {
    now().checked_add(timeout)
}

/// Whether `deadline` has passed. Only this, and no return of a kernel, makes a timeout.
#[cfg(not(any(layby_loom, layby_shuttle)))]
pub(crate) fn passed(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|at| at <= now())
}

#[cfg(any(layby_loom, layby_shuttle))]
pub(crate) use crate::sync::model::passed;

/// A deadline as the kernel's monotonic clock counts it.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_loom, layby_shuttle))))]
pub(crate) enum OnClock {
    Passed,
    At(libc::timespec),
    /// Later than the clock's type can say: for ever.
    BeyondTheClock,
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_loom, layby_shuttle))))]
pub(crate) fn on_monotonic_clock(deadline: Instant) -> OnClock {
    let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
        return OnClock::Passed;
    };
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a live timespec. CLOCK_MONOTONIC is always there, and is what `Instant` counts by.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };

    const NANOS_PER_SEC: u32 = 1_000_000_000;
    #[allow(clippy::unnecessary_fallible_conversions, reason = "tv_nsec is 32 bits wide on some targets")]
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0) + left.subsec_nanos();
    let carry = u64::from(nanos / NANOS_PER_SEC);
    let seconds_left = left.as_secs().saturating_add(carry);
    // The clock's type has no name here: musl's `time_t` is deprecated.
    let seconds = seconds_left.try_into().ok().and_then(|seconds| now.tv_sec.checked_add(seconds));
    match seconds {
        Some(tv_sec) => OnClock::At(libc::timespec { tv_sec, tv_nsec: (nanos % NANOS_PER_SEC) as _ }),
        None => OnClock::BeyondTheClock,
    }
}
