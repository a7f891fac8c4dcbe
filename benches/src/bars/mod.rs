//! What the crate must reach, as ratios of pairs measured interleaved in one process.
//!
//! A new bar is a function that returns [`Finding`]s and a row of [`GROUPS`].

pub mod contention;
pub mod events;
pub mod facts;
pub mod measure;
pub mod semaphore;
pub mod wake;

use crate::machine::Machine;
use crate::table::Table;
use measure::{Effort, Finding};
use serde::{Deserialize, Serialize};

/// Bars that are measured together.
pub struct Group {
    pub name: &'static str,
    pub about: &'static str,
    /// To be run in a process confined to one CPU from its start, because a program asks only once how many there are.
    pub on_one_cpu: bool,
    pub measure: fn(Effort) -> Vec<Finding>,
}

const fn group(name: &'static str, measure: fn(Effort) -> Vec<Finding>, about: &'static str) -> Group {
    Group { name, about, on_one_cpu: false, measure }
}

pub const GROUPS: &[Group] = &[
    group("wake", wake::nobody_waiting, "location_wake_all with nobody waiting: unpark_all, notify"),
    group("uncontended", semaphore::no_contention, "take + post by one thread: two fetch_adds, peers"),
    group("mutex", semaphore::lock_and_unlock, "lock + unlock by one thread: parking_lot, std"),
    group("ping-pong", semaphore::hand_over, "hand-over between two threads: glibc, raw futex"),
    Group { on_one_cpu: true, ..group("pinned-ping-pong", semaphore::hand_over_pinned, "the same on one CPU") },
    group("thousand", semaphore::before_a_thousand, "one post with 1,000 threads waiting"),
    group("fifo", contention::fifo, "semabench's FIFO class, T = 1 to 64: FIFO peers"),
    group("barging", contention::barging, "semabench's barging class, T = 1 to 64: mutexes, glibc"),
    group("fair-mutex", contention::fair_mutex, "FairMutex, T = 1 to 64: parking_lot with unlock_fair"),
    group("eventcount", events::targeted_wake, "advance with 1,000 values awaited: condvar broadcast"),
    group("pipeline", events::pipeline, "three stages of EventCounts: crossbeam-channel, std mpsc"),
    group("size", facts::sizes, "bytes of each type, and of the global table"),
];

/// What `--record` writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub machine: Machine,
    pub findings: Vec<Finding>,
}

impl Record {
    /// The whole table.
    pub fn markdown(&self) -> String {
        format!("# Bars\n\n{}\n{}", self.machine.describe(), table(&self.findings))
    }
}

/// A row for each finding.
pub fn table(findings: &[Finding]) -> Table {
    let mut table = Table::new(["what", "against", "ratio", "spread", "bar", "verdict"]);
    for finding in findings {
        let (low, high) = finding.spread();
        table.row([
            finding.what.clone(),
            finding.against.clone(),
            format!("{:.3}", finding.ratio()),
            format!("{low:.3} .. {high:.3}"),
            finding.bound.to_string(),
            finding.verdict().to_string(),
        ]);
    }
    table
}
