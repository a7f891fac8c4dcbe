//! Promise 10 (README) among other libraries' fork handlers: those that run before a fork and those that run in the child.
//!
//! The order in which handlers were registered decides. So each test is a process that nobody has waited in, and the
//! test program itself must not wait.
//!
//! Blind to: handlers from before this crate was loaded, which run first and must not use it, and libraries that are loaded
//! while another thread forks; see `SECURITY.md`. On musl, where a child runs handlers that came while it was forked, the
//! test of `prepare` shows nothing.

#![cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_model, layby_park, layby_no_fork))))]
#![allow(unsafe_code, reason = "pthread_atfork, before main too")]

mod common;

use common::{
    child::{Bare, Child, alone},
    eventually, watchdog,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A place to wait at: nobody is ever let go.
static PLACE: AtomicUsize = AtomicUsize::new(0);

/// Returns when a thread waits at the place, for the first time in this process.
fn somebody_waits() {
    assert!(layby::waiters().is_empty());
    Bare::start(|| layby::wait_until(&PLACE, || false));
    eventually(|| !layby::waiters().is_empty());
}

/// Whether the child handler that is registered before `main` wakes, and how many it has woken.
static HANDLER_WAKES: AtomicBool = AtomicBool::new(false);
static WOKEN_BY_HANDLER: AtomicUsize = AtomicUsize::new(usize::MAX);

extern "C" fn in_child() {
    if HANDLER_WAKES.load(Ordering::Relaxed) {
        WOKEN_BY_HANDLER.store(layby::location_wake_all(&PLACE), Ordering::Relaxed);
    }
}

extern "C" fn register_before_main() {
    // SAFETY: the handler wakes, which takes no lock, and touches atomics.
    let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    if failed != 0 {
        // SAFETY: it may be called at any time.
        unsafe { libc::abort() };
    }
}

// SAFETY: the section is an array of such functions.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = register_before_main;

#[test]
fn a_child_handler_of_a_constructor_wakes() {
    let (_watchdog, _alone) = (watchdog(), alone());
    let process = Child::that(|| {
        somebody_waits();
        HANDLER_WAKES.store(true, Ordering::Relaxed);
        Child::that(|| assert_eq!(WOKEN_BY_HANDLER.load(Ordering::Relaxed), 0, "one of the parent's")).succeeds();
    });
    process.succeeds();
}

#[test]
fn a_first_wait_while_a_prepare_handler_runs() {
    extern "C" fn prepare() {
        somebody_waits();
    }
    let (_watchdog, _alone) = (watchdog(), alone());
    let process = Child::that(|| {
        // SAFETY: the handler runs in the parent, where it may do anything.
        assert_eq!(unsafe { libc::pthread_atfork(Some(prepare), None, None) }, 0);
        Child::that(|| assert_eq!(layby::location_wake_all(&PLACE), 0, "one of the parent's")).succeeds();
    });
    process.succeeds();
}
