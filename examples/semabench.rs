//! The paper's benchmark on your machine, with every peer in it: `cargo run --release --example semabench`.
//!
//! A launcher only: the benchmark is in the package `benches/`, so that its peers and its drawing do not become
//! dependencies of the library. It goes there by way of cargo, as this package cannot depend on that one.

use std::process::Command;

fn main() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--release", "--package", "layby-bench", "--bin", "semabench"]);
    command.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "--"]);
    command.args(std::env::args_os().skip(1));
    become_it(command);
}

/// Replaces this process, so that Ctrl-C and the exit status are the benchmark's own.
#[cfg(unix)]
fn become_it(mut command: Command) {
    use std::os::unix::process::CommandExt as _;
    let error = command.exec();
    eprintln!("cannot start cargo: {error}");
    std::process::exit(127);
}

#[cfg(not(unix))]
fn become_it(mut command: Command) {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => {
            eprintln!("cannot start cargo: {error}");
            std::process::exit(127);
        }
    }
}
