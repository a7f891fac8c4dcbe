//! The mutex under contention, held for longer than a few instructions: throughput, CPU time, and the longest wait.

use super::measure::{Bound, Effort, Finding, with_free_cpus};
use crate::held::{Hold, LOCKS, Outcome, in_turns};
use std::time::Duration;

const HOLDS: [Hold; 5] = [
    Hold::Computing(Duration::ZERO),
    Hold::Computing(Duration::from_micros(1)),
    Hold::Computing(Duration::from_micros(10)),
    Hold::Computing(Duration::from_micros(50)),
    Hold::Asleep(Duration::from_micros(100)),
];

const THREADS: [usize; 4] = [2, 4, 8, 64];

/// Against the better of std's and parking_lot's: in each round, whichever lets more through.
pub fn for_a_while(effort: Effort) -> Vec<Finding> {
    let effort = effort.of_trials();
    let settings = HOLDS.into_iter().flat_map(|hold| THREADS.map(|threads| (hold, threads)));
    settings.flat_map(|(hold, threads)| with_free_cpus(|| at(hold, threads, effort))).collect()
}

fn at(hold: Hold, threads: usize, effort: Effort) -> Vec<Finding> {
    let outcomes = in_turns(&LOCKS[..3], threads, hold, effort.rounds, effort.slice);
    let [ours, std, parking_lot] = &outcomes[..] else { unreachable!("one for each lock") };
    let winners = std.iter().zip(parking_lot).map(|(a, b)| if a.per_second > b.per_second { a } else { b });
    let rounds: Vec<(&Outcome, &Outcome)> = ours.iter().zip(winners).collect();
    let compare = |what: &str, against: &str, bound, of: fn(&Outcome, &Outcome) -> f64| {
        let ratios = rounds.iter().map(|(ours, theirs)| of(ours, theirs)).collect();
        Finding::new(format!("Mutex held for {hold}, T = {threads}: {what}"), against, bound, ratios)
    };
    vec![
        compare("throughput", "the better of std, parking_lot", Bound::AtLeast(1.0), |ours, theirs| {
            ours.per_second / theirs.per_second
        }),
        compare("CPU time", "the same one", Bound::AtMost(1.1), |ours, theirs| {
            ours.cpu_per_operation / theirs.cpu_per_operation
        }),
        compare("longest wait", "the same one", Bound::Shown, |ours, theirs| ours.longest_wait / theirs.longest_wait),
        compare("longest wait", "1 ms", Bound::Shown, |ours, _| ours.longest_wait / 1e-3),
    ]
}
