//! How calls end, and how waits are done: the small public types.

#![forbid(unsafe_code)]

use core::{error::Error, fmt};
use std::sync::Arc;

/// The graph has been closed before it was finished: nobody gets entries any more, and nobody can publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub(super) reason: Reason,
}

impl Closed {
    /// Who closed it, and why. The first reason counts.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}

/// Without the reason, for a function that waits for other things too.
impl From<Closed> for crate::Closed {
    fn from(_: Closed) -> Self {
        Self
    }
}

impl From<Closed> for crate::WaitError {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

/// What all producers are called.
pub(super) const PRODUCER: &str = "producer";

/// Why a graph was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// [`Handle::close`](super::Handle::close) was called.
    Closed,
    /// The closure of the stage of this name panicked, or that of a producer, which is called "producer".
    Panicked(Arc<str>),
    /// The stage of this name was dropped before it had finished: nobody will work on the entries it has not seen.
    Dropped(Arc<str>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => write!(f, "by `Handle::close`"),
            Self::Panicked(name) if &**name == PRODUCER => write!(f, "a producer panicked"),
            Self::Panicked(name) => write!(f, "the stage {name:?} panicked"),
            Self::Dropped(name) => write!(f, "the stage {name:?} was dropped"),
        }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pipeline was closed: {}", self.reason)
    }
}

impl Error for Closed {}

/// Why nothing was published by a call that does not wait, or not for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There was no room, and none was made in time. Nothing has changed.
    Full,
    /// The graph has been closed.
    Closed(Closed),
}

impl From<Closed> for Refused {
    fn from(closed: Closed) -> Self {
        Self::Closed(closed)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "the pipeline was full"),
            Self::Closed(closed) => closed.fmt(f),
        }
    }
}

impl Error for Refused {}

/// What came of a look for entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a stage is done only when it has `Finished`"]
pub enum Progress {
    /// The closure was called, with this many entries.
    Worked(usize),
    /// No entry was ready, or none in time.
    Idle,
    /// The stage has seen all entries, and there will be no more.
    Finished,
}

/// How the threads of a graph wait for one another.
///
/// ```
/// use layby::pipeline::{Graph, WaitStrategy};
///
/// let graph = Graph::with_strategy(1024, WaitStrategy::Sleep, || 0_u64);
/// # drop(graph);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitStrategy {
    /// Spins and yields for a few dozen microseconds, where that pays, then sleeps: for any number of CPUs.
    #[default]
    SpinThenSleep,
    /// Sleeps at once: the least CPU time, for stages whose work takes long, and for machines that do something else besides.
    Sleep,
    /// Never sleeps: the shortest latency, where every thread of the graph has a CPU for itself. Yields when this process has as
    /// many such threads as CPUs.
    Spin,
}
