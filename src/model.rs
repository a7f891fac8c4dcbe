//! For those who model-check what they build: layby inside [loom] and [shuttle].
//!
//! This module exists only with `--cfg layby_loom` or `--cfg layby_shuttle`; the crate then takes its atomics, thread-locals
//! and its clock from the checker, and sleeps in it. A lost wake-up is a deadlock, which the checker reports.
//!
//! ```toml
//! [target.'cfg(layby_loom)'.dependencies]
//! loom = "0.7"
//!
//! [lints.rust]
//! unexpected_cfgs = { level = "warn", check-cfg = ["cfg(layby_loom)", "cfg(layby_shuttle)"] }
//! ```
//!
//! ```ignore
//! #[cfg(layby_loom)]
//! use loom::{sync::atomic::{AtomicBool, Ordering}, thread};
//! use std::sync::Arc;
//!
//! #[test]
//! fn nobody_is_left_behind() {
//!     layby::model::check(|| {
//!         let ready = Arc::new(AtomicBool::new(false));
//!         let there = Arc::clone(&ready);
//!         let waiter = thread::spawn(move || layby::wait_until(&there, || there.load(Ordering::Acquire)));
//!         ready.store(true, Ordering::Release);
//!         layby::location_wake_all(&ready); // without it: "deadlock; threads = …"
//!         waiter.join().unwrap();
//!     });
//! }
//! ```
//!
//! ```sh
//! RUSTFLAGS="--cfg layby_loom" cargo test --release
//! ```
//!
//! `examples/model_checked` is a package that does it.
//!
//! - **Time** passes when a thread of the model calls [`expire_deadlines`], or somewhere in the middle with
//!   [`check_with_deadlines`]. The value of a deadline does not matter.
//! - **Your own code** takes its atomics, locks and threads from the checker, too; `layby`'s locations include the checker's
//!   atomics. [`layby::atomic`](crate::atomic) is for those of the standard library, and has no place in a model.
//! - **Constructors** are not `const` in a model, and what is in a `static` elsewhere is made anew in each execution. lock_api's
//!   types need constants, so `layby::mutex` has its raw locks only.
//! - **loom** takes `SeqCst` accesses for acquire and release; what rests on them needs a `SeqCst` fence, as
//!   [`location_wake_all`](crate::location_wake_all) has, or another tool. It also lets a plain store fall between the two halves
//!   of a read-modify-write of another thread, which no machine does; if a model fails for that, swap instead of storing.
//! - **A model that fails** panics, as any test does. `LOOM_LOG=trace LOOM_LOCATION=1` print the execution. Only if a thread that is
//!   stuck holds an `Arc` of loom's, that one panics once more in its destructor, and the test ends by SIGABRT, after the report:
//!   take the standard library's. (Loom then does not look for leaks, and orders nothing by the count.)
//! - **`--cfg loom` alone** is refused by a compile error: layby would really sleep, in the one thread that loom has.
//!
//! [loom]: https://docs.rs/loom
//! [shuttle]: https://docs.rs/shuttle

/// Checks a model: explores its executions, each of which [begins](begin) by itself.
///
/// With loom all executions with up to three preemptions, or as many as the variable `LOOM_MAX_PREEMPTIONS` says; with shuttle a
/// thousand random schedules. For other settings call [`begin`] first in the closure that you give to the checker.
///
/// # Panics
/// If an execution does, or if none of its threads can go on.
#[cfg_attr(not(layby_model), allow(unused_variables, reason = "there is no checker"))]
pub fn check<F: Fn() + Send + Sync + 'static>(model: F) {
    #[cfg(layby_loom)]
    {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(3);
        builder.check(move || {
            begin();
            model();
        });
    }
    #[cfg(layby_shuttle)]
    shuttle::check_random(
        move || {
            begin();
            model();
        },
        1000,
    );
}

/// Like [`check`], with one thread more, which lets all deadlines pass at some moment, in every place where that matters.
///
/// # Panics
/// Like [`check`].
pub fn check_with_deadlines<F: Fn() + Send + Sync + 'static>(model: F) {
    check(move || {
        #[cfg(layby_model)]
        let expiry = crate::sync::checker::thread::spawn(expire_deadlines);
        model();
        #[cfg(layby_model)]
        expiry.join().expect("it does nothing else");
    });
}

/// Begins an execution: call it first in a closure that you give to the checker yourself; [`check`] does it for you.
///
/// It makes every static that holds atomics of the checker. A real static exists before any thread does, so these must
/// exist before the model has a second thread.
pub fn begin() {
    #[cfg(layby_model)]
    {
        crate::sync::model::begin_execution();
        crate::wait_table::global();
        crate::wait_table::crowds();
        crate::ticket_queue::first_bank();
        crate::ticket_queue::spare_bank();
        crate::ticket_queue::larger_banks();
        crate::ticket_queue::how_many_larger();
        crate::ticket_queue::top_level();
        crate::ticket_queue::above_singles();
        crate::ticket_queue::granted_were_left();
        crate::paper::wait_array();
        crate::paper::wait_slots();
    }
}

/// Lets every deadline of this execution pass. Call it from a thread of the model: when that happens is then part of
/// the interleaving.
pub fn expire_deadlines() {
    #[cfg(layby_model)]
    crate::sync::model::expire_deadlines();
}
