//! For tests that may hang.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// Aborts the process when a test hangs, which is what a lost wake-up looks like. Disarmed on drop.
#[must_use = "the watchdog is disarmed when it is dropped"]
pub(crate) struct Watchdog(#[allow(dead_code, reason = "its end is the signal")] mpsc::Sender<()>);

/// By how much counts shrink, from the environment: 1 on real hardware, 10 or so under emulation.
pub(crate) fn divisor() -> usize {
    std::env::var("LAYBY_TEST_SCALE")
        .map_or(1, |scale| scale.parse().expect("LAYBY_TEST_SCALE must be a number"))
        .max(1)
}

/// How long a watchdog waits: far longer than any test takes on any machine, unless the environment says otherwise.
fn patience() -> Duration {
    let seconds = std::env::var("LAYBY_TEST_PATIENCE")
        .map_or(180, |seconds| seconds.parse().expect("LAYBY_TEST_PATIENCE must be a number of seconds"));
    Duration::from_secs(seconds) * u32::try_from(divisor()).unwrap_or(u32::MAX)
}

pub(crate) fn watchdog() -> Watchdog {
    let (disarm, disarmed) = mpsc::channel();
    let test = thread::current().name().unwrap_or("a test").to_owned();
    thread::spawn(move || {
        if disarmed.recv_timeout(patience()) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{test} hangs: a lost wake-up, or an assertion failed while others waited (see --nocapture)");
            std::process::abort();
        }
    });
    Watchdog(disarm)
}
