//! layby for C: what `include/layby.h` declares, in its order and with its names. What each function promises is said there.
//!
//! | file | has |
//! |---|---|
//! | `semaphore.rs` | `layby_semaphore_…` |
//! | `location.rs` | `layby_wait_until…`, `layby_wait_if`, `layby_wake_…` |
//! | `eventcount.rs` | `layby_eventcount_…`, `layby_sequencer_…` |
//! | `limit.rs` | what ends a wait: `layby_cancel_…`, `layby_deadline_after` |
//! | `report.rs` | `layby_dump_waiters…`, `layby_version` |
//! | `outcome.rs` | results as C's error numbers |
//!
//! # Objects
//!
//! A C object is the crate's own type: `layby_semaphore_t *` is a pointer to a [`Semaphore`](layby::sema::Semaphore). Their layout is
//! Rust's business, so the header's sizes and initialisers are checked against it here, at compile time, and a library that does not
//! fit its header does not compile.
//!
//! # Safety
//!
//! Every function that is handed an object requires that the pointer is to one that is initialised and alive, until the call
//! returns unless the header says otherwise; pointers to a deadline or a cancellation may be null.
//!
//! # Nothing unwinds
//!
//! A panic that reached C would end the process, as Rust defines for `extern "C"`. So arguments are checked before the crate
//! would panic about them, and what only a race can bring about is caught ([`outcome::unless_it_overflows`]). A condition of
//! the caller's that throws ends the process in the same, defined, way: it is called by an ABI that may unwind, from a function
//! that may not.

#![allow(non_camel_case_types, reason = "the names that they have in C")]

mod eventcount;
mod limit;
mod location;
mod outcome;
mod report;
mod semaphore;
