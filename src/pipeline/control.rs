//! What everybody in a graph shares besides the ring: whether it has been closed and why, and how its threads wait.

#![forbid(unsafe_code)]

use super::{Closed, Reason, WaitStrategy};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::wait_table::{AsymmetricFences, Key, global};
use core::ptr;
use std::sync::OnceLock;

pub(super) struct Control {
    /// 1 from when the graph has been closed.
    closed: AtomicU32,
    reason: OnceLock<Reason>,
    pub(super) strategy: WaitStrategy,
    pub(super) fences: AsymmetricFences,
}

impl Control {
    pub(super) fn new(strategy: WaitStrategy) -> Self {
        let fences = AsymmetricFences::of_this_process();
        Self { closed: AtomicU32::new(0), reason: OnceLock::new(), strategy, fences }
    }

    /// What is waited on by those who wait for lane number `lane`.
    pub(super) fn key(&self, lane: u64) -> Key {
        Key::ticket_of_primitive(ptr::from_ref(self), lane)
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        // Ordering: acquire; matches `close`: what its caller did before, and the reason, are visible.
        self.closed.load(Ordering::Acquire) != 0
    }

    /// Everybody returns, those who sleep included (W3). The first reason counts.
    #[cold]
    pub(super) fn close(&self, reason: Reason) {
        _ = self.reason.set(reason);
        // Ordering: SeqCst; see `wake_keys_seqcst`. Release, for those who see the graph closed.
        self.closed.store(1, Ordering::SeqCst);
        global().wake_keys_seqcst(|lane| self.key(lane), 0..=u64::MAX);
    }

    /// Why it has been closed.
    pub(super) fn closed(&self) -> Closed {
        // The reason is set before the flag, so there is one.
        Closed { reason: self.reason.get().cloned().unwrap_or(Reason::Closed) }
    }
}
