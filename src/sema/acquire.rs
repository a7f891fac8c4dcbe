//! Takes that return a guard: what `take…` does, and the permits go back by themselves.
//!
//! | | waits | at once or not at all | for a time | until an instant | within a limit |
//! |---|---|---|---|---|---|
//! | one | `acquire` | `try_acquire` | `acquire_timeout` | `acquire_deadline` | `acquire_within` |
//! | several | `acquire_many` | `try_acquire_many` | `acquire_many_timeout` | `acquire_many_deadline` | `acquire_many_within` |
//! | one, owned | `acquire_owned` | `try_acquire_owned` | `acquire_owned_timeout` | `acquire_owned_deadline` | `acquire_owned_within` |
//! | several, owned | `acquire_many_owned` | `try_acquire_many_owned` | `acquire_many_owned_timeout` | `acquire_many_owned_deadline` | `acquire_many_owned_within` |

use super::{OwnedPermit, Permit, Semaphore};
use crate::error::Stopped;
use crate::wait_table::{Home, Limit};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl<H: Home> Semaphore<H> {
    /// Takes a permit that is put back when the guard is dropped, waiting for one if necessary.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    pub fn acquire(&self) -> Permit<'_, H> {
        self.take();
        Permit::new(self, 1)
    }

    /// Like [`acquire`](Self::acquire), but only if there is a permit that nobody is waiting for.
    #[must_use = "the permit is put back when it is dropped"]
    pub fn try_acquire(&self) -> Option<Permit<'_, H>> {
        self.try_take().then(|| Permit::new(self, 1))
    }

    /// Like [`acquire`](Self::acquire), but waits for at most `timeout`. One too long for the clock means forever.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    #[must_use = "the permit is put back when it is dropped"]
    pub fn acquire_timeout(&self, timeout: Duration) -> Option<Permit<'_, H>> {
        self.take_timeout(timeout).then(|| Permit::new(self, 1))
    }

    /// Like [`acquire`](Self::acquire), but waits until `deadline`.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    #[must_use = "the permit is put back when it is dropped"]
    pub fn acquire_deadline(&self, deadline: Instant) -> Option<Permit<'_, H>> {
        self.take_deadline(deadline).then(|| Permit::new(self, 1))
    }

    /// Like [`acquire`](Self::acquire), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    pub fn acquire_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<Permit<'_, H>, Stopped> {
        self.take_within(limit)?;
        Ok(Permit::new(self, 1))
    }

    /// Takes `n` permits that are put back when the guard is dropped, waiting for them if necessary.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    pub fn acquire_many(&self, n: u64) -> Permit<'_, H> {
        self.take_many(n);
        Permit::new(self, n)
    }

    /// Like [`acquire_many`](Self::acquire_many), but only if there are that many permits that nobody is waiting for.
    #[must_use = "the permits are put back when they are dropped"]
    pub fn try_acquire_many(&self, n: u64) -> Option<Permit<'_, H>> {
        self.try_take_many(n).then(|| Permit::new(self, n))
    }

    /// Like [`acquire_many`](Self::acquire_many), but waits for at most `timeout`.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    #[must_use = "the permits are put back when they are dropped"]
    pub fn acquire_many_timeout(&self, n: u64, timeout: Duration) -> Option<Permit<'_, H>> {
        self.take_many_timeout(n, timeout).then(|| Permit::new(self, n))
    }

    /// Like [`acquire_many`](Self::acquire_many), but waits until `deadline`.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    #[must_use = "the permits are put back when they are dropped"]
    pub fn acquire_many_deadline(&self, n: u64, deadline: Instant) -> Option<Permit<'_, H>> {
        self.take_many_deadline(n, deadline).then(|| Permit::new(self, n))
    }

    /// Like [`acquire_many`](Self::acquire_many), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    pub fn acquire_many_within<'a>(&self, n: u64, limit: impl Into<Limit<'a>>) -> Result<Permit<'_, H>, Stopped> {
        self.take_many_within(n, limit)?;
        Ok(Permit::new(self, n))
    }

    /// Like [`acquire`](Self::acquire), but the guard keeps the semaphore alive instead of borrowing it.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    pub fn acquire_owned(self: &Arc<Self>) -> OwnedPermit<H> {
        self.take();
        OwnedPermit::new(Arc::clone(self), 1)
    }

    /// Like [`acquire_owned`](Self::acquire_owned), but only if there is a permit that nobody is waiting for.
    #[must_use = "the permit is put back when it is dropped"]
    pub fn try_acquire_owned(self: &Arc<Self>) -> Option<OwnedPermit<H>> {
        self.try_take().then(|| OwnedPermit::new(Arc::clone(self), 1))
    }

    /// Like [`acquire_owned`](Self::acquire_owned), but waits for at most `timeout`.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    #[must_use = "the permit is put back when it is dropped"]
    pub fn acquire_owned_timeout(self: &Arc<Self>, timeout: Duration) -> Option<OwnedPermit<H>> {
        self.take_timeout(timeout).then(|| OwnedPermit::new(Arc::clone(self), 1))
    }

    /// Like [`acquire_owned`](Self::acquire_owned), but waits until `deadline`.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    #[must_use = "the permit is put back when it is dropped"]
    pub fn acquire_owned_deadline(self: &Arc<Self>, deadline: Instant) -> Option<OwnedPermit<H>> {
        self.take_deadline(deadline).then(|| OwnedPermit::new(Arc::clone(self), 1))
    }

    /// Like [`acquire_owned`](Self::acquire_owned), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached.
    ///
    /// # Panics
    /// Like [`take`](Self::take).
    #[track_caller]
    pub fn acquire_owned_within<'a>(self: &Arc<Self>, limit: impl Into<Limit<'a>>) -> Result<OwnedPermit<H>, Stopped> {
        self.take_within(limit)?;
        Ok(OwnedPermit::new(Arc::clone(self), 1))
    }

    /// Like [`acquire_many`](Self::acquire_many), but the guard keeps the semaphore alive instead of borrowing it.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    pub fn acquire_many_owned(self: &Arc<Self>, n: u64) -> OwnedPermit<H> {
        self.take_many(n);
        OwnedPermit::new(Arc::clone(self), n)
    }

    /// Like [`acquire_many_owned`](Self::acquire_many_owned), but only if there are that many permits that nobody is waiting
    /// for.
    #[must_use = "the permits are put back when they are dropped"]
    pub fn try_acquire_many_owned(self: &Arc<Self>, n: u64) -> Option<OwnedPermit<H>> {
        self.try_take_many(n).then(|| OwnedPermit::new(Arc::clone(self), n))
    }

    /// Like [`acquire_many_owned`](Self::acquire_many_owned), but waits for at most `timeout`.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    #[must_use = "the permits are put back when they are dropped"]
    pub fn acquire_many_owned_timeout(self: &Arc<Self>, n: u64, timeout: Duration) -> Option<OwnedPermit<H>> {
        self.take_many_timeout(n, timeout).then(|| OwnedPermit::new(Arc::clone(self), n))
    }

    /// Like [`acquire_many_owned`](Self::acquire_many_owned), but waits until `deadline`.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    #[must_use = "the permits are put back when they are dropped"]
    pub fn acquire_many_owned_deadline(self: &Arc<Self>, n: u64, deadline: Instant) -> Option<OwnedPermit<H>> {
        self.take_many_deadline(n, deadline).then(|| OwnedPermit::new(Arc::clone(self), n))
    }

    /// Like [`acquire_many_owned`](Self::acquire_many_owned), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached.
    ///
    /// # Panics
    /// Like [`take_many`](Self::take_many).
    #[track_caller]
    pub fn acquire_many_owned_within<'a>(
        self: &Arc<Self>,
        n: u64,
        limit: impl Into<Limit<'a>>,
    ) -> Result<OwnedPermit<H>, Stopped> {
        self.take_many_within(n, limit)?;
        Ok(OwnedPermit::new(Arc::clone(self), n))
    }
}
