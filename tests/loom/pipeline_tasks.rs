//! Pipelines whose stages and producers are tasks: W4. They wait without yielding first, so that there is less to explore.

use crate::bell::{Bell, block_on, poll_once};
use crate::explore::explore_run;
use layby::pipeline::{Graph, Producer, Progress, Sharing, Stage, WaitStrategy};
use loom::thread;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake};

fn graph(capacity: usize) -> Graph<u32> {
    Graph::with_strategy(capacity, WaitStrategy::Sleep, || 0)
}

/// In a task, and leaves the graph as it is: dropping the stage would close it.
fn consume(mut stage: Stage<u32>, number: u32) {
    let seen = block_on(pin!(stage.consume_async(1, |batch| assert!(batch.eq([&number])))), &Bell::new());
    assert_eq!(seen, Ok(Progress::Worked(1)));
    forget(stage);
}

fn publish<S: Sharing>(mut producer: Producer<u32, S>, number: u32) {
    block_on(pin!(producer.publish_async(|entry| *entry = number)), &Bell::new()).unwrap();
    forget(producer);
}

#[test]
fn a_stage_in_a_task_against_a_publish() {
    explore_run(2, || {
        let mut graph = graph(1);
        let stage = graph.stage("stage");
        let mut producer = graph.single_producer();
        let publishing = thread::spawn(move || {
            producer.publish(|entry| *entry = 1).unwrap();
            forget(producer);
        });
        let working = thread::spawn(move || consume(stage, 1));
        publishing.join().unwrap();
        working.join().unwrap();
    });
}

/// The producer goes instead.
#[test]
fn a_stage_in_a_task_against_a_finish() {
    explore_run(2, || {
        let mut graph = graph(1);
        let stage = graph.stage("stage");
        let producer = graph.single_producer();
        let finishing = thread::spawn(move || drop(producer));
        let working = thread::spawn(move || {
            assert_eq!(block_on(pin!(stage.run_async(|_| unreachable!())), &Bell::new()), Ok(0));
        });
        finishing.join().unwrap();
        working.join().unwrap();
    });
}

#[test]
fn a_producer_in_a_task_against_a_stage() {
    explore_run(2, || {
        let mut graph = graph(1);
        let mut stage = graph.stage("stage");
        let mut producer = graph.single_producer();
        producer.publish(|entry| *entry = 1).unwrap();
        let publishing = thread::spawn(move || publish(producer, 2));
        let working = thread::spawn(move || {
            assert_eq!(stage.consume(1, |batch| assert!(batch.eq([&1]))), Ok(Progress::Worked(1)));
            forget(stage);
        });
        publishing.join().unwrap();
        working.join().unwrap();
    });
}

/// Two tasks wait for different counts of one lane: the first, which is not polled again, for 1. What is wanted is reset on its account,
/// and the other must still be woken.
#[test]
fn two_tasks_want_different_counts() {
    explore_run(2, || {
        let mut graph = graph(2);
        let mut stage = graph.stage("stage");
        let mut producer = graph.multi_producer();
        producer.publish_batch(2, |_| ()).unwrap();
        let mut first = producer.clone();
        let mut first = Box::pin(async move { first.publish_async(|_| ()).await });
        poll_once(first.as_mut());
        let second = thread::spawn(move || {
            block_on(pin!(producer.publish_batch_async(2, |_| ())), &Bell::new()).unwrap();
            forget(producer);
        });
        for _ in 0..2 {
            assert_eq!(stage.consume(1, |_| ()), Ok(Progress::Worked(1)));
        }
        second.join().unwrap();
        forget((first, stage));
    });
}

/// A thread may draw the number first: the task draws the next, and both are published.
#[test]
fn a_task_publishes_beside_a_thread() {
    explore_run(2, || {
        let mut graph = graph(2);
        let mut stage = graph.stage("stage");
        let mut producer = graph.multi_producer();
        let other = producer.clone();
        let in_thread = thread::spawn(move || {
            producer.publish(|entry| *entry = 1).unwrap();
            forget(producer);
        });
        let in_task = thread::spawn(move || publish(other, 1));
        in_thread.join().unwrap();
        in_task.join().unwrap();
        assert_eq!(stage.try_consume(2, |batch| assert!(batch.eq([&1, &1]))), Ok(Progress::Worked(2)));
        forget(stage);
    });
}

#[test]
fn tasks_against_a_close() {
    explore_run(2, || {
        let mut graph = graph(1);
        let mut stage = graph.stage("stage");
        let producer = graph.single_producer();
        let handle = producer.handle();
        let closing = thread::spawn(move || handle.close());
        let waiting = thread::spawn(move || {
            assert!(block_on(pin!(stage.consume_async(1, |_| unreachable!())), &Bell::new()).is_err());
        });
        closing.join().unwrap();
        waiting.join().unwrap();
        drop(producer);
    });
}

/// A future that is dropped while its entry comes has not taken it.
#[test]
fn a_dropped_future_against_a_publish() {
    explore_run(2, || {
        let mut graph = graph(1);
        let mut stage = graph.stage("stage");
        let mut producer = graph.single_producer();
        let publishing = thread::spawn(move || {
            producer.publish(|entry| *entry = 1).unwrap();
            forget(producer);
        });
        let dropping = thread::spawn(move || {
            let mut seen = false;
            poll_once(pin!(stage.consume_async(1, |batch| seen = batch.eq([&1]))));
            (seen, stage)
        });
        publishing.join().unwrap();
        let (seen, mut stage) = dropping.join().unwrap();
        let left = stage.try_consume(1, |batch| assert!(batch.eq([&1])));
        assert_eq!(left, Ok(if seen { Progress::Idle } else { Progress::Worked(1) }));
        forget(stage);
    });
}

struct Unwinding;

impl Wake for Unwinding {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("as intended"));
    }
}

/// The first who publishes wakes the stage, whose waker unwinds: what the other has filled meanwhile is published all the same.
#[test]
fn two_producers_and_a_waker_that_unwinds() {
    explore_run(2, || {
        let mut graph = graph(2);
        let mut stage = graph.stage("stage");
        let producer = graph.multi_producer();
        let mut waiting = Box::pin(stage.consume_async(1, |_| unreachable!()));
        let waker = Arc::new(Unwinding).into();
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let publish = |mut producer: Producer<u32, _>| {
            let _ = catch_unwind(AssertUnwindSafe(|| producer.publish(|entry| *entry = 1)));
            forget(producer);
        };
        let other = producer.clone();
        let publishing = thread::spawn(move || publish(other));
        publish(producer);
        publishing.join().unwrap();
        drop(waiting);
        assert_eq!(stage.try_consume(2, |batch| assert!(batch.eq([&1, &1]))), Ok(Progress::Worked(2)));
        forget(stage);
    });
}
