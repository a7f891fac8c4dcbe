//! What the crate must reach, as ratios of pairs measured interleaved in one process.
//!
//! A new bar is a function that returns [`Finding`]s and a row of [`GROUPS`].

pub mod any;
pub mod broadcast;
pub mod busy;
pub mod condvar;
pub mod contention;
pub mod events;
pub mod facts;
pub mod held;
pub mod measure;
pub mod pipelines;
pub mod rwlock;
pub mod semaphore;
pub mod strangers;
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
    group("any", any::of_several, "wait_until_any of 1 to 17 locations without sleeping: 80 ns each, event-listener"),
    group("uncontended", semaphore::no_contention, "take + post by one thread: two fetch_adds, peers"),
    group("mutex", semaphore::lock_and_unlock, "lock + unlock by one thread: parking_lot, std"),
    group("ping-pong", semaphore::hand_over, "hand-over between two threads: glibc, raw futex"),
    Group { on_one_cpu: true, ..group("pinned-ping-pong", semaphore::hand_over_pinned, "the same on one CPU") },
    group("thousand", semaphore::before_a_thousand, "one post with 1,000 threads waiting"),
    group("strangers", strangers::beside_sleepers, "a hot lock beside 100 threads asleep: the same alone"),
    group("broadcast", broadcast::to_two_hundred, "one wakes 200 that sleep on one address: raw futex, std's condvar"),
    group("fifo", contention::fifo, "semabench's FIFO class, T = 1 to 64: FIFO peers"),
    group("barging", contention::barging, "semabench's barging class, T = 1 to 64: mutexes, glibc"),
    group("fair-mutex", contention::fair_mutex, "FairMutex, T = 1 to 64: parking_lot with unlock_fair"),
    group("busy-fifo", busy::fifo, "the FIFO class beside a program for each CPU, T = 2 to 64: FIFO peers"),
    group(
        "busier",
        busy::fifo_beside_others,
        "the same beside one, twice as many, and one that sleeps half of the time",
    ),
    group("busy-barging", busy::barging, "mutexes beside a program for each CPU, T = 2 to 64: parking_lot, std"),
    group("pools", busy::pools, "several permits, held for nothing to 20 us, or asleep: tokio"),
    group("held", held::for_a_while, "Mutex held for 0 to 100 us, T = 2 to 64: the better of std and parking_lot"),
    group("condvar", condvar::one_slot, "a queue of one slot, all notified of every change: parking_lot, std"),
    group("condvar-crowd", condvar::crowd, "8 and 64 who wait are notified at once: parking_lot, std"),
    group(
        "rwlock",
        rwlock::no_contention,
        "RwLock, read + unlock and write + unlock by one thread: two fetch_adds, peers",
    ),
    group("rwlock-mixed", rwlock::mixed, "RwLock, 0 to 50 % writes, T = 2 to 32: parking_lot, std, tokio"),
    group("eventcount", events::targeted_wake, "advance with 1,000 values awaited: condvar broadcast"),
    group("pipeline", pipelines::chains, "two and three threads over one ring: disruptor, channels"),
    group("pipeline-shapes", pipelines::shapes, "three producers, and a diamond, over one ring: disruptor, channels"),
    group("pipeline-latency", pipelines::latency, "an entry every 1 to 100 us: crossbeam-channel, disruptor"),
    group("pipeline-idle", pipelines::idle, "CPU time of three stages that wait for ten seconds"),
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
