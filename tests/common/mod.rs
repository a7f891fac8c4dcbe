//! What the tests share: a watchdog, tallies, every form of waiting under one name, and backends that count.

#![allow(dead_code, unused_macros, unused_imports, reason = "each test binary uses its own part")]

mod forms;
mod rally;

pub(crate) use forms::Form;
pub(crate) use rally::Rally;

use std::{
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// By how much counts shrink, from the environment: 1 on real hardware, 10 or so under emulation.
fn divisor() -> usize {
    std::env::var("LAYBY_TEST_SCALE")
        .map_or(1, |scale| scale.parse().expect("LAYBY_TEST_SCALE must be a number"))
        .max(1)
}

/// A count that shrinks under emulation, but never so far that the test loses its meaning.
pub(crate) fn scaled(count: usize) -> usize {
    (count / divisor()).max(count.min(4))
}

/// Aborts the process when a test hangs, which is what a lost wake-up looks like. Disarmed on drop.
#[must_use = "the watchdog is disarmed when it is dropped"]
pub(crate) struct Watchdog(#[allow(dead_code, reason = "its end is the signal")] mpsc::Sender<()>);

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

/// Returns when `holds` does.
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

/// A count that others wait for.
#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicUsize);

impl Tally {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Returns when the count is at least `count`.
    pub(crate) fn reaches(&self, count: usize) {
        eventually(|| self.get() >= count);
    }
}

/// The last instant, give or take a second, that the clock can represent.
pub(crate) fn end_of_time() -> Instant {
    let mut at = Instant::now();
    let mut step = Duration::from_secs(u64::MAX / 2);
    while step >= Duration::from_secs(1) {
        match at.checked_add(step) {
            Some(later) => at = later,
            None => step /= 2,
        }
    }
    at
}

/// Small, quick, and different for each seed: Marsaglia's xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: usize) -> Self {
        Self((seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as usize) % bound
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Defines a backend over the platform's own that counts its calls. Each test has its own, for the counts are statics.
///
/// `waits().reaches(n)` means that n threads sleep or are about to: each is published, and its gate says so.
macro_rules! counting_backend {
    ($name:ident) => {
        #[derive(Debug)]
        struct $name;

        impl $name {
            fn waits() -> &'static $crate::common::Tally {
                static WAITS: $crate::common::Tally = $crate::common::Tally::new();
                &WAITS
            }

            #[allow(dead_code, reason = "not every test looks at both")]
            fn wakes() -> &'static $crate::common::Tally {
                static WAKES: $crate::common::Tally = $crate::common::Tally::new();
                &WAKES
            }
        }

        impl layby::sys::Backend for $name {
            const NAME: &'static str = stringify!($name);

            fn wait(word: &layby::sys::AtomicU32, expected: u32, deadline: Option<std::time::Instant>) {
                Self::waits().add();
                layby::sys::Native::wait(word, expected, deadline);
            }

            fn wake(word: *const layby::sys::AtomicU32) {
                Self::wakes().add();
                layby::sys::Native::wake(word);
            }
        }
    };
}
pub(crate) use counting_backend;
