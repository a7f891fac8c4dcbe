//! Address-based wait and notify in user space: sleep until a condition holds, and wake those who wait for it. What a futex
//! gives, for any location and any condition, the same on Linux, Windows and beyond; and primitives that are built on it.
//!
//! ```
//! use layby::{location_wake_all, wait_until};
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! static READY: AtomicBool = AtomicBool::new(false);
//!
//! let waiter = std::thread::spawn(|| wait_until(&READY, || READY.load(Ordering::Acquire)));
//! READY.store(true, Ordering::Release);
//! location_wake_all(&READY);
//! waiter.join().unwrap();
//! ```
//!
//! # Which one when
//!
//! | you want | take | wakes |
//! |---|---|---|
//! | everybody to go on when a condition holds: flag, latch, barrier, once | [`wait_until`], or [`wait_for`] what an attempt returns, and [`location_wake_all`] after the change | all who wait there |
//! | one to go on for each thing added: queue, pool of workers | [`eventcount::WaitPoint`], and [`notify_one`](eventcount::WaitPoint::notify_one) | one |
//! | the same on a word of your own: lock, event | [`wait_if`] in a loop, and [`location_wake_one`] | one |
//! | the one whose number it is: tickets | [`wait_until`] on [`Key::ticket`], and [`location_wake_all`] of that key | that one |
//! | to wait until a word changes, as with the crate `atomic-wait` | [`atomic`]; [`atomic::u32`](mod@atomic::u32) is its drop-in | as you say |
//! | at most N at a time, in order, with timeouts | [`sema::Semaphore`] | the next in line |
//! | the same, and a shutdown that tells all who wait | [`sema::Pool`] | the next in line; all, when it is closed |
//! | threads that follow each other's progress | [`eventcount::EventCount`], [`eventcount::Sequencer`] | those whose value is reached |
//! | stages that work on a stream of entries, one after the other or side by side | [`pipeline`] | those whose entry is ready |
//! | to protect data, fast | [`mutex::Mutex`], [`mutex::Condvar`] | whoever comes first |
//! | to protect data, in order | [`mutex::FairMutex`] | the next in line |
//! | the same, with many readers at once | [`rwlock::RwLock`] | the next in line: a writer, or all readers up to the next writer |
//! | to do something once | [`once::Once`]; for a value `std::sync::OnceLock` | all who wait |
//! | to wait for any of several things | [`wait_until_any()`] | all who wait on one of them |
//! | a wait that ends because something else happens: shutdown, an interrupt, a deadline | [`Cancel`], [`Limit`] | |
//! | the paper's own forms, a loop or arm-check-wait | [`location_wait`], [`arm`] | all who wait there |
//!
//! These block the thread. For tasks there are forms whose names end in `_async`, except for [`once`], [`wait_until_any()`], [`Limit`]
//! and the paper's own: [`wait_until_async`], [`acquire_async`](sema::Semaphore::acquire_async),
//! [`run_async`](pipeline::Stage::run_async) and so on. A task races its future against a timeout of its executor's, or against
//! one that waits for a [`Cancel`].
//!
//! [`wait_until`] with [`location_wake_all`] wakes everybody who waits on that address. If only one of them can go on, the others
//! are woken for nothing, a thundering herd: take a form that wakes one.
//!
//! What can be waited on is a [`Location`]: an atomic, however it is reached, or a type of your own. A [`WaitTable`] of your own
//! keeps strangers away, and a [`Home`](wait_table::Home) does so for the primitives.
//!
//! # More
//!
//! - **Who waits**, when a program hangs: [`waiters()`](waiters()), [`dump_waiters`], [`dump_waiters_on_signal`];
//!   [`counters`] for how often what happened.
//! - **Why a wait failed**: [`Closed`], [`Stopped`], [`WaitError`], [`WaitOutcome`].
//! - **How long a waiter polls before it sleeps**: at most 50 us, in a queue 500 us, yielding to others; not at all on one CPU,
//!   when other programs have the CPUs, or when polling has lately not paid; or as its backend says
//!   ([`Backend::SPINS`](sys::Backend::SPINS)).
//! - **Features**: `mutex` and `rwlock` (the modules, on lock_api) and `park` ([`sys::Park`], on parking_lot_core; needed except on Linux, Android
//!   and Windows) are on by default; without them Rust 1.88 will do. `counters` is off.
//! - **Models**: with `--cfg layby_loom` or `--cfg layby_shuttle` the crate runs inside a model checker: see [`model`].
//! - **The protocol** and its proof: [`wait_table`]. The paper's own listings: [`paper`].
//!
//! The README has the promises, numbered, and what is not promised; DESIGN.md, SECURITY.md and BENCHMARKS.md are beside it.

#[cfg(all(loom, not(layby_loom)))]
compile_error!("layby: with `--cfg loom` alone layby would really sleep inside a model: add `--cfg layby_loom`");

pub mod atomic;
pub mod counters;
mod deadline;
#[cfg(not(layby_model))]
mod debugger;
mod error;
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub mod eventcount;
#[cfg(any(layby_model, doc))]
pub mod model;
#[cfg(feature = "mutex")]
pub mod mutex;
pub mod once;
pub mod paper;
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub mod pipeline;
#[cfg(feature = "rwlock")]
pub mod rwlock;
pub mod sema;
mod spin_policy;
mod sync;
pub mod sys;
mod ticket_queue;
pub mod wait_table;

pub use error::{Closed, Stopped, WaitError};
pub use wait_table::{
    Armed, Cancel, Key, Limit, Location, WaitOutcome, WaitTable, arm, dump_waiters, dump_waiters_on_signal,
    location_wait, location_wait_deadline, location_wake_all, location_wake_all_seqcst, location_wake_one, wait_for,
    wait_for_async, wait_for_deadline, wait_for_timeout, wait_for_within, wait_if, wait_if_async, wait_if_deadline,
    wait_if_within, wait_until, wait_until_any, wait_until_any_deadline, wait_until_any_timeout, wait_until_any_within,
    wait_until_async, wait_until_deadline, wait_until_timeout, wait_until_within, waiters,
};

#[cfg(layby_coherence)]
pub use sync::coherence;

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
