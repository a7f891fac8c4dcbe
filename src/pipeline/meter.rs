//! What a measured graph knows about each stage: how long its entries took, and how many there were.
//!
//! Whoever passes entries on stamps them with the time. The next one reads the stamps, which it has acquired with the count, when it
//! passes the entries on itself. A stamp is not overwritten before that: its place in the ring is still in use.

#![forbid(unsafe_code)]

use super::ring::Lane;
use crate::sync::{
    atomic::{AtomicU64, Ordering},
    now,
};
use core::fmt;
use std::{sync::Arc, time::Instant};

/// Parts of a power of two: values are exact to one part in 16.
const PARTS: u64 = 16;

/// Below it every value has a bucket of its own; above it each power of two has as many.
const BUCKETS: usize = ((64 - PARTS.ilog2() + 1) as u64 * PARTS) as usize;

/// The measurements of one lane, written by whoever writes the lane, one at a time (R3).
pub(super) struct Meter {
    /// When the graph was made.
    start: Instant,
    /// When each entry of the ring was last passed on, in nanoseconds since the start.
    stamps: Box<[AtomicU64]>,
    latency: Buckets,
    depth: Buckets,
}

impl Meter {
    pub(super) fn new(start: Instant, capacity: usize) -> Self {
        let stamps = (0..capacity).map(|_| AtomicU64::new(0)).collect();
        Self { start, stamps, latency: Buckets::new(), depth: Buckets::new() }
    }

    fn stamp(&self, sequence: u64) -> &AtomicU64 {
        &self.stamps[sequence as usize & (self.stamps.len() - 1)]
    }

    /// The entries from `first` to before `end` are about to be passed on, by a place that comes after `before`.
    #[cold]
    pub(super) fn note(&self, before: &[Arc<Lane>], first: u64, end: u64) {
        let time = now().duration_since(self.start).as_nanos() as u64;
        // Ordering: relaxed, here and below; the count's release and acquire order them, and reports may be a little late.
        (first..end).for_each(|sequence| self.stamp(sequence).store(time, Ordering::Relaxed));
        let passed_on = |lane: &Arc<Lane>| lane.meter.as_ref()?.stamp(first).load(Ordering::Relaxed).into();
        let depth = before.iter().map(|lane| lane.reached().count()).min().map(|ready| ready.saturating_sub(first));
        if let (Some(ready_at), Some(depth)) = (before.iter().filter_map(passed_on).max(), depth) {
            self.latency.add(time.saturating_sub(ready_at));
            self.depth.add(depth);
        }
    }

    pub(super) fn latency(&self) -> Distribution {
        self.latency.snapshot()
    }

    pub(super) fn depth(&self) -> Distribution {
        self.depth.snapshot()
    }
}

/// How often each value occurred, roughly.
struct Buckets(Box<[AtomicU64]>);

fn bucket_of(value: u64) -> usize {
    if value < PARTS {
        return value as usize;
    }
    let shift = value.ilog2() - PARTS.ilog2();
    (u64::from(shift) * PARTS + (value >> shift)) as usize
}

/// The largest value of a bucket.
fn largest_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PARTS {
        return bucket;
    }
    let shift = bucket / PARTS - 1;
    let next = u128::from(bucket % PARTS + PARTS + 1) << shift;
    (next - 1) as u64
}

impl Buckets {
    fn new() -> Self {
        Self((0..BUCKETS).map(|_| AtomicU64::new(0)).collect())
    }

    fn add(&self, value: u64) {
        let bucket = &self.0[bucket_of(value)];
        bucket.store(bucket.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn snapshot(&self) -> Distribution {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        Distribution(
            counts.filter(|(_, count)| *count > 0).map(|(bucket, count)| (largest_of(bucket), count)).collect(),
        )
    }
}

/// How often each value was measured: pairs of a value and a count, in order. Values are rounded up by at most a sixteenth.
///
/// They are what a histogram of the crate `hdrhistogram` takes:
///
/// ```
/// # struct Histogram;
/// # impl Histogram { fn record_n(&mut self, _value: u64, _count: u64) -> Result<(), ()> { Ok(()) } }
/// # let mut histogram = Histogram;
/// # let graph = layby::pipeline::Graph::measured(64, Default::default(), || 0);
/// # let handle = graph.single_producer().handle();
/// for hop in handle.hops() {
///     for (nanoseconds, count) in hop.latency.iter() {
///         histogram.record_n(nanoseconds, count).unwrap();
///     }
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution(Vec<(u64, u64)>);

impl Distribution {
    /// The values that occurred, the smallest first, and how often.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// How many values were measured.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// The value that this part of all is not above: `0.5` for the median, `0.99`, `1.0` for the largest. `None` if nothing was
    /// measured.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let rank = ((self.count() as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        let reaches = |&&(_, count): &&(u64, u64)| {
            seen += count;
            seen >= rank
        };
        self.0.iter().find(reaches).or(self.0.last()).map(|(value, _)| *value)
    }
}

/// What was measured of a stage of a [measured](super::Graph::measured) graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hop {
    /// The stage's name.
    pub name: Arc<str>,
    /// Nanoseconds from when the stages before it had passed on an entry until this one did, its waiting and its work: one value for
    /// each batch, that of its first entry.
    pub latency: Distribution,
    /// How many entries were ready for the stage when it passed on a batch, with those of the batch. Rounded up like all values, so
    /// that it may exceed the ring by a sixteenth.
    pub depth: Distribution,
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |of: &Distribution, part| of.quantile(part).unwrap_or(0);
        write!(f, "{}: {} batches", self.name, self.latency.count())?;
        write!(
            f,
            "; p50 / p99 / p99.9: {} / {} / {} ns",
            at(&self.latency, 0.5),
            at(&self.latency, 0.99),
            at(&self.latency, 0.999)
        )?;
        write!(f, ", depth {} / {} / {}", at(&self.depth, 0.5), at(&self.depth, 0.99), at(&self.depth, 0.999))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bucket_that_holds_it() {
        let of_every_power = (0..64).flat_map(|power| [1_u64 << power, (1 << power) + 1, (1_u64 << power) - 1]);
        for value in of_every_power.chain([u64::MAX, 1000, 1_000_000]) {
            let largest = largest_of(bucket_of(value));
            assert!(bucket_of(value) < BUCKETS);
            assert!(value <= largest && largest - value <= value / PARTS, "{value}: {largest}");
            assert_eq!(bucket_of(largest), bucket_of(value));
        }
    }
}
