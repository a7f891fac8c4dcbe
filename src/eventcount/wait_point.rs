//! Blocking on top of a lock-free structure: prepare, check again, then commit or cancel.
//!
//! # State
//!
//! | bits | what |
//! |---|---|
//! | 0..24 | threads between `prepare` and the end of `commit` or `cancel`; if all are set: that many or more |
//! | 24..64 | the epoch: how many notifications found such a thread |
//!
//! | operation | the state |
//! |---|---|
//! | `prepare` | waiters + 1 unless full, remembers the epoch |
//! | `commit` | sleeps while the epoch is the remembered one; waiters - 1 unless full |
//! | `cancel` | waiters - 1 unless full |
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
//!
//! # A count that is full
//!
//! A [`Prepared`] can be forgotten, and then nobody takes its one away again. With a count that wraps:
//!
//! ```text
//! sleeper                             whoever forgets                notifier
//! prepare: waiters = 1, sleep
//!                                     2^24 - 1 times: waiters = 0
//!                                                                    waiters? no: nobody to wake
//! (forever)
//! ```
//!
//! So a full count stays full. It no longer says how many there are, so nobody may subtract from it: one that was never
//! added might be the last. From then on every notification wakes as if somebody waited, which costs it more and loses
//! nothing. A `prepare` that finds the count full writes nothing, and needs not: what it has read, full, is what a notifier
//! reads whose fence B comes after its fence A, or something later in the word's history, which is full too.
//!
//! # An epoch that comes round
//!
//! The epoch has 40 bits. A commit takes it for the remembered one if exactly a multiple of 2^40 notifications, each of which found
//! somebody, have come since the prepare; it then sleeps until the next. At ten million a second that is a `Prepared` kept for thirty
//! hours, and the one notification of all of them that comes at that moment.

use crate::error::Stopped;
use crate::spin_policy::SpinFirst;
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicU64, Ordering},
    const_outside_models, fence_after_publish, fence_before_peek, in_destructor,
};
use crate::wait_table::{Global, Home, Invariant, Key, Limit, WaitOutcome, table_of};
use core::{fmt, marker::PhantomData, mem};
use std::time::{Duration, Instant};

const WAITER: u64 = 1;
/// More than there can be threads: 2^22 on Linux. A model fills the count with three.
const EPOCH: u64 = if IN_A_MODEL { 1 << 2 } else { 1 << 24 };
const WAITERS: u64 = EPOCH - 1;

fn is_full(state: u64) -> bool {
    state & WAITERS == WAITERS
}

/// Where threads wait for a condition that is kept elsewhere, such as "the queue is not empty" of a lock-free queue.
///
/// 8 bytes. A notification that nobody waits for costs a fence and a load.
///
/// # Which notification
///
/// [`notify_one`](Self::notify_one) is right if any one of those who wait could use what was added: an item of a queue, a free
/// connection. If they wait for different conditions at one point, the one that is chosen may not be the one that could go on,
/// and it takes [`notify_all`](Self::notify_all). A notification that falls between a `prepare` and its `cancel` is not lost to
/// others: whoever cancels has not been chosen for good.
///
/// They return whether, or how many, threads and tasks they found waiting, and woke: no more than they let go. [`notify_one`](Self::notify_one)
/// takes a thread before a task, however long the task has waited. A thread between `prepare` and
/// `commit` is let go too, but does not wait yet; whoever another notification is waking at that moment counts there.
///
/// # Example
///
/// ```
/// use layby::eventcount::WaitPoint;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// // The lock-free structure: tokens that can be taken.
/// let (tokens, not_empty) = (AtomicU32::new(0), WaitPoint::new());
/// let try_take = || tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
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
    home: Invariant<H>,
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
    #[doc(alias = "listen")]
    pub fn prepare(&self) -> Prepared<'_, H> {
        // Not an epoch read later: that of a notifier that came meanwhile does not bring along the change that the check
        // must see.
        let epoch = self.unless_full(|state| state + WAITER) & !WAITERS;
        fence_after_publish();
        Prepared { point: self, epoch }
    }

    /// Changes the state, unless the count is full; returns what the state was.
    fn unless_full(&self, change: impl Fn(u64) -> u64) -> u64 {
        let mut seen = self.state.load(Ordering::Relaxed);
        while !is_full(seen) {
            // Ordering: relaxed. The fence of `prepare` orders it before the caller's check; a notifier that still counts
            // one who leaves only begins an epoch for nobody.
            match self.state.compare_exchange_weak(seen, change(seen), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        seen
    }

    /// Waits until `condition` holds. When it has returned `true` it is not called again, so it may take what it waits for.
    pub fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        self.wait_for(|| condition().then_some(()));
    }

    /// Like [`wait_until`](Self::wait_until), but gives up at `deadline` ([how late](crate::wait_table#deadlines)): `false` if it
    /// passed and the condition still did not hold.
    #[must_use = "says whether the condition held"]
    pub fn wait_until_deadline(&self, deadline: Instant, condition: impl FnMut() -> bool) -> bool {
        self.wait_until_within(deadline, condition).is_ok()
    }

    /// Like [`wait_until_deadline`](Self::wait_until_deadline), but waits for at most `timeout`. One too long for the clock means
    /// forever.
    #[must_use = "says whether the condition held"]
    pub fn wait_until_timeout(&self, timeout: Duration, condition: impl FnMut() -> bool) -> bool {
        self.wait_until_within(timeout, condition).is_ok()
    }

    /// Like [`wait_until`](Self::wait_until), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached, if the condition still did not hold then.
    pub fn wait_until_within<'a>(
        &self,
        limit: impl Into<Limit<'a>>,
        mut condition: impl FnMut() -> bool,
    ) -> Result<(), Stopped> {
        self.wait_for_within(limit, || condition().then_some(()))
    }

    /// Waits until `attempt` returns something, and returns that. It is not called again then.
    ///
    /// ```
    /// use layby::eventcount::WaitPoint;
    /// use std::sync::Mutex;
    ///
    /// let (stack, not_empty) = (Mutex::new(vec![]), WaitPoint::new());
    /// std::thread::scope(|s| {
    ///     s.spawn(|| assert_eq!(not_empty.wait_for(|| stack.lock().unwrap().pop()), 7));
    ///     stack.lock().unwrap().push(7);
    ///     not_empty.notify_one();
    /// });
    /// ```
    pub fn wait_for<T>(&self, attempt: impl FnMut() -> Option<T>) -> T {
        self.wait_for_within(Limit::NONE, attempt).expect("a wait without a limit ends when it succeeds")
    }

    /// Like [`wait_for`](Self::wait_for), but gives up at `deadline`: `None` if it passed and `attempt` still returned nothing.
    #[must_use = "it may hold what was waited for"]
    pub fn wait_for_deadline<T>(&self, deadline: Instant, attempt: impl FnMut() -> Option<T>) -> Option<T> {
        self.wait_for_within(deadline, attempt).ok()
    }

    /// Like [`wait_for_deadline`](Self::wait_for_deadline), but waits for at most `timeout`. One too long for the clock means
    /// forever.
    #[must_use = "it may hold what was waited for"]
    pub fn wait_for_timeout<T>(&self, timeout: Duration, attempt: impl FnMut() -> Option<T>) -> Option<T> {
        self.wait_for_within(timeout, attempt).ok()
    }

    /// Like [`wait_for`](Self::wait_for), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached, if `attempt` still returned nothing then.
    pub fn wait_for_within<'a, T>(
        &self,
        limit: impl Into<Limit<'a>>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Result<T, Stopped> {
        let limit = limit.into();
        let mut first = attempt();
        loop {
            if let Some(got) = first {
                return Ok(got);
            }
            let prepared = self.prepare();
            if let Some(got) = attempt() {
                return Ok(got);
            }
            if let Err(stopped) = prepared.commit_within(limit) {
                return attempt().ok_or(stopped);
            }
            // A notification may have been for us alone.
            let on_unwind = PassOn(self);
            first = attempt();
            mem::forget(on_unwind);
        }
    }

    /// Lets one thread check its condition again, the one that has waited longest, if any waits. All threads that are between
    /// [`prepare`](Self::prepare) and [`commit`](Prepared::commit) check again too. Returns whether it
    /// [found one waiting](Self#which-notification).
    #[inline]
    #[doc(alias("signal", "wake_one"))]
    pub fn notify_one(&self) -> bool {
        self.announce() && table_of::<H>().wake_one(self.key()) != 0
    }

    /// Lets all threads that wait check their condition again. Returns how many it [found waiting](Self#which-notification).
    #[inline]
    #[doc(alias("broadcast", "wake_all"))]
    pub fn notify_all(&self) -> usize {
        if self.announce() { table_of::<H>().wake_all(self.key()) } else { 0 }
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

    pub(super) fn key(&self) -> Key {
        Key::of_primitive(self)
    }
}

/// For the default home alone, so that it can be inferred.
impl Default for WaitPoint {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Home> fmt::Debug for WaitPoint<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiters = self.state.load(Ordering::Relaxed) & WAITERS;
        f.debug_struct("WaitPoint").field("waiters", &waiters).finish_non_exhaustive()
    }
}

/// A wait that has been announced; see [`WaitPoint::prepare`]. Dropping it cancels the wait.
///
/// Forgetting it loses nothing, but the point takes it for a waiter ever after: its notifications cost more, as if somebody
/// waited.
#[must_use = "a prepared wait waits only when it is committed"]
pub struct Prepared<'a, H: Home = Global> {
    point: &'a WaitPoint<H>,
    epoch: u64,
}

impl<H: Home> Prepared<'_, H> {
    /// Waits for a notification since [`prepare`](WaitPoint::prepare). May return early: check the condition again.
    pub fn commit(self) {
        let _ = self.commit_within(Limit::NONE);
    }

    /// Like [`commit`](Self::commit), but gives up at `deadline` ([how late](crate::wait_table#deadlines)).
    pub fn commit_deadline(self, deadline: Instant) -> WaitOutcome {
        WaitOutcome::of(self.commit_within(deadline))
    }

    /// Like [`commit`](Self::commit), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached. A notification that has been used up is never reported as one.
    pub fn commit_within<'a>(self, limit: impl Into<Limit<'a>>) -> Result<(), Stopped> {
        table_of::<H>().wait_if_at(self.key(), &limit.into(), SpinFirst::Briefly, || !self.is_over())
    }

    pub(super) fn key(&self) -> Key {
        self.point.key()
    }

    /// Whether there has been a notification.
    pub(super) fn is_over(&self) -> bool {
        // Ordering: relaxed; ordered by fence A of the wait table.
        self.point.state.load(Ordering::Relaxed) & !WAITERS != self.epoch
    }

    /// Does not wait after all.
    pub fn cancel(self) {}
}

/// A notification that nobody has made use of: goes to the next who waits.
struct PassOn<'a, H: Home>(&'a WaitPoint<H>);

impl<H: Home> Drop for PassOn<'_, H> {
    fn drop(&mut self) {
        in_destructor(|| _ = self.0.notify_one());
    }
}

impl<H: Home> Drop for Prepared<'_, H> {
    fn drop(&mut self) {
        in_destructor(|| {
            self.point.unless_full(|state| state - WAITER);
        });
    }
}

impl<H: Home> fmt::Debug for Prepared<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("epoch", &(self.epoch / EPOCH)).finish_non_exhaustive()
    }
}
