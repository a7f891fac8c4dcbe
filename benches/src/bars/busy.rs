//! semabench beside programs that never sleep, and pools whose permits are held for a while.

use super::contention::{Field, Section};
use super::measure::{Bound, Effort, Finding};
use crate::beside::{Habit, Strangers};
use crate::os;
use crate::semabench::hold::Hold;
use crate::semabench::trial::Outcome;
use crate::table::quantile;
use std::time::Duration;

const THREADS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// From here on a contender that is overtaken serves in order all the same: least over most operations of a thread.
const IN_ORDER: f64 = 0.9;

const CPU: &str = "CPU an operation";

/// Beside so many programs, at every T: those who serve in order have a bar; who lets others overtake has one where nobody did.
fn fifo_beside(number: usize, habit: Habit, effort: Effort) -> Vec<Finding> {
    let _strangers = Strangers::start(number, habit);
    let peers = ["tokio", "saa", "asyncband", "pl-fair"];
    let at = |threads: usize| {
        let field = Field::measure("layby", &peers, Section::of_the_paper(threads), effort.of_trials());
        let what =
            format!("FIFO beside {number}{}, T = {threads}", if habit == Habit::Dozing { " dozing" } else { "" });
        let mut findings = field.compare(&what, Outcome::per_second, |peer, outcomes| {
            let fairness: Vec<_> = outcomes.iter().map(Outcome::min_over_max).collect();
            match peer.name {
                "tokio" => Bound::AtLeast(1.2),
                _ if peer.overtaken && quantile(&fairness, 0.5) < IN_ORDER => Bound::Shown,
                _ => Bound::AtLeast(1.0),
            }
        });
        findings.extend(field.compare(&format!("{what}: {CPU}"), Outcome::cpu_seconds_per_million, |peer, _| {
            if peer.name == "tokio" { Bound::AtMost(1.0) } else { Bound::Shown }
        }));
        findings
    };
    THREADS.into_iter().flat_map(at).collect()
}

/// As many as there are CPUs.
pub fn fifo(effort: Effort) -> Vec<Finding> {
    fifo_beside(os::cpus(), Habit::Computing, effort)
}

/// One, twice as many as there are CPUs, and one that sleeps half of the time.
pub fn fifo_beside_others(effort: Effort) -> Vec<Finding> {
    let settings = [(1, Habit::Computing), (2 * os::cpus(), Habit::Computing), (1, Habit::Dozing)];
    settings.into_iter().flat_map(|(number, habit)| fifo_beside(number, habit, effort)).collect()
}

/// Mutexes beside as many programs as there are CPUs.
pub fn barging(effort: Effort) -> Vec<Finding> {
    let number = os::cpus();
    let _strangers = Strangers::start(number, Habit::Computing);
    let at = |threads: usize| {
        let section = Section::of_the_paper(threads);
        let field = Field::measure("layby-mutex", &["pl-mutex", "std-mutex"], section, effort.of_trials());
        let what = format!("barging beside {number}, T = {threads}");
        field.compare(&what, Outcome::per_second, |_, _| Bound::AtLeast(1.0))
    };
    THREADS.into_iter().flat_map(at).collect()
}

/// Threads, permits, and what their holders do.
const POOLS: [(usize, u32, Hold); 6] = [
    (16, 4, Hold::Asleep(Duration::from_micros(100))),
    (32, 8, Hold::Asleep(Duration::from_millis(1))),
    (8, 2, Hold::OneStep),
    (8, 2, Hold::Computing(Duration::from_micros(1))),
    (8, 2, Hold::Computing(Duration::from_micros(5))),
    (16, 4, Hold::Computing(Duration::from_micros(20))),
];

/// Pools whose permits are held for a while, on an idle machine.
pub fn pools(effort: Effort) -> Vec<Finding> {
    let of = |(threads, permits, hold): (usize, u32, Hold)| {
        let field = Field::measure("layby", &["tokio"], Section { threads, permits, hold }, effort.of_trials());
        let what = format!("pool of {permits}, T = {threads}, {hold}");
        let mut findings = field.compare(&what, Outcome::per_second, |_, _| Bound::AtLeast(1.0));
        let cpu = Outcome::cpu_seconds_per_million;
        findings.extend(field.compare(&format!("{what}: {CPU}"), cpu, |_, _| Bound::AtMost(1.1)));
        let p99 = |outcome: &Outcome| outcome.wait.p99 as f64;
        findings.extend(field.compare(&format!("{what}: 99th percentile of the wait"), p99, |_, _| Bound::Shown));
        let longest = |outcome: &Outcome| outcome.wait.max as f64;
        findings.extend(field.compare(&format!("{what}: longest wait"), longest, |_, _| Bound::AtMost(1.0)));
        findings
    };
    POOLS.into_iter().flat_map(of).collect()
}
