//! A pipeline: whoever comes publishes, or does the work of a stage that nobody else is at, and gives up soon if it must wait.

use super::Game;
use crate::{plan::Plan, worker::Worker};
use layby::pipeline::{Access, Batch, Closed, Graph, MultiProducer, Progress, Reader, Refused, Stage};
use std::{
    future::Future,
    pin::pin,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

/// How many stages have had it.
type Entry = u64;

pub(crate) struct Pipes {
    producer: Mutex<MultiProducer<Entry>>,
    first: Mutex<Stage<Entry>>,
    readers: [Mutex<Reader<Entry>>; 2],
    last: Mutex<Stage<Entry>>,
    published: AtomicU64,
}

impl Pipes {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut graph = Graph::new(plan.slots.clamp(1, 64).next_power_of_two(), || 0);
        let first = graph.stage("first").into();
        let readers = graph.readers(["left", "right"]).map(Mutex::new);
        let last = graph.stage("last").into();
        Self { producer: graph.multi_producer().into(), first, readers, last, published: AtomicU64::new(0) }
    }

    fn publish(&self, worker: &mut Worker<'_>) {
        let mut producer = self.producer.lock().unwrap().clone();
        let soon = worker.soon();
        let outcome = if worker.random.one_in(4) {
            match poll_once(producer.publish_async(|entry| *entry = 0)) {
                Poll::Ready(published) => published.map_err(Refused::Closed),
                Poll::Pending => Err(Refused::Full),
            }
        } else {
            worker.at(|| producer.publish_timeout(soon, |entry| *entry = 0))
        };
        match outcome {
            Ok(()) => _ = self.published.fetch_add(1, Ordering::Relaxed),
            Err(refused) => assert_eq!(refused, Refused::Full),
        }
    }
}

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A part of a stage's work, if nobody else is at it.
fn consume<A: Access>(stage: &Mutex<Stage<Entry, A>>, worker: &mut Worker<'_>, work: impl FnMut(A::Entry<'_, Entry>)) {
    let Ok(mut stage) = stage.try_lock() else { return };
    let (most, soon) = (worker.random.below(8) + 1, worker.soon());
    let all = |batch: Batch<'_, Entry, A>| batch.for_each(work);
    let progress = if worker.random.one_in(4) {
        match poll_once(stage.consume_async(most, all)) {
            Poll::Ready(progress) => progress,
            Poll::Pending => Ok(Progress::Idle),
        }
    } else {
        worker.at(|| stage.consume_timeout(most, soon, all))
    };
    assert_ne!(progress, Ok(Progress::Finished), "there is a producer");
    assert!(progress.is_ok(), "nobody closes it");
}

fn pass(entry: &mut Entry, nth: u64) {
    assert_eq!(*entry, nth, "out of order");
    *entry += 1;
}

impl Game for Pipes {
    fn play(&self, worker: &mut Worker<'_>) {
        match worker.random.below(8) {
            0..=2 => self.publish(worker),
            3 | 4 => consume(&self.first, worker, |entry| pass(entry, 0)),
            5 => consume(&self.readers[0], worker, |entry| assert_eq!(*entry, 1)),
            6 => consume(&self.readers[1], worker, |entry| assert_eq!(*entry, 1)),
            _ => consume(&self.last, worker, |entry| pass(entry, 1)),
        }
    }

    fn check(self: Box<Self>) {
        let Self { producer, first, readers, last, published } = *self;
        drop(producer);
        let of = |seen: Result<u64, Closed>| assert_eq!(seen, Ok(published.load(Ordering::Relaxed)));
        // Nobody needs to wait: each stage finds all that the one before it has passed on.
        of(first.into_inner().unwrap().run(|entry| pass(entry, 0)));
        readers.into_iter().for_each(|reader| of(reader.into_inner().unwrap().run(|entry| assert_eq!(*entry, 1))));
        of(last.into_inner().unwrap().run(|entry| pass(entry, 1)));
    }
}
