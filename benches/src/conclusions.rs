//! What a record says, in sentences: every figure in them is computed from it, and every sentence is true whoever wins.

use crate::bars;
use crate::bars::measure::{Bound, Finding, Verdict};
use crate::contender::registry::{CONTENDERS, Class};
use crate::semabench::record::{Cell, Record};
use crate::semabench::trial::Outcome;
use crate::table::{nanoseconds, short};

/// A figure of a cell, and how it is shown.
#[derive(Clone, Copy)]
pub struct Figure {
    pub title: &'static str,
    pub of: fn(&Cell<'_>) -> f64,
    pub show: fn(f64) -> String,
    pub more_is_better: bool,
}

pub const THROUGHPUT: Figure =
    Figure { title: "operations a second", of: |cell| cell.throughput(), show: short, more_is_better: true };

pub const TAIL: Figure = Figure {
    title: "p99.9 of the wait",
    of: |cell| cell.median_of(|outcome| outcome.wait.p999 as f64),
    show: nanoseconds,
    more_is_better: false,
};

pub const CPU: Figure = Figure {
    title: "CPU seconds per million",
    of: |cell| cell.median_of(Outcome::cpu_seconds_per_million),
    show: |value| format!("{value:.3}"),
    more_is_better: false,
};

impl Figure {
    /// `None` if there is nothing to compare: no runs, or in most of them nothing happened.
    pub fn value(&self, record: &Record, contender: &str, threads: usize) -> Option<f64> {
        record.cell(contender, threads).map(|cell| (self.of)(&cell)).filter(|&value| value > 0.0)
    }

    /// Whether the first is ahead of the second, by however little.
    pub fn is_better(&self, a: f64, b: f64) -> bool {
        if self.more_is_better { a > b } else { a < b }
    }
}

/// Everybody else's of a class that keeps the class's order: those that are overtaken are spoken of apart.
fn strict_peers(record: &Record, class: Class) -> Vec<&str> {
    let is_overtaken = |name: &str| CONTENDERS.iter().any(|contender| contender.name == name && contender.overtaken);
    record.contenders(class).into_iter().filter(|name| !record.is_ours(name) && !is_overtaken(name)).collect()
}

/// Ours against the best of some peers, with one number of threads.
struct Match<'a> {
    threads: usize,
    ours: f64,
    peer: &'a str,
    theirs: f64,
}

impl Match<'_> {
    fn ratio(&self) -> f64 {
        self.ours / self.theirs
    }

    fn show(&self, figure: Figure) -> String {
        let (ours, theirs) = ((figure.show)(self.ours), (figure.show)(self.theirs));
        format!("{} (T = {}: {ours}, {} {theirs})", times(self.ratio()), self.threads, self.peer)
    }
}

fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 10.0 => format!("{r:.0}"),
        r if r >= 1.95 => format!("{r:.1}"),
        r if r >= 0.1 || r == 0.0 => format!("{r:.2}"),
        r => format!("{r:.3}"),
    }
}

/// From the least to the greatest ratio of ours to the best peer's, each with where it was and both figures.
fn range(record: &Record, figure: Figure, ours: &str, peers: &[&str], threads: &[usize]) -> Option<String> {
    let at = |&threads: &usize| {
        let value = figure.value(record, ours, threads)?;
        let field = peers.iter().filter_map(|&peer| Some((peer, figure.value(record, peer, threads)?)));
        let better = |a: (_, f64), b: (_, f64)| if figure.is_better(b.1, a.1) { b } else { a };
        let (peer, theirs) = field.reduce(better)?;
        Some(Match { threads, ours: value, peer, theirs })
    };
    let mut matches: Vec<_> = threads.iter().filter_map(at).collect();
    matches.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let (least, most) = (matches.first()?, matches.last()?);
    if matches.len() == 1 {
        return Some(least.show(figure));
    }
    Some(format!("{} to {}", least.show(figure), most.show(figure)))
}

/// "T = 4 to 64".
fn span(threads: &[usize]) -> String {
    match threads {
        [] => "no T".to_string(),
        [one] => format!("T = {one}"),
        [first, .., last] => format!("T = {first} to {last}"),
    }
}

/// The least and the most of a figure of one contender.
fn extremes(record: &Record, name: &str, threads: &[usize], figure: fn(&Outcome) -> f64) -> Option<(f64, f64)> {
    let cells = threads.iter().filter_map(|&t| record.cell(name, t)).map(|cell| cell.median_of(figure));
    cells.fold(None, |ends: Option<(f64, f64)>, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// What follows from the runs of semabench.
pub fn of_semabench(record: &Record) -> Vec<String> {
    let all = record.threads();
    let (few, many): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&t| t <= record.machine.cpus);
    let contended: Vec<usize> = all.iter().copied().filter(|&t| t > 1).collect();
    let fifo = strict_peers(record, Class::Fifo);
    let against = |figure, ours, peers: &[&str], threads: &[usize]| range(record, figure, ours, peers, threads);
    let mut lines = Vec::new();
    let mut say = |line: Option<String>| lines.extend(line);
    say(against(THROUGHPUT, "layby", &fifo, &many).map(|range| {
        let span = span(&many);
        format!(
            "**`Semaphore`, more threads than CPUs** ({span}): operations a second against the fastest strictly \
             FIFO peer's: {range}."
        )
    }));
    say(against(THROUGHPUT, "layby", &fifo, &few).map(|range| {
        let span = span(&few);
        format!("**`Semaphore`, a CPU for each thread** ({span}): the same: {range}.")
    }));
    say(against(TAIL, "layby", &fifo, &contended).map(|range| {
        format!("**Its tail** ({}): p99.9 of the wait against the lowest such peer's: {range}.", span(&contended))
    }));
    say(against(THROUGHPUT, "layby-fair-mutex", &["pl-fair"], &all).map(|range| {
        format!(
            "**`FairMutex`**: operations a second against parking_lot's with `unlock_fair`, whose arrivals may \
             overtake sleepers: {range}."
        )
    }));
    let (parking_lot, std) = (
        against(THROUGHPUT, "layby-mutex", &["pl-mutex"], &all),
        against(THROUGHPUT, "layby-mutex", &["std-mutex"], &all),
    );
    say(parking_lot.zip(std).map(|(parking_lot, std)| {
        format!("**`Mutex`**: operations a second against parking_lot's: {parking_lot}; against std's: {std}.")
    }));
    say(against(TAIL, "layby-mutex", &["pl-mutex", "std-mutex"], &contended)
        .map(|range| format!("**Its tail**: p99.9 of the wait against the lower of those two: {range}.")));
    say(price_of_order(record, &contended));
    lines
}

/// The two classes are not ranked, but a reader has to choose one.
fn price_of_order(record: &Record, threads: &[usize]) -> Option<String> {
    let range = range(record, THROUGHPUT, "layby-mutex", &["layby"], threads)?;
    let (fifo, _) = extremes(record, "layby", threads, Outcome::min_over_max)?;
    let (barging, _) = extremes(record, "layby-mutex", threads, Outcome::min_over_max)?;
    Some(format!(
        "**What order costs**: `Mutex`, which lets late arrivals overtake, does a multiple of what `Semaphore` does: \
         {range}. In return the least lucky thread does {fifo:.2} of the luckiest one's share or more with `Semaphore`, \
         and {barging:.2} or more with `Mutex`."
    ))
}

/// What follows from the bars: those that have one, gathered by what they measure.
pub fn of_bars(record: &bars::Record) -> Vec<String> {
    let findings = &record.findings;
    let mut lines = Vec::new();
    for (topic, words) in TOPICS {
        let of_it = |finding: &&Finding| words.iter().any(|word| finding.what.contains(word));
        let clauses = clauses(findings.iter().filter(of_it).filter(|finding| finding.bound != Bound::Shown));
        if !clauses.is_empty() {
            lines.push(format!("**{topic}**: {}.", clauses.join("; ")));
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict() == verdict).count();
    let (ok, short, noisy) = (count(Verdict::Ok), count(Verdict::Short), count(Verdict::TooNoisy));
    let all = ok + short + noisy;
    lines.push(format!(
        "**Bars**: of the {all} that the crate sets itself, {ok} are reached, {short} missed, {noisy} too noisy to judge."
    ));
    lines
}

/// Bars by words in what they measure.
const TOPICS: [(&str, &[&str]); 4] = [
    ("One thread alone, time", &["nobody waiting", "no contention"]),
    ("Two threads that hand over, time", &["ping-pong"]),
    ("A thousand threads waiting", &["1,000 "]),
    ("`EventCount`s, time", &["pipeline"]),
];

/// "WHAT 0.5 (PEER), 0.6 (PEER)", for each thing that is measured.
fn clauses<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<String> {
    let mut clauses: Vec<(&str, Vec<String>)> = Vec::new();
    for finding in findings {
        let against = format!("{} ({})", times(finding.ratio()), finding.against);
        match clauses.iter_mut().find(|(what, _)| *what == finding.what) {
            Some((_, peers)) => peers.push(against),
            None => clauses.push((&finding.what, vec![against])),
        }
    }
    clauses.into_iter().map(|(what, peers)| format!("{what}: {}", peers.join(", "))).collect()
}
