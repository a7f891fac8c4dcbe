//! The pipelines of `tests/shuttle/fuzz/pipelines`, made by libFuzzer, as `programs.rs` has it of the primitives.

#![no_main]

#[path = "../tests/shuttle/fuzz/bench.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with a test that shrinks its programs, and looks at the tally")]
mod bench;
#[path = "../tests/shuttle/fuzz/pipelines/mod.rs"]
mod pipelines;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(failure) = bench::run::<pipelines::Program>(Box::new(std::iter::once(bytes.to_vec()))) {
        panic!("{}", failure.why);
    }
});
