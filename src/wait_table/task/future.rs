//! The futures of conditions in closures.

#![allow(unsafe_code)]

use super::super::{Key, Location, WaitTable, global};
use super::{Moment, Purpose, Waiting};
use crate::sys::{Backend, Native};
use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

pub(super) struct Until<F>(F);

impl<F: FnMut() -> bool> Purpose for Until<F> {
    type Output = ();

    fn attempt(&mut self, _: Moment, _: Option<Key>) -> Option<()> {
        (self.0)().then_some(())
    }
}

pub(super) struct For<F>(F);

impl<T, F: FnMut() -> Option<T>> Purpose for For<F> {
    type Output = T;

    fn attempt(&mut self, _: Moment, _: Option<Key>) -> Option<T> {
        (self.0)()
    }
}

/// The condition, until it has been asked.
pub(super) struct If<F>(Option<F>);

impl<F: FnOnce() -> bool> Purpose for If<F> {
    type Output = ();

    fn attempt(&mut self, moment: Moment, _: Option<Key>) -> Option<()> {
        let is_over = match moment {
            Moment::First | Moment::Idle => false,
            Moment::Published => self.0.take().is_some_and(|still| !still()),
            Moment::Woken => true,
        };
        is_over.then_some(())
    }
}

/// If a condition holds, waits for a wake-up: see [`WaitTable::wait_if_async`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitIfAsync<'a, F: FnOnce() -> bool, B: Backend = Native>(Waiting<&'a WaitTable<B>, If<F>>);

/// Waits until a condition holds: see [`WaitTable::wait_until_async`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitUntilAsync<'a, F: FnMut() -> bool, B: Backend = Native>(Waiting<&'a WaitTable<B>, Until<F>>);

/// Waits until an attempt succeeds: see [`WaitTable::wait_for_async`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitForAsync<'a, T, F: FnMut() -> Option<T>, B: Backend = Native>(Waiting<&'a WaitTable<B>, For<F>>);

impl<F: FnOnce() -> bool, B: Backend> Future for WaitIfAsync<'_, F, B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the one field is pinned as this is.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(context)
    }
}

impl<F: FnMut() -> bool, B: Backend> Future for WaitUntilAsync<'_, F, B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the one field is pinned as this is.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(context)
    }
}

impl<T, F: FnMut() -> Option<T>, B: Backend> Future for WaitForAsync<'_, T, F, B> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // SAFETY: the one field is pinned as this is.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(context)
    }
}

impl<F: FnOnce() -> bool, B: Backend> fmt::Debug for WaitIfAsync<'_, F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WaitIfAsync").field(&self.0).finish()
    }
}

impl<F: FnMut() -> bool, B: Backend> fmt::Debug for WaitUntilAsync<'_, F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WaitUntilAsync").field(&self.0).finish()
    }
}

impl<T, F: FnMut() -> Option<T>, B: Backend> fmt::Debug for WaitForAsync<'_, T, F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WaitForAsync").field(&self.0).finish()
    }
}

impl<B: Backend> WaitTable<B> {
    /// Waits in a task until `condition` holds, as [`wait_until`](Self::wait_until) does in a thread, and is woken by the same
    /// calls: on any executor.
    ///
    /// The condition is evaluated when the future is polled, and never again when it has returned `true`. The future may be
    /// dropped at any time. It allocates nothing, except that the first tasks of a table, and very many of them, make it
    /// grow. What it does not promise of time: a drop waits for a thread that has the waiting element in its hands at that
    /// moment, as a wait with a deadline does ([how long](crate::wait_table#deadlines)).
    ///
    /// ```
    /// use layby::WaitTable;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// async fn ready(table: &WaitTable, flag: &AtomicBool) {
    ///     table.wait_until_async(flag, || flag.load(Ordering::Acquire)).await;
    /// }
    /// # let (table, flag) = (WaitTable::with_slots(64), AtomicBool::new(false));
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let mut future = std::pin::pin!(ready(&table, &flag));
    /// # assert!(future.as_mut().poll(&mut context).is_pending());
    /// flag.store(true, Ordering::Release);
    /// table.wake_all(&flag);
    /// # assert!(future.as_mut().poll(&mut context).is_ready());
    /// ```
    #[track_caller]
    pub fn wait_until_async<F: FnMut() -> bool>(
        &self,
        location: impl Location,
        condition: F,
    ) -> WaitUntilAsync<'_, F, B> {
        WaitUntilAsync(Waiting::new(self, location.key(), false, Until(condition)))
    }

    /// Waits in a task until `attempt` returns something, and returns that: [`wait_for`](Self::wait_for) for tasks. The
    /// attempt that succeeded is the last call. If another task's waker, which a poll may have to call then, panics, the poll does
    /// too, and what the attempt had got is dropped. See [`wait_until_async`](Self::wait_until_async).
    ///
    /// ```
    /// use layby::WaitTable;
    /// use std::{collections::VecDeque, sync::Mutex};
    ///
    /// async fn pop(table: &WaitTable, queue: &Mutex<VecDeque<u32>>) -> u32 {
    ///     table.wait_for_async(layby::Key::address(queue), || queue.lock().unwrap().pop_front()).await
    /// }
    /// # let (table, queue) = (WaitTable::with_slots(64), Mutex::new(VecDeque::new()));
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let mut future = std::pin::pin!(pop(&table, &queue));
    /// # assert!(future.as_mut().poll(&mut context).is_pending());
    /// queue.lock().unwrap().push_back(7);
    /// table.wake_all(layby::Key::address(&queue));
    /// # assert_eq!(future.as_mut().poll(&mut context), std::task::Poll::Ready(7));
    /// ```
    #[track_caller]
    pub fn wait_for_async<T, F: FnMut() -> Option<T>>(
        &self,
        location: impl Location,
        attempt: F,
    ) -> WaitForAsync<'_, T, F, B> {
        WaitForAsync(Waiting::new(self, location.key(), false, For(attempt)))
    }

    /// If `still` holds, waits in a task for a wake-up of `location`: [`wait_if`](Self::wait_if) for tasks, which
    /// [`wake_one`](Self::wake_one) wakes one by one. `still` is evaluated once, when the task has been published; a wake-up from then
    /// on ends the wait.
    ///
    /// A future that was chosen by `wake_one`, and is dropped before it is polled, passes that on to the next in line.
    ///
    /// ```
    /// use layby::WaitTable;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// async fn take(table: &WaitTable, tokens: &AtomicU32) {
    ///     while tokens.fetch_update(Ordering::Acquire, Ordering::Relaxed, |n| n.checked_sub(1)).is_err() {
    ///         table.wait_if_async(tokens, || tokens.load(Ordering::Relaxed) == 0).await;
    ///     }
    /// }
    /// # let (table, tokens) = (WaitTable::with_slots(64), AtomicU32::new(0));
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let mut future = std::pin::pin!(take(&table, &tokens));
    /// # assert!(future.as_mut().poll(&mut context).is_pending());
    /// tokens.fetch_add(1, Ordering::Release);
    /// table.wake_one(&tokens); // one token, one task
    /// # assert!(future.as_mut().poll(&mut context).is_ready());
    /// ```
    #[track_caller]
    pub fn wait_if_async<F: FnOnce() -> bool>(&self, location: impl Location, still: F) -> WaitIfAsync<'_, F, B> {
        WaitIfAsync(Waiting::new(self, location.key(), true, If(Some(still))))
    }
}

/// If `still` holds, waits in a task for a wake-up of `location`. See [`WaitTable::wait_if_async`].
#[track_caller]
pub fn wait_if_async<F: FnOnce() -> bool>(location: impl Location, still: F) -> WaitIfAsync<'static, F> {
    global().wait_if_async(location, still)
}

/// Waits in a task until `condition` holds. See [`WaitTable::wait_until_async`].
///
/// ```
/// use layby::{location_wake_all, wait_until_async};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// static SUM: AtomicU32 = AtomicU32::new(0);
///
/// async fn three() {
///     wait_until_async(&SUM, || SUM.load(Ordering::Relaxed) >= 3).await;
/// }
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let mut future = std::pin::pin!(three());
/// # assert!(future.as_mut().poll(&mut context).is_pending());
/// SUM.fetch_add(3, Ordering::Relaxed);
/// location_wake_all(&SUM);
/// # assert!(future.as_mut().poll(&mut context).is_ready());
/// ```
#[track_caller]
pub fn wait_until_async<F: FnMut() -> bool>(location: impl Location, condition: F) -> WaitUntilAsync<'static, F> {
    global().wait_until_async(location, condition)
}

/// Waits in a task until `attempt` returns something, and returns that. See [`WaitTable::wait_for_async`].
#[track_caller]
pub fn wait_for_async<T, F: FnMut() -> Option<T>>(location: impl Location, attempt: F) -> WaitForAsync<'static, T, F> {
    global().wait_for_async(location, attempt)
}
