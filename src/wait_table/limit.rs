//! What ends a wait besides what it waits for: time, and cancellation.

use super::Cancel;
use crate::deadline::Deadline;
use crate::error::Stopped;
use core::fmt;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// What ends a wait besides what it waits for: a deadline, a [`Cancel`], or whichever of several comes first.
///
/// Waits for a condition, takes, locks and eventcounts have a form that takes a limit, `…_within`, and returns [`Stopped`] if the limit
/// was reached first. An [`Instant`], a [`Duration`] and a `&`[`Cancel`] are limits by themselves, and so is an
/// [`Option`] of one: `None` is no limit. [`or`](Self::or) makes one of two.
///
/// ```
/// use layby::{Cancel, Limit, Stopped, sema::Semaphore};
/// use std::time::Duration;
///
/// static SHUTDOWN: Cancel = Cancel::new();
/// let permits = Semaphore::new(0);
///
/// let soon = Limit::from(Duration::from_millis(1)).or(&SHUTDOWN);
/// assert_eq!(permits.take_within(soon), Err(Stopped::TimedOut));
/// SHUTDOWN.cancel();
/// assert_eq!(permits.take_within(&SHUTDOWN), Err(Stopped::Cancelled));
/// ```
///
/// # Which comes first
///
/// What is waited for, if it is there: a loop of takes goes on after a cancellation for as long as there are permits, unless it
/// [checks](Self::check) its limit. A wait fails only if its limit was reached and it then still had to wait. A take that
/// was granted before it has seen the limit is granted, and a lock is locked. So nothing is lost, and nothing needs to be
/// given back after a [`Stopped`].
///
/// A limit made of a [`Duration`] is one deadline, from the moment when it was made, also if it is used for several waits.
///
/// A wait that stops has left the line that it stood in, and holds up nobody behind it. Until then it keeps its place.
#[derive(Clone, Copy)]
#[must_use = "a limit does nothing by itself"]
pub struct Limit<'a> {
    deadline: Deadline,
    /// The first of them, and then no more.
    cancels: [Option<&'a Cancel>; Limit::MOST_CANCELS],
}

impl Limit<'_> {
    /// No limit.
    pub const NONE: Limit<'static> = Limit { deadline: Deadline::NEVER, cancels: [None; Limit::MOST_CANCELS] };

    /// How many different [`Cancel`]s one limit can have.
    pub const MOST_CANCELS: usize = 4;

    pub(crate) const fn at(deadline: Deadline) -> Self {
        Self { deadline, ..Limit::NONE }
    }
}

/// None.
impl Default for Limit<'_> {
    fn default() -> Self {
        Limit::NONE
    }
}

impl<'a> Limit<'a> {
    /// Whichever is reached first, this one or `other`.
    ///
    /// # Panics
    /// If they have more than [`MOST_CANCELS`](Limit::MOST_CANCELS) different [`Cancel`]s together.
    ///
    /// ```
    /// use layby::{Cancel, Limit, Stopped};
    ///
    /// let (request, shutdown) = (Cancel::new(), Cancel::new());
    /// let limit = Limit::from(&request).or(&shutdown);
    /// assert_eq!(limit.check(), Ok(()));
    /// shutdown.cancel();
    /// assert_eq!(limit.check(), Err(Stopped::Cancelled));
    /// ```
    #[track_caller]
    pub fn or(mut self, other: impl Into<Limit<'a>>) -> Self {
        let other = other.into();
        self.deadline = self.deadline.earlier_of(other.deadline);
        for cancel in other.cancels() {
            self.add(cancel);
        }
        self
    }

    #[track_caller]
    fn add(&mut self, cancel: &'a Cancel) {
        if self.cancels().any(|known| core::ptr::eq(known, cancel)) {
            return;
        }
        let Some(room) = self.cancels.iter_mut().find(|room| room.is_none()) else {
            panic!("a limit of more than {} cancellations", Limit::MOST_CANCELS);
        };
        *room = Some(cancel);
    }

    /// Whether it is reached by now: for work that is not a wait, between two waits.
    ///
    /// # Errors
    /// [`Cancelled`](Stopped::Cancelled) if one of its cancellations has happened, or else [`TimedOut`](Stopped::TimedOut) if
    /// its deadline has passed.
    #[inline]
    pub fn check(&self) -> Result<(), Stopped> {
        if self.is_cancelled() {
            Err(Stopped::Cancelled)
        } else if self.deadline.has_passed() {
            Err(Stopped::TimedOut)
        } else {
            Ok(())
        }
    }

    /// The first of its cancellations that there are.
    #[inline]
    pub(super) fn cancels(&self) -> impl Iterator<Item = &'a Cancel> {
        self.cancels.iter().map_while(|cancel| *cancel)
    }

    /// Whether there are any: most often there are none, and then nobody need go through them.
    #[inline]
    pub(super) fn has_cancels(&self) -> bool {
        self.cancels[0].is_some()
    }

    #[inline]
    pub(super) fn nth_cancel(&self, nth: usize) -> Option<&'a Cancel> {
        self.cancels.get(nth).copied().flatten()
    }

    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.has_cancels() && self.cancels().any(Cancel::is_cancelled)
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Deadline {
        self.deadline
    }
}

/// A deadline. It is never early; how late it may be: [Deadlines](crate::wait_table#deadlines).
impl From<Instant> for Limit<'_> {
    fn from(deadline: Instant) -> Self {
        Self::at(Deadline::at(deadline))
    }
}

/// A timeout, from now on: for several waits in a row it is one deadline. One too long for the clock means forever.
impl From<Duration> for Limit<'_> {
    fn from(timeout: Duration) -> Self {
        Self::at(Deadline::after(timeout))
    }
}

/// A cancellation.
impl<'a> From<&'a Cancel> for Limit<'a> {
    fn from(cancel: &'a Cancel) -> Self {
        Limit { cancels: [Some(cancel), None, None, None], ..Limit::NONE }
    }
}

/// A cancellation that several share.
impl<'a> From<&'a Arc<Cancel>> for Limit<'a> {
    fn from(cancel: &'a Arc<Cancel>) -> Self {
        Self::from(&**cancel)
    }
}

/// Maybe a limit: `None` means forever.
///
/// ```
/// use layby::{Limit, Stopped, sema::Semaphore};
/// use std::time::Duration;
///
/// fn connect(free: &Semaphore, timeout: Option<Duration>) -> Result<(), Stopped> {
///     free.take_within(timeout)
/// }
///
/// let free = Semaphore::new(1);
/// assert_eq!(connect(&free, None), Ok(()));
/// assert_eq!(connect(&free, Some(Duration::ZERO)), Err(Stopped::TimedOut));
/// ```
impl<'a, L: Into<Limit<'a>>> From<Option<L>> for Limit<'a> {
    fn from(limit: Option<L>) -> Self {
        limit.map_or(Limit::NONE, Into::into)
    }
}

impl fmt::Debug for Limit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit")
            .field("deadline", &self.deadline.instant())
            .field("cancels", &self.cancels().collect::<Vec<_>>())
            .finish()
    }
}
