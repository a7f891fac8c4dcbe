//! The programs of `tests/shuttle/fuzz`, made by libFuzzer: it keeps those that reach code that none reached before.
//!
//! In shuttle's world, so `RUSTFLAGS='--cfg layby_shuttle'`, as `ci/fuzz.sh` does. Whatever panics is found: an assertion of
//! the crate, a deadlock that shuttle reports, and a result that the reference cannot explain.

#![no_main]

#[path = "../tests/shuttle/fuzz/bench.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with a test that shrinks its programs, and looks at the tally")]
mod bench;
#[path = "../tests/shuttle/fuzz/program.rs"]
#[allow(dead_code, unreachable_pub, reason = "as above")]
mod program;
#[path = "../tests/shuttle/fuzz/reference.rs"]
mod reference;
#[path = "../tests/shuttle/fuzz/run.rs"]
mod run;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(failure) = bench::run::<program::Program>(Box::new(std::iter::once(bytes.to_vec()))) {
        panic!("{}", failure.why);
    }
});
