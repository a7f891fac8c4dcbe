//! The paper's benchmark with every peer in it. See `--help`.

use clap::{CommandFactory as _, Parser as _, error::ErrorKind};
use layby_bench::beside::{self, Strangers};
use layby_bench::chart;
use layby_bench::machine::Machine;
use layby_bench::quiet::{self, Watch};
use layby_bench::semabench::arguments::{self, Arguments, Plan};
use layby_bench::semabench::progress::Progress;
use layby_bench::semabench::record::{Record, Section};
use layby_bench::semabench::trial::Trial;
use layby_bench::semabench::{figure, report};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What a shell reports of a program that Ctrl-C ended.
const ENDED_BY_CTRL_C: u8 = 130;

fn main() -> ExitCode {
    beside::become_one_if_asked();
    let arguments = Arguments::parse();
    if arguments.list {
        print!("{}", arguments::list());
        return ExitCode::SUCCESS;
    }
    let plan = match Plan::of(&arguments) {
        Ok(plan) => plan,
        Err(complaint) => Arguments::command().error(ErrorKind::InvalidValue, complaint).exit(),
    };
    let watch = match arguments.record.then(Watch::begin).transpose() {
        Ok(watch) => watch,
        Err(complaint) => return quiet::refuse(&complaint),
    };
    // Before the measurement: better to complain now than in two minutes.
    if let Err(error) = std::fs::create_dir_all(&arguments.output) {
        let complaint = format!("cannot make the directory {}: {error}", arguments.output.display());
        Arguments::command().error(ErrorKind::Io, complaint).exit();
    }
    let installed = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(ENDED_BY_CTRL_C.into());
        }
    });
    if let Err(error) = installed {
        eprintln!("warning: Ctrl-C will lose what was measured: {error}");
    }
    let mut record = measure(&plan);
    if record.runs.is_empty() {
        eprintln!("interrupted before the first run was over: nothing to show");
        return ExitCode::from(ENDED_BY_CTRL_C);
    }
    println!("{}", report::for_a_terminal(&record));
    if layby::counters::ENABLED {
        println!("Events an operation:\n\n{}", report::events(&record));
    }
    if watch.is_some() && INTERRUPTED.load(Ordering::Relaxed) {
        eprintln!("interrupted: nothing is recorded");
        return ExitCode::from(ENDED_BY_CTRL_C);
    }
    record.machine.quiet = match watch.map(Watch::end).transpose() {
        Ok(quiet) => quiet,
        Err(complaint) => return quiet::refuse(&complaint),
    };
    if let Err(complaint) = write_all(&record, &arguments.output) {
        eprintln!("error: {complaint}");
        return ExitCode::FAILURE;
    }
    println!("Figure, all tables and the raw record: {}", arguments.output.join("semabench.svg").display());
    println!("also semabench.md (fairness, waits, context switches, CPU time), .csv, .json, runs.csv");
    if INTERRUPTED.load(Ordering::Relaxed) {
        println!("Interrupted: {} of {} runs were measured.", record.runs.len(), plan.trials());
        return ExitCode::from(ENDED_BY_CTRL_C);
    }
    ExitCode::SUCCESS
}

/// Runs everything once, then once more, and so on: an interrupted measurement then has some of all.
fn measure(plan: &Plan) -> Record {
    let command: Vec<_> = std::iter::once("cargo semabench".to_string()).chain(std::env::args().skip(1)).collect();
    let machine = Machine::here(command.join(" "));
    println!("{}", machine.describe());
    let section = Section { permits: plan.permits, hold: plan.hold, strangers: plan.strangers };
    let mut record = Record { machine, interval_seconds: plan.interval.as_secs_f64(), section, runs: Vec::new() };
    plan.hold.prepare();
    eprintln!(
        "{} contenders, T = {:?}, {} runs of {:.0} ms of each; Ctrl-C stops and keeps what was measured\n",
        plan.contenders.len(),
        plan.threads,
        plan.runs,
        plan.interval.as_secs_f64() * 1e3,
    );
    let mut progress = Progress::start(plan);
    'all: for round in 1..=plan.runs {
        for &beside in &plan.beside {
            let _strangers = Strangers::start(beside, plan.strangers);
            for (threads, contender) in plan.cells() {
                progress.running(contender.name, threads, round);
                let &Plan { interval, pinning, permits, hold, .. } = plan;
                let trial = Trial { threads, interval, pinning, permits, hold, interrupted: &INTERRUPTED };
                let Some(outcome) = (contender.run)(&trial) else { break 'all };
                record.add(contender, threads, beside, outcome);
                progress.ran(&record);
            }
        }
    }
    progress.finish();
    record
}

fn write_all(record: &Record, directory: &Path) -> Result<(), String> {
    let svg = figure::svg(record);
    let json = serde_json::to_string(record).map_err(|error| error.to_string())?;
    let mut files = vec![
        ("semabench.json".to_string(), json.into_bytes()),
        ("semabench.csv".to_string(), report::csv(record).into_bytes()),
        ("runs.csv".to_string(), report::runs_csv(record).into_bytes()),
        ("semabench.md".to_string(), report::markdown(record).into_bytes()),
    ];
    files.extend(chart::files("semabench", svg)?);
    for (name, content) in files {
        let path = directory.join(name);
        std::fs::write(&path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}
