//! Windows' WaitOnAddress: the futex of Windows 8 and later.

use super::{AtomicU32, Backend, Broadcast};
use crate::counters::{self, Event};
use crate::sync::now;
use core::{mem, ptr};
use std::time::{Duration, Instant};
use windows_sys::Win32::System::Threading::{
    INFINITE, WaitOnAddress as wait_on_address, WakeByAddressAll, WakeByAddressSingle,
};

/// Sleeps by `WaitOnAddress`. It takes 1, 2, 4 or 8 bytes; a gate has four, whatever its user waits for.
///
/// Its time-outs are relative, in milliseconds, and as coarse as the system's timer (15.6 ms unless a program has asked
/// for less): a deadline is never early but may be that late, and later by the time that the machine was suspended,
/// which does not count towards a relative time-out. Waking a stale address is harmless: `WakeByAddressSingle` uses the
/// address as a name only, and `WaitOnAddress` is documented to return early, also by a wake-up meant for an earlier
/// owner of the address. Both are there since Windows 8 and are bound when the program is loaded, so they may be called
/// while a thread or a DLL is being detached.
#[derive(Debug, Clone, Copy)]
pub struct WaitOnAddress;

// SAFETY: system calls alone, which neither write to the word nor unwind.
unsafe impl Backend for WaitOnAddress {
    const NAME: &'static str = "wait_on_address";
    const WAKE_ALL: Option<fn(*const AtomicU32)> = Some(<Self as Broadcast>::wake_all);

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        let millis = match deadline {
            None => INFINITE,
            Some(at) => match at.checked_duration_since(now()) {
                None | Some(Duration::ZERO) => return,
                Some(left) => millis_rounded_up(left),
            },
        };
        counters::count(Event::SleepCall);
        // SAFETY: both pointers are live for the call and four bytes wide. FALSE means a time-out (`GetLastError` says
        // ERROR_TIMEOUT) or a failure; either way the caller looks at its word and the clock, which know better: the
        // time-out may be early by the clock that `Instant` reads.
        unsafe {
            wait_on_address(ptr::from_ref(word).cast(), ptr::from_ref(&expected).cast(), mem::size_of::<u32>(), millis);
        }
    }

    fn wake(word: *const AtomicU32) {
        counters::count(Event::WakeCall);
        // SAFETY: the address is a name only; the memory behind it is not touched.
        unsafe { WakeByAddressSingle(word.cast()) }
    }
}

impl Broadcast for WaitOnAddress {
    fn wake_all(word: *const AtomicU32) {
        counters::count(Event::WakeCall);
        // SAFETY: the address is a name only; the memory behind it is not touched.
        unsafe { WakeByAddressAll(word.cast()) }
    }
}

/// Rounds up, so that the wait does not end a fraction of a millisecond early and spin through it; a time too long for
/// the argument becomes the longest finite one, after which the caller waits again.
fn millis_rounded_up(left: Duration) -> u32 {
    let millis = left.as_nanos().div_ceil(1_000_000);
    u32::try_from(millis).unwrap_or(INFINITE - 1).min(INFINITE - 1)
}
