//! Pipelines: every stage sees every entry once and in order, who waits is told, and every way to end.
//!
//! Blind to: weak memory and rare interleavings (`tests/loom/pipeline.rs`); that entries are not touched by two at a time, which a
//! sanitizer sees (`ci/sanitize.sh thread`) and the tests only by its consequences.

#![cfg(all(not(layby_model), target_has_atomic = "64", not(layby_narrow)))]

#[path = "../common/mod.rs"]
mod common;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod cpu_time;
mod ends;
mod measured;
mod order;
mod random;
mod reports;
mod tasks;
mod times;

use layby::wait_table::Activity;

/// Whether reports on waiters know the names of threads.
const NAMES_ARE_KNOWN: bool = cfg!(any(target_os = "linux", target_os = "android", windows)) && !cfg!(miri);

/// Returns when a thread of each of these names sleeps in the global table; where names are not known, after a while.
fn all_asleep(names: &[&str]) {
    if !NAMES_ARE_KNOWN {
        return (0..100).for_each(|_| std::thread::yield_now());
    }
    common::eventually(|| {
        let report = layby::waiters();
        let asleep = |name: &&str| {
            let mut of_that_name = report.iter().filter(|waiter| waiter.thread_name() == Some(name));
            of_that_name.any(|waiter| waiter.activity() == Activity::Asleep)
        };
        names.iter().all(asleep)
    });
}
