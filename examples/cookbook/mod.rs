//! Primitives of one's own, each in less than sixty lines and without unsafe code. `08_cookbook` shows them at work,
//! `tests/cookbook.rs` tests them, and `tests/loom/cookbook.rs` explores every interleaving of a few threads.
//!
//! | recipe | what waits how |
//! |---|---|
//! | [`auto_reset_event`] | one thread goes on for each signal: `wait_if` and `location_wake_one` |
//! | [`latch`] | all go on when a count is zero: `wait_until` and `location_wake_all` |
//! | [`barrier`] | all go on when the last has come: the same |
//! | [`once`] | all go on when one has done it, and another does it if that one panics: the same |
//! | [`ticket_lock`] | the one whose number it is: `Key::ticket` |
//! | [`bounded_queue`] | one for each item, one for each free place: `WaitPoint` over any structure with a `try_` |
//! | [`pool_sleep`] | workers that have searched everywhere: `WaitPoint`, prepare, search again, commit |
//! | [`rate_limiter`] | in order, as fast as tokens come: `Semaphore` |

#![allow(dead_code, unreachable_pub, reason = "the example, the tests and the models use different parts")]

/// Where the recipes take their atomics and locks from: loom's in a model.
pub mod sync {
    #[cfg(layby_loom)]
    pub use loom::sync::{Mutex, MutexGuard, atomic};
    #[cfg(not(layby_loom))]
    pub use std::sync::{Mutex, MutexGuard, atomic};
}

pub mod auto_reset_event;
pub mod barrier;
pub mod bounded_queue;
pub mod latch;
pub mod once;
pub mod pool_sleep;
pub mod rate_limiter;
pub mod ticket_lock;
