//! A test that runs once more in a process of its own.

use std::{env, process::Command};

/// Runs the test of this name and no other, with `value` in the environment as `variable`.
pub(crate) fn running(test: &str, variable: &str, value: &str) -> Command {
    // In emulation the program is started by another one.
    let runner = env::var("LAYBY_TEST_RUNNER").unwrap_or_default();
    let this_program = env::args().next().unwrap();
    let mut words = runner.split_whitespace().chain([this_program.as_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", test, "--nocapture"]).env(variable, value);
    command
}
