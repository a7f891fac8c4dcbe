//! Models of the protocols, interleaved by loom. Each module is a subject; each model prints its bound, in preemptions,
//! and what it took. The mutants that make each of them fail are in `ci/mutants/`.
//!
//! A lost wake-up is a deadlock, which loom reports. By hand:
//! `RUSTFLAGS='--cfg layby_loom' cargo test --release --test loom -- --nocapture`
//!
//! loom is blind to: `SeqCst` accesses (it takes them as acquire and release; fences it knows), so the forms without
//! fence B are checked with a fence in its place; memory that is used after it was freed, except where a model says so;
//! time, unless an expiry is an event of the model; real backends; more than a few threads.

#![cfg(layby_loom)]

mod bell;
mod cancel;
mod cookbook;
mod crowd;
mod event_task;
mod eventcount;
mod explore;
mod group;
mod lazy;
mod litmus;
mod lock_task;
mod mutex;
mod once;
mod paper;
mod pick;
mod pipeline;
mod pipeline_tasks;
mod relay;
mod rwlock;
mod task;
mod ticket_queue;
mod ticket_task;
mod timeout;
mod wait_wake;
mod waiters;
mod world;
