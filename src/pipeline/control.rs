//! What everybody in a graph shares besides the ring: whether it has been closed and why, and how its threads wait.

#![forbid(unsafe_code)]

use super::{Closed, Reason, WaitStrategy};
use crate::spin_policy::{self, SpinFirst};
use crate::sync::{
    atomic::{AtomicU32, Ordering},
    unchecked_atomic::AtomicUsize,
};
use crate::wait_table::{AsymmetricFences, Key, global, names};
use core::ptr;
use std::sync::OnceLock;

pub(super) struct Control {
    /// 1 from when the graph has been closed.
    closed: AtomicU32,
    reason: OnceLock<Reason>,
    /// How many stages and producers there have been. Advice.
    members: AtomicUsize,
    pub(super) strategy: WaitStrategy,
    pub(super) fences: AsymmetricFences,
}

impl Control {
    pub(super) fn new(strategy: WaitStrategy) -> Self {
        let fences = AsymmetricFences::of_this_process();
        Self { closed: AtomicU32::new(0), reason: OnceLock::new(), members: AtomicUsize::new(0), strategy, fences }
    }

    /// What is waited on by those who wait for lane number `lane`.
    pub(super) fn key(&self, lane: u64) -> Key {
        Key::ticket_of_primitive(ptr::from_ref(self), lane)
    }

    /// One more, which may run at the same time as the others.
    pub(super) fn add_member(&self) {
        self.members.fetch_add(1, Ordering::Relaxed);
    }

    /// What a member does before it sleeps.
    pub(super) fn spin_first(&self) -> SpinFirst {
        SpinFirst::among(self.members.load(Ordering::Relaxed))
    }

    /// For a stage that is close behind those before it, and about to look how far they are.
    pub(super) fn let_writers_get_ahead(&self) {
        if self.strategy == WaitStrategy::SpinThenSleep {
            spin_policy::let_get_ahead(self.spin_first());
        }
    }

    /// Has reports say what those wait for who wait for lane number `lane`.
    pub(super) fn name_lane(&self, lane: u64, name: &str) {
        names::put_up(self.key(lane), name);
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

impl Drop for Control {
    fn drop(&mut self) {
        names::take_down(ptr::from_ref(self));
    }
}
