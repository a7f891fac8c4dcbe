//! `held [--holds 0,1,10,50,"100 asleep"] [--threads 2,4,8,64] [--rounds 5] [--millis 100]`: locks that are held for a while, in
//! absolute figures, medians of the rounds. What the bars say about them is `bars --only held`.

use clap::Parser;
use layby_bench::held::{Hold, LOCKS, Outcome, in_turns};
use layby_bench::table::{Table, quantile};
use std::time::Duration;

/// Locks that are held for a while, in absolute figures
#[derive(Parser)]
struct Arguments {
    /// For how long, in microseconds, computing unless it says "asleep"
    #[arg(long, value_delimiter = ',', default_values = ["0", "1", "10", "50", "100 asleep"])]
    holds: Vec<Hold>,
    /// By how many threads
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 8, 64])]
    threads: Vec<usize>,
    /// Only the locks whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Medians of so many runs, by turns
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long a run is
    #[arg(long, default_value_t = 100)]
    millis: u64,
}

fn main() {
    let arguments = Arguments::parse();
    let locks: Vec<_> = LOCKS.into_iter().filter(|(name, _)| name.contains(&arguments.only)).collect();
    let mut table = Table::new(["held for", "T", "lock", "1,000/s", "CPU us each", "longest wait ms"]);
    for &hold in &arguments.holds {
        for &threads in &arguments.threads {
            let interval = Duration::from_millis(arguments.millis);
            let outcomes = in_turns(&locks, threads, hold, arguments.rounds, interval);
            for ((name, _), outcomes) in locks.iter().zip(&outcomes) {
                let median = |of: fn(&Outcome) -> f64| quantile(&outcomes.iter().map(of).collect::<Vec<_>>(), 0.5);
                table.row([
                    hold.to_string(),
                    threads.to_string(),
                    (*name).to_string(),
                    format!("{:.1}", median(|outcome| outcome.per_second) / 1e3),
                    format!("{:.3}", median(|outcome| outcome.cpu_per_operation) * 1e6),
                    format!("{:.2}", median(|outcome| outcome.longest_wait) * 1e3),
                ]);
            }
        }
    }
    print!("{table}");
}
