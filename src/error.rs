//! Why a wait ended without what it waited for.

use core::{error::Error, fmt};

/// What was waited for is closed: it will not come.
///
/// ```
/// use layby::{Closed, eventcount::EventCount};
///
/// let count = EventCount::new();
/// count.close();
/// assert_eq!(count.wait_at_least(1), Err(Closed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closed before what was waited for came")
    }
}

impl Error for Closed {}

/// Why a wait within a [`Limit`](crate::Limit) ended without what it waited for.
///
/// ```
/// use layby::{Cancel, Stopped, sema::Semaphore};
/// use std::time::Duration;
///
/// let (permits, cancel) = (Semaphore::new(0), Cancel::new());
/// assert_eq!(permits.take_within(Duration::ZERO), Err(Stopped::TimedOut));
/// cancel.cancel();
/// assert_eq!(permits.take_within(&cancel), Err(Stopped::Cancelled));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stopped {
    /// The deadline passed first.
    TimedOut,
    /// A [`Cancel`](crate::Cancel) was cancelled first.
    Cancelled,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "timed out before what was waited for came",
            Self::Cancelled => "cancelled before what was waited for came",
        })
    }
}

impl Error for Stopped {}

/// Why a wait that can be closed, too, ended without what it waited for.
///
/// ```
/// use layby::{WaitError, eventcount::EventCount};
/// use std::time::Duration;
///
/// let count = EventCount::new();
/// assert_eq!(count.wait_at_least_timeout(1, Duration::ZERO), Err(WaitError::TimedOut));
/// count.close();
/// assert_eq!(count.wait_at_least_timeout(1, Duration::ZERO), Err(WaitError::Closed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitError {
    /// The deadline passed first.
    TimedOut,
    /// A [`Cancel`](crate::Cancel) was cancelled first.
    Cancelled,
    /// What was waited for is closed: it will not come.
    Closed,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => Stopped::TimedOut.fmt(f),
            Self::Cancelled => Stopped::Cancelled.fmt(f),
            Self::Closed => Closed.fmt(f),
        }
    }
}

impl Error for WaitError {}

impl From<Closed> for WaitError {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl From<Stopped> for WaitError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::TimedOut => Self::TimedOut,
            Stopped::Cancelled => Self::Cancelled,
        }
    }
}
