#![doc = include_str!("../README.md")]

pub mod atomic;
pub mod counters;
mod deadline;
#[cfg(not(layby_model))]
mod debugger;
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub mod eventcount;
pub mod mutex;
pub mod paper;
pub mod sema;
mod spin_policy;
mod sync;
pub mod sys;
mod ticket_queue;
pub mod wait_table;

pub use wait_table::{
    Armed, Key, WaitOutcome, WaitTable, arm, dump_waiters, dump_waiters_on_signal, location_wait,
    location_wait_deadline, location_wake_all, location_wake_all_seqcst, wait_until, wait_until_deadline,
    wait_until_timeout, waiters,
};

#[cfg(layby_coherence)]
pub use sync::coherence;

/// What a model calls: to begin an execution, and to let time pass in it.
#[cfg(layby_model)]
pub mod model {
    pub use crate::sync::model::expire_deadlines;

    /// Begins an execution: call it first in the closure that is given to the checker.
    ///
    /// It makes every static that holds atomics of the checker. A real static exists before any thread does, so these must
    /// exist before the model has a second thread.
    pub fn begin() {
        crate::sync::model::begin_execution();
        crate::wait_table::global();
        crate::ticket_queue::shards();
        crate::paper::wait_array();
    }
}
