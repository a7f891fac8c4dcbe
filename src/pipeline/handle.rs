//! What can be seen of a graph, and done to it, from outside.

#![forbid(unsafe_code)]

use super::{Closed, Hop, Reason, ring::Lane};
use core::fmt;
use std::sync::Arc;

/// Looks at a running graph, and closes it. From [`Producer::handle`](super::Producer::handle); can be cloned.
///
/// ```
/// use layby::pipeline::{Graph, Reason};
///
/// let mut graph = Graph::new(64, || 0);
/// let stage = graph.stage("slow");
/// let mut producer = graph.single_producer();
/// let handle = producer.handle();
/// producer.publish(|entry| *entry = 1).unwrap();
/// assert_eq!(handle.stages()[0].backlog, 1);
///
/// handle.close();
/// let closed = producer.publish(|entry| *entry = 2).unwrap_err();
/// assert_eq!(*closed.reason(), Reason::Closed);
/// assert!(stage.run(|_| ()).is_err());
/// ```
#[derive(Clone)]
pub struct Handle {
    /// The producers' lane is the first.
    lanes: Arc<[Arc<Lane>]>,
}

/// Where a stage was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageStatus {
    /// Its name.
    pub name: Arc<str>,
    /// How many entries it has passed on.
    pub position: u64,
    /// How many entries have been published that it has not passed on.
    pub backlog: u64,
    /// How many of them are ready for it: all stages before it have passed them on.
    pub ready: u64,
    /// The stage before it that has not passed on the entry which comes next, or "producer": what it waits for. `None` if entries
    /// are ready, and when there will be no more.
    pub waits_for: Option<Arc<str>>,
}

impl Handle {
    pub(super) fn new(lanes: &[Arc<Lane>]) -> Self {
        Self { lanes: lanes.into() }
    }

    /// Closes the graph: everybody returns, and what is in the ring stays there. To end it when all is done, drop the producer
    /// instead.
    ///
    /// Whoever is in a closure returns when that does.
    pub fn close(&self) {
        self.lanes[0].control.close(Reason::Closed);
    }

    /// Whether the graph has been closed, and why.
    #[must_use]
    pub fn closed(&self) -> Option<Closed> {
        let control = &self.lanes[0].control;
        control.is_closed().then(|| control.closed())
    }

    /// How many entries have been published.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.lanes[0].reached().count()
    }

    /// Where each stage is, in the order in which they were added. One after the other is looked at, so positions may be of
    /// slightly different times.
    #[must_use]
    pub fn stages(&self) -> Vec<StageStatus> {
        // From the last to the first, so that nobody seems to be ahead of those before it.
        let status = |lane: &Arc<Lane>| {
            let position = lane.reached().count();
            let ready = lane.before.iter().map(|before| before.reached().count()).min().unwrap_or(position);
            let is_awaited = |before: &&Arc<Lane>| before.reached().is_below(position + 1);
            StageStatus {
                name: lane.name.clone(),
                position,
                waits_for: lane.before.iter().find(is_awaited).map(|before| before.name.clone()),
                ready: ready - position,
                backlog: self.published() - position,
            }
        };
        let mut stages: Vec<_> = self.lanes[1..].iter().rev().map(status).collect();
        stages.reverse();
        stages
    }

    /// The stage that holds up the others: the one for which most entries are ready, which all before it are done with. `None` if
    /// all are done with what was published.
    ///
    /// ```
    /// # let mut graph = layby::pipeline::Graph::new(64, || 0);
    /// # let (parse, persist) = (graph.stage("parse"), graph.stage("persist"));
    /// # let mut producer = graph.single_producer();
    /// # producer.publish_batch(3, |_| ()).unwrap();
    /// # let handle = producer.handle();
    /// # let mut parse = parse;
    /// # _ = parse.try_consume(64, |_| ());
    /// let slowest = handle.slowest().unwrap();
    /// assert_eq!((&*slowest.name, slowest.ready), ("persist", 3));
    /// ```
    #[must_use]
    pub fn slowest(&self) -> Option<StageStatus> {
        self.stages().into_iter().rev().max_by_key(|stage| stage.ready).filter(|stage| stage.ready > 0)
    }

    /// What was measured of each stage, in the order in which they were added; nothing unless the graph is
    /// [measured](super::Graph::measured).
    #[must_use]
    pub fn hops(&self) -> Vec<Hop> {
        let hop = |lane: &Arc<Lane>| {
            let meter = lane.meter.as_ref()?;
            Some(Hop { name: lane.name.clone(), latency: meter.latency(), depth: meter.depth() })
        };
        self.lanes[1..].iter().filter_map(hop).collect()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pipeline = f.debug_struct("Pipeline");
        for stage in self.stages() {
            let waits_for = stage.waits_for.map_or_else(String::new, |name| format!(", waits for {name}"));
            pipeline.field(&stage.name, &format_args!("{} ({} behind{waits_for})", stage.position, stage.backlog));
        }
        pipeline.field("published", &self.published()).field("closed", &self.closed()).finish()
    }
}
