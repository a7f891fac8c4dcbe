//! A flag that ends waits.
//!
//! # A wait against its cancellation
//!
//! A wait that can be cancelled publishes itself for what it waits for and at the address of each [`Cancel`], as one
//! [group](super::group); always in the global table, so that one cancellation ends waits in every table.
//!
//! ```text
//! waiter                                        cancel
//! publish for what it waits for, and here       cancelled = true
//! fence A                                       fence B
//! what it waits for? no                         anybody here? yes: open the gates, wake
//! cancelled? no: sleep
//! ```
//!
//! That the waiter reads "no" and the cancellation finds nobody is impossible, by the argument of [`crate::wait_table`].

use super::{Location, location_wake_all};
use crate::sync::{
    atomic::{AtomicU32, Ordering},
    const_outside_models,
};
use core::fmt;

const PENDING: u32 = 0;
const CANCELLED: u32 = 1;

/// A flag that ends waits: shutdown, an interrupt, a request that nobody wants any more.
///
/// Waits can have one as their [limit](super::Limit), alone or beside a deadline and others; any number of waits, of most
/// primitives and in whatever table. They sleep until what they wait for comes or the flag is raised, without polling.
///
/// ```
/// use layby::{Cancel, Stopped, sema::Semaphore};
///
/// static SHUTDOWN: Cancel = Cancel::new();
///
/// fn work(jobs: &Semaphore, room: &Semaphore) -> Result<(), Stopped> {
///     loop {
///         jobs.take_within(&SHUTDOWN)?;
///         let _room = room.acquire_within(&SHUTDOWN)?;
///         // …
///     }
/// }
///
/// let (jobs, room) = (Semaphore::new(0), Semaphore::new(1));
/// std::thread::scope(|s| {
///     let worker = s.spawn(|| work(&jobs, &room));
///     jobs.post();
///     SHUTDOWN.cancel();
///     assert_eq!(worker.join().unwrap(), Err(Stopped::Cancelled));
/// });
/// ```
///
/// # In a signal handler
///
/// [`cancel`](Self::cancel) is a store and a [wake](location_wake_all): it allocates nothing and takes no lock (except on
/// [`Park`](crate::sys::Park), if somebody sleeps or a task waits). So a handler may cancel what its own thread, or any other, waits for: the
/// `EINTR` of a blocking call. [`reset`](Self::reset) is for the thread that has seen it, before it waits again.
///
/// # For something else than a flag
///
/// [`wait_until_any`](super::wait_until_any) waits for any condition on any number of locations. A `Cancel` is a
/// [`Location`] itself: `wait_until(&cancel, || cancel.is_cancelled())`.
#[doc(alias("CancellationToken", "interrupt", "stop_token"))]
pub struct Cancel {
    state: AtomicU32,
}

impl Cancel {
    const_outside_models! {
        /// A flag that is not raised.
        pub fn new() -> Self {
            Self { state: AtomicU32::new(PENDING) }
        }
    }

    /// Ends every wait that has this in its limit, those that are asleep and those to come, until it is [reset](Self::reset). What is there
    /// at once is still taken: see [`Limit`](super::Limit#which-comes-first).
    ///
    /// What was done before is visible to those who see it.
    pub fn cancel(&self) {
        let key = self.key();
        // Ordering: release; matches the acquire of `is_cancelled`. That no wait misses it is the business of fences A and B.
        self.state.store(CANCELLED, Ordering::Release);
        // Whoever has seen it may have freed it.
        location_wake_all(key);
    }

    /// Whether it has been cancelled.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // Ordering: acquire; matches the release of `cancel`.
        self.state.load(Ordering::Acquire) == CANCELLED
    }

    /// Makes it as new; returns whether it had been cancelled. Waits that have not seen that go on.
    pub fn reset(&self) -> bool {
        // Ordering: acquire; as in `is_cancelled`.
        self.state.swap(PENDING, Ordering::Acquire) == CANCELLED
    }
}

impl Location for Cancel {}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").field("cancelled", &self.is_cancelled()).finish()
    }
}
