//! Semaphores: the paper's five.
//!
//! # Which semaphore when
//!
//! | type | waits by | use it |
//! |---|---|---|
//! | [`Semaphore`] | spins when its turn is near, else sleeps; woken one by one | always, unless you know better |
//! | [`TicketSemaphore`] | all spin on one word | never more threads than CPUs, a few of them, very short holds |
//! | [`TwaArraySemaphore`] | spins or sleeps on a counter of its bucket, chosen by its ticket | to compare: the paper's first TWA |
//! | [`TwaChainSemaphore`] | sleeps on an element on its stack | to compare: no thread-local, no staging, no timeouts |
//! | [`TwaMonitorSemaphore`] | arms, checks, sleeps on its thread's element | to compare: the MONITOR/MWAIT form |
//!
//! All are strictly first come first served, take 16 bytes, and implement [`RawSemaphore`]. Only [`Semaphore`] has
//! timeouts, many permits at a time, and guards.

#![forbid(unsafe_code)]

mod array;
mod chain;
mod monitor;
mod permit;
mod semaphore;
mod ticket;
mod tickets;

pub use array::TwaArraySemaphore;
#[cfg(any(layby_loom, layby_shuttle))]
pub(crate) use array::wait_array;
pub use chain::TwaChainSemaphore;
pub use monitor::TwaMonitorSemaphore;
pub use permit::{OwnedPermit, Permit};
pub use semaphore::Semaphore;
pub use ticket::TicketSemaphore;

/// What the five semaphores have in common.
///
/// ```
/// use layby::sema::{RawSemaphore, Semaphore, TicketSemaphore};
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
