//! Records everything on a quiet machine. See `--help`.

use clap::Parser;
use layby_bench::{machine, os, quiet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Makes the record of today: benches/record/YYYY-MM-DD, and BENCHMARKS.md from it. Takes about a quarter of an hour.
///
/// In this order: semabench, on the idle machine and beside a program for each CPU that never sleeps, and bars (both refuse
/// unless the machine is quiet but for that before, during and after; between them it waits until the load average has
/// fallen), coherence (which counts, and does not care), benchmarks-md. Nothing is written to
/// benches/record or to BENCHMARKS.md before all of them have succeeded. An earlier record of the same day is replaced.
#[derive(Parser)]
#[command(name = "record", verbatim_doc_comment)]
struct Arguments {
    /// The directory in benches/record, if not today's date (UTC)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Where the record grows, from the root of the repository.
const STAGING: &str = "target/record";

/// How long each run of semabench is: all of them take some minutes then.
const SECONDS: &str = "0.2";

/// Of the bars, which take three quarters of a minute for each.
const ROUNDS: &str = "9";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let today = || machine::date(machine::now()).split(' ').next().unwrap_or_default().to_string();
    let name = arguments.name.unwrap_or_else(today);
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    // Before anything is built: a build of our own is not what makes the machine busy.
    if let Err(complaint) = quiet::settle() {
        return quiet::refuse(&complaint);
    }
    let begun = Instant::now();
    match record(root, &name) {
        Ok(()) => {
            println!("benches/record/{name} and BENCHMARKS.md: done in {:.0} s", begun.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(complaint) => {
            eprintln!("error: {complaint}");
            ExitCode::FAILURE
        }
    }
}

fn record(root: &Path, name: &str) -> Result<(), String> {
    let staging = root.join(STAGING);
    let io = |error: std::io::Error| format!("{}: {error}", staging.display());
    if staging.exists() {
        std::fs::remove_dir_all(&staging).map_err(io)?;
    }
    std::fs::create_dir_all(&staging).map_err(io)?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "-p", "layby-bench", "--features", "png", "--bins"]);
    stage("build", &mut cargo, root, &[0])?;
    let beside = format!("0,{}", os::cpus());
    let semabench = ["--record", "--output", STAGING, "--beside", &beside, "--seconds", SECONDS];
    stage("semabench", program("semabench")?.args(semabench), root, &[0])?;
    // 1 is a bar that falls short: that is recorded as well.
    let bars = format!("{STAGING}/bars.json");
    stage("bars", program("bars")?.args(["--record", &bars, "--rounds", ROUNDS]), root, &[0, 1])?;
    stage("coherence", program("coherence")?.args(["--output", STAGING]), root, &[0])?;
    replace(&staging, &root.join("benches/record").join(name))?;
    stage("benchmarks-md", &mut program("benchmarks-md")?, root, &[0])
}

/// The program that lies beside this one.
fn program(name: &str) -> Result<Command, String> {
    let this = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    Ok(Command::new(this.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX))))
}

/// Runs one of them to its end, and says how long it took.
fn stage(name: &str, command: &mut Command, root: &Path, good: &[i32]) -> Result<(), String> {
    println!("=== {name}");
    let begun = Instant::now();
    let status = command.current_dir(root).status().map_err(|error| format!("cannot start {name}: {error}"))?;
    println!("=== {name}: {:.0} s", begun.elapsed().as_secs_f64());
    match status.code() {
        Some(code) if good.contains(&code) => Ok(()),
        _ => Err(format!("{name} ended with {status}; benches/record is as it was")),
    }
}

/// Puts the files of one directory into another in place of what was there. They may be on different file systems.
fn replace(from: &Path, to: &Path) -> Result<(), String> {
    let files = |directory: &Path| -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let copy = || {
        std::fs::create_dir_all(to)?;
        for old in files(to)? {
            std::fs::remove_file(old)?;
        }
        for new in files(from)? {
            std::fs::copy(&new, to.join(new.file_name().unwrap_or_default()))?;
        }
        Ok(())
    };
    copy().map_err(|error: std::io::Error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_replaces_the_one_before_it() {
        let root = std::env::temp_dir().join(format!("layby-record-{}", std::process::id()));
        let (from, to) = (root.join("from"), root.join("a/b"));
        for (directory, file) in [(&from, "new"), (&to, "old")] {
            std::fs::create_dir_all(directory).unwrap();
            std::fs::write(directory.join(file), file).unwrap();
        }
        replace(&from, &to).unwrap();
        let names: Vec<_> = std::fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(names, ["new"]);
    }
}
