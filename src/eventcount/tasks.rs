//! Waits of tasks: for a count, for a condition of somebody else's structure, and for a notification.

use super::{EventCount, Prepared, WaitPoint};
use crate::error::Closed;
use crate::wait_table::{AtHome, Global, Home, Key, Moment, Purpose, Waiting};
use core::{fmt, future::IntoFuture};

/// The future of [`EventCount::wait_at_least_async`].
pub type WaitAtLeastAsync<'a, H = Global> = Waiting<AtHome<H>, AtLeast<'a, H>>;
/// The future of [`WaitPoint::wait_until_async`].
pub type WaitUntilAsync<'a, F, H = Global> = Waiting<AtHome<H>, Until<'a, F, H>>;
/// The future of [`WaitPoint::wait_for_async`].
pub type WaitForAsync<'a, F, H = Global> = Waiting<AtHome<H>, For<'a, F, H>>;
/// The future of [`Prepared::commit_async`], and of `prepared.await`.
pub type CommitAsync<'a, H = Global> = Waiting<AtHome<H>, Committed<'a, H>>;

impl<H: Home> EventCount<H> {
    /// Waits in a task until the count is at least `value`: [`wait_at_least`](Self::wait_at_least) as a future, on any executor.
    /// An advance wakes the threads and tasks whose value it reaches, and nobody else.
    ///
    /// It may be dropped at any time, and leaves nothing behind.
    ///
    /// # Errors
    /// If the count was closed before it got there.
    ///
    /// ```
    /// use layby::{Closed, eventcount::EventCount};
    ///
    /// async fn follow(written: &EventCount) -> Result<u64, Closed> {
    ///     written.wait_at_least_async(2).await
    /// }
    /// # let written = EventCount::new();
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let mut future = std::pin::pin!(follow(&written));
    /// written.advance();
    /// # assert!(future.as_mut().poll(&mut context).is_pending());
    /// written.advance();
    /// # assert_eq!(future.as_mut().poll(&mut context), std::task::Poll::Ready(Ok(2)));
    /// ```
    #[track_caller]
    pub fn wait_at_least_async(&self, value: u64) -> WaitAtLeastAsync<'_, H> {
        Waiting::new(AtHome::NEW, self.key_of(value), false, AtLeast { count: self, value })
    }
}

/// What [`WaitAtLeastAsync`] waits for.
pub struct AtLeast<'a, H: Home> {
    count: &'a EventCount<H>,
    value: u64,
}

impl<H: Home> Purpose for AtLeast<'_, H> {
    type Output = Result<u64, Closed>;

    #[inline]
    fn attempt(&mut self, _: Moment, _: Option<Key>) -> Option<Result<u64, Closed>> {
        self.count.outcome(self.value)
    }
}

impl<H: Home> WaitPoint<H> {
    /// Waits in a task until `condition` holds: [`wait_until`](Self::wait_until) as a future, on any executor. The condition is
    /// evaluated when the future is polled; when it has returned `true` it is not called again, so it may take what it waits for.
    ///
    /// It may be dropped at any time: a [`notify_one`](Self::notify_one) that had chosen it goes to the next in line.
    #[track_caller]
    pub fn wait_until_async<F: FnMut() -> bool>(&self, condition: F) -> WaitUntilAsync<'_, F, H> {
        Waiting::new(AtHome::NEW, self.key(), true, Until { place: Registered::at(self), condition })
    }

    /// Waits in a task until `attempt` returns something, and returns that: [`wait_for`](Self::wait_for) as a future. See
    /// [`wait_until_async`](Self::wait_until_async), and [`WaitTable::wait_for_async`](crate::WaitTable::wait_for_async) for wakers
    /// that panic.
    ///
    /// ```
    /// use layby::eventcount::WaitPoint;
    /// use std::sync::Mutex;
    ///
    /// async fn pop(stack: &Mutex<Vec<u32>>, not_empty: &WaitPoint) -> u32 {
    ///     not_empty.wait_for_async(|| stack.lock().unwrap().pop()).await
    /// }
    /// # let (stack, not_empty) = (Mutex::new(vec![]), WaitPoint::new());
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let mut future = std::pin::pin!(pop(&stack, &not_empty));
    /// # assert!(future.as_mut().poll(&mut context).is_pending());
    /// stack.lock().unwrap().push(7);
    /// not_empty.notify_one();
    /// # assert_eq!(future.as_mut().poll(&mut context), std::task::Poll::Ready(7));
    /// ```
    #[track_caller]
    pub fn wait_for_async<T, F: FnMut() -> Option<T>>(&self, attempt: F) -> WaitForAsync<'_, F, H> {
        Waiting::new(AtHome::NEW, self.key(), true, For { place: Registered::at(self), attempt })
    }
}

/// A task at a wait point: counted among its waiters from before it is published until it is gone.
struct Registered<'a, H: Home> {
    point: &'a WaitPoint<H>,
    prepared: Option<Prepared<'a, H>>,
}

impl<'a, H: Home> Registered<'a, H> {
    fn at(point: &'a WaitPoint<H>) -> Self {
        Self { point, prepared: None }
    }

    /// Before it is published: a notifier that does not count it must not be able to overlook it.
    fn count_in(&mut self) {
        self.prepared.get_or_insert_with(|| self.point.prepare());
    }

    fn count_out(&mut self) {
        self.prepared = None;
    }
}

/// What [`WaitUntilAsync`] waits for.
pub struct Until<'a, F, H: Home> {
    place: Registered<'a, H>,
    condition: F,
}

/// What [`WaitForAsync`] waits for.
pub struct For<'a, F, H: Home> {
    place: Registered<'a, H>,
    attempt: F,
}

impl<F: FnMut() -> bool, H: Home> Purpose for Until<'_, F, H> {
    type Output = ();

    fn attempt(&mut self, _: Moment, _: Option<Key>) -> Option<()> {
        let holds = (self.condition)();
        holds.then(|| self.place.count_out())
    }

    fn key(&mut self, given: Key, _: Option<Key>) -> Key {
        self.place.count_in();
        given
    }
}

impl<T, F: FnMut() -> Option<T>, H: Home> Purpose for For<'_, F, H> {
    type Output = T;

    fn attempt(&mut self, _: Moment, _: Option<Key>) -> Option<T> {
        let got = (self.attempt)()?;
        self.place.count_out();
        Some(got)
    }

    fn key(&mut self, given: Key, _: Option<Key>) -> Key {
        self.place.count_in();
        given
    }
}

/// What [`CommitAsync`] waits for.
pub struct Committed<'a, H: Home>(Option<Prepared<'a, H>>);

impl<'a, H: Home> Prepared<'a, H> {
    /// [`commit`](Self::commit) as a future: waits in a task for a notification since [`prepare`](WaitPoint::prepare). May be ready
    /// early: check the condition again. It may be dropped at any time.
    ///
    /// A `Prepared` can be awaited itself. If you come from the crate event-listener, this is a listener: register, check, await.
    ///
    /// ```
    /// use layby::eventcount::WaitPoint;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// async fn until_set(flag: &AtomicBool, changed: &WaitPoint) {
    ///     while !flag.load(Ordering::Relaxed) {
    ///         let listener = changed.prepare();
    ///         if flag.load(Ordering::Relaxed) {
    ///             break;
    ///         }
    ///         listener.await;
    ///     }
    /// }
    /// # let (flag, changed) = (AtomicBool::new(false), WaitPoint::new());
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let mut future = std::pin::pin!(until_set(&flag, &changed));
    /// # assert!(future.as_mut().poll(&mut context).is_pending());
    /// flag.store(true, Ordering::Relaxed);
    /// changed.notify_all();
    /// # assert!(future.as_mut().poll(&mut context).is_ready());
    /// ```
    #[track_caller]
    pub fn commit_async(self) -> CommitAsync<'a, H> {
        Waiting::new(AtHome::NEW, self.key(), true, Committed(Some(self)))
    }
}

impl<'a, H: Home> IntoFuture for Prepared<'a, H> {
    type Output = ();
    type IntoFuture = CommitAsync<'a, H>;

    fn into_future(self) -> CommitAsync<'a, H> {
        self.commit_async()
    }
}

impl<H: Home> Purpose for Committed<'_, H> {
    type Output = ();

    fn attempt(&mut self, moment: Moment, _: Option<Key>) -> Option<()> {
        let is_over = moment == Moment::Woken || self.0.as_ref().is_none_or(Prepared::is_over);
        is_over.then(|| self.0 = None)
    }
}

impl<H: Home> fmt::Debug for AtLeast<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtLeast").field("value", &self.value).finish_non_exhaustive()
    }
}

impl<F, H: Home> fmt::Debug for Until<'_, F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Until").finish_non_exhaustive()
    }
}

impl<F, H: Home> fmt::Debug for For<'_, F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("For").finish_non_exhaustive()
    }
}

impl<H: Home> fmt::Debug for Committed<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committed").finish_non_exhaustive()
    }
}
