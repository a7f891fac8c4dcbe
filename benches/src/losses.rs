//! Where we lose, found in the records themselves so that nobody has to admit it.

use crate::bars;
use crate::bars::measure::Verdict;
use crate::contender::registry::Class;
use crate::semabench::record::{Cell, Record};
use crate::semabench::trial::Outcome;
use crate::table::{Table, nanoseconds, short};

/// A figure of a cell, how it is shown, and whether more is better.
struct Figure {
    title: &'static str,
    of: fn(&Cell<'_>) -> f64,
    show: fn(f64) -> String,
    more_is_better: bool,
}

const FIGURES: [Figure; 3] = [
    Figure { title: "operations a second", of: |cell| cell.throughput(), show: short, more_is_better: true },
    Figure {
        title: "wait, 99.9th percentile",
        of: |cell| cell.median_of(|outcome| outcome.wait.p999 as f64),
        show: nanoseconds,
        more_is_better: false,
    },
    Figure {
        title: "CPU seconds a million operations",
        of: |cell| cell.median_of(Outcome::cpu_seconds_per_million),
        show: |value| format!("{value:.3}"),
        more_is_better: false,
    },
];

/// Less than this is a draw: two runs of the same thing differ by as much.
const DRAW: f64 = 1.05;

/// The one of ours that people are told to use: the others do not count as wins.
fn to_use(class: Class) -> &'static str {
    match class {
        Class::Fifo => "layby",
        Class::Barging => "layby-mutex",
    }
}

/// Every figure, class and T where a peer is ahead of the one of ours that is to be used.
pub fn in_semabench(record: &Record) -> Table {
    let mut table = Table::new(["figure", "class", "T", "ours", "ahead of it"]);
    for figure in &FIGURES {
        for class in Class::ALL {
            for threads in record.threads() {
                let mut field: Vec<(f64, &str, bool)> = record
                    .contenders(class)
                    .into_iter()
                    .filter_map(|name| Some(((figure.of)(&record.cell(name, threads)?), name, record.is_ours(name))))
                    .collect();
                field.sort_by(|a, b| if figure.more_is_better { b.0.total_cmp(&a.0) } else { a.0.total_cmp(&b.0) });
                let Some(&(best, ours, _)) = field.iter().find(|(_, name, _)| *name == to_use(class)) else { continue };
                let is_ahead = |theirs: f64| {
                    if figure.more_is_better { theirs > best * DRAW } else { theirs * DRAW < best }
                };
                let ahead = field.iter().filter(|&&(value, _, ours)| !ours && is_ahead(value));
                let ahead: Vec<_> = ahead.map(|&(value, name, _)| format!("{name} {}", (figure.show)(value))).collect();
                if !ahead.is_empty() {
                    let ours = format!("{ours} {}", (figure.show)(best));
                    table.row([figure.title, class.title(), &threads.to_string(), &ours, &ahead.join(", ")]);
                }
            }
        }
    }
    table
}

/// Every bar that was not reached, or could not be judged.
pub fn in_bars(record: &bars::Record) -> Table {
    let missed = |finding: &&bars::measure::Finding| matches!(finding.verdict(), Verdict::Short | Verdict::TooNoisy);
    bars::table(&record.findings.iter().filter(missed).cloned().collect::<Vec<_>>())
}
