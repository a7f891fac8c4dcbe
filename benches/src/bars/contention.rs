//! semabench's classes, as bars.

use super::measure::{Bound, Effort, Finding, ratios, with_free_cpus};
use crate::contender::registry::{Contender, Waits, by_name};
use crate::os;
use crate::semabench::trial::{Outcome, Pinning, Trial};
use std::sync::atomic::AtomicBool;

const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Throughput of each in each round, taking turns.
fn throughputs(contenders: &[&Contender], threads: usize, effort: Effort) -> Vec<Vec<f64>> {
    let never = AtomicBool::new(false);
    let trial = Trial { threads, interval: effort.slice, pinning: Pinning::None, interrupted: &never };
    let mut throughputs = vec![Vec::with_capacity(effort.rounds); contenders.len()];
    for round in 0..effort.rounds {
        for turn in 0..contenders.len() {
            let index = (turn + round) % contenders.len();
            let outcome = (contenders[index].run)(&trial);
            throughputs[index].push(outcome.as_ref().map_or(f64::NAN, Outcome::per_second));
        }
    }
    throughputs
}

/// One of ours against peers, at every T. `bound` is asked for each peer and T.
fn class(
    what: &str,
    ours: &str,
    peers: &[&str],
    effort: Effort,
    bound: impl Fn(&Contender, usize) -> Bound,
) -> Vec<Finding> {
    let effort = effort.of_trials();
    let at = |threads: usize| {
        let mut field = vec![by_name(ours)];
        let sleeps_or_fits = |peer: &&Contender| peer.waits == Waits::Sleeping || threads <= os::cpus();
        field.extend(peers.iter().map(|&peer| by_name(peer)).filter(sleeps_or_fits));
        let throughputs = throughputs(&field, threads, effort);
        let finding = |(peer, theirs): (&&Contender, &Vec<f64>)| {
            let what = format!("{what}, T = {threads}");
            Finding::new(what, peer.name, bound(peer, threads), ratios(&throughputs[0], theirs))
        };
        field.iter().zip(&throughputs).skip(1).map(finding).collect()
    };
    THREADS.into_iter().flat_map(|threads| with_free_cpus(|| at(threads))).collect()
}

/// Published FIFO semaphores have a bar; what was put together for this benchmark, and what is overtaken, is shown.
pub fn fifo(effort: Effort) -> Vec<Finding> {
    let peers = ["tokio", "saa", "asyncband", "futex-ticket", "spin-ticket", "pl-fair"];
    class("semabench FIFO", "layby", &peers, effort, |peer, threads| match peer.name {
        "tokio" | "saa" | "asyncband" => Bound::AtLeast(if threads < 4 { 1.0 } else { 2.0 }),
        _ => Bound::Shown,
    })
}

pub fn barging(effort: Effort) -> Vec<Finding> {
    let peers = ["pl-mutex", "std-mutex", "glibc"];
    class("semabench barging", "layby-mutex", &peers, effort, |_, _| Bound::AtLeast(1.0))
}

/// With two threads nobody ever sleeps in parking_lot's mutex, and unlock_fair hands over to sleepers only: its threads
/// overtake each other as they like.
pub fn fair_mutex(effort: Effort) -> Vec<Finding> {
    class("FairMutex", "layby-fair-mutex", &["pl-fair"], effort, |_, _| Bound::AtLeast(1.0))
}
