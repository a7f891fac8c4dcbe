//! Measures every bar and says which are reached. See `--help`.

use clap::Parser;
use layby_bench::bars::measure::{Effort, Finding, Verdict};
use layby_bench::bars::{GROUPS, Group, Record, table};
use layby_bench::beside;
use layby_bench::machine::Machine;
use layby_bench::os;
use layby_bench::quiet::{self, Watch};
use layby_bench::table::Table;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// What layby must reach, measured on this machine.
///
/// Each bar is a ratio of two things measured by turns within this process: ours, theirs, theirs, ours, … The table
/// shows the median ratio, the middle half of the rounds, the bar, and the verdict:
///
///   ok         the middle half of the rounds reaches the bar;
///   SHORT      the middle half misses it;
///   too noisy  the middle half straddles it, or the bar is about free CPUs and other programs used more than a
///              tenth of them.
///
/// Exits with 1 if a bar falls short, and with 3 if a record was asked for and the machine was not quiet.
#[derive(Parser)]
#[command(name = "bars", verbatim_doc_comment)]
struct Arguments {
    /// Only the groups whose name contains this; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Show the groups of bars and exit
    #[arg(long)]
    list: bool,
    /// Rounds for each pair: more of them make the middle half steadier
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    rounds: u32,
    /// Write every ratio of every round to this file, as JSON, and the table to the same name with .md; refuse, and write
    /// nothing, unless the machine is quiet before, during and after
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Measure one group here and print its findings as JSON: what `bars` itself starts for those on one CPU
    #[arg(long, value_name = "NAME", hide = true)]
    inside: Option<String>,
}

fn main() -> ExitCode {
    beside::become_one_if_asked();
    let arguments = Arguments::parse();
    if arguments.list {
        let mut table = Table::new(["group", "what it measures"]);
        GROUPS.iter().for_each(|group| table.row([group.name, group.about]));
        print!("{table}");
        return ExitCode::SUCCESS;
    }
    let effort = Effort { rounds: arguments.rounds as usize, slice: Duration::from_millis(4) };
    if let Some(group) = arguments.inside.as_ref().and_then(|name| GROUPS.iter().find(|group| group.name == name)) {
        println!("{}", serde_json::to_string(&(group.measure)(effort)).expect("findings are plain data"));
        return ExitCode::SUCCESS;
    }
    let wanted = |group: &&Group| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| group.name.contains(name.as_str()))
    };
    let groups: Vec<_> = GROUPS.iter().filter(wanted).collect();
    if groups.is_empty() {
        eprintln!("error: no group is called {}; --list shows them", arguments.only.join(" or "));
        return ExitCode::from(2);
    }
    let watch = match arguments.record.as_ref().map(|_| Watch::begin()).transpose() {
        Ok(watch) => watch,
        Err(complaint) => return quiet::refuse(&complaint),
    };
    let mut machine = Machine::here(command_line());
    println!("{}", machine.describe());
    let begun = Instant::now();
    let mut findings = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        eprintln!("[{}/{}] {}: {}", index + 1, groups.len(), group.name, group.about);
        findings.extend(if group.on_one_cpu { on_one_cpu(group, &arguments) } else { (group.measure)(effort) });
    }
    print!("\n{}", table(&findings));
    let count = |verdict| findings.iter().filter(|finding| finding.verdict() == verdict).count();
    let (ok, short, noisy) = (count(Verdict::Ok), count(Verdict::Short), count(Verdict::TooNoisy));
    println!("\n{ok} ok, {short} short, {noisy} too noisy, in {:.0} s", begun.elapsed().as_secs_f64());
    let most_used = findings.iter().map(|finding| finding.used_by_others).fold(0.0, f64::max);
    if noisy > 0 {
        println!("other programs used up to {:.0} % of the CPUs", most_used * 100.0);
        println!("too noisy: run it again when nothing else is running, or with more --rounds");
    }
    if let Some(path) = &arguments.record {
        machine.quiet = match watch.map(Watch::end).transpose() {
            Ok(quiet) => quiet,
            Err(complaint) => return quiet::refuse(&complaint),
        };
        if let Err(complaint) = write(&Record { machine, findings }, path) {
            eprintln!("error: {complaint}");
            return ExitCode::from(2);
        }
    }
    if short > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn write(record: &Record, path: &Path) -> Result<(), String> {
    let json = serde_json::to_string(record).expect("a record is plain data");
    for (path, content) in [(path, json), (&path.with_extension("md"), record.markdown())] {
        std::fs::write(path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Measures in a process of its own.
fn on_one_cpu(group: &Group, arguments: &Arguments) -> Vec<Finding> {
    let output = os::on_one_cpu(|| {
        let program = std::env::current_exe().expect("a program knows where it is");
        let rounds = arguments.rounds.to_string();
        Command::new(program).args(["--rounds", &rounds, "--inside", group.name]).stderr(Stdio::inherit()).output()
    });
    let output = output.expect("a program can start itself");
    assert!(output.status.success(), "{} failed: {}", group.name, output.status);
    serde_json::from_slice(&output.stdout).expect("findings as JSON")
}

fn command_line() -> String {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    format!("cargo run --release -p layby-bench --bin bars -- {}", arguments.join(" "))
        .trim_end_matches([' ', '-'])
        .to_string()
}
