//! Stages: who works on the entries.

#![forbid(unsafe_code)]

use super::{
    Closed, Entries, Progress, Reason,
    ring::{Access, Among, Batch, Ended, Place, Sole},
};
use crate::deadline::Deadline;
use core::fmt;
use std::time::{Duration, Instant};

/// How many entries [`Stage::run`] works on before it passes them on together. Arbitrary.
pub(super) const ENTRIES_AT_ONCE: usize = 16;

/// A stage of a graph: a value that is to be [run](Self::run) on a thread, or asked to do a part now and then.
///
/// It gets every entry once, in order, when all stages before it have passed the entry on. A stage made by
/// [`Graph::stage`](super::Graph::stage) has its entries to itself and gets `&mut T`; a [`Reader`] gets `&T`.
///
/// A graph needs all its stages. One that is dropped before it has [finished](Progress::Finished) closes the graph, so that
/// nobody waits for it.
///
/// ```
/// use layby::pipeline::Graph;
/// use std::thread;
///
/// let mut graph = Graph::new(64, String::new);
/// let shout = graph.stage("shout");
/// let print = graph.stage("print");
/// let mut producer = graph.single_producer();
///
/// thread::spawn(move || shout.run(|line| line.make_ascii_uppercase()));
/// let printing = thread::spawn(move || print.run(|line| println!("{line}")));
/// // The entry has been used before, when the ring has gone round.
/// producer.publish(|line| "hello".clone_into(line)).unwrap();
/// drop(producer); // That was all: the stages finish what is there, and return.
/// assert_eq!(printing.join().unwrap(), Ok(1));
/// ```
///
/// A stage cannot be run twice:
///
/// ```compile_fail,E0382
/// # let mut graph = layby::pipeline::Graph::new(64, || 0);
/// let stage = graph.stage("once");
/// std::thread::spawn(move || stage.run(|_| ()));
/// stage.run(|_| ());
/// ```
///
/// Entries do not leave the closure:
///
/// ```compile_fail,E0521
/// # let mut graph = layby::pipeline::Graph::new(64, || 0);
/// let mut kept = vec![];
/// graph.stage("keeps").run(|entry| kept.push(entry));
/// ```
#[must_use = "a stage that is dropped before it has finished closes its graph"]
pub struct Stage<T, A: Access = Sole> {
    pub(super) place: Place<T, A>,
    has_finished: bool,
}

/// What a look for entries found.
#[derive(Clone, Copy)]
pub(super) enum Look {
    Ready,
    Nothing,
    /// Nothing, and there will be no more.
    Finished,
}

/// A stage that has its entries at the same time as others, and gets `&T`. Made by
/// [`Graph::readers`](super::Graph::readers) and [`Graph::parallel`](super::Graph::parallel).
///
/// A reader cannot change an entry:
///
/// ```compile_fail,E0594
/// # let mut graph = layby::pipeline::Graph::new(64, || 0);
/// let [reader] = graph.readers(["reader"]);
/// reader.run(|entry| *entry = 1);
/// ```
pub type Reader<T> = Stage<T, Among>;

impl<T, A: Access> Stage<T, A> {
    pub(super) fn at(place: Place<T, A>) -> Self {
        Self { place, has_finished: false }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.place.lane().name
    }

    /// How many entries it has passed on.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.place.done()
    }

    /// Works on every entry until the graph has finished, and waits in between; returns how many entries there were.
    ///
    /// Entries are passed on up to 16 at a time: while others wait to be worked on, the next stage may wait a little for
    /// those that are done. See [`run_batches`](Self::run_batches).
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `work` does; the graph is closed then.
    pub fn run(self, mut work: impl FnMut(A::Entry<'_, T>)) -> Result<u64, Closed> {
        self.run_batches(ENTRIES_AT_ONCE, |batch| batch.for_each(&mut work))
    }

    /// Like [`run`](Self::run), with batches of up to `most` entries that are ready; each is passed on when `work` returns.
    ///
    /// For work that has a part to be done once for many entries, such as to write them to a disk. `run_batches(1, …)` passes each
    /// entry on at once.
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `most` is 0; if `work` does, and the graph is closed then.
    #[track_caller]
    pub fn run_batches(mut self, most: usize, mut work: impl FnMut(Batch<'_, T, A>)) -> Result<u64, Closed> {
        while self.consume(most, &mut work)? != Progress::Finished {}
        Ok(self.position())
    }

    /// Waits until entries are ready, gives up to `most` of them to `work`, and passes them on. Never [`Progress::Idle`].
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `most` is 0; if `work` does, and the graph is closed then.
    #[inline]
    #[track_caller]
    pub fn consume(&mut self, most: usize, work: impl FnOnce(Batch<'_, T, A>)) -> Result<Progress, Closed> {
        self.consume_at(most, Some(Deadline::NEVER), work)
    }

    /// Like [`consume`](Self::consume), but does not wait: [`Progress::Idle`] if no entry is ready.
    ///
    /// ```
    /// use layby::pipeline::{Graph, Progress};
    ///
    /// let mut graph = Graph::new(64, || 0);
    /// let mut stage = graph.stage("polled");
    /// let mut producer = graph.single_producer();
    /// assert_eq!(stage.try_consume(64, |_| unreachable!()), Ok(Progress::Idle));
    /// producer.publish(|entry| *entry = 7).unwrap();
    /// assert_eq!(stage.try_consume(64, |batch| assert!(batch.eq([&7]))), Ok(Progress::Worked(1)));
    /// drop(producer);
    /// assert_eq!(stage.try_consume(64, |_| unreachable!()), Ok(Progress::Finished));
    /// ```
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// As [`consume`](Self::consume).
    #[inline]
    #[track_caller]
    pub fn try_consume(&mut self, most: usize, work: impl FnOnce(Batch<'_, T, A>)) -> Result<Progress, Closed> {
        self.consume_at(most, None, work)
    }

    /// Like [`consume`](Self::consume), but waits for at most `timeout` ([how late](crate::wait_table#deadlines)):
    /// [`Progress::Idle`] if no entry was ready by then. A timeout too long for the clock means forever.
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// As [`consume`](Self::consume).
    #[track_caller]
    pub fn consume_timeout(
        &mut self,
        most: usize,
        timeout: Duration,
        work: impl FnOnce(Batch<'_, T, A>),
    ) -> Result<Progress, Closed> {
        self.consume_at(most, Some(Deadline::after(timeout)), work)
    }

    /// Like [`consume_timeout`](Self::consume_timeout), but gives up at `deadline`.
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// As [`consume`](Self::consume).
    #[track_caller]
    pub fn consume_deadline(
        &mut self,
        most: usize,
        deadline: Instant,
        work: impl FnOnce(Batch<'_, T, A>),
    ) -> Result<Progress, Closed> {
        self.consume_at(most, Some(Deadline::at(deadline)), work)
    }

    /// Waits until entries are ready, and holds up to `most` of them until they are [passed on](Entries::pass_on); those that are
    /// not, the stage gets again: **a loop that never passes on gets the same entries forever**. `None` when the graph has finished.
    ///
    /// For work that may have to be done once more, and for loops that a closure does not fit. See [`Entries`].
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `most` is 0.
    #[track_caller]
    pub fn next(&mut self, most: usize) -> Result<Option<Entries<'_, T, A>>, Closed> {
        Ok(match self.ready_at(most, Some(Deadline::NEVER))? {
            Look::Ready => Some(self.place.hold(most as u64)),
            Look::Finished | Look::Nothing => None,
        })
    }

    #[inline]
    #[track_caller]
    fn consume_at(
        &mut self,
        most: usize,
        patience: Option<Deadline>,
        work: impl FnOnce(Batch<'_, T, A>),
    ) -> Result<Progress, Closed> {
        Ok(match self.ready_at(most, patience)? {
            Look::Ready => Progress::Worked(self.place.pass_on(most as u64, work) as usize),
            Look::Finished => Progress::Finished,
            Look::Nothing => Progress::Idle,
        })
    }

    /// Looks for entries, and waits for them if there are none.
    #[inline]
    #[track_caller]
    fn ready_at(&mut self, most: usize, patience: Option<Deadline>) -> Result<Look, Closed> {
        assert!(most > 0, "a batch of no entries");
        if self.place.known_ready() > 0 && !self.place.lane().control.is_closed() {
            return Ok(Look::Ready);
        }
        self.find_entries(patience)
    }

    /// The one place where a stage's thread waits.
    #[cold]
    fn find_entries(&mut self, patience: Option<Deadline>) -> Result<Look, Closed> {
        if patience.is_some() && self.place.is_close_behind() {
            self.place.lane().control.let_writers_get_ahead();
        }
        let found = self.look()?;
        let (Look::Nothing, Some(deadline)) = (found, patience) else { return Ok(found) };
        let wanted = self.place.done() + 1;
        for lane in self.place.before() {
            match lane.wait_at_least(wanted, deadline) {
                Ok(_) => (),
                Err(Ended::TimedOut) => return Ok(Look::Nothing),
                Err(Ended::Closed) => return Err(self.closed()),
            }
        }
        self.look()
    }

    /// Looks for entries that are ready, further than is known only if it must.
    pub(super) fn look(&mut self) -> Result<Look, Closed> {
        if self.place.lane().control.is_closed() {
            return Err(self.closed());
        }
        if self.place.known_ready() > 0 {
            return Ok(Look::Ready);
        }
        let reached = self.place.look();
        if self.place.known_ready() > 0 {
            return Ok(Look::Ready);
        }
        if reached.is_final() {
            // A producer that unwinds closes the graph before it leaves, and what others have published behind it is lost.
            if self.place.lane().control.is_closed() {
                return Err(self.closed());
            }
            self.finish();
            return Ok(Look::Finished);
        }
        Ok(Look::Nothing)
    }

    #[cold]
    pub(super) fn closed(&self) -> Closed {
        self.place.lane().control.closed()
    }

    fn finish(&mut self) {
        if !self.has_finished {
            self.has_finished = true;
            self.place.finish();
        }
    }
}

impl<T, A: Access> Drop for Stage<T, A> {
    fn drop(&mut self) {
        if !self.has_finished && !self.place.lane().control.is_closed() {
            self.place.lane().close(Reason::Dropped);
        }
    }
}

impl<T, A: Access> fmt::Debug for Stage<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("name", &self.name()).field("position", &self.position()).finish_non_exhaustive()
    }
}
