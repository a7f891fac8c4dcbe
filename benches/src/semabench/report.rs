//! The record as tables: Markdown, CSV.

use super::record::{Cell, Record};
use super::trial::Outcome;
use crate::contender::registry::Class;
use crate::losses;
use crate::table::{Table, nanoseconds, short};
use std::fmt::Write as _;

/// A figure of a cell that gets a table of its own.
type Figure = (&'static str, fn(&Cell<'_>) -> String);

const FIGURES: [Figure; 8] = [
    ("operations a second (median)", |cell| short(cell.throughput())),
    ("fairness: least over most operations of a thread (median)", |cell| {
        format!("{:.2}", cell.median_of(Outcome::min_over_max))
    }),
    ("fairness: Jain's index (median)", |cell| format!("{:.3}", cell.median_of(Outcome::jain))),
    ("wait, 99th percentile (median)", |cell| nanoseconds(cell.median_of(|outcome| outcome.wait.p99 as f64))),
    ("wait, 99.9th percentile (median)", |cell| nanoseconds(cell.median_of(|outcome| outcome.wait.p999 as f64))),
    ("longest wait seen in any run", |cell| nanoseconds(cell.max_of(|outcome| outcome.longest_wait_ns() as f64))),
    ("voluntary context switches an operation (median)", |cell| {
        format!("{:.4}", cell.median_of(Outcome::switches_per_operation))
    }),
    ("CPU seconds a million operations (median)", |cell| {
        format!("{:.3}", cell.median_of(Outcome::cpu_seconds_per_million))
    }),
];

/// One class, one figure: a row for each contender, a column for each number of threads.
pub fn table(record: &Record, class: Class, figure: impl Fn(&Cell<'_>) -> String) -> Table {
    table_of(record, class, &record.contenders(class), figure)
}

fn table_of(record: &Record, class: Class, names: &[&str], figure: impl Fn(&Cell<'_>) -> String) -> Table {
    let threads = record.threads();
    let header = std::iter::once(class.title().to_string()).chain(threads.iter().map(|t| format!("T={t}")));
    let mut table = Table::new(header);
    for &name in names {
        let shown = if record.is_ours(name) { format!("**{name}**") } else { name.to_string() };
        let figure = |&t: &usize| record.cell(name, t).map_or_else(|| "-".to_string(), |cell| figure(&cell));
        table.row(std::iter::once(shown).chain(threads.iter().map(figure)));
    }
    table
}

/// Throughput of both classes.
pub fn throughput(record: &Record) -> String {
    let (_, figure) = FIGURES[0];
    classes(record).map(|class| format!("{}\n", table(record, class, figure))).collect()
}

/// The 99.9th percentile of the wait in both classes, of those that are meant to be used and of peers.
pub fn tail(record: &Record) -> String {
    let (_, figure) = FIGURES[4];
    let table = |class| {
        let mut names = record.contenders(class);
        names.retain(|name| !record.is_ours(name) || losses::is_product(name));
        format!("{}\n", table_of(record, class, &names, figure))
    };
    classes(record).map(table).collect()
}

fn classes(record: &Record) -> impl Iterator<Item = Class> {
    Class::ALL.into_iter().filter(|&class| !record.contenders(class).is_empty())
}

/// "3 runs of 0.193 s of each".
pub fn runs(record: &Record) -> String {
    let threads = record.threads();
    let names = Class::ALL.iter().flat_map(|&class| record.contenders(class));
    let cells = names.flat_map(|name| threads.iter().filter_map(move |&t| record.cell(name, t)));
    let (least, most) = cells.map(|cell| cell.runs()).fold((usize::MAX, 0), |(low, high), n| (low.min(n), high.max(n)));
    let runs = if least == most { most.to_string() } else { format!("{least} to {most}") };
    format!("{runs} runs of {:.3} s of each", record.interval_seconds)
}

/// Every figure of both classes.
pub fn markdown(record: &Record) -> String {
    let mut text = format!("# semabench\n\n{}", record.machine.describe());
    writeln!(text, "- {}; ours in bold\n", runs(record)).expect("to a string");
    text.push_str("![throughput against threads](semabench.svg)\n");
    for (title, figure) in FIGURES {
        writeln!(text, "\n## {title}").expect("to a string");
        for class in classes(record) {
            write!(text, "\n{}", table(record, class, figure)).expect("to a string");
        }
    }
    text
}

const COLUMNS: &str = "ops_per_second,min_over_max,jain,wait_p50_ns,wait_p99_ns,wait_p999_ns,longest_wait_ns,\
                       voluntary_switches_per_op,cpu_seconds_per_million_ops";

fn columns(figure: impl Fn(&dyn Fn(&Outcome) -> f64) -> f64) -> String {
    let figures: [&dyn Fn(&Outcome) -> f64; 9] = [
        &Outcome::per_second,
        &Outcome::min_over_max,
        &Outcome::jain,
        &|outcome| outcome.wait.p50 as f64,
        &|outcome| outcome.wait.p99 as f64,
        &|outcome| outcome.wait.p999 as f64,
        &|outcome| outcome.longest_wait_ns() as f64,
        &Outcome::switches_per_operation,
        &Outcome::cpu_seconds_per_million,
    ];
    figures.map(|each| figure(each).to_string()).join(",")
}

/// One line for each contender and number of threads, with medians.
pub fn csv(record: &Record) -> String {
    let mut text = format!("class,contender,threads,runs,{COLUMNS},ops_per_second_min,ops_per_second_max\n");
    for class in Class::ALL {
        for name in record.contenders(class) {
            for threads in record.threads() {
                let Some(cell) = record.cell(name, threads) else { continue };
                let (low, high) = (cell.min_of(Outcome::per_second), cell.max_of(Outcome::per_second));
                let medians = columns(|figure| cell.median_of(figure));
                writeln!(text, "{},{name},{threads},{},{medians},{low},{high}", class.title(), cell.runs())
                    .expect("to a string");
            }
        }
    }
    text
}

/// One line for each run.
pub fn runs_csv(record: &Record) -> String {
    let mut text = format!("class,contender,threads,seconds,operations,{COLUMNS}\n");
    for run in &record.runs {
        let (outcome, figures) = (&run.outcome, columns(|figure| figure(&run.outcome)));
        let (class, seconds, operations) = (run.class.title(), outcome.seconds, outcome.operations());
        writeln!(text, "{class},{},{},{seconds},{operations},{figures}", run.contender, run.threads)
            .expect("to a string");
    }
    text
}
