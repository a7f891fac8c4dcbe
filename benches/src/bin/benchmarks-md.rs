//! Makes BENCHMARKS.md from the records. See `--help`.

use clap::Parser;
use layby_bench::machine::date;
use layby_bench::semabench::{record::Record, report};
use layby_bench::{bars, conclusions, losses};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Makes BENCHMARKS.md from the newest record, which is the last by name of the directories in benches/record/.
///
/// A record is made by
///
///   cargo run --release -p layby-bench --bin record
///
/// which calls this program too. Everything on the page that depends on the record is computed from it.
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

const ABOUT: &str = "\
semabench is the paper's benchmark: T threads share a semaphore of one permit; each takes it, steps a shared random number
generator, posts it, and steps a generator of its own. Higher is better. FIFO contenders serve whoever came first; barging
ones let a late arrival overtake sleepers. The two are not ranked against each other. All have the same alignment and
critical section, and each is used as its documentation says.
";

const NAMES: &str = "\
Ours are in bold: layby is `Semaphore` (-park, -spin: on other backends), layby-fair-mutex `FairMutex`, layby-mutex `Mutex`,
layby-atomic a count on `layby::atomic`, ticket and twa-* the paper's listings. pl is parking_lot; `cargo semabench --list`
says what the others are. A dash: it only spins, and is left out with more threads than CPUs.
";

const BUSY: &str = "\
The same beside programs that compute without end, one for each CPU, which semabench starts and ends. Runs differ more there than
on an idle machine: the scheduler decides who of the strangers is interrupted, and when.
[DESIGN.md](DESIGN.md#busy-machines) has what a waiter does then, and [docs/measurements.md](docs/measurements.md#busy-machines) what
was tried.
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

/// The whole text.
fn make(records: &Path) -> Result<String, String> {
    let entries = std::fs::read_dir(records).map_err(|error| format!("cannot read {}: {error}", records.display()))?;
    let mut directories: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.sort();
    let newest = directories.pop().ok_or_else(|| format!("no record in {}; --help says how", records.display()))?;
    let semabench: Record = read(&newest.join("semabench.json"))?;
    let bars: bars::Record = read(&newest.join("bars.json"))?;
    let name = newest.file_name().unwrap_or_default().to_string_lossy();
    Ok(page(&format!("benches/record/{name}"), &semabench, &bars))
}

/// The page of one record, which lies at `place` from the root of the repository.
fn page(place: &str, semabench: &Record, bars: &bars::Record) -> String {
    let idle = &semabench.beside(0);
    let (concluded, from_bars) = (list(conclusions::of_semabench(idle)), list(conclusions::of_bars(bars)));
    let (lost, missed) = (losses::in_semabench(idle), losses::in_bars(bars));
    let (throughput, tail) = (squeezed(&report::throughput(idle)), squeezed(&report::tail(idle)));
    format!(
        "# Benchmarks\n\n![operations a second against threads]({place}/semabench.svg)\n\n{ABOUT}\n{}\n\
         ## What to conclude\n\nEvery ratio is ours divided by theirs, of medians; the least and \
         the greatest over T, each with both figures. On an idle machine.\n\n{concluded}{from_bars}\n\
         ## Where we lose\n\nEvery figure and T at which somebody else is ahead of ours, on an idle machine.\n\n{lost}\n\
         Bars missed, or too noisy to judge (median ratio; middle half of the rounds):\n\n\
         {missed}\n\
         ## Operations a second\n\n{NAMES}\n{throughput}\
         ## p99.9 of the wait\n\nWithout those of ours that are there to be compared.\n\n{tail}{}\
         ## The rest\n\n\
         - [Fairness, p99, longest wait, context switches, CPU time]({place}/semabench.md); [medians]({place}/semabench.csv) \
         and [every run]({place}/runs.csv) as CSV.\n\
         - [Every bar]({place}/bars.md).\n\
         - [What the caches of 2 to 512 virtual CPUs do]({place}/coherence.svg), counted by a simulation, and \
         [as CSV]({place}/coherence.csv).\n\n\
         Made by benches/src/bin/benchmarks-md.rs from [the record]({place}): do not edit it.\n",
        circumstances(semabench, bars),
        busy(semabench),
    )
}

/// What a record says of a machine that others use as well, if it was measured there.
fn busy(semabench: &Record) -> String {
    let Some(number) = semabench.numbers_beside().into_iter().find(|&number| number > 0) else {
        return String::new();
    };
    let record = &semabench.beside(number);
    let (concluded, lost) = (list(conclusions::of_semabench(record)), losses::in_semabench(record));
    let (throughput, cpu) = (squeezed(&report::throughput(record)), squeezed(&report::cpu(record)));
    format!(
        "## On a busy machine\n\n{BUSY}\n{concluded}\nWhere somebody else is ahead:\n\n{lost}\n\
         Operations a second:\n\n{throughput}CPU seconds a million operations:\n\n{cpu}",
    )
}

fn list(lines: Vec<String>) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

/// Tables without the spaces and dashes that align them for the eye.
fn squeezed(tables: &str) -> String {
    let mut text = String::new();
    for c in tables.chars() {
        if !(c == ' ' && text.ends_with(' ') || c == '-' && text.ends_with("---")) {
            text.push(c);
        }
    }
    text
}

/// Where, when, of what and beside what.
fn circumstances(semabench: &Record, bars: &bars::Record) -> String {
    let machine = &semabench.machine;
    let unchecked = if machine.quiet.is_none() || bars.machine.quiet.is_none() {
        " **Made before the recorder refused busy machines.**"
    } else {
        ""
    };
    let (date, runs) = (date(machine.time), report::runs(semabench));
    format!(
        "- {} x {}, {}, {}, {}; layby {} at {}; {date}.\n\
         - semabench, {runs}: {}.\n\
         - bars: {}.{unchecked}\n\
         - To repeat it: `{REPEAT}`; two minutes on your own machine: `cargo semabench`.\n",
        machine.cpus,
        machine.cpu,
        machine.kernel,
        machine.libc,
        machine.rustc,
        machine.layby,
        machine.commit,
        machine.company(),
        bars.machine.company(),
    )
}

const REPEAT: &str = "cargo run --release -p layby-bench --bin record";

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn tables_are_squeezed_and_stay_tables() {
        let table = "| who  |   ops |\n|------|------:|\n| a-b  | 12.0k |\n| c    |     - |\n";
        assert_eq!(super::squeezed(table), "| who | ops |\n|---|---:|\n| a-b | 12.0k |\n| c | - |\n");
    }
}
