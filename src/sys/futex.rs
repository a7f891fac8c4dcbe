//! Linux's futex: private, with absolute deadlines on the monotonic clock.

use super::{
    AtomicU32, Backend, Broadcast,
    timespec::{OnClock, on_monotonic_clock},
};
use crate::counters::{self, Event};
use core::{ffi::c_int, ptr};
use std::time::Instant;

/// FUTEX_BITSET_MATCH_ANY, which libc does not have for Android.
const MATCH_ANY: u32 = u32::MAX;

/// Sleeps by `futex(2)`.
///
/// Futexes are private to the process. Waking a stale address is harmless: the kernel hashes a private futex's address
/// without reading it, and wakes whatever thread sleeps there, which checks its own word.
#[derive(Debug, Clone, Copy)]
pub struct Futex;

// SAFETY: system calls alone, which neither write to the word nor unwind.
unsafe impl Backend for Futex {
    const NAME: &'static str = "futex";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        let at = match deadline.map(on_monotonic_clock) {
            Some(OnClock::Passed) => return,
            Some(OnClock::At(at)) => Some(at),
            Some(OnClock::BeyondTheClock) | None => None,
        };
        counters::count(Event::SleepCall);
        // SAFETY: `word` is alive for the call, and the timespec is null or a live local. EAGAIN (the word has
        // changed), EINTR and ETIMEDOUT all mean "look again" to the caller, so the result is of no interest.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                ptr::from_ref(word),
                libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
                expected,
                at.as_ref().map_or(ptr::null(), ptr::from_ref),
                ptr::null::<u32>(),
                MATCH_ANY,
            );
        }
    }

    fn wake(word: *const AtomicU32) {
        wake_at_most(word, 1);
    }
}

impl Broadcast for Futex {
    fn wake_all(word: *const AtomicU32) {
        wake_at_most(word, c_int::MAX);
    }
}

fn wake_at_most(word: *const AtomicU32, sleepers: c_int) {
    counters::count(Event::WakeCall);
    // SAFETY: FUTEX_WAKE on a private futex takes the address as a name and does not touch the memory behind it.
    unsafe {
        libc::syscall(libc::SYS_futex, word.addr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, sleepers);
    }
}
