//! Time: absolute deadlines on the monotonic clock.

pub(crate) use crate::sync::now;
use std::time::{Duration, Instant};

/// The deadline `timeout` from now; `None`, for ever, if the clock cannot represent it.
pub(crate) fn after(timeout: Duration) -> Option<Instant> {
    now().checked_add(timeout)
}

/// Whether `deadline` has passed. Only this, and no return of a kernel, makes a timeout.
#[cfg(not(layby_model))]
pub(crate) fn passed(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|at| at <= now())
}

#[cfg(layby_model)]
pub(crate) use crate::sync::model::passed;

/// A deadline as the kernel's monotonic clock counts it.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
pub(crate) enum OnClock {
    Passed,
    At(libc::timespec),
    /// Later than the clock's type can say: for ever.
    BeyondTheClock,
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
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

#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(layby_model)))]
mod tests {
    use super::*;

    fn monotonic() -> Duration {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: as above.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        since_boot(now)
    }

    fn since_boot(at: libc::timespec) -> Duration {
        assert!((0..1_000_000_000).contains(&at.tv_nsec), "the kernel refuses it");
        Duration::new(at.tv_sec.try_into().unwrap(), at.tv_nsec.try_into().unwrap())
    }

    /// Whoever has the kernel wake it too early does not sleep in the time that is left, but asks again and again.
    #[test]
    fn the_kernel_is_told_the_very_deadline() {
        for nanos in [0, 1, 500_000_000, 999_999_999] {
            let left = Duration::new(3600, nanos);
            let before = monotonic();
            let OnClock::At(at) = on_monotonic_clock(Instant::now() + left) else { panic!("an hour is a long time") };
            assert!((before + left..=monotonic() + left).contains(&since_boot(at)), "{left:?}");
        }
    }
}
