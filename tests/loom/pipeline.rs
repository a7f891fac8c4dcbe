//! Pipelines: who may touch an entry, and who waits for whom. Entries are loom's cells, so that two who touch one at a time are
//! seen; loom is blind to the fences of the operating system, and has `SeqCst` fences in their place.

use crate::explore::explore_run;
use layby::pipeline::{
    Access, Batch, Graph, MultiProducer, Producer, Progress, Reader, Reason, Refused, Sharing, Stage,
};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{self, JoinHandle};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

fn join<R>(threads: impl IntoIterator<Item = JoinHandle<R>>) {
    threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
}

/// Runs a stage that must see these numbers.
fn expects(stage: Stage<u32>, batch: usize, numbers: &'static [u32]) {
    let mut seen = vec![];
    let count = stage.run_batches(batch, |batch| seen.extend(batch.map(|entry| *entry)));
    assert_eq!((seen.as_slice(), count), (numbers, Ok(numbers.len() as u64)));
}

/// Gives one batch to `look`, and leaves the graph as it is: dropping the stage would close it.
fn consume_once<A: Access>(mut stage: Stage<u32, A>, look: impl FnOnce(Batch<'_, u32, A>)) {
    assert_eq!(stage.consume(1, look), Ok(Progress::Worked(1)));
    forget(stage);
}

/// The entry is filled again only when the stage is done with it, and the producer is told of the room. Then the producer goes, and
/// the stage is told of that.
#[test]
fn a_ring_of_one_wraps_around() {
    explore_run(2, || {
        let mut graph = Graph::new(1, || 0);
        let stage = graph.stage("stage");
        let mut producer = graph.single_producer();
        let publishing = thread::spawn(move || {
            producer.publish(|entry| *entry = 1).unwrap();
            producer.publish(|entry| *entry = 2).unwrap();
        });
        join([publishing, thread::spawn(move || expects(stage, 1, &[1, 2]))]);
    });
}

/// As above, with batches: the stage may be told of two at once.
#[test]
fn batches_wrap_around() {
    explore_run(2, || {
        let mut graph = Graph::new(2, || 0);
        let mut stage = graph.stage("stage");
        let mut producer = graph.single_producer();
        let publishing = thread::spawn(move || {
            producer.publish_batch(2, |batch| batch.zip([1, 2]).for_each(|(entry, n)| *entry = n)).unwrap();
            producer.publish(|entry| *entry = 3).unwrap();
            forget(producer);
        });
        let working = thread::spawn(move || {
            assert_eq!(stage.consume(2, |batch| assert!(batch.eq([&1, &2]))), Ok(Progress::Worked(2)));
            consume_once(stage, |batch| assert!(batch.eq([&3])));
        });
        join([publishing, working]);
    });
}

/// What was published is passed on from stage to stage, and freed by the last.
#[test]
fn two_stages_take_turns() {
    explore_run(2, || {
        let mut graph = Graph::new(1, || 0);
        let (first, second) = (graph.stage("first"), graph.stage("second"));
        let mut producer = graph.single_producer();
        producer.publish(|entry| *entry = 1).unwrap();
        drop(producer);
        let first = thread::spawn(move || _ = first.run(|entry| *entry += 1).unwrap());
        join([first, thread::spawn(move || expects(second, 1, &[2]))]);
    });
}

/// Both readers have the entry at once; the stage behind them comes after both, and its changes after their looks.
#[test]
fn a_diamond_joins() {
    explore_run(2, || {
        let mut graph = Graph::new(1, || 0);
        let [left, right] = graph.readers(["left", "right"]);
        let after = graph.stage("after");
        let mut producer = graph.single_producer();
        producer.publish(|entry| *entry = 1).unwrap();
        let look = |reader| move || consume_once(reader, |batch| assert!(batch.eq([&1])));
        let change = || consume_once(after, |batch| batch.for_each(|entry| *entry = 2));
        join([thread::spawn(look(left)), thread::spawn(look(right)), thread::spawn(change)]);
        forget(producer);
    });
}

/// The entry is free when both last readers are done with it.
#[test]
fn a_producer_waits_for_all_last_readers() {
    explore_run(2, || {
        let mut graph = Graph::new(1, || 0);
        let [left, right] = graph.readers(["left", "right"]);
        let mut producer = graph.single_producer();
        producer.publish(|entry| *entry = 1).unwrap();
        let look = |reader| move || consume_once(reader, |batch| assert!(batch.eq([&1])));
        let publish = move || {
            producer.publish(|entry| *entry = 2).unwrap();
            forget(producer);
        };
        join([thread::spawn(look(left)), thread::spawn(look(right)), thread::spawn(publish)]);
    });
}

/// Two producers want different counts of the last stage, one after the other comes true, and neither is forgotten (W2).
#[test]
fn two_producers_wait_for_room() {
    explore_run(1, || {
        let mut graph = Graph::new(1, || 0);
        let mut stage = graph.stage("stage");
        let mut producer = graph.multi_producer();
        producer.publish(|entry| *entry = 1).unwrap();
        let publish = |mut producer: MultiProducer<u32>| {
            move || {
                producer.publish(|entry| *entry = 1).unwrap();
                forget(producer);
            }
        };
        let work = move || {
            assert_eq!(stage.consume(1, |batch| assert!(batch.eq([&1]))), Ok(Progress::Worked(1)));
            consume_once(stage, |batch| assert!(batch.eq([&1])));
        };
        let other = publish(producer.clone());
        join([thread::spawn(other), thread::spawn(publish(producer)), thread::spawn(work)]);
    });
}

/// What each of them published is there when the last of them finishes the graph.
#[test]
fn the_last_of_two_producers_finishes() {
    explore_run(2, || {
        let mut graph = Graph::new(2, || 0);
        let stage = graph.stage("stage");
        let producer = graph.multi_producer();
        let publish =
            |mut producer: MultiProducer<u32>| thread::spawn(move || producer.publish(|entry| *entry = 1).unwrap());
        let other = publish(producer.clone());
        join([other, publish(producer)]);
        expects(stage, 2, &[1, 1]);
    });
}

/// The stage sees what each of them has filled (D2), and sees all of it (D3).
#[test]
fn two_producers_and_a_stage() {
    explore_run(2, || {
        let mut graph = Graph::new(2, || 0);
        let mut stage = graph.stage("stage");
        let producer = graph.multi_producer();
        let publish = |mut producer: MultiProducer<u32>| {
            thread::spawn(move || {
                producer.publish(|entry| *entry = 1).unwrap();
                forget(producer);
            })
        };
        let threads = [publish(producer.clone()), publish(producer)];
        let mut seen = 0;
        while seen < 2 {
            let progress = stage.consume(2, |batch| seen += batch.map(|entry| *entry).sum::<u32>());
            assert!(matches!(progress, Ok(Progress::Worked(_))));
        }
        join(threads);
        forget(stage);
    });
}

/// Who learns of the end by the last word has all that was filled before it.
#[test]
fn a_finish_of_several_against_a_stage() {
    explore_run(2, || {
        let mut graph = Graph::new(2, || 0);
        let stage = graph.stage("stage");
        let mut producer = graph.multi_producer();
        let publishing = thread::spawn(move || producer.publish(|entry| *entry = 1).unwrap());
        expects(stage, 1, &[1]);
        join([publishing]);
    });
}

/// One of the readers may count what the other one then reads (D2), and neither sleeps past a mark (D3).
#[test]
fn two_readers_count_what_producers_mark() {
    explore_run(2, || {
        let mut graph = Graph::new(1, || 0);
        let [left, right] = graph.readers(["left", "right"]);
        let mut producer = graph.multi_producer();
        let look = |reader: Reader<u32>| move || consume_once(reader, |batch| assert!(batch.eq([&1])));
        let publish = move || {
            producer.publish(|entry| *entry = 1).unwrap();
            forget(producer);
        };
        join([thread::spawn(look(left)), thread::spawn(look(right)), thread::spawn(publish)]);
    });
}

/// Whom the room is for that others make sleeps for a number that is not the next, and what comes before it is marked in any order (D3).
#[test]
fn three_producers_without_a_stage() {
    explore_run(2, || {
        let producer = Graph::new(2, || 0).multi_producer();
        let publish = |mut producer: MultiProducer<u32>, n| {
            move || {
                producer.publish_batch(n, |batch| batch.for_each(|entry| *entry = 1)).unwrap();
                forget(producer);
            }
        };
        let threads = [publish(producer.clone(), 1), publish(producer.clone(), 1), publish(producer, 2)];
        join(threads.map(thread::spawn));
    });
}

/// A stage and a producer that wait, each for another side of the stage that is dropped.
#[test]
fn a_dropped_stage_against_those_who_wait() {
    explore_run(2, || {
        let mut graph = Graph::new(1, || 0);
        let (first, second) = (graph.stage("first"), graph.stage("second"));
        let mut producer = graph.single_producer();
        producer.publish(|entry| *entry = 1).unwrap();
        let dropped = Reason::Dropped("first".into());
        let expected = dropped.clone();
        let publishing = thread::spawn(move || {
            let closed = producer.publish(|_| unreachable!()).unwrap_err();
            assert_eq!(*closed.reason(), expected);
        });
        let waiting = thread::spawn(move || {
            let closed = second.run(|_| unreachable!()).unwrap_err();
            assert_eq!(*closed.reason(), dropped);
        });
        join([publishing, waiting, thread::spawn(move || drop(first))]);
    });
}

/// A closure that panics while another thread publishes. That one asks again and again: loom's mutexes, on which a model sleeps, cannot
/// be used while any thread of the model unwinds.
#[test]
fn a_panic_against_a_publish() {
    explore_run(3, || {
        let mut graph = Graph::new(1, || 0);
        let stage = graph.stage("stage");
        let mut producer = graph.single_producer();
        producer.publish(|entry| *entry = 1).unwrap();
        let panicking = thread::spawn(move || {
            let unwound = catch_unwind(AssertUnwindSafe(|| stage.run(|_| resume_unwind(Box::new(())))));
            assert!(unwound.is_err());
        });
        let publishing = thread::spawn(move || {
            let closed = loop {
                match producer.try_publish(|_| unreachable!("the entry is the stage's")) {
                    Err(Refused::Closed(closed)) => break closed,
                    _ => thread::yield_now(),
                }
            };
            assert_eq!(*closed.reason(), Reason::Panicked("stage".into()));
        });
        join([panicking, publishing]);
    });
}

/// What was done before a graph is closed is seen by those who see it closed.
#[test]
fn a_close_publishes() {
    explore_run(3, || {
        let mut graph = Graph::new(1, || 0);
        let mut stage = graph.stage("stage");
        let producer = graph.single_producer();
        let handle = producer.handle();
        let data = Arc::new(AtomicU32::new(0));
        let shared = data.clone();
        let closing = thread::spawn(move || {
            shared.store(7, Ordering::Relaxed);
            handle.close();
        });
        let waiting = thread::spawn(move || {
            assert!(stage.consume(1, |_| unreachable!()).is_err());
            assert_eq!(data.load(Ordering::Relaxed), 7);
        });
        join([closing, waiting]);
        drop(producer);
    });
}

/// There is room in time, or the deadline passes: then nothing was drawn, and the next one to publish has its turn.
fn a_timed_publish<S: Sharing + 'static>(make: fn(Graph<u32>) -> Producer<u32, S>)
where
    Producer<u32, S>: Send,
{
    explore_run(2, move || {
        let mut graph = Graph::new(1, || 0);
        let mut stage = graph.stage("stage");
        let mut producer = make(graph);
        producer.publish(|entry| *entry = 1).unwrap();
        let publishing = thread::spawn(move || {
            let outcome = producer.publish_deadline(Instant::now(), |entry| *entry = 2);
            assert!(matches!(outcome, Ok(()) | Err(Refused::Full)));
            (outcome.is_ok(), producer)
        });
        let working = thread::spawn(move || {
            assert_eq!(stage.consume(1, |batch| assert!(batch.eq([&1]))), Ok(Progress::Worked(1)));
            stage
        });
        layby::model::expire_deadlines();
        let ((published, mut producer), mut stage) = (publishing.join().unwrap(), working.join().unwrap());
        if !published {
            producer.try_publish(|entry| *entry = 2).unwrap();
        }
        assert_eq!(stage.try_consume(1, |batch| assert!(batch.eq([&2]))), Ok(Progress::Worked(1)));
        forget((producer, stage));
    });
}

#[test]
fn a_timed_publish_against_a_stage() {
    a_timed_publish(Graph::single_producer);
}

#[test]
fn a_timed_publish_of_several_against_a_stage() {
    a_timed_publish(Graph::multi_producer);
}
