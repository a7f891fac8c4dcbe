//! Wait and wake on any address, with a condition of the caller's.

use crate::limit::{layby_cancel_t, limit};
use crate::outcome::{Code, code_of};
use layby::Key;
use libc::{EINVAL, timespec};
use std::ffi::{c_int, c_void};

/// `layby_condition_t *`: not 0 if the condition holds. Called on the thread that waits, any number of times, when nothing is held.
// That it may unwind makes it defined what happens if it does: the functions here may not, and end the process.
pub type layby_condition_t = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// Waits until `condition` holds.
///
/// # Safety
/// `condition` is null, or can be called with `argument`, on this thread and until the call returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_wait_until(
    address: *const c_void,
    condition: Option<layby_condition_t>,
    argument: *mut c_void,
) -> c_int {
    let Some(condition) = condition else { return EINVAL };
    // SAFETY: by the caller's promise.
    layby::wait_until(address, || unsafe { condition(argument) } != 0);
    0
}

/// Waits until `condition` holds, until `deadline`, or until `cancel` is raised.
///
/// # Safety
/// `condition` is null, or can be called with `argument`, on this thread and until the call returns. The other two point to
/// objects that are initialised and alive, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_wait_until_within(
    address: *const c_void,
    condition: Option<layby_condition_t>,
    argument: *mut c_void,
    deadline: *const timespec,
    cancel: *const layby_cancel_t,
) -> c_int {
    let wait = || {
        let condition = condition.ok_or(Code(EINVAL))?;
        // SAFETY: by the caller's promise.
        let limit = unsafe { limit(deadline, cancel) }?;
        // SAFETY: by the caller's promise.
        Ok(layby::wait_until_within(address, limit, || unsafe { condition(argument) } != 0)?)
    };
    code_of(wait())
}

/// If `still` holds, waits for one wake-up, until `deadline`, or until `cancel` is raised.
///
/// # Safety
/// `still` is null, or can be called with `argument`, on this thread and until the call returns. The other two point to objects
/// that are initialised and alive, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn layby_wait_if(
    address: *const c_void,
    still: Option<layby_condition_t>,
    argument: *mut c_void,
    deadline: *const timespec,
    cancel: *const layby_cancel_t,
) -> c_int {
    let wait = || {
        let still = still.ok_or(Code(EINVAL))?;
        // SAFETY: by the caller's promise.
        let limit = unsafe { limit(deadline, cancel) }?;
        // SAFETY: by the caller's promise.
        Ok(layby::wait_if_within(address, limit, || unsafe { still(argument) } != 0)?)
    };
    code_of(wait())
}

/// Wakes all who wait on `address`; returns how many. The address is a name: nothing is read there.
#[unsafe(no_mangle)]
pub extern "C" fn layby_wake_all(address: *const c_void) -> usize {
    layby::location_wake_all(Key::address_at(address))
}

/// Wakes the one that has waited longest on `address` by `layby_wait_if`, and all who wait there in other ways; returns how
/// many. The address is a name: nothing is read there.
#[unsafe(no_mangle)]
pub extern "C" fn layby_wake_one(address: *const c_void) -> usize {
    layby::location_wake_one(Key::address_at(address))
}
