//! Blocking on top of a lock-free structure: prepare, check again, then commit or cancel.
//!
//! # State
//!
//! | bits | what |
//! |---|---|
//! | 0..24 | threads between `prepare` and the end of `commit` or `cancel` |
//! | 24..64 | the epoch: how many notifications found such a thread |
//!
//! | operation | the state |
//! |---|---|
//! | `prepare` | waiters + 1, remembers the epoch |
//! | `commit` | sleeps while the epoch is the remembered one; waiters - 1 |
//! | `cancel` | waiters - 1 |
//! | notify | if there are waiters, epoch + 1; then wakes |
//!
//! # Why it loses nothing
//!
//! ```text
//! waiter                              notifier
//! prepare: waiters + 1                change the structure
//! fence A                             fence B
//! check the structure: nothing        waiters? yes: epoch + 1, wake one or all
//! commit: publish, fence A, epoch still the same? no: return
//! ```
//!
//! Either the notifier sees the waiter, or the waiter's check sees the notifier's change; and between the check and the
//! sleep it is the epoch that changes, with the wait table's own argument.
//!
//! A commit that finds its epoch stale has been on the chain for a moment, where a later `notify_one` may have chosen it
//! and left a true sleeper asleep; the wait table passes such a wake-up on.
//!
//! It is not built on [`arm`](crate::arm), whose element lingers in the thread and so can never be the one that
//! `notify_one` chooses.

use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{
    atomic::{AtomicU64, Ordering},
    const_outside_models, fence_after_publish, fence_before_peek,
};
use crate::wait_table::{Global, Home, Key, WaitOutcome};
use core::{fmt, marker::PhantomData, ptr};
use std::time::Instant;

const WAITER: u64 = 1;
const EPOCH: u64 = 1 << 24;
const WAITERS: u64 = EPOCH - 1;

/// Where threads wait for a condition that is kept elsewhere, such as "the queue is not empty" of a lock-free queue.
///
/// 8 bytes. A notification that nobody waits for costs a fence and a load.
///
/// ```
/// use layby::eventcount::WaitPoint;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// // The lock-free structure: tokens that can be taken.
/// let (tokens, not_empty) = (AtomicU32::new(0), WaitPoint::new());
/// let try_take = || tokens.try_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
///
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         while !try_take() {
///             let prepared = not_empty.prepare();
///             if try_take() {
///                 prepared.cancel();
///                 break;
///             }
///             prepared.commit();
///         }
///     });
///     tokens.fetch_add(1, Ordering::Relaxed);
///     not_empty.notify_one();
/// });
/// ```
pub struct WaitPoint<H: Home = Global> {
    state: AtomicU64,
    home: PhantomData<fn() -> H>,
}

impl WaitPoint {
    const_outside_models! {
        /// A point where nobody waits.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<H: Home> WaitPoint<H> {
    const_outside_models! {
        /// A point where nobody waits; its waiters will wait in a table of their own.
        pub fn new_in() -> Self {
            Self { state: AtomicU64::new(0), home: PhantomData }
        }
    }

    /// Announces a wait. Check the condition again, then [commit](Prepared::commit) or [cancel](Prepared::cancel).
    ///
    /// Any notification from now on ends the commit.
    pub fn prepare(&self) -> Prepared<'_, H> {
        // Ordering: relaxed; the fence orders it before the caller's check. Not an epoch read later: that of a notifier
        // that came meanwhile does not bring along the change that the check must see.
        let epoch = self.state.fetch_add(WAITER, Ordering::Relaxed) & !WAITERS;
        fence_after_publish();
        Prepared { point: self, epoch }
    }

    /// Waits until `condition` holds.
    pub fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        while !condition() {
            let prepared = self.prepare();
            if condition() {
                return;
            }
            prepared.commit();
        }
    }

    /// Like [`wait_until`](Self::wait_until), but gives up at `deadline`: `false` if it passed and the condition still did
    /// not hold.
    pub fn wait_until_deadline(&self, deadline: Instant, mut condition: impl FnMut() -> bool) -> bool {
        while !condition() {
            let prepared = self.prepare();
            if condition() {
                return true;
            }
            if prepared.commit_deadline(deadline) == WaitOutcome::TimedOut {
                return condition();
            }
        }
        true
    }

    /// Lets one thread check its condition again, the one that has waited longest, if any waits.
    #[inline]
    pub fn notify_one(&self) {
        if self.announce() {
            H::table().wake_one(self.key());
        }
    }

    /// Lets all threads that wait check their condition again.
    #[inline]
    pub fn notify_all(&self) {
        if self.announce() {
            H::table().wake_all(self.key());
        }
    }

    /// Begins a new epoch, if anybody waits.
    #[inline]
    fn announce(&self) -> bool {
        fence_before_peek();
        // Ordering: relaxed, both; the fences here and in the wake-up order them.
        let waited_for = self.state.load(Ordering::Relaxed) & WAITERS != 0;
        if waited_for {
            self.state.fetch_add(EPOCH, Ordering::Relaxed);
        }
        waited_for
    }

    fn key(&self) -> Key {
        ptr::from_ref(self).into()
    }
}

impl<H: Home> Default for WaitPoint<H> {
    fn default() -> Self {
        Self::new_in()
    }
}

impl<H: Home> fmt::Debug for WaitPoint<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiters = self.state.load(Ordering::Relaxed) & WAITERS;
        f.debug_struct("WaitPoint").field("waiters", &waiters).finish_non_exhaustive()
    }
}

/// A wait that has been announced; see [`WaitPoint::prepare`]. Dropping it cancels the wait.
#[must_use = "a prepared wait waits only when it is committed"]
pub struct Prepared<'a, H: Home = Global> {
    point: &'a WaitPoint<H>,
    epoch: u64,
}

impl<H: Home> Prepared<'_, H> {
    /// Waits for a notification since [`prepare`](WaitPoint::prepare). May return early: check the condition again.
    pub fn commit(self) {
        self.commit_at(Deadline::NEVER);
    }

    /// Like [`commit`](Self::commit), but gives up at `deadline`.
    pub fn commit_deadline(self, deadline: Instant) -> WaitOutcome {
        self.commit_at(Deadline::at(deadline))
    }

    /// Does not wait after all.
    pub fn cancel(self) {}

    fn commit_at(self, deadline: Deadline) -> WaitOutcome {
        H::table().wait_if_at(self.point.key(), deadline, SpinFirst::Briefly, || {
            // Ordering: relaxed; ordered by fence A of the wait table.
            self.point.state.load(Ordering::Relaxed) & !WAITERS == self.epoch
        })
    }
}

impl<H: Home> Drop for Prepared<'_, H> {
    fn drop(&mut self) {
        // Ordering: relaxed; a notifier that still counts us only begins an epoch for nobody.
        self.point.state.fetch_sub(WAITER, Ordering::Relaxed);
    }
}

impl<H: Home> fmt::Debug for Prepared<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("epoch", &(self.epoch / EPOCH)).finish_non_exhaustive()
    }
}
