//! Makes BENCHMARKS.md from the records. See `--help`.

use clap::Parser;
use layby_bench::semabench::{record::Record, report};
use layby_bench::{bars, losses};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Makes BENCHMARKS.md from recorded runs.
///
/// A record is a directory under benches/record/, made by
///
///   cargo run --release --example semabench -- --full --output benches/record/NAME
///   cargo run --release -p layby-bench --bin bars -- --record benches/record/NAME/bars.json
///
/// and, written by hand, benches/record/NAME/notes.md: why we lose where we lose.
#[derive(Parser)]
#[command(name = "benchmarks-md", verbatim_doc_comment)]
struct Arguments {
    /// Where the records are
    #[arg(long, default_value = "benches/record", value_name = "DIRECTORY")]
    records: PathBuf,
    /// What to write
    #[arg(long, default_value = "BENCHMARKS.md", value_name = "FILE")]
    output: PathBuf,
    /// Write nothing; fail if the file is not what the records give
    #[arg(long)]
    check: bool,
}

const HEAD: &str = "\
# Benchmarks

Made from the records in [benches/record](benches/record) by `cargo run --release -p layby-bench --bin benchmarks-md`; do
not edit. On your own machine: `cargo run --release --example semabench` for the figure, and
`cargo run --release -p layby-bench --bin bars` for the bars.

FIFO and barging contenders are two classes and are not compared: the first serve who came first, the second let a late
arrival overtake those who sleep. All have the same alignment and the same critical section, and each is used as its own
documentation says. pl-fair is shown among the FIFO ones, but its arrivals spin and overtake sleepers.
";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match make(&arguments.records) {
        Err(complaint) => {
            eprintln!("error: {complaint}");
            ExitCode::from(2)
        }
        Ok(text) if arguments.check => {
            let same = std::fs::read_to_string(&arguments.output).is_ok_and(|current| current == text);
            if !same {
                eprintln!("{} is not what the records give: make it again", arguments.output.display());
            }
            if same { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Ok(text) => match std::fs::write(&arguments.output, text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: cannot write {}: {error}", arguments.output.display());
                ExitCode::from(2)
            }
        },
    }
}

/// The whole text, the newest record last by its name.
fn make(records: &Path) -> Result<String, String> {
    let entries = std::fs::read_dir(records).map_err(|error| format!("cannot read {}: {error}", records.display()))?;
    let mut directories: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.sort();
    if directories.is_empty() {
        return Err(format!("no record in {}; --help says how to make one", records.display()));
    }
    let mut text = HEAD.to_string();
    for directory in directories {
        text.push_str(&section(&directory)?);
    }
    Ok(text)
}

/// A record's part: what there is of figure, tables, bars and losses.
fn section(directory: &Path) -> Result<String, String> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let mut text = format!("\n## {name}\n");
    let mut lost = String::new();
    if let Some(record) = read::<Record>(&directory.join("semabench.json"))? {
        let figure = format!("benches/record/{name}/semabench.svg");
        let tables = report::markdown(&record).replace("](semabench.svg)", &format!("]({figure})"));
        text.push_str(&deeper(&tables));
        write!(lost, "\n{}", losses::in_semabench(&record)).expect("to a string");
    }
    if let Some(record) = read::<bars::Record>(&directory.join("bars.json"))? {
        let (machine, table) = (record.machine.describe(), bars::table(&record.findings));
        write!(text, "\n### bars\n\n{machine}\n{table}").expect("to a string");
        write!(lost, "\nBars not reached, or not to be judged:\n\n{}", losses::in_bars(&record)).expect("to a string");
    }
    write!(text, "\n### where we lose\n{lost}").expect("to a string");
    if let Ok(notes) = std::fs::read_to_string(directory.join("notes.md")) {
        write!(text, "\n{notes}").expect("to a string");
    }
    Ok(text)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    match std::fs::read(path) {
        Err(_) => Ok(None),
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| format!("{}: {error}", path.display())),
    }
}

/// Headings two levels down.
fn deeper(markdown: &str) -> String {
    markdown
        .lines()
        .map(|line| if line.starts_with('#') { format!("##{line}\n") } else { format!("{line}\n") })
        .collect()
}
