//! Fuzzing: bytes become a program of several threads over several primitives, and the schedule in which shuttle runs it. A
//! reference that knows nothing of tickets, markers or chains follows every call and every return: a result that it cannot
//! explain is a failure, and so is a thread that sleeps although it could go on.
//!
//! | variable | |
//! |---|---|
//! | `LAYBY_FUZZ_PROGRAMS` | how many programs are made at random |
//! | `LAYBY_SEED` | from what |
//! | `LAYBY_FUZZ_HEX` | this program only, as a failure prints it |
//!
//! By hand: `RUSTFLAGS='--cfg layby_shuttle' cargo test --release --test shuttle fuzz -- --nocapture`

mod bench;
mod pipelines;
mod program;
mod reference;
mod run;
mod shrink;

use crate::random::Random;
use bench::{Program, Programs, Tally, run};
use std::{cell::Cell, env, fs, panic, path::Path, sync::Once};

/// A number of seconds' worth, on two cores.
const PROGRAMS: usize = 20_000;

fn number_from_environment(name: &str, otherwise: usize) -> usize {
    env::var(name).map_or(otherwise, |number| number.parse().expect("a number"))
}

/// Bytes that make a program.
fn random_bytes(random: &mut Random) -> Vec<u8> {
    let length = 4 + random.below(300);
    (0..length).map(|_| random.below(256) as u8).collect()
}

thread_local! {
    /// Whether the panics of this thread are of no interest. shuttle runs all threads of a program on the one that
    /// calls it.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Silences this thread for the length of `work`. The hook is everybody's: other tests, on other threads, report as ever.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // shuttle puts its hook in at its first run, with that run's way to report: here, the usual one. Ours goes on top.
        shuttle::check_random(|| (), 1);
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                loud(panic);
            }
        }));
    });
    QUIET.set(true);
    let result = work();
    QUIET.set(false);
    result
}

/// Runs all programs. The first that fails is made as small as it gets, and reported.
fn check<P: Program>(test: &str, programs: Programs) -> Tally {
    let outcome = quietly(|| {
        run::<P>(programs).map_err(|failure| {
            let small = shrink::shrink::<P>(&failure.bytes);
            let why = run::<P>(Box::new(std::iter::once(small.clone()))).expect_err("it failed before").why;
            let program = P::decode(&small);
            format!(
                "{why}\n{program:#?}\nfirst seen: {}\nagain: LAYBY_FUZZ_HEX={} RUSTFLAGS='--cfg layby_shuttle' \
                 cargo test --release --test shuttle fuzz::{test} -- --nocapture",
                failure.why,
                to_hex(&small)
            )
        })
    });
    outcome.unwrap_or_else(|report| {
        // Not by a panic of its own, to which shuttle's hook would add a schedule that repeats nothing.
        eprintln!("{report}");
        panic::resume_unwind(Box::new(report))
    })
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<_> =
        hex.trim().chars().map(|digit| digit.to_digit(16).expect("hexadecimal digits") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

/// The program in the environment, or random ones; the seed, and what came of them.
fn check_random<P: Program>(test: &str, programs: usize) -> Option<Tally> {
    if let Ok(hex) = env::var("LAYBY_FUZZ_HEX") {
        check::<P>(test, Box::new(std::iter::once(from_hex(&hex))));
        return None;
    }
    let seed = number_from_environment("LAYBY_SEED", std::process::id() as usize);
    let count = number_from_environment("LAYBY_FUZZ_PROGRAMS", programs);
    let mut random = Random::of(&[seed]);
    let tally = check::<P>(test, Box::new((0..count).map(move |_| random_bytes(&mut random))));
    println!("seed {seed}: {tally:?}");
    assert_eq!(tally.programs, count);
    Some(tally)
}

/// All programs of a directory: each line of a file is one.
fn check_corpus<P: Program>(test: &str, corpus: &str) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shuttle/fuzz").join(corpus);
    let mut files: Vec<_> = fs::read_dir(corpus).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let text = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect::<Vec<_>>().join("\n");
    let programs: Vec<_> = text.split_whitespace().map(from_hex).collect();
    let count = programs.len();
    assert!(count > 0);
    assert_eq!(check::<P>(test, Box::new(programs.into_iter())).programs, count);
}

#[test]
fn random_programs() {
    if let Some(tally) = check_random::<program::Program>("random_programs", PROGRAMS) {
        // Otherwise it would not see much.
        let count = tally.programs;
        assert!(tally.calls > 3 * count && tally.given_up > count / 20 && tally.asleep > count / 10, "{tally:?}");
    }
}

/// Programs that once found something: each of them failed with a mutant.
#[test]
fn the_corpus() {
    check_corpus::<program::Program>("random_programs", "corpus");
}

#[test]
fn random_pipelines() {
    if let Some(tally) = check_random::<pipelines::Program>("random_pipelines", PROGRAMS / 4) {
        let count = tally.programs;
        assert!(tally.calls > 3 * count && tally.given_up > count / 20, "{tally:?}");
        assert!((count / 10..count / 2).contains(&tally.cut_short), "{tally:?}");
    }
}

/// Graphs that once found something.
#[test]
fn the_corpus_of_pipelines() {
    check_corpus::<pipelines::Program>("random_pipelines", "pipelines/corpus");
}
