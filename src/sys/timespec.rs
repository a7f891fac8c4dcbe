//! A deadline as Linux's monotonic clock counts it.

use super::clock::monotonic;
use crate::sync::now;
use std::time::Instant;

/// A deadline as the kernel's monotonic clock counts it.
pub(super) enum OnClock {
    Passed,
    At(libc::timespec),
    /// Later than the clock's type can say: forever.
    BeyondTheClock,
}

pub(super) fn on_monotonic_clock(deadline: Instant) -> OnClock {
    let Some(left) = deadline.checked_duration_since(now()).filter(|left| !left.is_zero()) else {
        return OnClock::Passed;
    };
    // What `Instant` counts by.
    let mut clock = monotonic();

    const NANOS_PER_SEC: u32 = 1_000_000_000;
    #[allow(clippy::unnecessary_fallible_conversions, reason = "tv_nsec is 32 bits wide on some targets")]
    let nanos = u32::try_from(clock.tv_nsec).unwrap_or(0) + left.subsec_nanos();
    let carry = u64::from(nanos / NANOS_PER_SEC);
    let seconds_left = left.as_secs().saturating_add(carry);
    // The clock's type has no name here: musl's `time_t` is deprecated.
    let seconds = seconds_left.try_into().ok().and_then(|seconds| clock.tv_sec.checked_add(seconds));
    let Some(seconds) = seconds else { return OnClock::BeyondTheClock };
    // Not made anew: on some targets it has padding that cannot be named.
    (clock.tv_sec, clock.tv_nsec) = (seconds, (nanos % NANOS_PER_SEC) as _);
    OnClock::At(clock)
}

#[cfg(test)]
mod tests {
    use super::{OnClock, monotonic, on_monotonic_clock};
    use std::time::{Duration, Instant};

    fn now() -> Duration {
        since_boot(monotonic())
    }

    fn since_boot(at: libc::timespec) -> Duration {
        assert!((0..1_000_000_000).contains(&at.tv_nsec), "the kernel refuses it");
        Duration::new(at.tv_sec.try_into().unwrap(), at.tv_nsec.try_into().unwrap())
    }

    /// A thread that has the kernel wake it too early does not sleep in the time that is left, but asks again and again.
    #[test]
    fn the_kernel_is_told_the_very_deadline() {
        for nanos in [0, 1, 500_000_000, 999_999_999] {
            let left = Duration::new(3600, nanos);
            let before = now();
            let OnClock::At(at) = on_monotonic_clock(Instant::now() + left) else { panic!("an hour is a long time") };
            assert!((before + left..=now() + left).contains(&since_boot(at)), "{left:?}");
        }
    }
}
