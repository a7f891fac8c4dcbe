//! Results as C's error numbers: 0, or what pthread's functions return in such a case.

use layby::{Stopped, WaitError};
use libc::{ECANCELED, EOVERFLOW, EPIPE, ETIMEDOUT};
use std::{
    ffi::c_int,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Why a call did not do what its name says, as C is told.
#[derive(Clone, Copy)]
pub(crate) struct Code(pub(crate) c_int);

impl From<Stopped> for Code {
    fn from(stopped: Stopped) -> Self {
        Self(match stopped {
            Stopped::TimedOut => ETIMEDOUT,
            Stopped::Cancelled => ECANCELED,
        })
    }
}

impl From<WaitError> for Code {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::TimedOut => Stopped::TimedOut.into(),
            WaitError::Cancelled => Stopped::Cancelled.into(),
            WaitError::Closed => Self(EPIPE),
        }
    }
}

/// `Ok`, or the code.
pub(crate) fn unless(wrong: bool, code: c_int) -> Result<(), Code> {
    if wrong { Err(Code(code)) } else { Ok(()) }
}

/// 0, or the code.
pub(crate) fn code_of(result: Result<(), Code>) -> c_int {
    result.map_or_else(|Code(code)| code, |()| 0)
}

/// What `call` returns, or EOVERFLOW if it panics: with arguments that have been checked, a counter that overflows is all that the
/// crate panics about, and then nothing has changed.
pub(crate) fn unless_it_overflows<T>(call: impl FnOnce() -> T) -> Result<T, Code> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| Code(EOVERFLOW))
}
