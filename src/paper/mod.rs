//! The semaphores of the paper's listings 1 to 4, to read beside it and to compare with.
//!
//! | listing | type | a waiter | for |
//! |---|---|---|---|
//! | 1 | [`TicketSemaphore`] | spins, all on one word | a few threads, never more than CPUs, and very short holds |
//! | 2 | [`TwaArraySemaphore`] | spins or sleeps on a counter of its bucket, chosen by its ticket | comparison: the first TWA |
//! | 3 | [`TwaChainSemaphore`] | sleeps on an element on its stack | comparison: no thread-local, no staging, no timeouts |
//! | 4 | [`TwaMonitorSemaphore`] | arms, checks, sleeps on its thread's element | comparison: the MONITOR/MWAIT form |
//! | 5 | [`sema::Semaphore`](crate::sema::Semaphore) | spins when its turn is near, otherwise sleeps | everything else |
//!
//! All are strictly first come first served, take 16 bytes, and implement [`RawSemaphore`]. Only the last has timeouts,
//! many permits at a time, and guards.

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

    /// A semaphore with this many permits.
    fn with_permits(permits: u64) -> Self;

    /// Takes a permit, and waits for it if need be.
    fn take(&self);

    /// Puts a permit in.
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
