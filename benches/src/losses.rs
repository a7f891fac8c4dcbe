//! Where we lose, computed from the records, so that nobody has to own up to it.

use crate::bars;
use crate::bars::measure::{Finding, Verdict};
use crate::conclusions::{CPU, Figure, TAIL, THROUGHPUT};
use crate::contender::registry::{CONTENDERS, Class};
use crate::semabench::record::Record;
use crate::semabench::trial::Outcome;
use crate::table::{Table, nanoseconds};

const FIGURES: [Figure; 3] = [THROUGHPUT, TAIL, CPU];

/// Less than this is a draw: two runs of the same thing differ by as much.
const DRAW: f64 = 1.05;

/// One of ours that people are told to use, and who else does the same.
struct Product {
    name: &'static str,
    class: Class,
    /// Everybody of the class, if none are named.
    rivals: &'static [&'static str],
}

const PRODUCTS: [Product; 4] = [
    Product { name: "layby", class: Class::Fifo, rivals: &[] },
    Product { name: "layby-fair-mutex", class: Class::Fifo, rivals: &["pl-fair"] },
    Product { name: "layby-mutex", class: Class::Barging, rivals: &[] },
    Product { name: "layby-atomic", class: Class::Barging, rivals: &["glibc", "futex", "atomic-wait"] },
];

/// Whether it is one that people are told to use.
pub fn is_product(name: &str) -> bool {
    PRODUCTS.iter().any(|product| product.name == name)
}

/// One of ours behind others in one figure with one number of threads.
struct Loss {
    figure: Figure,
    ours: &'static str,
    threads: usize,
    value: f64,
    /// The best first.
    ahead: Vec<(String, f64)>,
}

impl Loss {
    /// By how much the best of them is ahead; above 1.
    fn lead(&self) -> f64 {
        let best = self.ahead[0].1;
        if self.figure.more_is_better { best / self.value } else { self.value / best }
    }

    /// "T = 4: 18 us, somebody 12 us, somebody else 13 us".
    fn show(&self) -> String {
        let show = |(name, value): &(String, f64)| format!(", {name} {}", (self.figure.show)(*value));
        let ahead: String = self.ahead.iter().map(show).collect();
        format!("T = {}: {}{ahead}", self.threads, (self.figure.show)(self.value))
    }
}

/// Losses of the same contender in the same figure, as one text each.
fn gathered(losses: &[Loss]) -> Vec<(&'static str, &'static str, String)> {
    let mut rows: Vec<(&str, &str, String)> = Vec::new();
    for loss in losses {
        match rows.iter_mut().find(|(figure, ours, _)| (*figure, *ours) == (loss.figure.title, loss.ours)) {
            Some((.., text)) => *text = format!("{text}; {}", loss.show()),
            None => rows.push((loss.figure.title, loss.ours, loss.show())),
        }
    }
    rows
}

/// Every figure, product and T where somebody else has the better median.
fn all(record: &Record) -> Vec<Loss> {
    let mut losses = Vec::new();
    for figure in FIGURES {
        for product in &PRODUCTS {
            for threads in record.threads() {
                let Some(value) = figure.value(record, product.name, threads) else { continue };
                let is_rival = |name: &&str| product.rivals.is_empty() || product.rivals.contains(name);
                let rivals = record.contenders(product.class).into_iter().filter(|name| !record.is_ours(name));
                let mut ahead: Vec<_> = rivals
                    .filter(is_rival)
                    .filter_map(|name| Some((name.to_string(), figure.value(record, name, threads)?)))
                    .filter(|&(_, theirs)| figure.is_better(theirs, value))
                    .collect();
                ahead.sort_by(|a, b| if figure.more_is_better { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
                if !ahead.is_empty() {
                    losses.push(Loss { figure, ours: product.name, threads, value, ahead });
                }
            }
        }
    }
    losses
}

/// The losses of semabench: a table of the clear ones, the narrow ones in a sentence, what explains them.
pub fn in_semabench(record: &Record) -> String {
    let (clear, mut narrow): (Vec<_>, Vec<_>) = all(record).into_iter().partition(|loss| loss.lead() > DRAW);
    // The same to as many digits as are shown.
    narrow.retain(|loss| (loss.figure.show)(loss.value) != (loss.figure.show)(loss.ahead[0].1));
    let mut text = String::new();
    if clear.is_empty() {
        text.push_str("In semabench nobody else is ahead by more than 5 %.\n");
    } else {
        let mut table = Table::new(["figure", "ours", "where it is behind: its own figure, then those ahead of it"]);
        gathered(&clear).iter().for_each(|(figure, ours, text)| table.row([*figure, *ours, text]));
        text.push_str(&table.compact());
    }
    let mut lines = Vec::new();
    if !narrow.is_empty() {
        let show = |(figure, ours, text): (&str, &str, String)| format!("{figure}, {ours}, {text}");
        let narrow = gathered(&narrow).into_iter().map(show).collect::<Vec<_>>().join(". ");
        lines.push(Some(format!(
            "Behind by less than 5 %, which is what two runs of the same thing differ by: {narrow}."
        )));
    }
    lines.push(listings(record));
    let ahead = |name: &str| clear.iter().chain(&narrow).any(|loss| loss.ahead.iter().any(|(peer, _)| peer == name));
    let is_overtaken = |name: &str| CONTENDERS.iter().any(|contender| contender.name == name && contender.overtaken);
    let overtaken: Vec<_> = record.contenders(Class::Fifo).into_iter().filter(|name| is_overtaken(name)).collect();
    if overtaken.iter().any(|name| ahead(name)) {
        lines.push(Some(format!(
            "{} is in the FIFO tables because it hands over to sleepers in order; its arrivals spin and overtake them.",
            overtaken.join(", ")
        )));
    }
    lines.push(starving(record, &clear));
    for line in lines.into_iter().flatten() {
        text.push_str(&format!("\n{line}\n"));
    }
    text
}

/// A percentile is over the takes that were made, and a thread that starves makes few.
fn starving(record: &Record, clear: &[Loss]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let of_it = |loss: &&Loss| loss.figure.title == TAIL.title && loss.ours == "layby-mutex";
    for (name, _) in clear.iter().filter(of_it).flat_map(|loss| &loss.ahead) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let share = |name: &&str| {
        let cells = || record.threads().into_iter().filter(|&t| t > 1).filter_map(|t| record.cell(name, t));
        let least = cells().map(|cell| cell.median_of(Outcome::min_over_max)).reduce(f64::min)?;
        let longest = cells().map(|cell| cell.max_of(|outcome| outcome.longest_wait_ns() as f64)).reduce(f64::max)?;
        Some(format!("{name} {least:.2}, {}", nanoseconds(longest)))
    };
    let ours = share(&"layby-mutex")?;
    let theirs: Vec<_> = names.iter().filter_map(share).collect();
    (!theirs.is_empty()).then(|| {
        format!(
            "A percentile counts the takes that were made, and a thread that starves makes few. So here is, for those \
             ahead of `Mutex` in p99.9, the worst share of the least lucky thread (1 is even) and the longest wait: {}; \
             ours: {ours}.",
            theirs.join("; ")
        )
    })
}

/// The rest of ours: the paper's listings and other backends.
fn listings(record: &Record) -> Option<String> {
    let mut behind = Vec::new();
    for class in Class::ALL {
        let names = record.contenders(class);
        let (ours, peers): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| record.is_ours(name));
        for name in ours.into_iter().filter(|name| !is_product(name)) {
            let ratio = |threads: usize| {
                let best = peers.iter().filter_map(|peer| THROUGHPUT.value(record, peer, threads)).reduce(f64::max)?;
                Some((threads, THROUGHPUT.value(record, name, threads)? / best))
            };
            let mut behind_at: Vec<_> = record.threads().into_iter().filter_map(ratio).collect();
            let measured = behind_at.len();
            behind_at.retain(|&(_, ratio)| ratio * DRAW < 1.0);
            let Some(&(worst, ratio)) = behind_at.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            behind.push(format!("{name} {ratio:.2} (T = {worst}; behind at {} of {measured} T)", behind_at.len()));
        }
    }
    (!behind.is_empty()).then(|| {
        format!(
            "The rest of ours, which is there to be compared: operations a second, as a multiple of the fastest peer's, \
             at worst: {}.",
            behind.join("; ")
        )
    })
}

/// Every bar that was not reached, or could not be judged.
pub fn in_bars(record: &bars::Record) -> String {
    let missed = |finding: &&Finding| matches!(finding.verdict(), Verdict::Short | Verdict::TooNoisy);
    let missed: Vec<_> = record.findings.iter().filter(missed).cloned().collect();
    if missed.is_empty() { "Every bar is reached.\n".to_string() } else { bars::table(&missed).compact() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusions;
    use crate::contender::registry::by_name;
    use crate::machine::Machine;
    use crate::semabench::record::Section;
    use crate::semabench::trial::{Counted, Wait};

    /// (contender, T, operations, p99.9 in ns)
    fn record(cells: &[(&str, usize, u64, u64)]) -> Record {
        let machine = Machine { cpus: 2, ..Machine::here(String::new()) };
        let mut record = Record { machine, interval_seconds: 1.0, section: Section::default(), runs: Vec::new() };
        for &(name, threads, operations, p999) in cells {
            let outcome = Outcome {
                seconds: 1.0,
                counts: vec![operations / threads as u64; threads],
                // The same for each operation.
                cpu_seconds: operations as f64 / 1e6,
                voluntary_switches: 0,
                involuntary_switches: 0,
                counted: Counted::default(),
                wait: Wait { p999, ..Wait::default() },
                standstill_ns: 0,
            };
            record.add(by_name(name), threads, 0, outcome);
        }
        record
    }

    #[test]
    fn who_wins_everywhere_has_nothing_in_the_table() {
        let text = in_semabench(&record(&[("layby", 4, 400, 10), ("tokio", 4, 200, 20)]));
        assert_eq!(text, "In semabench nobody else is ahead by more than 5 %.\n");
    }

    #[test]
    fn a_loss_is_told_with_both_figures_and_a_narrow_one_too() {
        let cells = [("layby", 4, 400, 10), ("tokio", 4, 800, 20), ("layby", 8, 400, 10), ("tokio", 8, 408, 20)];
        let text = in_semabench(&record(&cells));
        assert!(text.contains("| operations a second | layby | T = 4: 400.0, tokio 800.0 |"), "{text}");
        assert!(text.contains("less than 5 %"), "{text}");
        assert!(text.contains("operations a second, layby, T = 8: 400.0, tokio 408.0"), "{text}");
    }

    #[test]
    fn what_is_not_for_use_is_not_hidden_either() {
        let cells = [("layby", 4, 400, 10), ("twa-array", 4, 20, 10), ("tokio", 4, 200, 20)];
        assert!(in_semabench(&record(&cells)).contains("twa-array 0.10 (T = 4; behind at 1 of 1 T)"));
    }

    #[test]
    fn conclusions_have_the_least_and_the_greatest_ratio() {
        let cells = [("layby", 4, 400, 10), ("tokio", 4, 200, 20), ("layby", 8, 80, 10), ("tokio", 8, 160, 20)];
        let lines = conclusions::of_semabench(&record(&cells)).join("\n");
        let range = "0.50 (T = 8: 80.00, tokio 160.0) to 2.0 (T = 4: 400.0, tokio 200.0)";
        assert!(lines.contains(range), "{lines}");
    }
}
