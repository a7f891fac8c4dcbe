//! Reading and writing files from within a wait, or a signal handler that has interrupted one.
//!
//! The C library's `open`, `read`, `write` and `close` are cancellation points: a thread that `pthread_cancel` was called for
//! would be unwound there, out of the middle of its wait. Its `syscall` is none.

use super::errno;
use core::ffi::{CStr, c_int, c_long};

/// Reads the beginning of a file, as much as there is room for; returns how much that is. Leaves `errno` as it was.
#[allow(clippy::unnecessary_cast, reason = "they have another type on some targets")]
pub(super) fn read(path: &CStr, into: &mut [u8]) -> Option<usize> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a NUL, the descriptor was opened here, and the buffer is live and as long as is said.
    let length = errno::kept(|| unsafe {
        let file = libc::syscall(libc::SYS_openat as c_long, libc::AT_FDCWD, path.as_ptr(), flags) as c_int;
        if file < 0 {
            return -1;
        }
        let length = libc::syscall(libc::SYS_read as c_long, file, into.as_mut_ptr(), into.len());
        libc::syscall(libc::SYS_close as c_long, file);
        length
    });
    usize::try_from(length).ok()
}

/// Writes to a descriptor; returns how much it wrote, or -1, with the reason in `errno`.
#[allow(clippy::unnecessary_cast, reason = "they have another type on some targets")]
pub(super) fn write(file: c_int, bytes: &[u8]) -> isize {
    // SAFETY: the buffer is live and as long as is said.
    unsafe {
        if cfg!(miri) {
            // It does not know the other.
            return libc::write(file, bytes.as_ptr().cast(), bytes.len());
        }
        libc::syscall(libc::SYS_write as c_long, file, bytes.as_ptr(), bytes.len()) as isize
    }
}
