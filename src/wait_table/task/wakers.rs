//! Wakers that have been taken, and are called when nothing is in hand.
//!
//! What a waker does is nobody's business: it may wake, wait and drop futures on the same slot and key, and it may panic.
//! Wrong, therefore, is to call one as soon as it is taken:
//!
//! ```text
//! notifier                            its waker of a                 b's owner, which holds the lock L
//! has a and b in hand
//! takes a's waker, calls it           locks L: waits
//!                                                                    drops b: it is in hand, waits for its gate
//! (forever)                           (forever)                      (forever)
//! ```
//!
//! As many as most wakes find have a place here; what comes on top goes to the heap. It is the one allocation of a wake, and
//! only of one that finds so many tasks of its key.

#![allow(unsafe_code)]

use super::super::linked::Sleepers;
use crate::sync::IN_A_MODEL;
use crate::sys::Backend;
use core::{mem::MaybeUninit, task::Waker};
use std::panic::{self, AssertUnwindSafe};

/// How many need no allocation. Arbitrary: half a kilobyte on the notifier's stack.
const AT_ONCE: usize = if IN_A_MODEL { 1 } else { 32 };

/// What is due to the owners of tasks' elements that have been notified.
pub(crate) struct Wakes<B: Backend> {
    /// Owners that block until they have their elements back. First: they are in nobody's hands any more.
    pub(super) sleepers: Sleepers<B>,
    pub(super) wakers: Wakers,
}

impl<B: Backend> Default for Wakes<B> {
    #[inline]
    fn default() -> Self {
        Self { sleepers: Sleepers::default(), wakers: Wakers::default() }
    }
}

/// Wakers, which are called when this is dropped. If some of them panic the others are called all the same, and the first
/// panic goes on.
pub(super) struct Wakers {
    /// Written up to `count`: a drop and a wake that find nobody have nothing to clear.
    first: [MaybeUninit<Waker>; AT_ONCE],
    count: usize,
    more: Vec<Waker>,
}

impl Default for Wakers {
    #[inline]
    fn default() -> Self {
        Self { first: [const { MaybeUninit::uninit() }; AT_ONCE], count: 0, more: Vec::new() }
    }
}

impl Wakers {
    #[inline]
    pub(super) fn add(&mut self, waker: Waker) {
        match self.first.get_mut(self.count) {
            Some(place) => {
                place.write(waker);
                self.count += 1;
            }
            None => self.more.push(waker),
        }
    }

    /// What was added last: the oldest of a chain.
    #[inline]
    fn pop(&mut self) -> Option<Waker> {
        self.more.pop().or_else(|| {
            self.count = self.count.checked_sub(1)?;
            // SAFETY: it is one of the first `count`, and is not any more.
            Some(unsafe { self.first[self.count].assume_init_read() })
        })
    }

    /// The oldest first: chains are taken from the youngest on.
    fn call_all(&mut self) -> Option<Box<dyn core::any::Any + Send>> {
        let mut panicked = None;
        while let Some(waker) = self.pop() {
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                match panicked {
                    None => panicked = Some(payload),
                    // Its drop may panic too.
                    Some(_) => core::mem::forget(payload),
                }
            }
        }
        panicked
    }
}

impl Drop for Wakers {
    #[inline]
    fn drop(&mut self) {
        if self.count == 0 && self.more.is_empty() {
            return;
        }
        match self.call_all() {
            Some(payload) if !std::thread::panicking() => panic::resume_unwind(payload),
            // Its drop may panic too.
            payload => core::mem::forget(payload),
        }
    }
}
