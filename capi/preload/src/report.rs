//! How much of a program ran on this library: when `LAYBY_PRELOAD_REPORT` names a file, each process that exits adds a line.

use core::{
    ffi::{CStr, c_char},
    fmt::Write,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::ffi::CString;

/// How often something happened.
pub(crate) struct Count(AtomicU64);

impl Count {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn count(&self) {
        // Ordering: relaxed, here and below; nothing rests on it.
        if IS_WANTED.load(Ordering::Relaxed) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether there will be a report. Otherwise threads do not write to what all of them count on.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Semaphores of ours, and those left to the C library.
pub(crate) static SEMAPHORES: Count = Count::new();
pub(crate) static LEFT: Count = Count::new();
/// Waits that did not get a permit at once, and how often they slept.
pub(crate) static WAITS: Count = Count::new();
pub(crate) static SLEEPS: Count = Count::new();
/// How waits ended without a permit.
pub(crate) static TIMED_OUT: Count = Count::new();
pub(crate) static INTERRUPTED: Count = Count::new();
pub(crate) static CANCELLED: Count = Count::new();

pub(crate) fn prepare() {
    if file().is_some() {
        IS_WANTED.store(true, Ordering::Relaxed);
        // SAFETY: a function that is there for as long as the process.
        unsafe { libc::atexit(at_exit) };
    }
}

fn file() -> Option<CString> {
    // SAFETY: a name that ends with 0; the result is null or a string.
    unsafe {
        let name: *const c_char = libc::getenv(c"LAYBY_PRELOAD_REPORT".as_ptr());
        (!name.is_null()).then(|| CStr::from_ptr(name).to_owned())
    }
}

extern "C" fn at_exit() {
    let Some(file) = file() else { return };
    let mut line = String::new();
    // SAFETY: always allowed.
    let process = unsafe { libc::getpid() };
    let counts = [&SEMAPHORES, &LEFT, &WAITS, &SLEEPS, &TIMED_OUT, &INTERRUPTED, &CANCELLED].map(Count::get);
    let [semaphores, left, waits, sleeps, timed_out, interrupted, cancelled] = counts;
    let _ = writeln!(
        line,
        "process {process} semaphores {semaphores} left {left} waits {waits} sleeps {sleeps} timed_out {timed_out} \
         interrupted {interrupted} cancelled {cancelled}"
    );
    // SAFETY: a string that ends with 0, a descriptor that was opened here, a buffer of that length.
    unsafe {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
        let file = libc::open(file.as_ptr(), flags, 0o644);
        libc::write(file, line.as_ptr().cast(), line.len());
        libc::close(file);
    }
}
