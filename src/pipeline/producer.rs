//! Producers: who fills the entries.

#![forbid(unsafe_code)]

use super::{
    Closed, Handle, Refused,
    ring::{Batch, Ended, OneOfSeveral, Patience, Publish, Single},
};
use crate::deadline::Deadline;
use core::fmt;
use std::time::{Duration, Instant};

mod sealed {
    pub trait Sealed {}
}

/// Whether a producer is the only one: [`One`], or one of [`Several`]. Sealed.
#[expect(private_bounds, reason = "the trait is sealed")]
pub trait Sharing: sealed::Sealed {
    #[doc(hidden)]
    type Place<T>: Publish<T>;
}

/// The only producer of its graph.
#[derive(Debug)]
pub enum One {}

/// One of several producers.
#[derive(Debug)]
pub enum Several {}

impl sealed::Sealed for One {}
impl sealed::Sealed for Several {}

impl Sharing for One {
    type Place<T> = Single<T>;
}

impl Sharing for Several {
    type Place<T> = OneOfSeveral<T>;
}

/// Publishes entries. When it is dropped, and with it all its clones if it is a [`MultiProducer`], the graph finishes: each stage
/// works on what is there, and returns.
///
/// An entry is filled in place, and is as the last stage left it, or as it was made: strings and vectors keep what they have
/// allocated.
///
/// ```
/// use layby::pipeline::Graph;
///
/// let mut graph = Graph::new(1024, || 0_u64);
/// let sum = graph.stage("sum");
/// let mut producer = graph.single_producer();
/// let adding = std::thread::spawn(move || {
///     let mut total = 0;
///     sum.run(|number| total += *number).map(|_| total)
/// });
/// for number in 1..=100 {
///     producer.publish(|entry| *entry = number).unwrap();
/// }
/// drop(producer);
/// assert_eq!(adding.join().unwrap(), Ok(5050));
/// ```
///
/// It is for one thread at a time; several of them need a [`MultiProducer`]:
///
/// ```compile_fail,E0599
/// # let mut graph = layby::pipeline::Graph::new(64, || 0);
/// let producer = graph.single_producer();
/// let second = producer.clone();
/// ```
#[must_use = "a graph whose producers are dropped finishes"]
pub struct Producer<T, S: Sharing = One> {
    pub(super) place: S::Place<T>,
    handle: Handle,
}

/// A producer that can be cloned, for several threads. Made by [`Graph::multi_producer`](super::Graph::multi_producer).
///
/// Those who [`publish`](Producer::publish) without a time limit get their entries in the order in which they came; the others when
/// there is room. Nobody waits for another to fill its entry: the stages see an entry when those before it have been filled, too,
/// which may be after `publish` has returned.
///
/// ```
/// use layby::pipeline::Graph;
/// use std::thread;
///
/// let mut graph = Graph::new(64, || 0);
/// let count = graph.stage("count");
/// let producer = graph.multi_producer();
/// let counting = thread::spawn(move || count.run(|_| ()));
/// for thread in 0..3 {
///     let mut producer = producer.clone();
///     thread::spawn(move || producer.publish(|entry| *entry = thread));
/// }
/// drop(producer); // The graph finishes when the threads have dropped theirs.
/// assert_eq!(counting.join().unwrap(), Ok(3));
/// ```
pub type MultiProducer<T> = Producer<T, Several>;

impl<T, S: Sharing> Producer<T, S> {
    pub(super) fn at(place: S::Place<T>, handle: Handle) -> Self {
        Self { place, handle }
    }
}

impl<T> Clone for MultiProducer<T> {
    fn clone(&self) -> Self {
        Self { place: self.place.another(), handle: self.handle.clone() }
    }
}

impl<T, S: Sharing> Producer<T, S> {
    /// Waits for room, has the next entry filled, and publishes it.
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `fill` does; the graph is closed then.
    #[inline]
    pub fn publish(&mut self, fill: impl FnOnce(&mut T)) -> Result<(), Closed> {
        self.publish_batch(1, |batch| fill_one(batch, fill))
    }

    /// Like [`publish`](Self::publish), but does not wait.
    ///
    /// ```
    /// use layby::pipeline::{Graph, Refused};
    ///
    /// let mut graph = Graph::new(1, || 0);
    /// let stage = graph.stage("not run yet");
    /// let mut producer = graph.single_producer();
    /// assert_eq!(producer.try_publish(|entry| *entry = 1), Ok(()));
    /// assert_eq!(producer.try_publish(|entry| *entry = 2), Err(Refused::Full));
    /// ```
    ///
    /// # Errors
    /// If there is no room, or the graph was closed.
    ///
    /// # Panics
    /// If `fill` does; the graph is closed then.
    #[inline]
    pub fn try_publish(&mut self, fill: impl FnOnce(&mut T)) -> Result<(), Refused> {
        self.publish_at(1, None, |batch| fill_one(batch, fill))
    }

    /// Like [`publish`](Self::publish), but waits for room for at most `timeout` ([how late](crate::wait_table#deadlines)). A
    /// timeout too long for the clock means forever.
    ///
    /// # Errors
    /// If there was no room in time, or the graph was closed.
    ///
    /// # Panics
    /// If `fill` does; the graph is closed then.
    pub fn publish_timeout(&mut self, timeout: Duration, fill: impl FnOnce(&mut T)) -> Result<(), Refused> {
        self.publish_at(1, Some(Deadline::after(timeout)), |batch| fill_one(batch, fill))
    }

    /// Like [`publish_timeout`](Self::publish_timeout), but gives up at `deadline`.
    ///
    /// # Errors
    /// If there was no room in time, or the graph was closed.
    ///
    /// # Panics
    /// If `fill` does; the graph is closed then.
    pub fn publish_deadline(&mut self, deadline: Instant, fill: impl FnOnce(&mut T)) -> Result<(), Refused> {
        self.publish_at(1, Some(Deadline::at(deadline)), |batch| fill_one(batch, fill))
    }

    /// Waits for room for `n` entries, has them filled, and publishes them together. `fill` must fill all of them: those that it
    /// leaves are published as they are. Nothing happens if `n` is 0.
    ///
    /// ```
    /// # use layby::pipeline::Graph;
    /// # let mut graph = Graph::new(64, || 0);
    /// # let mut stage = graph.stage("sum");
    /// # let mut producer = graph.single_producer();
    /// producer.publish_batch(3, |batch| batch.zip([1, 2, 3]).for_each(|(entry, number)| *entry = number)).unwrap();
    /// # stage.consume(64, |batch| assert!(batch.eq([&1, &2, &3]))).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If the ring has fewer than `n` entries; if `fill` panics, and the graph is closed then.
    #[inline]
    #[track_caller]
    pub fn publish_batch(&mut self, n: usize, fill: impl FnOnce(Batch<'_, T>)) -> Result<(), Closed> {
        self.publish_at(n, Some(Deadline::NEVER), fill).map_err(|refused| match refused {
            Refused::Closed(closed) => closed,
            Refused::Full => unreachable!("a wait without a deadline ends when there is room"),
        })
    }

    /// Like [`publish_batch`](Self::publish_batch), but does not wait.
    ///
    /// # Errors
    /// If there is no room for all of them, or the graph was closed.
    ///
    /// # Panics
    /// As [`publish_batch`](Self::publish_batch).
    #[inline]
    #[track_caller]
    pub fn try_publish_batch(&mut self, n: usize, fill: impl FnOnce(Batch<'_, T>)) -> Result<(), Refused> {
        self.publish_at(n, None, fill)
    }

    /// Like [`publish_batch`](Self::publish_batch), but waits for room until `deadline` at the latest ([how
    /// late](crate::wait_table#deadlines)).
    ///
    /// # Errors
    /// If there was no room for all of them in time, or the graph was closed.
    ///
    /// # Panics
    /// As [`publish_batch`](Self::publish_batch).
    #[track_caller]
    pub fn publish_batch_deadline(
        &mut self,
        n: usize,
        deadline: Instant,
        fill: impl FnOnce(Batch<'_, T>),
    ) -> Result<(), Refused> {
        self.publish_at(n, Some(Deadline::at(deadline)), fill)
    }

    #[inline]
    #[track_caller]
    fn publish_at(&mut self, n: usize, patience: Patience, fill: impl FnOnce(Batch<'_, T>)) -> Result<(), Refused> {
        if self.place.lane().control.is_closed() {
            return Err(self.closed());
        }
        if n == 0 {
            return Ok(());
        }
        self.place.publish(n as u64, patience, fill).map_err(|ended| match ended {
            Ended::TimedOut => Refused::Full,
            Ended::Closed => self.closed(),
        })
    }

    #[cold]
    fn closed(&self) -> Refused {
        Refused::Closed(self.place.lane().control.closed())
    }

    pub(super) fn check_open(&self) -> Result<(), Closed> {
        let control = &self.place.lane().control;
        if control.is_closed() { Err(control.closed()) } else { Ok(()) }
    }

    /// To look at the graph, and to close it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

#[inline]
pub(super) fn fill_one<T>(mut batch: Batch<'_, T>, fill: impl FnOnce(&mut T)) {
    fill(batch.next().expect("a batch of one"));
}

impl<T, S: Sharing> Drop for Producer<T, S> {
    fn drop(&mut self) {
        self.place.leave();
    }
}

impl<T, S: Sharing> fmt::Debug for Producer<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Producer").field(&self.handle).finish()
    }
}
