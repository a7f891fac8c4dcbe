//! semabench's classes, as bars.

use super::measure::{Bound, Effort, Finding, ratios, with_free_cpus};
use crate::contender::registry::{Contender, Waits, by_name};
use crate::os;
use crate::semabench::hold::Hold;
use crate::semabench::trial::{Outcome, Pinning, Trial};
use std::sync::atomic::AtomicBool;

const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// What threads contend for.
#[derive(Clone, Copy)]
pub(super) struct Section {
    pub(super) threads: usize,
    pub(super) permits: u32,
    pub(super) hold: Hold,
}

impl Section {
    /// One permit, for one step of a generator.
    pub(super) fn of_the_paper(threads: usize) -> Self {
        Self { threads, permits: 1, hold: Hold::OneStep }
    }
}

/// One of ours and its peers, in trials by turns.
pub(super) struct Field {
    contenders: Vec<&'static Contender>,
    /// Of each of them, one in each round.
    outcomes: Vec<Vec<Outcome>>,
}

impl Field {
    pub(super) fn measure(ours: &str, peers: &[&str], section: Section, effort: Effort) -> Self {
        let Section { threads, permits, hold } = section;
        let mut contenders = vec![by_name(ours)];
        let sleeps_or_fits = |peer: &&Contender| peer.waits == Waits::Sleeping || threads <= os::cpus();
        contenders.extend(peers.iter().map(|&peer| by_name(peer)).filter(sleeps_or_fits));
        let never = AtomicBool::new(false);
        let trial =
            Trial { threads, interval: effort.slice, pinning: Pinning::None, permits, hold, interrupted: &never };
        let mut outcomes = vec![Vec::with_capacity(effort.rounds); contenders.len()];
        for round in 0..effort.rounds {
            for turn in 0..contenders.len() {
                let index = (turn + round) % contenders.len();
                outcomes[index].push((contenders[index].run)(&trial).expect("nobody interrupts it"));
            }
        }
        Self { contenders, outcomes }
    }

    /// Ours against each peer by one figure; `bound` is asked for each peer, with its outcomes.
    pub(super) fn compare(
        &self,
        what: &str,
        figure: fn(&Outcome) -> f64,
        bound: impl Fn(&Contender, &[Outcome]) -> Bound,
    ) -> Vec<Finding> {
        let of = |outcomes: &[Outcome]| outcomes.iter().map(figure).collect::<Vec<_>>();
        let ours = of(&self.outcomes[0]);
        let peers = self.contenders.iter().zip(&self.outcomes).skip(1);
        let finding = |(peer, outcomes): (&&'static Contender, &Vec<Outcome>)| {
            Finding::new(what, peer.name, bound(peer, outcomes), ratios(&ours, &of(outcomes)))
        };
        peers.map(finding).collect()
    }
}

/// One of ours against peers, at every T. `bound` is asked for each peer and T.
fn class(
    what: &str,
    ours: &str,
    peers: &[&str],
    effort: Effort,
    bound: impl Fn(&Contender, usize) -> Bound,
) -> Vec<Finding> {
    let at = |threads: usize| {
        let field = Field::measure(ours, peers, Section::of_the_paper(threads), effort.of_trials());
        field.compare(&format!("{what}, T = {threads}"), Outcome::per_second, |peer, _| bound(peer, threads))
    };
    THREADS.into_iter().flat_map(|threads| with_free_cpus(|| at(threads))).collect()
}

/// Published FIFO semaphores have a bar, tokio's the highest; what was put together for this benchmark, and what is overtaken, is
/// shown.
pub fn fifo(effort: Effort) -> Vec<Finding> {
    let peers = ["tokio", "saa", "asyncband", "futex-ticket", "spin-ticket", "pl-fair"];
    class("semabench FIFO", "layby", &peers, effort, |peer, threads| match peer.name {
        "tokio" => Bound::AtLeast(times_tokio(threads)),
        "saa" | "asyncband" => Bound::AtLeast(if threads < 4 { 1.0 } else { 2.0 }),
        _ => Bound::Shown,
    })
}

fn times_tokio(threads: usize) -> f64 {
    match threads {
        1 => 1.0,
        2 => 10.0,
        4 => 5.0,
        8 | 16 => 4.0,
        32 => 3.0,
        _ => 2.5,
    }
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
