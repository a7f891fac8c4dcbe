//! How a graph is made: stages after one another, and readers beside one another.

#![forbid(unsafe_code)]

use super::{
    Handle, MultiProducer, Producer, Reader, Stage, WaitStrategy,
    control::Control,
    ring::{SectionWiring, Wiring},
};
use core::{fmt, marker::PhantomData};
use std::sync::Arc;

/// A graph that is being made: stages are added from the first to the last, then it is turned into a producer.
///
/// Each [`stage`](Self::stage) comes after all that were added before it, and has its entries to itself. [`readers`](Self::readers)
/// come after all that were added before them, and have the entries at the same time. A diamond, in which two readers are
/// between two stages:
///
/// ```
/// use layby::pipeline::Graph;
///
/// struct Order { text: String, price: u64 }
///
/// let mut graph = Graph::new(1024, || Order { text: String::new(), price: 0 });
/// let parse = graph.stage("parse");                                //        parse
/// let [check, persist] = graph.readers(["check", "persist"]);      //    check   persist
/// let acknowledge = graph.stage("acknowledge");                    //     acknowledge
/// let mut producer = graph.single_producer();
///
/// std::thread::scope(|s| {
///     s.spawn(|| parse.run(|order| order.price = order.text.parse().unwrap()));
///     s.spawn(|| check.run(|order| assert!(order.price < 1_000_000)));
///     s.spawn(|| persist.run(|order| println!("to the disk: {}", order.text)));
///     s.spawn(|| acknowledge.run(|order| order.text.clear()));
///     for price in 0..100_u64 {
///         producer.publish(|order| order.text.push_str(&price.to_string())).unwrap();
///     }
///     drop(producer); // That was all: each stage finishes what is there, and returns.
/// });
/// ```
///
/// A graph that is dropped has no producer: its stages finish at once. When there is a producer, it is too late for more stages:
///
/// ```compile_fail,E0382
/// # let mut graph = layby::pipeline::Graph::new(64, || 0);
/// let producer = graph.single_producer();
/// let late = graph.stage("late");
/// ```
///
/// Entries that only one thread may have do not go into a graph, and those that cannot be shared are not for readers:
///
/// ```compile_fail,E0277
/// let graph = layby::pipeline::Graph::new(64, || std::rc::Rc::new(0));
/// ```
///
/// ```compile_fail,E0277
/// let mut graph = layby::pipeline::Graph::new(64, || std::cell::Cell::new(0));
/// let stage = graph.stage("one after the other: allowed");
/// let readers = graph.readers(["at the same time", "not"]);
/// ```
#[must_use = "a graph that is dropped has finished"]
pub struct Graph<T> {
    wiring: Wiring<T>,
}

impl<T: Send> Graph<T> {
    /// A graph over a ring of `capacity` entries, which are made by `make`, once and for all: publishing fills them anew, and
    /// what they have allocated stays theirs.
    ///
    /// # Panics
    /// If `capacity` is not a power of two.
    #[track_caller]
    pub fn new(capacity: usize, make: impl FnMut() -> T) -> Self {
        Self::with_strategy(capacity, WaitStrategy::default(), make)
    }

    /// Like [`new`](Self::new), for threads that wait as `strategy` says.
    ///
    /// # Panics
    /// If `capacity` is not a power of two.
    #[track_caller]
    pub fn with_strategy(capacity: usize, strategy: WaitStrategy, make: impl FnMut() -> T) -> Self {
        Self { wiring: Wiring::new(capacity, Control::new(strategy), false, make) }
    }

    /// Like [`with_strategy`](Self::with_strategy), for a graph that measures each stage's latency and how many entries it finds:
    /// [`Handle::hops`]. Each batch that is passed on then costs a look at the clock and 8 bytes written for each entry; a
    /// graph that is not measured pays nothing.
    ///
    /// ```
    /// use layby::pipeline::{Graph, WaitStrategy};
    ///
    /// let mut graph = Graph::measured(64, WaitStrategy::default(), || 0);
    /// let stage = graph.stage("slow");
    /// let mut producer = graph.single_producer();
    /// let handle = producer.handle();
    /// producer.publish(|entry| *entry = 1).unwrap();
    /// drop(producer);
    /// stage.run(|_| std::thread::sleep(std::time::Duration::from_millis(2))).unwrap();
    /// let hops = handle.hops();
    /// assert_eq!(hops[0].depth.iter().next(), Some((1, 1)), "one entry, once");
    /// assert!(hops[0].latency.quantile(0.99) >= Some(2_000_000));
    /// ```
    ///
    /// # Panics
    /// If `capacity` is not a power of two.
    #[track_caller]
    pub fn measured(capacity: usize, strategy: WaitStrategy, make: impl FnMut() -> T) -> Self {
        Self { wiring: Wiring::new(capacity, Control::new(strategy), true, make) }
    }

    /// Adds a stage after all others, which has its entries to itself.
    pub fn stage(&mut self, name: impl Into<Arc<str>>) -> Stage<T> {
        Stage::at(self.wiring.sole(name.into()))
    }

    /// Adds readers after all others, which have the entries at the same time.
    pub fn readers<const N: usize>(&mut self, names: [impl Into<Arc<str>>; N]) -> [Reader<T>; N]
    where
        T: Sync,
    {
        self.parallel(|section| names.map(|name| section.reader(name).0))
    }

    /// Adds readers after all others, some of which may come after others of them. What is added next comes after all of them.
    ///
    /// ```
    /// # let mut graph = layby::pipeline::Graph::new(64, || 0);
    /// // audit comes after check, and persist beside both.
    /// let (check, audit, persist) = graph.parallel(|section| {
    ///     let (check, checked) = section.reader("check");
    ///     let (audit, _) = section.reader_after([checked], "audit");
    ///     let (persist, _) = section.reader("persist");
    ///     (check, audit, persist)
    /// });
    /// ```
    ///
    /// Readers can be put after those of their own section only:
    ///
    /// ```compile_fail,E0521
    /// # let mut graph = layby::pipeline::Graph::new(64, || 0);
    /// # let mut other = layby::pipeline::Graph::new(64, || 0);
    /// other.parallel(|theirs| {
    ///     let (check, checked) = theirs.reader("check");
    ///     graph.parallel(|section| section.reader_after([checked], "audit").0)
    /// });
    /// ```
    pub fn parallel<R>(&mut self, wire: impl for<'s> FnOnce(&mut Section<'_, 's, T>) -> R) -> R
    where
        T: Sync,
    {
        wire(&mut Section { wiring: self.wiring.section(), brand: PhantomData })
    }

    /// Ends the wiring: the producer, for one thread at a time.
    pub fn single_producer(self) -> Producer<T> {
        let handle = Handle::new(self.wiring.lanes());
        Producer::at(self.wiring.into_producer(), handle)
    }

    /// Ends the wiring: the first of several producers, the others are clones of it.
    pub fn multi_producer(self) -> MultiProducer<T> {
        let handle = Handle::new(self.wiring.lanes());
        MultiProducer::at(self.wiring.into_producer().into_one_of_several(), handle)
    }
}

impl<T> fmt::Debug for Graph<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = self.wiring.lanes().iter().skip(1).map(|lane| &*lane.name);
        f.debug_tuple("Graph").field(&stages.collect::<Vec<_>>()).finish()
    }
}

/// Readers that are being added beside one another; see [`Graph::parallel`].
pub struct Section<'g, 's, T> {
    wiring: SectionWiring<'g, T>,
    brand: Brand<'s>,
}

/// A lifetime that is like no other.
type Brand<'s> = PhantomData<fn(&'s ()) -> &'s ()>;

/// A reader of a section, for others to come after it.
#[derive(Clone, Copy, Debug)]
pub struct After<'s> {
    number: usize,
    brand: Brand<'s>,
}

impl<'s, T: Send + Sync> Section<'_, 's, T> {
    /// Adds a reader after what was there when the section began.
    pub fn reader(&mut self, name: impl Into<Arc<str>>) -> (Reader<T>, After<'s>) {
        self.reader_after([], name)
    }

    /// Adds a reader after `others` of this section.
    pub fn reader_after(
        &mut self,
        others: impl IntoIterator<Item = After<'s>>,
        name: impl Into<Arc<str>>,
    ) -> (Reader<T>, After<'s>) {
        let others = others.into_iter().map(|other| other.number);
        let (place, number) = self.wiring.reader(others, name.into());
        (Stage::at(place), After { number, brand: PhantomData })
    }
}

impl<T> fmt::Debug for Section<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section").finish_non_exhaustive()
    }
}
