//! Linux's futex: private, with absolute deadlines on the monotonic clock.

use super::{
    AtomicU32, Backend, Broadcast, errno,
    timespec::{OnClock, on_monotonic_clock},
};
use crate::counters::{self, Event};
use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicBool};
use core::{
    ffi::{c_int, c_long},
    ptr,
};
use std::{io, time::Instant};

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
    const WAKE_ALL: Option<fn(*const AtomicU32)> = Some(<Self as Broadcast>::wake_all);

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        let at = match deadline.map(on_monotonic_clock) {
            Some(OnClock::Passed) => return,
            Some(OnClock::At(at)) => Some(at),
            Some(OnClock::BeyondTheClock) | None => None,
        };
        counters::count(Event::SleepCall);
        // EAGAIN (the word has changed), EINTR and ETIMEDOUT all mean "look again" to the caller, so the result is of no interest,
        // here or to a C program's `errno`.
        // SAFETY: `word` is alive for the call, and the timespec is null or a live local.
        errno::kept(|| unsafe { futex(word, libc::FUTEX_WAIT_BITSET, expected, at) });
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
    unsafe { futex(word, libc::FUTEX_WAKE, sleepers.cast_unsigned(), None) };
}

/// Whether the C library's time is wider than what `SYS_futex` takes: on 32-bit targets with 64 bits of time. Since Linux 5.1
/// these have another system call for it, and the newest of them have no other. (On x32 every call takes 64 bits of time.)
const TIME64: bool = size_of::<libc::timespec>() > 2 * size_of::<c_long>() && !cfg!(target_arch = "x86_64");

#[allow(clippy::unnecessary_cast, reason = "it has another type on some targets")]
const SYS_FUTEX: c_long = libc::SYS_futex as c_long;

/// Of the system call that takes 64 bits of time, which libc does not have for every target: the same on all but one.
const SYS_FUTEX_TIME64: c_long = if cfg!(any(target_arch = "mips", target_arch = "mips32r6")) { 4422 } else { 422 };

/// # Safety
/// As for `operation`: a word to sleep on is alive for the call.
unsafe fn futex(word: *const AtomicU32, operation: c_int, value: u32, until: Option<libc::timespec>) {
    // SAFETY: by the caller's promise. The timespec is null or a live local, and as the call takes it.
    unsafe {
        if !TIME64 {
            system_call(SYS_FUTEX, word, operation, value, pointer_to(&until));
        } else if !system_call_with_time64(word, operation, value, pointer_to(&until)) {
            let until = until.and_then(OldTimespec::of);
            system_call(SYS_FUTEX, word, operation, value, pointer_to(&until));
        }
    }
}

/// Returns whether there is such a system call. If there is not, `errno` does not say so.
///
/// # Safety
/// As for [`futex`].
unsafe fn system_call_with_time64(
    word: *const AtomicU32,
    operation: c_int,
    value: u32,
    until: *const libc::timespec,
) -> bool {
    static IS_MISSING: AtomicBool = AtomicBool::new(false);
    // Ordering: relaxed; two threads may both find out.
    if IS_MISSING.load(Ordering::Relaxed) {
        return false;
    }
    errno::kept(|| {
        // SAFETY: by the caller's promise.
        let result = unsafe { system_call(SYS_FUTEX_TIME64, word, operation, value, until) };
        // EPERM: a sandbox that does not know the call.
        let is_missing =
            result == -1 && matches!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS | libc::EPERM));
        if is_missing {
            IS_MISSING.store(true, Ordering::Relaxed);
        }
        !is_missing
    })
}

fn pointer_to<T>(value: &Option<T>) -> *const T {
    value.as_ref().map_or(ptr::null(), ptr::from_ref)
}

/// The time that `SYS_futex` takes.
#[repr(C)]
struct OldTimespec {
    seconds: c_long,
    nanos: c_long,
}

impl OldTimespec {
    /// `None` if it is too late: forever.
    #[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions, reason = "not where it is called")]
    fn of(time: libc::timespec) -> Option<Self> {
        Some(Self { seconds: time.tv_sec.try_into().ok()?, nanos: time.tv_nsec.try_into().ok()? })
    }
}

/// # Safety
/// As for [`futex`]; `until` is null, or points to what the system call takes.
unsafe fn system_call<T>(
    number: c_long,
    word: *const AtomicU32,
    operation: c_int,
    value: u32,
    until: *const T,
) -> c_long {
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: by the caller's promise. A wake does not look at the last three.
    unsafe { libc::syscall(number, word, operation, value, until, ptr::null::<u32>(), MATCH_ANY) }
}
