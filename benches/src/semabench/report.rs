//! The record as tables: Markdown, CSV.

use super::record::{Cell, Record, Run};
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

/// Both classes for people who see no Markdown, with what they need to know to read it: throughput; and, if the machine was
/// busy or permits were held for a while, what an operation cost and how long it took to get in.
pub fn for_a_terminal(record: &Record) -> String {
    let is_unusual = record.section_if_unusual().is_some() || record.numbers_beside() != [0];
    let figures = if is_unusual { &[0, 7, 3, 5][..] } else { &[0] };
    let mut tables = String::new();
    for (number, part) in parts(record) {
        for &(title, figure) in figures.iter().map(|&index| &FIGURES[index]) {
            if is_unusual {
                writeln!(tables, "{title}, {}:", record.place(number)).expect("to a string");
            }
            for class in classes(&part) {
                writeln!(tables, "{}", table(&part, class, figure)).expect("to a string");
            }
        }
    }
    // As long as what they replace, so that columns stay in line.
    let tables = tables.replace("| **", "| * ").replace("**", "  ");
    let section = record.section_if_unusual().map_or_else(String::new, |section| format!("{section}.\n"));
    format!(
        "Operations a second, of all T threads together; median of the runs; k: thousand, M: million.\n\
         *: layby's own. -: not run, for it only spins, and there are more threads than CPUs.\n{section}\n{tables}"
    )
}

type Count = fn(&Outcome) -> u64;

/// What layby counts, for each operation.
const EVENTS: [(&str, Count); 11] = [
    ("waits", |outcome| outcome.counted.waits),
    ("wake-ups", |outcome| outcome.counted.wakes),
    ("staged", |outcome| outcome.counted.staged_wakes),
    ("futile", |outcome| outcome.counted.futile_wakes),
    ("polls that succeeded", |outcome| outcome.counted.spins_succeeded),
    ("that failed", |outcome| outcome.counted.spins_failed),
    ("yields", |outcome| outcome.counted.yields),
    ("calls to sleep", |outcome| outcome.counted.sleep_calls),
    ("to wake", |outcome| outcome.counted.wake_calls),
    ("voluntary switches", |outcome| outcome.voluntary_switches),
    ("involuntary", |outcome| outcome.involuntary_switches),
];

/// What a hand-over of ours is made of, if this build counts (`--features layby/counters`): a row for each event.
pub fn events(record: &Record) -> String {
    let mut text = String::new();
    for (number, part) in parts(record) {
        for name in part.contenders(Class::Fifo).into_iter().filter(|name| part.is_ours(name)) {
            let threads = part.threads();
            let title = format!("{name}, {}", record.place(number));
            let mut table =
                Table::new(std::iter::once(title).chain(threads.iter().map(|threads| format!("T={threads}"))));
            for (title, event) in EVENTS {
                let figure = |cell: Cell<'_>| cell.median_of(|outcome| outcome.per_operation(event(outcome)));
                let figure =
                    |&t: &usize| part.cell(name, t).map_or_else(String::new, |cell| format!("{:.2}", figure(cell)));
                table.row(std::iter::once(title.to_string()).chain(threads.iter().map(figure)));
            }
            writeln!(text, "{table}").expect("to a string");
        }
    }
    text
}

/// The record in parts, one for each number of programs beside it.
fn parts(record: &Record) -> impl Iterator<Item = (usize, Record)> {
    record.numbers_beside().into_iter().map(|number| (number, record.beside(number)))
}

/// The 99.9th percentile of the wait in both classes, of those that are meant to be used and of peers.
pub fn tail(record: &Record) -> String {
    of_products_and_peers(record, FIGURES[4])
}

/// The CPU time of an operation, likewise.
pub fn cpu(record: &Record) -> String {
    of_products_and_peers(record, FIGURES[7])
}

fn of_products_and_peers(record: &Record, (_, figure): Figure) -> String {
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
    let parts: Vec<_> = parts(record).map(|(_, part)| part).collect();
    let cells = names.flat_map(|name| threads.iter().map(move |&t| (name, t)));
    let cells = cells.flat_map(|(name, t)| parts.iter().filter_map(move |part| part.cell(name, t)));
    let (least, most) = cells.map(|cell| cell.runs()).fold((usize::MAX, 0), |(low, high), n| (low.min(n), high.max(n)));
    let runs = if least == most { most.to_string() } else { format!("{least} to {most}") };
    format!("{runs} runs of {:.3} s of each", record.interval_seconds)
}

/// Every figure of both classes.
pub fn markdown(record: &Record) -> String {
    let mut text = format!("# semabench\n\n{}", record.machine.describe());
    writeln!(text, "- {}; ours in bold\n", runs(record)).expect("to a string");
    if let Some(section) = record.section_if_unusual() {
        writeln!(text, "- {section}\n").expect("to a string");
    }
    text.push_str("![throughput against threads](semabench.svg)\n");
    let is_idle = record.numbers_beside() == [0];
    for (title, figure) in FIGURES {
        for (number, part) in parts(record) {
            let place = if is_idle { String::new() } else { format!(", {}", record.place(number)) };
            writeln!(text, "\n## {title}{place}").expect("to a string");
            for class in classes(&part) {
                write!(text, "\n{}", table(&part, class, figure)).expect("to a string");
            }
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
    let mut text = format!("class,contender,threads,beside,runs,{COLUMNS},ops_per_second_min,ops_per_second_max\n");
    for (beside, part) in parts(record) {
        for class in Class::ALL {
            for name in part.contenders(class) {
                for threads in part.threads() {
                    let Some(cell) = part.cell(name, threads) else { continue };
                    let (low, high) = (cell.min_of(Outcome::per_second), cell.max_of(Outcome::per_second));
                    let medians = columns(|figure| cell.median_of(figure));
                    writeln!(
                        text,
                        "{},{name},{threads},{beside},{},{medians},{low},{high}",
                        class.title(),
                        cell.runs()
                    )
                    .expect("to a string");
                }
            }
        }
    }
    text
}

/// One line for each run.
pub fn runs_csv(record: &Record) -> String {
    let mut text = format!("class,contender,threads,beside,seconds,operations,{COLUMNS}\n");
    for run in &record.runs {
        let (outcome, figures) = (&run.outcome, columns(|figure| figure(&run.outcome)));
        let (class, seconds, operations) = (run.class.title(), outcome.seconds, outcome.operations());
        let Run { contender, threads, beside, .. } = run;
        writeln!(text, "{class},{contender},{threads},{beside},{seconds},{operations},{figures}").expect("to a string");
    }
    text
}
