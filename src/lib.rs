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
#[cfg(layby_model)]
pub use sync::model;
