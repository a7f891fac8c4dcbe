//! `layby_semaphore_t`.

use crate::limit::{layby_cancel_t, limit};
use crate::outcome::{Code, code_of, unless, unless_it_overflows};
use layby::{Limit, sema::Semaphore};
use libc::{EAGAIN, EINVAL, EOVERFLOW, timespec};
use std::{ffi::c_int, ptr};

/// `layby_semaphore_t`.
pub type layby_semaphore_t = Semaphore;

const MAX: u64 = Semaphore::MAX_PERMITS;

// LAYBY_SEMAPHORE_INIT and LAYBY_SEMAPHORE_MAX, and the header's own assertions.
const _: () = {
    assert!(size_of::<Semaphore>() == 16 && align_of::<Semaphore>() == 8);
    // SAFETY: of one size; any bits are two u64.
    let words = unsafe { std::mem::transmute::<Semaphore, [u64; 2]>(Semaphore::new(5)) };
    assert!(words[0] == 0 && words[1] == 5);
    assert!(MAX == (1 << 61) - 1);
};

/// Makes the memory at `semaphore` one with so many permits.
///
/// # Safety
/// `semaphore` points to memory for one, which nobody uses yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_init(semaphore: *mut layby_semaphore_t, permits: u64) -> c_int {
    if permits > MAX {
        return EINVAL;
    }
    // SAFETY: by the caller's promise.
    unsafe { semaphore.write(Semaphore::new(permits)) };
    0
}

/// Takes a permit, waiting for one if necessary.
///
/// # Safety
/// `semaphore` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_wait(semaphore: *const layby_semaphore_t) {
    // SAFETY: by the caller's promise.
    unsafe { &*semaphore }.take();
}

/// Takes a permit if there is one that nobody waits for.
///
/// # Safety
/// `semaphore` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_trywait(semaphore: *const layby_semaphore_t) -> c_int {
    // SAFETY: by the caller's promise.
    if unsafe { &*semaphore }.try_take() { 0 } else { EAGAIN }
}

/// Takes a permit, waiting for one until `deadline`.
///
/// # Safety
/// `semaphore` points to an object that is initialised and alive; `deadline` to one too, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_timedwait(
    semaphore: *const layby_semaphore_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { layby_semaphore_wait_within(semaphore, 1, deadline, ptr::null()) }
}

/// Takes so many permits together, waiting for them if necessary.
///
/// # Safety
/// `semaphore` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_wait_many(semaphore: *const layby_semaphore_t, permits: u64) -> c_int {
    // SAFETY: by the caller's promise.
    code_of(take(unsafe { &*semaphore }, permits, || Ok(Limit::NONE)))
}

/// Takes so many permits together if they are there and nobody waits for them.
///
/// # Safety
/// `semaphore` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_trywait_many(semaphore: *const layby_semaphore_t, permits: u64) -> c_int {
    if permits > MAX {
        return EINVAL;
    }
    // SAFETY: by the caller's promise.
    if unsafe { &*semaphore }.try_take_many(permits) { 0 } else { EAGAIN }
}

/// Takes so many permits together, waiting for them until `deadline`, or until `cancel` is raised.
///
/// # Safety
/// `semaphore` points to an object that is initialised and alive; so do the other two, or they are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_wait_within(
    semaphore: *const layby_semaphore_t,
    permits: u64,
    deadline: *const timespec,
    cancel: *const layby_cancel_t,
) -> c_int {
    // SAFETY: by the caller's promise, both.
    let (semaphore, limit) = unsafe { (&*semaphore, || limit(deadline, cancel)) };
    code_of(take(semaphore, permits, limit))
}

/// The limit is asked for when there is something to wait for: of a deadline, the clock is read.
fn take<'a>(semaphore: &Semaphore, permits: u64, limit: impl FnOnce() -> Result<Limit<'a>, Code>) -> Result<(), Code> {
    unless(permits > MAX, EINVAL)?;
    if semaphore.try_take_many(permits) {
        return Ok(());
    }
    let limit = limit()?;
    unless(permits > 1 && permits > MAX.saturating_sub(semaphore.waiters()), EOVERFLOW)?;
    Ok(unless_it_overflows(|| semaphore.take_many_within(permits, limit))??)
}

/// Adds a permit, and wakes the thread that it goes to.
///
/// # Safety
/// `semaphore` points to an object that is initialised, and alive until the call returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_post(semaphore: *const layby_semaphore_t) {
    // SAFETY: by the caller's promise.
    unsafe { &*semaphore }.post();
}

/// Adds so many permits, and wakes the threads that they go to.
///
/// # Safety
/// `semaphore` points to an object that is initialised, and alive until the call returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_post_many(semaphore: *const layby_semaphore_t, permits: u64) -> c_int {
    // SAFETY: by the caller's promise.
    if unsafe { &*semaphore }.try_post_many(permits) { 0 } else { EOVERFLOW }
}

/// Adds a permit, and wakes the thread that it goes to, which may free the semaphore at once.
///
/// # Safety
/// `semaphore` points to an object that is initialised, and alive until somebody has taken the permit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_post_last(semaphore: *const layby_semaphore_t) {
    // SAFETY: by the caller's promise, and that of `post_conservatively`, which does not touch it from then on.
    unsafe { &*semaphore }.post_conservatively();
}

/// How many permits can be taken without waiting, at this moment.
///
/// # Safety
/// `semaphore` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_value(semaphore: *const layby_semaphore_t) -> u64 {
    // SAFETY: by the caller's promise.
    unsafe { &*semaphore }.available()
}

/// How many permits are waited for, at this moment.
///
/// # Safety
/// `semaphore` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_semaphore_waiters(semaphore: *const layby_semaphore_t) -> u64 {
    // SAFETY: by the caller's promise.
    unsafe { &*semaphore }.waiters()
}
