//! `layby_eventcount_t` and `layby_sequencer_t`.

use crate::limit::{layby_cancel_t, limit};
use crate::outcome::{Code, code_of, unless, unless_it_overflows};
use layby::eventcount::{EventCount, Sequencer};
use libc::{EOVERFLOW, timespec};
use std::{ffi::c_int, ptr};

/// `layby_eventcount_t`.
pub type layby_eventcount_t = EventCount;

/// `layby_sequencer_t`.
pub type layby_sequencer_t = Sequencer;

// LAYBY_EVENTCOUNT_INIT, LAYBY_SEQUENCER_INIT and LAYBY_EVENTCOUNT_MAX, and the header's own assertions.
const _: () = {
    assert!(size_of::<EventCount>() == 8 && align_of::<EventCount>() == 8);
    assert!(size_of::<Sequencer>() == 8 && align_of::<Sequencer>() == 8);
    // SAFETY: of one size, both; any bits are a u64.
    unsafe {
        assert!(std::mem::transmute::<EventCount, u64>(EventCount::new()) == 0);
        assert!(std::mem::transmute::<Sequencer, u64>(Sequencer::new()) == 0);
    }
    assert!(EventCount::MAX == (1 << 62) - 1);
};

/// The count.
///
/// # Safety
/// `count` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_eventcount_read(count: *const layby_eventcount_t) -> u64 {
    // SAFETY: by the caller's promise.
    unsafe { &*count }.read()
}

/// Adds `steps`, wakes those whose value has been reached, and stores the new count at `now` unless that is null.
///
/// # Safety
/// `count` points to an object that is initialised, and alive until somebody has seen the new count. `now` may be written, or is
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_eventcount_advance(
    count: *const layby_eventcount_t,
    steps: u64,
    now: *mut u64,
) -> c_int {
    // SAFETY: by the caller's promise, and that of `advance_by`, which does not touch it from then on.
    let count = unsafe { &*count };
    let advance = || {
        unless(steps > EventCount::MAX.saturating_sub(count.read()), EOVERFLOW)?;
        let reached = unless_it_overflows(|| count.advance_by(steps))?;
        // SAFETY: by the caller's promise.
        unsafe { store(now, reached) };
        Ok(())
    };
    code_of(advance())
}

/// Waits until the count is at least `value`.
///
/// # Safety
/// `count` points to an object that is initialised and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_eventcount_wait(count: *const layby_eventcount_t, value: u64) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { layby_eventcount_wait_within(count, value, ptr::null(), ptr::null()) }
}

/// Waits until the count is at least `value`, until `deadline`, or until `cancel` is raised.
///
/// # Safety
/// `count` points to an object that is initialised and alive; so do the other two, or they are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_eventcount_wait_within(
    count: *const layby_eventcount_t,
    value: u64,
    deadline: *const timespec,
    cancel: *const layby_cancel_t,
) -> c_int {
    // SAFETY: by the caller's promise.
    let count = unsafe { &*count };
    // The clock is read if there is something to wait for.
    if count.read() >= value {
        return 0;
    }
    let wait = || {
        // SAFETY: by the caller's promise.
        let limit = unsafe { limit(deadline, cancel) }?;
        count.wait_at_least_within(value, limit)?;
        Ok(())
    };
    code_of(wait())
}

/// Lets every waiter return, and every later one at once.
///
/// # Safety
/// `count` points to an object that is initialised, and alive until somebody has seen that it is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_eventcount_close(count: *const layby_eventcount_t) {
    // SAFETY: by the caller's promise.
    unsafe { &*count }.close();
}

/// Draws so many consecutive tickets, and stores the first at `first`.
///
/// # Safety
/// `sequencer` points to an object that is initialised and alive; `first` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_sequencer_tickets(
    sequencer: *const layby_sequencer_t,
    tickets: u64,
    first: *mut u64,
) -> c_int {
    // SAFETY: by the caller's promise.
    let drawn = unsafe { &*sequencer }.tickets_below(tickets, u64::MAX);
    // SAFETY: by the caller's promise.
    code_of(drawn.map(|drawn| unsafe { store(first, drawn) }).ok_or(Code(EOVERFLOW)))
}

/// # Safety
/// `place` may be written, or is null.
unsafe fn store(place: *mut u64, value: u64) {
    if !place.is_null() {
        // SAFETY: by the caller's promise.
        unsafe { place.write(value) };
    }
}
