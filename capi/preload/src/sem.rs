//! What a program calls in place of the C library's functions of the same names.
//!
//! # Safety
//! Of each of them: as for the C library's.

#![allow(clippy::missing_safety_doc, reason = "above")]

use crate::{
    c_library::{self, PTHREAD_CANCEL_DEFERRED, pthread_setcanceltype, pthread_testcancel},
    line::Line,
    load,
    report::{self, Count},
    sleep::{Sleep, Stop, Thread, Until},
    threads,
};
use core::ffi::{c_int, c_uint};
use layby::sema::Semaphore;
use libc::{clockid_t, sem_t, timespec};

/// `SEM_VALUE_MAX`.
const MOST: u32 = i32::MAX.cast_unsigned();

/// A semaphore for the threads of this process is ours.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_init(sem: *mut sem_t, pshared: c_int, value: c_uint) -> c_int {
    load::prepare();
    if pshared == 0 && value <= MOST {
        report::SEMAPHORES.count();
        // SAFETY: by the caller's promise.
        unsafe { Line::init(sem, value) };
        return 0;
    }
    report::LEFT.count();
    // SAFETY: by the caller's promise. If it refuses the value it has not made a semaphore, and may have been given no memory.
    unsafe {
        let result = c_library::sem_init.get()(sem, pshared, value);
        if result == 0 {
            Line::disown(sem);
        }
        result
    }
}

/// Whoever has got a permit may call this: the post that gave it does not touch the semaphore any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_destroy(sem: *mut sem_t) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe {
        if Line::of(sem).is_none() {
            return c_library::sem_destroy.get()(sem);
        }
        Line::disown(sem);
    }
    0
}

/// A cancellation point, whether or not it has to wait.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_wait(sem: *mut sem_t) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe {
        match Line::of(sem) {
            Some(semaphore) => take(semaphore, None),
            None => c_library::sem_wait.get()(sem),
        }
    }
}

/// Like `sem_clockwait`, by the clock that tells the time of day.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_timedwait(sem: *mut sem_t, until: *const timespec) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe {
        match Line::of(sem) {
            Some(semaphore) => take_until(semaphore, libc::CLOCK_REALTIME, until),
            None => c_library::sem_timedwait.get()(sem, until),
        }
    }
}

/// A cancellation point, whether or not it has to wait.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_clockwait(sem: *mut sem_t, clock: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe {
        match Line::of(sem) {
            Some(semaphore) => take_until(semaphore, clock, until),
            None => c_library::sem_clockwait.get()(sem, clock, until),
        }
    }
}

/// Fails if others wait, even if a permit has been posted that the next of them has not fetched yet.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_trywait(sem: *mut sem_t) -> c_int {
    // SAFETY: by the caller's promise.
    let Some(semaphore) = (unsafe { Line::of(sem) }) else {
        // SAFETY: as above.
        return unsafe { c_library::sem_trywait.get()(sem) };
    };
    if semaphore.try_take() { 0 } else { fail(libc::EAGAIN) }
}

/// May be called in a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_post(sem: *mut sem_t) -> c_int {
    // SAFETY: by the caller's promise.
    let Some(semaphore) = (unsafe { Line::of(sem) }) else {
        // SAFETY: as above.
        return unsafe { c_library::sem_post.get()(sem) };
    };
    if semaphore.available() >= NEARLY_FULL {
        return post_if_it_fits(semaphore);
    }
    semaphore.post_conservatively();
    0
}

/// So far below the limit that it is not reached by a post of each thread that there can be, 2^22, though all have looked before any
/// of them posts.
const NEARLY_FULL: u64 = MOST as u64 - (1 << 23);

/// The test and the post are one step, but the semaphore is touched after it. So it must not be destroyed by whoever gets this
/// permit; nobody does, of a semaphore with two thousand million others.
#[cold]
fn post_if_it_fits(semaphore: &Semaphore<Sleep>) -> c_int {
    if semaphore.post_up_to(1, u64::from(MOST)) == 1 { 0 } else { fail(libc::EOVERFLOW) }
}

/// 0 if others wait.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_getvalue(sem: *mut sem_t, value: *mut c_int) -> c_int {
    // SAFETY: by the caller's promise.
    let Some(semaphore) = (unsafe { Line::of(sem) }) else {
        // SAFETY: as above.
        return unsafe { c_library::sem_getvalue.get()(sem, value) };
    };
    let available = semaphore.available().min(u64::from(MOST));
    // SAFETY: by the caller's promise.
    unsafe { *value = available as c_int };
    0
}

/// # Safety
/// A time that can be read.
unsafe fn take_until(semaphore: &Semaphore<Sleep>, clock: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: by the caller's promise.
    let time = unsafe { *until };
    let is_known = matches!(clock, libc::CLOCK_MONOTONIC | libc::CLOCK_REALTIME);
    if !is_known || !(0..1_000_000_000).contains(&time.tv_nsec) {
        return fail(libc::EINVAL);
    }
    take(semaphore, Some(Until { time, is_real_time: clock == libc::CLOCK_REALTIME }))
}

/// Nothing here is to be dropped when it unwinds.
#[inline]
fn take(semaphore: &Semaphore<Sleep>, until: Option<Until>) -> c_int {
    // SAFETY: always allowed.
    unsafe { pthread_testcancel() };
    if semaphore.try_take() { 0 } else { wait(semaphore, until) }
}

/// Nothing here is to be dropped when it unwinds.
#[cold]
fn wait(semaphore: &Semaphore<Sleep>, until: Option<Until>) -> c_int {
    // The kernel refuses times before the clock's beginning.
    if until.is_some_and(|until| until.time.tv_sec < 0) {
        return stopped(libc::ETIMEDOUT, &report::TIMED_OUT);
    }
    let mut kind = PTHREAD_CANCEL_DEFERRED;
    // SAFETY: always allowed.
    unsafe { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &raw mut kind) };
    let ended = wait_deferred(semaphore, until);
    // SAFETY: as above.
    unsafe { pthread_setcanceltype(kind, &raw mut kind) };
    match ended {
        Ok(()) => 0,
        Err(why @ libc::ETIMEDOUT) => stopped(why, &report::TIMED_OUT),
        Err(why) => stopped(why, &report::INTERRUPTED),
    }
}

/// Waits, while a cancellation is deferred; unwinds at a point where nothing is held.
fn wait_deferred(semaphore: &Semaphore<Sleep>, until: Option<Until>) -> Result<(), c_int> {
    // SAFETY: the calling thread's own, for as long as it runs.
    let thread = unsafe { &*Thread::current() };
    threads::enlist(thread);
    loop {
        // In this order: see `threads`.
        thread.cancel.reset();
        // SAFETY: always allowed.
        unsafe { pthread_testcancel() };
        match thread.take(semaphore, until) {
            Ok(()) => return Ok(()),
            Err(Stop::TimedOut) => return Err(libc::ETIMEDOUT),
            Err(Stop::Interrupted) => return Err(libc::EINTR),
            // Unwinds, unless cancellation is disabled: then the thread goes to the end of the line.
            Err(Stop::Cancelled) => report::CANCELLED.count(),
        }
    }
}

fn stopped(why: c_int, count: &Count) -> c_int {
    count.count();
    fail(why)
}

fn fail(why: c_int) -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = why };
    -1
}
