//! EventCounts: one advance before a thousand waiters, and a pipeline.

use super::measure::{Bound, Effort, Finding, Side, against, ratios, with_free_cpus};
use crate::crowd::{Broadcast, Crowd, Targeted};
use crate::pipeline::{Passing, layby_three, layby_two, peers_of_three, peers_of_two};

/// Advances of one round; each is one waiter fewer.
const ADVANCES: u64 = 20;
const WAITERS: u64 = 1000;

pub fn targeted_wake(effort: Effort) -> Vec<Finding> {
    let rounds = effort.of_trials().rounds.min((WAITERS / ADVANCES) as usize - 1);
    let (ours, theirs) = (Crowd::<Targeted>::gather(WAITERS), Crowd::<Broadcast>::gather(WAITERS));
    let (mut woken, mut times) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..rounds {
        let one = ours.advance(ADVANCES);
        let all = theirs.advance(ADVANCES);
        woken.push(one.sleeps_of_others as f64 / ADVANCES as f64);
        times[0].push(one.time.as_secs_f64());
        times[1].push(all.time.as_secs_f64());
    }
    vec![
        Finding::new("EventCount, 1,000 values awaited: others woken", "an advance", Bound::AtMost(0.02), woken),
        Finding::new(
            "EventCount, 1,000 values awaited: speed",
            "condvar broadcast",
            Bound::AtLeast(20.0),
            ratios(&times[1], &times[0]),
        ),
    ]
}

/// Our time to theirs. With more threads than CPUs a spinner is of no use; with a CPU for each it is hard to beat.
pub fn pipeline(effort: Effort) -> Vec<Finding> {
    const TWO: &str = "pipeline, producer and one stage";
    const THREE: &str = "pipeline, producer and two stages";
    [
        all_of(TWO, 1, layby_two::<1>, &peers_of_two::<1>(), effort),
        all_of(TWO, 16, layby_two::<16>, &peers_of_two::<16>(), effort),
        all_of(THREE, 1, layby_three::<1>, &peers_of_three::<1>(), effort),
        all_of(THREE, 16, layby_three::<16>, &peers_of_three::<16>(), effort),
    ]
    .concat()
}

fn bound_of(what: &str, peer: &str) -> Bound {
    let three_threads = what.ends_with("two stages");
    match peer {
        "disruptor (BusySpin)" if three_threads => Bound::AtMost(0.1),
        "disruptor (BusySpin)" => Bound::AtMost(1.25),
        "crossbeam-channel" => Bound::AtMost(0.667),
        "std mpsc" if three_threads => Bound::AtMost(0.333),
        _ => Bound::Shown,
    }
}

fn all_of(what: &str, batch: usize, mut ours: Passing, peers: &[(&str, Passing)], effort: Effort) -> Vec<Finding> {
    let mut peers = peers.to_vec();
    let mut sides: Vec<_> =
        peers.iter_mut().map(|(name, pass)| (*name, bound_of(what, name), pass as Side<'_>)).collect();
    let what = format!("{what}, ring of 1,024, batch {batch}");
    with_free_cpus(|| against(&what, &mut ours, &mut sides, effort.in_long_slices()))
}
