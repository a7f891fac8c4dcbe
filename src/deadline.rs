//! Deadlines: absolute, on the monotonic clock. Only the clock says that one has passed, never a kernel's return.

use crate::sync::{deadline_has_passed, now};
use std::time::{Duration, Instant};

/// When a wait gives up, if it ever does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) const NEVER: Self = Self(None);

    pub(crate) const fn at(instant: Instant) -> Self {
        Self(Some(instant))
    }

    /// `timeout` from now; never, if the clock cannot represent it.
    pub(crate) fn after(timeout: Duration) -> Self {
        Self(now().checked_add(timeout))
    }

    #[inline]
    pub(crate) fn has_passed(self) -> bool {
        self.0.is_some_and(deadline_has_passed)
    }

    /// Whether it has passed at `now`, for a caller that has just read the clock.
    pub(crate) fn is_past_at(self, now: Instant) -> bool {
        self.0.is_some_and(|at| at <= now)
    }

    /// The earlier of two.
    pub(crate) fn earlier_of(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).min())
    }

    /// As a [backend](crate::sys::Backend) takes it.
    pub(crate) const fn instant(self) -> Option<Instant> {
        self.0
    }
}
