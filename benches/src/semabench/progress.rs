//! What is shown while it runs: a table that fills, and a bar with the time left. On standard error, so that standard
//! output holds the result alone; without a terminal, an occasional line.

use super::arguments::Plan;
use super::record::Record;
use super::report;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

pub struct Progress {
    bars: MultiProgress,
    bar: ProgressBar,
    /// The live table; its text changes.
    table: Option<ProgressBar>,
    /// Without a terminal: when a line was last written.
    last_line: Option<Instant>,
}

const BETWEEN_LINES: Duration = Duration::from_secs(10);

impl Progress {
    pub fn start(plan: &Plan) -> Self {
        let bars = MultiProgress::new();
        let on_terminal = std::io::stderr().is_terminal();
        let table = on_terminal.then(|| {
            let table = bars.add(ProgressBar::new_spinner());
            table.set_style(ProgressStyle::with_template("{msg}").expect("a good template"));
            table
        });
        let bar = bars.add(ProgressBar::new(plan.trials() as u64));
        let template = "[{elapsed_precise}] {wide_bar:.cyan/blue} {pos}/{len}, {eta} left  {msg}";
        bar.set_style(ProgressStyle::with_template(template).expect("a good template"));
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bars, bar, table, last_line: (!on_terminal).then(Instant::now) }
    }

    pub fn running(&self, contender: &str, threads: usize, round: usize) {
        self.bar.set_message(format!("{contender}, T={threads}, run {round}"));
    }

    pub fn ran(&mut self, record: &Record) {
        self.bar.inc(1);
        if let Some(table) = &self.table {
            table.set_message(live_table(record));
        }
        if self.last_line.is_some_and(|last| last.elapsed() >= BETWEEN_LINES) {
            self.last_line = Some(Instant::now());
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            eprintln!("{done} of {all} runs, {} s left", self.bar.eta().as_secs());
        }
    }

    pub fn finish(self) {
        self.bar.finish_and_clear();
        if let Some(table) = self.table {
            table.finish_and_clear();
        }
        // The bars clear what they have drawn; a failure to do so hurts nobody.
        let _ = self.bars.clear();
    }
}

/// The throughput so far. A terminal shorter than the table would flicker: then only its first rows are shown.
fn live_table(record: &Record) -> String {
    let (height, _) = console::Term::stderr().size();
    let rows = usize::from(height).saturating_sub(3);
    report::for_a_terminal(record).lines().take(rows).collect::<Vec<_>>().join("\n")
}
