//! Interleaved measurement of a pair, and the verdict on it.

use crate::os::Others;
use crate::table::quantile;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Does n operations and says how long they took.
pub type Side<'a> = &'a mut dyn FnMut(u64) -> Duration;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub rounds: usize,
    /// How long one side runs in one round.
    pub slice: Duration,
}

impl Effort {
    /// The same time in more and shorter slices, for what costs nanoseconds: most are then not disturbed at all.
    pub fn in_short_slices(self) -> Self {
        Self { rounds: self.rounds * 10, slice: self.slice / 10 }
    }

    /// Longer slices, for what costs tens of microseconds and starts threads.
    pub fn in_long_slices(self) -> Self {
        Self { rounds: self.rounds, slice: self.slice * 5 }
    }

    /// Fewer and much longer slices, for trials of many threads.
    pub fn of_trials(self) -> Self {
        Self { rounds: (self.rounds / 3).max(5), slice: self.slice * 25 }
    }
}

/// What the ratio, ours to theirs, must be.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
    /// Shown beside the others, without a bar.
    Shown,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(bar) => write!(f, "<= {bar}"),
            Self::AtLeast(bar) => write!(f, ">= {bar}"),
            Self::Shown => write!(f, "-"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Verdict {
    Ok,
    Short,
    TooNoisy,
    Shown,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Short => "SHORT",
            Self::TooNoisy => "too noisy",
            Self::Shown => "",
        })
    }
}

/// One line of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub what: String,
    pub against: String,
    pub bound: Bound,
    /// One ratio for each round, ours to theirs.
    pub ratios: Vec<f64>,
    /// The part of all CPUs that other programs used meanwhile; 0 if it does not matter.
    pub used_by_others: f64,
}

/// More than this, and CPUs that should be free are not. Arbitrary.
const TOO_BUSY: f64 = 0.1;

impl Finding {
    pub fn new(what: impl Into<String>, against: impl Into<String>, bound: Bound, ratios: Vec<f64>) -> Self {
        Self { what: what.into(), against: against.into(), bound, ratios, used_by_others: 0.0 }
    }

    pub fn ratio(&self) -> f64 {
        quantile(&self.ratios, 0.5)
    }

    /// The middle half of the rounds: what a disturbance of less than a quarter of them cannot move.
    pub fn spread(&self) -> (f64, f64) {
        (quantile(&self.ratios, 0.25), quantile(&self.ratios, 0.75))
    }

    pub fn verdict(&self) -> Verdict {
        if self.bound == Bound::Shown {
            return Verdict::Shown;
        }
        if self.used_by_others > TOO_BUSY {
            return Verdict::TooNoisy;
        }
        let (low, high) = self.spread();
        let (reached, missed) = match self.bound {
            Bound::AtMost(bar) => (high <= bar, low > bar),
            Bound::AtLeast(bar) => (low >= bar, high < bar),
            Bound::Shown => (true, false),
        };
        match (reached, missed) {
            (true, _) => Verdict::Ok,
            (_, true) => Verdict::Short,
            _ => Verdict::TooNoisy,
        }
    }
}

/// Measures what needs all CPUs for itself, and notes how much of them others used meanwhile.
pub fn with_free_cpus(measure: impl FnOnce() -> Vec<Finding>) -> Vec<Finding> {
    let others = Others::watch();
    let mut findings = measure();
    let used_by_others = others.part_used();
    findings.iter_mut().for_each(|finding| finding.used_by_others = used_by_others);
    findings
}

/// How many operations fill a slice.
fn calibrate(side: Side<'_>, slice: Duration) -> u64 {
    let mut n = 1;
    loop {
        let took = side(n);
        if took >= slice / 2 {
            return ((n as f64 * slice.as_secs_f64() / took.as_secs_f64()) as u64).max(1);
        }
        // At most tenfold at a time: the first few operations may be nothing like the later ones.
        let factor = slice.as_secs_f64() / took.as_secs_f64().max(1e-9);
        n = (n as f64 * factor.clamp(2.0, 10.0)).ceil() as u64;
    }
}

/// Seconds for one operation of each side in each round. Sides take turns within a round and the first to go changes
/// from round to round, so that whatever else the machine does hits all alike.
pub fn interleave(sides: &mut [Side<'_>], effort: Effort) -> Vec<Vec<f64>> {
    let counts: Vec<u64> = sides.iter_mut().map(|side| calibrate(side, effort.slice)).collect();
    let mut seconds = vec![Vec::with_capacity(effort.rounds); sides.len()];
    for round in 0..effort.rounds {
        for turn in 0..sides.len() {
            let side = (turn + round) % sides.len();
            seconds[side].push(sides[side](counts[side]).as_secs_f64() / counts[side] as f64);
        }
    }
    seconds
}

/// The ratio of each round.
pub fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

/// One of ours against several, each with its own bound.
pub fn against(what: &str, ours: Side<'_>, theirs: &mut [(&str, Bound, Side<'_>)], effort: Effort) -> Vec<Finding> {
    let labels: Vec<_> = theirs.iter().map(|(name, bound, _)| (name.to_string(), *bound)).collect();
    let mut sides: Vec<Side<'_>> = vec![ours];
    for (_, _, side) in theirs {
        sides.push(side);
    }
    let seconds = interleave(&mut sides, effort);
    let finding = |((name, bound), theirs): ((String, Bound), &Vec<f64>)| {
        Finding::new(what, name, bound, ratios(&seconds[0], theirs))
    };
    labels.into_iter().zip(&seconds[1..]).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(bound: Bound, ratios: &[f64]) -> Verdict {
        Finding::new("", "", bound, ratios.to_vec()).verdict()
    }

    #[test]
    fn a_verdict_needs_the_middle_half_on_one_side() {
        assert_eq!(verdict(Bound::AtMost(0.5), &[0.1, 0.2, 0.3, 0.4, 9.0]), Verdict::Ok);
        assert_eq!(verdict(Bound::AtMost(0.5), &[0.1, 0.6, 0.7, 0.8, 9.0]), Verdict::Short);
        assert_eq!(verdict(Bound::AtMost(0.5), &[0.1, 0.4, 0.5, 0.6, 9.0]), Verdict::TooNoisy);
        assert_eq!(verdict(Bound::AtLeast(2.0), &[0.1, 2.2, 2.3, 2.4, 9.0]), Verdict::Ok);
        assert_eq!(verdict(Bound::AtLeast(2.0), &[1.1, 1.2, 1.3, 1.4, 9.0]), Verdict::Short);
        assert_eq!(verdict(Bound::AtLeast(2.0), &[1.1, 1.9, 2.0, 2.1, 9.0]), Verdict::TooNoisy);
    }

    #[test]
    fn ratios_come_from_the_same_round() {
        let clock = std::cell::Cell::new(0_u64);
        // Both get slower with every call, but the second costs twice the first at any time.
        let cost = |factor: u64| {
            clock.set(clock.get() + 1);
            Duration::from_millis(factor * clock.get())
        };
        let effort = Effort { rounds: 40, slice: Duration::from_millis(1) };
        let findings = against("x", &mut |n| cost(n), &mut [("y", Bound::AtMost(0.6), &mut |n| cost(2 * n))], effort);
        assert!((findings[0].ratio() - 0.5).abs() < 0.05, "{}", findings[0].ratio());
        assert_eq!(findings[0].verdict(), Verdict::Ok);
    }
}
