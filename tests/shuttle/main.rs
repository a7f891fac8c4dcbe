//! Many threads under shuttle: deep schedules, chosen at random, by PCT, or by the bytes of a fuzzed program.
//!
//! shuttle is blind to every weak-memory bug. Time is an event of the model: all deadlines pass at once, at any moment.
//! By hand: `RUSTFLAGS='--cfg layby_shuttle' cargo test --release --test shuttle -- --nocapture`

#![cfg(layby_shuttle)]

#[path = "../common/random.rs"]
mod random;

mod events;
mod fuzz;
mod mixture;
mod pipelines;
mod schedules;
mod sema;
mod table;
