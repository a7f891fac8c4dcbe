//! How a thread sleeps so that a signal handler, a time on either clock, or a cancellation ends its wait.
//!
//! A take keeps its place in line until its limit is reached, a [`Cancel`] of the thread's own. The thread sleeps by a futex
//! call that is given the caller's clock and time, and that fails when a handler without `SA_RESTART` has run. The backend
//! sees why, notes it, and raises the flag:
//!
//! ```text
//! take: draws a ticket, publishes itself for it and for the flag, sleeps
//!     backend: futex call; ETIMEDOUT or EINTR: note it, raise the flag, which opens the gate that the thread sleeps on
//! take: the gate is open; no permit; the flag is raised: leaves the line
//! ```
//!
//! So what ends a sleep is what ends the C library's: a handler that runs before the thread sleeps does not, and with a time
//! one with `SA_RESTART` does, because the kernel does not restart such a call.

use crate::{report, threads::Listed};
use core::{
    cell::Cell,
    ffi::{c_int, c_long},
    ptr,
    sync::atomic::AtomicU32,
};
use layby::{
    Cancel,
    sema::Semaphore,
    sys::{Backend, Futex},
    wait_table::{Home, Slots, WaitTable},
};
use libc::timespec;

/// Until when a thread sleeps, as its caller has said.
#[derive(Clone, Copy)]
pub(crate) struct Until {
    pub(crate) time: timespec,
    pub(crate) is_real_time: bool,
}

/// Why a wait ended without a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    TimedOut,
    Interrupted,
    Cancelled,
}

/// A wait that is going on.
#[derive(Clone, Copy)]
struct Wait {
    until: Option<Until>,
    /// What the backend has seen end it.
    stopped: Option<Stop>,
}

/// What a thread has of its own: there from its start to its end, with nothing to drop.
pub(crate) struct Thread {
    /// Raised by the backend, in the thread itself, or by who cancels the thread.
    pub(crate) cancel: Cancel,
    pub(crate) listed: Listed,
    wait: Cell<Option<Wait>>,
}

thread_local! {
    static THREAD: Thread =
        const { Thread { cancel: Cancel::new(), listed: Listed::new(), wait: Cell::new(None) } };
}

impl Thread {
    /// The calling thread, which is there for as long as it runs.
    pub(crate) fn current() -> *const Self {
        THREAD.with(ptr::from_ref)
    }

    /// Takes a permit, unless something ends the wait first. The caller has lowered the flag.
    ///
    /// A signal handler may come here while its thread waits already. What has ended the outer wait does so when this is over.
    pub(crate) fn take(&self, semaphore: &Semaphore<Sleep>, until: Option<Until>) -> Result<(), Stop> {
        report::WAITS.count();
        let outer = self.wait.replace(Some(Wait { until, stopped: None }));
        let ended = semaphore.take_within(&self.cancel);
        let wait = self.wait.replace(outer);
        if outer.is_some_and(|outer| outer.stopped.is_some()) {
            self.cancel.cancel();
        }
        ended.map_err(|_| wait.and_then(|wait| wait.stopped).unwrap_or(Stop::Cancelled))
    }

    fn stop(&self, wait: Wait, why: Stop) {
        self.wait.set(Some(Wait { stopped: Some(why), ..wait }));
        self.cancel.cancel();
    }
}

/// How the waiters of this library's semaphores sleep, and where: in a table of their own.
pub(crate) struct Sleep;

impl Home for Sleep {
    type Backend = Self;
    const TABLE: &'static WaitTable<Self> = {
        static SLOTS: Slots<4096, Sleep> = Slots::new();
        static TABLE: WaitTable<Sleep> = WaitTable::from_slots(&SLOTS);
        &TABLE
    };
}

// SAFETY: `wait` does not write to the word; nothing here unwinds; raising a flag wakes, and does not wait.
unsafe impl Backend for Sleep {
    const NAME: &'static str = "interruptible futex";
    const SPINS: bool = false;

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<std::time::Instant>) {
        THREAD.with(|thread| match thread.wait.get() {
            Some(wait) if wait.stopped.is_none() => {
                report::SLEEPS.count();
                if let Some(why) = sleep(word, expected, wait.until.as_ref()) {
                    thread.stop(wait, why);
                }
            }
            // A wait that has been stopped, whose element another thread has in hand.
            _ => Futex::wait(word, expected, deadline),
        });
    }

    fn wake(word: *const AtomicU32) {
        Futex::wake(word);
    }
}

/// Sleeps while the word is as expected; says what ended it, if that is to end the wait.
fn sleep(word: &AtomicU32, expected: u32, until: Option<&Until>) -> Option<Stop> {
    let clock = if until.is_some_and(|until| until.is_real_time) { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let time = until.map_or(ptr::null(), |until| &raw const until.time);
    // SAFETY: a word and a time, or none, that are there for the call.
    let result = unsafe { futex(word, libc::FUTEX_WAIT_BITSET | clock, expected, time) };
    if result == 0 {
        return None;
    }
    // SAFETY: the calling thread's own.
    match unsafe { *libc::__errno_location() } {
        libc::ETIMEDOUT => Some(Stop::TimedOut),
        libc::EINTR => Some(Stop::Interrupted),
        // EAGAIN: it is not as expected.
        _ => None,
    }
}

/// Sleeps while a word has this value; may return early.
pub(crate) fn while_it_is(word: &AtomicU32, value: u32) {
    // SAFETY: a word that is there for the call.
    unsafe { futex(word, libc::FUTEX_WAIT_BITSET, value, ptr::null()) };
}

/// Wakes all that sleep on a word.
pub(crate) fn wake_all(word: &AtomicU32) {
    // SAFETY: a wake takes the address as a name.
    unsafe { futex(word, libc::FUTEX_WAKE, i32::MAX.cast_unsigned(), ptr::null()) };
}

/// Not a cancellation point.
///
/// # Safety
/// The word, and the time if it is not null, are there for the call.
unsafe fn futex(word: *const AtomicU32, operation: c_int, value: u32, time: *const timespec) -> c_long {
    const ANY: u32 = u32::MAX;
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: by the caller's promise.
    unsafe { libc::syscall(libc::SYS_futex, word, operation, value, time, ptr::null::<u32>(), ANY) }
}
