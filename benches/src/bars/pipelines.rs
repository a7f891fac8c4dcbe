//! Pipelines: entries a second of chains and other shapes, latency at a fixed rate, CPU time when idle.

use super::measure::{Bound, Effort, Finding, Side, against, ratios, with_free_cpus};
use crate::pipeline::{Passing, layby_three, layby_two, peers_of_three, peers_of_two};
use crate::shapes::{self, Latencies, layby_diamond, layby_producers, peers_of_diamond, peers_of_producers};
use layby::pipeline::WaitStrategy;
use std::time::Duration;

/// Our time to theirs. With more threads than CPUs a spinner is of no use; with a CPU for each it is hard to beat.
pub fn chains(effort: Effort) -> Vec<Finding> {
    let two = |batch, ours, peers: &[(&str, Passing)]| {
        let what = format!("pipeline, producer and one stage, ring of 1,024, batch {batch}");
        all_of(&what, ours, peers, bound_with_two, effort)
    };
    let three = |batch, ours, peers: &[(&str, Passing)]| {
        let what = format!("pipeline, producer and two stages, ring of 1,024, batch {batch}");
        all_of(&what, ours, peers, bound_with_three, effort)
    };
    [
        two(1, layby_two::<1>, &peers_of_two::<1>()),
        two(16, layby_two::<16>, &peers_of_two::<16>()),
        three(1, layby_three::<1>, &peers_of_three::<1>()),
        three(16, layby_three::<16>, &peers_of_three::<16>()),
    ]
    .concat()
}

/// Three producers and a diamond have no bars.
pub fn shapes(effort: Effort) -> Vec<Finding> {
    let shown = |what, ours, peers: &[(&str, Passing)]| all_of(what, ours, peers, |_| Bound::Shown, effort);
    [
        shown("pipeline, three producers and one stage, ring of 1,024", layby_producers, &peers_of_producers()),
        shown("pipeline, diamond of four stages, ring of 1,024", layby_diamond, &peers_of_diamond()),
    ]
    .concat()
}

fn bound_with_two(peer: &str) -> Bound {
    match peer {
        "disruptor (BusySpin)" => Bound::AtMost(1.25),
        "crossbeam-channel" => Bound::AtMost(0.667),
        _ => Bound::Shown,
    }
}

fn bound_with_three(peer: &str) -> Bound {
    match peer {
        "disruptor (BusySpin)" => Bound::AtMost(0.1),
        "crossbeam-channel" => Bound::AtMost(0.667),
        "std mpsc" => Bound::AtMost(0.333),
        _ => Bound::Shown,
    }
}

fn all_of(
    what: &str,
    mut ours: Passing,
    peers: &[(&str, Passing)],
    bound_of: fn(&str) -> Bound,
    effort: Effort,
) -> Vec<Finding> {
    let mut peers = peers.to_vec();
    let mut sides: Vec<_> = peers.iter_mut().map(|(name, pass)| (*name, bound_of(name), pass as Side<'_>)).collect();
    with_free_cpus(|| against(what, &mut ours, &mut sides, effort.in_long_slices()))
}

/// For how long each side gets entries at a fixed rate, in a round. Arbitrary: for the 99th percentile of an entry every 100 us.
const AT_A_RATE: Duration = Duration::from_millis(50);

/// An entry every so often, to a stage that waits for it: when it has it, by the side's 50th and 99th percentile of each round.
pub fn latency(effort: Effort) -> Vec<Finding> {
    type AtARate = fn(u64, Duration) -> Latencies;
    let rounds = effort.rounds.min(11);
    let peers: [(&str, AtARate); 2] =
        [("crossbeam-channel", shapes::crossbeam_latency), ("disruptor (BusySpin)", shapes::disruptor_latency)];
    let mut findings = vec![];
    for every in [1, 10, 100].map(Duration::from_micros) {
        let n = (AT_A_RATE.as_micros() / every.as_micros()) as u64;
        for (name, theirs) in peers {
            let pairs: Vec<_> = (0..rounds)
                .map(|_| (shapes::layby_latency(n, every, WaitStrategy::default()), theirs(n, every)))
                .collect();
            for (part, quantile) in [("median", 0.5), ("99th percentile", 0.99)] {
                let at = |latencies: &Latencies| latencies.value_at_quantile(quantile) as f64;
                let (ours, theirs): (Vec<_>, Vec<_>) =
                    pairs.iter().map(|(ours, theirs)| (at(ours), at(theirs))).unzip();
                let what = format!("pipeline, an entry every {every:?}: {part} of the latency");
                findings.push(Finding::new(what, name, Bound::Shown, ratios(&ours, &theirs)));
            }
        }
    }
    findings
}

/// Three stages that wait for ten seconds in all.
pub fn idle(_: Effort) -> Vec<Finding> {
    let second = Duration::from_secs(1);
    let used = (0..10).map(|_| shapes::idle(second).as_secs_f64()).collect();
    vec![Finding::new("pipeline, three stages idle: CPU time", "the clock", Bound::AtMost(0.001), used)]
}
