//! The semaphores of listings 1 to 4 of the paper, to read beside it and to compare with.
//!
//! The paper: Dave Dice and Alex Kogan, *Semaphores Augmented with a Waiting Array*,
//! [arXiv:2501.18447](https://arxiv.org/abs/2501.18447). The listings keep its names `tx`, `dx` and `g`.
//!
//! | listing | type | how a thread waits | use it for |
//! |---|---|---|---|
//! | 1 | [`TicketSemaphore`] | all threads spin on one word | very short critical sections, and never more threads than CPUs |
//! | 2 | [`TwaArraySemaphore`] | near its turn it spins on that word, otherwise it spins or sleeps on a counter chosen by its ticket | comparison |
//! | 3 | [`TwaChainSemaphore`] | sleeps on an element on its own stack | comparison |
//! | 4 | [`TwaMonitorSemaphore`] | arms its thread's element, checks again, and sleeps on it, like MONITOR and MWAIT | comparison |
//! | 5 | [`sema::Semaphore`](crate::sema::Semaphore) | polls for a while and near its turn, otherwise sleeps | everything else |
//!
//! All are strictly first come, first served, take 16 bytes, and implement [`RawSemaphore`]. Only the last has timeouts,
//! takes and posts many permits at a time, and has guards.

#![forbid(unsafe_code)]

mod array;
mod chain;
mod monitor;
mod ticket;
mod tickets;

pub use crate::sys::Broadcast;
pub use array::TwaArraySemaphore;
#[cfg(layby_model)]
pub(crate) use array::wait_array;
pub use chain::TwaChainSemaphore;
pub use monitor::TwaMonitorSemaphore;
pub use ticket::TicketSemaphore;

use crate::sema::Semaphore;
use crate::wait_table::Home;

/// What the five semaphores have in common.
///
/// ```
/// use layby::paper::{RawSemaphore, TicketSemaphore};
/// use layby::sema::Semaphore;
///
/// fn as_a_lock<S: RawSemaphore>() {
///     let semaphore = S::with_permits(1);
///     semaphore.take();
///     semaphore.post();
/// }
/// as_a_lock::<Semaphore>();
/// as_a_lock::<TicketSemaphore>();
/// ```
pub trait RawSemaphore: Send + Sync {
    /// A short name for reports.
    const NAME: &'static str;

    /// Creates a semaphore with this many permits.
    fn with_permits(permits: u64) -> Self;

    /// Takes a permit, waiting for one if necessary.
    fn take(&self);

    /// Adds a permit.
    fn post(&self);
}

impl<H: Home> RawSemaphore for Semaphore<H> {
    const NAME: &'static str = "twa";

    fn with_permits(permits: u64) -> Self {
        Self::new_in(permits)
    }

    #[inline]
    fn take(&self) {
        self.take();
    }

    #[inline]
    fn post(&self) {
        self.post();
    }
}
