//! Graphs of any shape, and what their threads and tasks do to them: publish and consume in every form, give up, give back, leave
//! and close.
//!
//! Blind to panics: shuttle takes a thread that unwinds for a failure. `tests/pipeline/random.rs` has them, on real threads.

mod program;
mod reference;
mod run;

pub(crate) use program::Program;
