//! Producers and stages in tasks.
//!
//! A future that waits has taken nothing: a stage's entries are counted as done, and a producer's are drawn, in the poll that calls the
//! closure. So it may be dropped whenever it is pending, and nothing is lost.

#![forbid(unsafe_code)]

use super::{
    Batch, Closed, Entries, Producer, Progress, Sharing, Stage,
    ring::{Access, Ended, Publish, yield_now},
    stage::{ENTRIES_AT_ONCE, Look},
};
use core::panic::Location;

/// Whom reports name: where the program made the future.
type Caller = &'static Location<'static>;

/// How many entries a task works on before it lets other tasks of its executor run. Arbitrary: at a few nanoseconds each, that is
/// some microseconds.
const ENTRIES_PER_TURN: u64 = 1024;

impl<T, A: Access> Stage<T, A> {
    /// [`run`](Self::run) for a task, on any executor: works on every entry until the graph has finished.
    ///
    /// Now and then it lets other tasks run, even if there are always entries. If the future is dropped, so is the stage, which
    /// closes the graph.
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `work` does; the graph is closed then.
    ///
    /// ```
    /// use layby::pipeline::Graph;
    ///
    /// # fn spawn(task: impl Future + Send + 'static) {}
    /// let mut graph = Graph::new(1024, || 0_u64);
    /// let double = graph.stage("double");
    /// let mut producer = graph.single_producer();
    /// spawn(async move { double.run_async(|number| *number *= 2).await }); // of tokio, or any other
    /// spawn(async move { producer.publish_async(|number| *number = 21).await });
    /// ```
    #[track_caller]
    pub fn run_async(self, mut work: impl FnMut(A::Entry<'_, T>)) -> impl Future<Output = Result<u64, Closed>> {
        self.run_batches_async(ENTRIES_AT_ONCE, move |batch| batch.for_each(&mut work))
    }

    /// [`run_batches`](Self::run_batches) for a task. For work that waits itself, see [`next_async`](Self::next_async).
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `most` is 0; if `work` does, and the graph is closed then.
    #[track_caller]
    pub fn run_batches_async(
        self,
        most: usize,
        work: impl FnMut(Batch<'_, T, A>),
    ) -> impl Future<Output = Result<u64, Closed>> {
        self.run_in_turns(most, work, Location::caller())
    }

    async fn run_in_turns(
        mut self,
        most: usize,
        mut work: impl FnMut(Batch<'_, T, A>),
        caller: Caller,
    ) -> Result<u64, Closed> {
        let mut turn_ends = self.position() + ENTRIES_PER_TURN;
        while self.ready_async(most, caller).await? {
            self.place.pass_on(most as u64, &mut work);
            if self.position() >= turn_ends {
                yield_now().await;
                turn_ends = self.position() + ENTRIES_PER_TURN;
            }
        }
        Ok(self.position())
    }

    /// [`consume`](Self::consume) for a task: waits until entries are ready, gives up to `most` of them to `work`, and passes
    /// them on. Never [`Progress::Idle`].
    ///
    /// If the future is dropped while it is pending, `work` has not been called, and no entry is lost.
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `most` is 0; if `work` does, and the graph is closed then.
    #[track_caller]
    pub fn consume_async(
        &mut self,
        most: usize,
        work: impl FnOnce(Batch<'_, T, A>),
    ) -> impl Future<Output = Result<Progress, Closed>> {
        let caller = Location::caller();
        async move {
            Ok(if self.ready_async(most, caller).await? {
                Progress::Worked(self.place.pass_on(most as u64, work) as usize)
            } else {
                Progress::Finished
            })
        }
    }

    /// [`next`](Self::next) for a task: waits until entries are ready, and holds up to `most` of them, until they are
    /// [passed on](Entries::pass_on). For work that waits itself. `None` when the graph has finished.
    ///
    /// ```
    /// use layby::pipeline::{Closed, Graph, Reader};
    ///
    /// # async fn write_to_disk(_: Vec<String>) {}
    /// async fn persist(mut reader: Reader<String>) -> Result<(), Closed> {
    ///     while let Some(mut entries) = reader.next_async(256).await? {
    ///         write_to_disk(entries.iter().cloned().collect()).await;
    ///         entries.pass_on(); // if the task is dropped before, nobody takes them for written
    ///     }
    ///     Ok(())
    /// }
    /// # let mut graph = Graph::new(64, String::new);
    /// # let [reader] = graph.readers(["persist"]);
    /// # drop(persist(reader));
    /// ```
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `most` is 0.
    #[track_caller]
    pub fn next_async(&mut self, most: usize) -> impl Future<Output = Result<Option<Entries<'_, T, A>>, Closed>> {
        let caller = Location::caller();
        async move { Ok(if self.ready_async(most, caller).await? { Some(self.place.hold(most as u64)) } else { None }) }
    }

    /// Waits until entries are ready; `false` if no more will be.
    async fn ready_async(&mut self, most: usize, caller: Caller) -> Result<bool, Closed> {
        assert!(most > 0, "a batch of no entries");
        loop {
            match self.look()? {
                Look::Ready => return Ok(true),
                Look::Finished => return Ok(false),
                Look::Nothing => (),
            }
            if let Some((lane, count)) = self.place.obstacle()
                && lane.wait_at_least_async(count, caller).await == Err(Ended::Closed)
            {
                return Err(self.closed());
            }
        }
    }
}

impl<T, S: Sharing> Producer<T, S> {
    /// [`publish`](Self::publish) for a task, on any executor: waits for room, has the next entry filled, and publishes it.
    ///
    /// If the future is dropped while it is pending, `fill` has not been called, and nothing has been published. A
    /// [`MultiProducer`](super::MultiProducer) in a task gets room when those threads have theirs that wait for it without a limit.
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If `fill` does; the graph is closed then.
    #[track_caller]
    pub fn publish_async(&mut self, fill: impl FnOnce(&mut T)) -> impl Future<Output = Result<(), Closed>> {
        self.publish_batch_async(1, |batch| super::producer::fill_one(batch, fill))
    }

    /// [`publish_batch`](Self::publish_batch) for a task: waits for room for `n` entries, has them filled, and publishes them together.
    ///
    /// If the future is dropped while it is pending, `fill` has not been called, and nothing has been published.
    ///
    /// # Errors
    /// If the graph was closed.
    ///
    /// # Panics
    /// If the ring has fewer than `n` entries; if `fill` panics, and the graph is closed then.
    #[track_caller]
    pub fn publish_batch_async(
        &mut self,
        n: usize,
        fill: impl FnOnce(Batch<'_, T>),
    ) -> impl Future<Output = Result<(), Closed>> {
        let caller = Location::caller();
        async move {
            if n == 0 {
                return self.check_open();
            }
            let mut fill = Some(fill);
            loop {
                self.check_open()?;
                let fill_once = |batch: Batch<'_, T>| fill.take().expect("it is called once")(batch);
                if self.place.publish(n as u64, None, fill_once).is_ok() {
                    return Ok(());
                }
                if let Some((lane, count)) = self.place.obstacle(n as u64)
                    && lane.wait_at_least_async(count, caller).await == Err(Ended::Closed)
                {
                    return self.check_open();
                }
            }
        }
    }
}
