//! Standard error without std's lock and buffers, line by line.

use core::fmt;

/// Standard error, for reports. A line is written by one system call, so that reports of two threads do not mix; what is
/// longer than the buffer is written in parts. Errors are ignored: there is nowhere to report them, and `errno` stays as it was.
pub(crate) struct Stderr {
    line: [u8; 256],
    len: usize,
}

impl Stderr {
    pub(crate) const fn new() -> Self {
        Self { line: [0; 256], len: 0 }
    }

    fn flush(&mut self) {
        write_all(&self.line[..core::mem::take(&mut self.len)]);
    }
}

impl fmt::Write for Stderr {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            self.line[self.len] = byte;
            self.len += 1;
            if byte == b'\n' || self.len == self.line.len() {
                self.flush();
            }
        }
        Ok(())
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(all(unix, not(layby_model)))]
fn write_all(mut bytes: &[u8]) {
    super::errno::kept(|| {
        while !bytes.is_empty() {
            match usize::try_from(write(libc::STDERR_FILENO, bytes)) {
                Ok(written) => bytes = &bytes[written..],
                Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
use super::files::write;

/// Nothing is promised to signal handlers here.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android", layby_model))))]
fn write(file: libc::c_int, bytes: &[u8]) -> isize {
    // SAFETY: the buffer is live and as long as is said.
    unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) }
}

#[cfg(any(layby_model, not(unix)))]
fn write_all(bytes: &[u8]) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(bytes);
}
