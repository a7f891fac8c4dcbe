//! What the tests share: a watchdog, tallies, tables and homes of their own, every form of waiting under one name,
//! queues of threads, children, and backends that count.

#![allow(dead_code, unused_macros, unused_imports, reason = "each test binary uses its own part")]

#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_park, layby_no_fork))))]
pub(crate) mod child;
mod forms;
pub(crate) mod homes;
pub(crate) mod process;
mod queue;
mod rally;
mod random;
mod rest;
mod shared;
pub(crate) mod task;
mod watchdog;

pub(crate) use forms::Form;
pub(crate) use homes::{home, on_every_backend};
pub(crate) use queue::Queue;
pub(crate) use rally::Rally;
pub(crate) use random::Random;
pub(crate) use rest::assert_at_rest;
pub(crate) use shared::Shared;
pub(crate) use watchdog::{divisor, watchdog};

use layby::{
    WaitTable,
    sys::{Backend, Native},
};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// A count that shrinks under emulation, but never so far that the test loses its meaning.
pub(crate) fn scaled(count: usize) -> usize {
    (count / divisor()).max(count.min(4))
}

/// How many threads: under Miri, where one takes as long as hundreds elsewhere, a few.
pub(crate) const fn few(count: usize) -> usize {
    if cfg!(miri) && count > 4 { 4 } else { count }
}

/// Which of so many cases a test goes through: all of them, or some, under emulation. The stride is odd, so that cases made of bits
/// differ in all of them.
pub(crate) fn sampled(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by((count / scaled(count)) | 1)
}

pub(crate) fn number_from_environment(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|number| number.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// How long a test goes on that repeats itself for as long as one likes.
pub(crate) fn soak_duration() -> Duration {
    Duration::from_secs(number_from_environment("LAYBY_SOAK_SECONDS").unwrap_or(2) as u64)
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

/// A table that is never dropped, as the forms need that leave an element behind.
pub(crate) fn leaked(slots: usize) -> &'static WaitTable {
    leaked_on::<Native>(slots)
}

/// Like [`leaked`], on any backend.
pub(crate) fn leaked_on<B: Backend>(slots: usize) -> &'static WaitTable<B> {
    Box::leak(Box::new(WaitTable::with_slots_in(slots)))
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

/// Defines a backend over the platform's own that counts its calls. Each test has its own: the counts are statics.
///
/// `waits().reaches(n)` means that n threads sleep or are about to: each is published, and its gate says so.
macro_rules! counting_backend {
    ($name:ident $(, spins = $spins:literal)?) => {
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

        // SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
        #[allow(unsafe_code)]
        unsafe impl layby::sys::Backend for $name {
            const NAME: &'static str = stringify!($name);
            $(const SPINS: bool = $spins;)?
            const WAKE_ALL: Option<fn(*const layby::sys::AtomicU32)> =
                Some(<Self as layby::paper::Broadcast>::wake_all);

            fn wait(word: &layby::sys::AtomicU32, expected: u32, deadline: Option<std::time::Instant>) {
                Self::waits().add();
                layby::sys::Native::wait(word, expected, deadline);
            }

            fn wake(word: *const layby::sys::AtomicU32) {
                Self::wakes().add();
                layby::sys::Native::wake(word);
            }
        }

        impl layby::paper::Broadcast for $name {
            fn wake_all(word: *const layby::sys::AtomicU32) {
                Self::wakes().add();
                <layby::sys::Native as layby::paper::Broadcast>::wake_all(word);
            }
        }
    };
}
pub(crate) use counting_backend;

/// Has a conservative post grant a ticket that was given up before another's. From then on all who wait, and all who give up, look for
/// such tickets before their own.
pub(crate) fn a_granted_ticket_was_given_up() {
    let (semaphore, gives_up) = (layby::sema::Semaphore::new(0), layby::Cancel::new());
    thread::scope(|s| {
        let first = s.spawn(|| semaphore.take_within(&gives_up));
        eventually(|| semaphore.waiters() == 1);
        s.spawn(|| semaphore.take());
        eventually(|| semaphore.waiters() == 2);
        gives_up.cancel();
        assert!(first.join().unwrap().is_err());
        semaphore.post_conservatively();
    });
}
