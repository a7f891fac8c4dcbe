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

/// What a measurement needs of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// One CPU now and then: it is timed in CPU time, or counted.
    Little,
    /// All CPUs for itself. If others use them, there is no verdict.
    FreeCpus,
    /// A process that has had one CPU only from its start, for a program asks once how many there are.
    OneCpu,
}

/// Bars that are measured together.
pub struct Group {
    pub name: &'static str,
    pub about: &'static str,
    pub needs: Needs,
    pub measure: fn(Effort) -> Vec<Finding>,
}

const fn group(name: &'static str, needs: Needs, measure: fn(Effort) -> Vec<Finding>, about: &'static str) -> Group {
    Group { name, about, needs, measure }
}

use Needs::{FreeCpus, Little, OneCpu};

pub const GROUPS: &[Group] = &[
    group("wake", Little, wake::nobody_waiting, "location_wake_all with nobody waiting: unpark_all, notify"),
    group("uncontended", Little, semaphore::no_contention, "take + post by one thread: two fetch_adds, peers"),
    group("ping-pong", FreeCpus, semaphore::hand_over, "hand-over between two threads: glibc, raw futex"),
    group("pinned-ping-pong", OneCpu, semaphore::hand_over_pinned, "the same on one CPU"),
    group("thousand", Little, semaphore::before_a_thousand, "one post with 1,000 threads waiting"),
    group("fifo", FreeCpus, contention::fifo, "semabench's FIFO class, T = 1 to 64: FIFO peers"),
    group("barging", FreeCpus, contention::barging, "semabench's barging class, T = 1 to 64: mutexes, glibc"),
    group("eventcount", Little, events::targeted_wake, "advance with 1,000 values awaited: condvar broadcast"),
    group("pipeline", FreeCpus, events::pipeline, "three stages of EventCounts: crossbeam-channel, std mpsc"),
    group("size", Little, facts::sizes, "bytes of each type, and of the global table"),
];

/// What `--record` writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub machine: Machine,
    pub findings: Vec<Finding>,
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
