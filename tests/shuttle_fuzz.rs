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
//! By hand: `RUSTFLAGS='--cfg layby_shuttle' cargo test --release --test shuttle_fuzz -- --nocapture`
//!
//! shuttle is blind to every weak-memory bug. Time is an event of the model: all deadlines pass at once, at any moment.

#![cfg(layby_shuttle)]

#[path = "fuzz/program.rs"]
mod program;
#[path = "common/random.rs"]
mod random;
#[path = "fuzz/reference.rs"]
mod reference;
#[path = "fuzz/run.rs"]
mod run;
#[path = "fuzz/shrink.rs"]
mod shrink;

use random::Random;
use run::{Programs, run};
use std::{
    env, fs, panic,
    path::Path,
    sync::{Mutex, PoisonError},
};

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

/// Runs all programs. The first that fails is made as small as it gets, and reported.
fn check(programs: Programs) -> run::Tally {
    // What panics while a program is made smaller is of no interest; and the hook is everybody's.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    panic::set_hook(Box::new(|_| {}));
    let outcome = run(programs).map_err(|failure| {
        let small = shrink::shrink(&failure.bytes);
        let why = run(Box::new(std::iter::once(small.clone()))).expect_err("it failed before").why;
        let program = program::Program::decode(&small);
        format!(
            "{why}\n{program:#?}\nfirst seen: {}\nagain: LAYBY_FUZZ_HEX={} RUSTFLAGS='--cfg layby_shuttle' \
             cargo test --release --test shuttle_fuzz random_programs -- --nocapture",
            failure.why,
            to_hex(&small)
        )
    });
    drop(panic::take_hook());
    outcome.unwrap_or_else(|report| panic!("{report}"))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<_> =
        hex.trim().chars().map(|digit| digit.to_digit(16).expect("hexadecimal digits") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

#[test]
fn random_programs() {
    if let Ok(hex) = env::var("LAYBY_FUZZ_HEX") {
        check(Box::new(std::iter::once(from_hex(&hex))));
        return;
    }
    let seed = number_from_environment("LAYBY_SEED", std::process::id() as usize);
    let count = number_from_environment("LAYBY_FUZZ_PROGRAMS", PROGRAMS);
    let mut random = Random::of(&[seed]);
    let tally = check(Box::new((0..count).map(move |_| random_bytes(&mut random))));
    println!("seed {seed}: {tally:?}");
    assert_eq!(tally.programs, count);
    // Otherwise it would not see much.
    assert!(tally.calls > 3 * count && tally.given_up > count / 20 && tally.asleep > count / 10, "{tally:?}");
}

/// Programs that once found something: each of them failed with a mutant of `ci/model.sh`.
#[test]
fn the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut files: Vec<_> = fs::read_dir(corpus).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let count = files.len();
    let tally = check(Box::new(files.into_iter().map(|file| from_hex(&fs::read_to_string(file).unwrap()))));
    assert_eq!(tally.programs, count);
}
