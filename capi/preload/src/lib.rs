//! A library to preload: an unmodified program's unnamed, process-private semaphores (`sem_init` with `pshared` 0) wait on
//! layby, first come, first served.
//!
//! ```sh
//! cargo build --release -p layby-preload
//! LD_PRELOAD=$PWD/target/release/liblayby_preload.so python3 program.py
//! ```
//!
//! What ran on it, and what differs from the C library's semaphores: docs/preload.md.
//!
//! # What POSIX asks, and how it is done
//!
//! | | how |
//! |---|---|
//! | whose semaphore it is | layby's 16 bytes and a mark behind them, which the C library leaves alone; no mark, its own: [`line`] |
//! | a handler without `SA_RESTART` ends the wait: `EINTR` | the sleep is a futex call of our own, which says why it returned: [`sleep`] |
//! | absolute times on either clock, which may be set meanwhile | the kernel is given the caller's clock and time: [`sleep`] |
//! | a cancelled thread leaves the line, and unwinds | `pthread_cancel` wakes it: [`threads`] |
//! | whoever has got a permit may destroy and free the semaphore | a post does not touch it once it has granted |
//! | the child of a fork has the semaphore's value, and nobody who waits | the mark says which process it is of: [`line`] |
//! | `sem_post` in a signal handler | takes no lock, allocates nothing |
//! | more than `SEM_VALUE_MAX`: `EOVERFLOW` | the look and the post are one step, where the value is near it: [`sem`] |
//!
//! A wait keeps its place in line until one of these ends it: nothing is polled for, and nobody wakes up to look.
//!
//! # Unwinding
//!
//! A thread that is cancelled unwinds from a call of the C library's in here (`pthread_testcancel`,
//! `pthread_setcanceltype`), through functions of ours. These have nothing to drop there, and the ABI `C-unwind`. No wait is
//! ever unwound out of: an asynchronous cancellation is deferred for as long.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

mod c_library;
mod line;
mod load;
mod report;
mod sem;
mod signals;
mod sleep;
mod threads;
