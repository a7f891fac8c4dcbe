//! A child process that reports by its exit status.
//!
//! Children run more than POSIX allows in the child of a threaded process (they allocate and start threads), which the C
//! libraries that we run on allow. The standard library does not allow all of that: it has a lock of its own around the
//! start and the end of a thread. If threads of the parent may start or end when it forks, the child's must be [`Bare`].

#![allow(unsafe_code, reason = "fork, waitpid, kill, _exit and threads of the C library")]

use crate::common::divisor;
use std::{
    io::{Error, ErrorKind},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// How many milliseconds of the parent's sleep a child may take. Counted and not measured: both may be stopped for a while.
const PATIENCE: usize = 60_000;

/// One test at a time: no other test's thread must hold a lock, such as the test runner's output, across a fork.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Child(libc::pid_t);

impl Child {
    /// Forks: `None` in the child.
    pub(crate) fn fork() -> Option<Self> {
        // SAFETY: see the head of this file for what the children do.
        match unsafe { libc::fork() } {
            -1 => panic!("fork failed"),
            0 => {
                // SAFETY: the child ends with the thread that forked, which waits for it; or by the alarm, without a
                // handler.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::alarm(3600);
                }
                None
            }
            pid => Some(Self(pid)),
        }
    }

    /// Forks a child that runs `life` and exits.
    pub(crate) fn that(life: impl FnOnce()) -> Self {
        Self::fork().unwrap_or_else(|| Self::live(life))
    }

    /// For a test that forks in the middle of a call: a child that unwinds out of it fails. (A thread that ends is a process that succeeds,
    /// if there is no other.)
    pub(crate) fn unwinding_fails() -> impl Drop {
        struct Guard(u32);

        impl Drop for Guard {
            fn drop(&mut self) {
                if std::thread::panicking() && std::process::id() != self.0 {
                    // SAFETY: as in `live`.
                    unsafe { libc::_exit(1) }
                }
            }
        }

        Guard(std::process::id())
    }

    /// Runs `life` and exits: 0, or 1 if it panicked.
    pub(crate) fn live(life: impl FnOnce()) -> ! {
        let status = i32::from(catch_unwind(AssertUnwindSafe(life)).is_err());
        // SAFETY: ends the child without running what the parent's test runner has registered.
        unsafe { libc::_exit(status) }
    }

    /// Waits until the child has exited, and not by a panic or a signal.
    #[track_caller]
    pub(crate) fn succeeds(self) {
        for _ in 0..PATIENCE * divisor() {
            if let Some(status) = self.status() {
                assert_eq!(status, 0, "the child failed, with this wait status");
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // SAFETY: the child is ours and has not been waited for.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        panic!("the child hangs");
    }

    /// The child's wait status, if it has exited.
    fn status(&self) -> Option<libc::c_int> {
        let mut status = 0;
        // SAFETY: the child is ours and has not been waited for; `status` is a live int.
        let waited = unsafe { libc::waitpid(self.0, &raw mut status, libc::WNOHANG) };
        assert!(waited != -1 || Error::last_os_error().kind() == ErrorKind::Interrupted, "waitpid failed");
        (waited == self.0).then_some(status)
    }
}

/// A thread of the C library alone.
pub(crate) struct Bare(libc::pthread_t);

impl Bare {
    /// Starts a thread. A panic in it ends the process.
    pub(crate) fn start(life: impl FnOnce() + Send + 'static) -> Self {
        extern "C" fn run(life: *mut libc::c_void) -> *mut libc::c_void {
            // SAFETY: made of such a box in `start`, and given to this thread only.
            let life = unsafe { Box::from_raw(life.cast::<Box<dyn FnOnce() + Send>>()) };
            life();
            ptr::null_mut()
        }
        let life: Box<Box<dyn FnOnce() + Send>> = Box::new(Box::new(life));
        // SAFETY: an all-zero thread is a valid place to write one to; the box is `run`'s from here on.
        unsafe {
            let mut thread = mem::zeroed();
            let started = libc::pthread_create(&raw mut thread, ptr::null(), run, Box::into_raw(life).cast());
            assert_eq!(started, 0, "no thread");
            Self(thread)
        }
    }

    pub(crate) fn join(self) {
        // SAFETY: started and not yet joined.
        assert_eq!(unsafe { libc::pthread_join(self.0, ptr::null_mut()) }, 0);
    }
}
