//! Signals to the threads of a round, at random moments: system calls are interrupted, and the handler posts and wakes.

#![allow(unsafe_code, reason = "sigaction, tgkill and errno")]

use crate::{common::Random, games::bell, watchdog::POSTS};
use std::{
    mem, ptr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

pub(crate) const ARE_SENT: bool = true;

const SIGNAL: libc::c_int = libc::SIGUSR1;

extern "C" fn handle(_: libc::c_int) {
    // SAFETY: always allowed. What was interrupted must find its own error number.
    let (place, error) = unsafe { (libc::__errno_location(), *libc::__errno_location()) };
    bell::ring();
    // SAFETY: this thread's own.
    unsafe { *place = error };
}

fn install() {
    // SAFETY: an all-zero sigaction is valid, and the handler does nothing but atomics and wake-ups.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        assert_eq!(libc::sigaction(SIGNAL, &raw const action, ptr::null_mut()), 0);
    }
}

/// The calling thread's system-wide number.
pub(crate) fn this_thread() -> usize {
    // SAFETY: always allowed.
    unsafe { libc::syscall(libc::SYS_gettid) as usize }
}

/// Sends signals to threads that are at their posts, and to the caller, until it is told to stop.
pub(crate) fn send_until(stop: &AtomicBool, mut random: Random) {
    install();
    let ours = this_thread();
    while !stop.load(Ordering::Relaxed) {
        let target = POSTS[random.below(POSTS.len())].thread.load(Ordering::Relaxed);
        let target = if random.one_in(64) { ours } else { target };
        if target != 0 {
            // SAFETY: always allowed. Should the thread be gone there is no such thread, or another one of ours.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), target as libc::pid_t, SIGNAL) };
            thread::sleep(Duration::from_micros(random.below(100) as u64));
        }
    }
}
