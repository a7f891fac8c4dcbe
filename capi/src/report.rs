//! Who waits, and which library this is.

use libc::{EEXIST, EINVAL, ENOTSUP};
use std::{
    ffi::{c_char, c_int},
    io::ErrorKind,
};

/// Writes to standard error who waits on what, a line for each.
#[unsafe(no_mangle)]
pub extern "C" fn layby_dump_waiters() {
    layby::dump_waiters();
}

/// Has that done whenever the process gets `signal`.
#[unsafe(no_mangle)]
pub extern "C" fn layby_dump_waiters_on_signal(signal: c_int) -> c_int {
    match layby::dump_waiters_on_signal(signal) {
        Ok(()) => 0,
        Err(error) if error.kind() == ErrorKind::Unsupported => ENOTSUP,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => EEXIST,
        Err(error) => error.raw_os_error().unwrap_or(EINVAL),
    }
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn layby_version() -> *const c_char {
    const { concat!(env!("CARGO_PKG_VERSION"), "\0") }.as_ptr().cast()
}
