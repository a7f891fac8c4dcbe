//! Stages and producers in tasks: what they see, who is woken, and that a future that is dropped has taken nothing.

use crate::all_asleep;
use crate::common::task::{Woken, block_on, poll, poll_once};
use crate::common::{scaled, watchdog};
use layby::pipeline::{Closed, Graph, Handle, Producer, Progress, Reason, Sharing, Stage, WaitStrategy};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::thread;

/// Nobody yields, so that each poll is one look.
fn sleepy(capacity: usize) -> Graph<u64> {
    Graph::with_strategy(capacity, WaitStrategy::Sleep, || 0)
}

/// All on one thread, each polled whenever one of them is woken.
fn all(mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) {
    let polled = |task: &mut Pin<Box<dyn Future<Output = ()> + '_>>, context: &mut std::task::Context<'_>| {
        task.as_mut().poll(context).is_pending()
    };
    block_on(poll_fn(move |context| {
        tasks.retain_mut(|task| polled(task, context));
        if tasks.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }));
}

/// What futures must be for an executor of several threads.
fn sendable<F: Future + Send>(future: F) -> F {
    future
}

/// A diamond of tasks on one thread, with a ring that is always full or empty.
#[test]
fn a_diamond_of_tasks() {
    let _watchdog = watchdog();
    for strategy in [WaitStrategy::SpinThenSleep, WaitStrategy::Sleep, WaitStrategy::Spin] {
        let mut graph = Graph::with_strategy(2, strategy, || (0_u64, 0_u64));
        let parse = graph.stage("parse");
        let [check, persist] = graph.readers(["check", "persist"]);
        let acknowledge = graph.stage("acknowledge");
        let mut producer = graph.single_producer();
        let (mut checked, mut persisted, mut acknowledged) = (0, vec![], vec![]);
        all(vec![
            Box::pin(sendable(async {
                for number in 0..100 {
                    producer.publish_async(|entry| *entry = (number, 0)).await.unwrap();
                }
                drop(producer);
            })),
            Box::pin(sendable(async { assert_eq!(parse.run_async(|entry| entry.1 = entry.0 * 2).await, Ok(100)) })),
            Box::pin(sendable(async { _ = check.run_async(|entry| checked += entry.1).await.unwrap() })),
            Box::pin(sendable(async {
                let mut persist = persist;
                while let Some(mut entries) = persist.next_async(8).await.unwrap() {
                    persisted.extend(entries.iter().map(|entry| entry.1));
                    poll_fn(yields_once()).await;
                    entries.pass_on();
                }
            })),
            Box::pin(sendable(async {
                let told = acknowledge.run_batches_async(1, |batch| acknowledged.extend(batch.map(|entry| entry.1)));
                assert_eq!(told.await, Ok(100));
            })),
        ]);
        assert_eq!(checked, 9900);
        assert!(persisted.iter().copied().eq((0..100).map(|n| n * 2)));
        assert_eq!(persisted, acknowledged);
    }
}

/// The disk, so to speak.
fn yields_once() -> impl FnMut(&mut std::task::Context<'_>) -> Poll<()> {
    let mut polls = 0;
    move |context| {
        polls += 1;
        context.waker().wake_by_ref();
        if polls > 1 { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Threads before and after tasks, and producers of both kinds.
#[test]
fn tasks_and_threads_in_one_graph() {
    let (_watchdog, numbers) = (watchdog(), scaled(2_000) as u64);
    let mut graph = Graph::new(8, || 0_u64);
    let (first, second, third) = (graph.stage("a thread"), graph.stage("a task"), graph.stage("a thread"));
    let producer = graph.multi_producer();
    let (mut in_task, mut in_thread) = (producer.clone(), producer);
    let total = thread::scope(|s| {
        s.spawn(|| first.run(|entry| *entry += 1).unwrap());
        s.spawn(|| block_on(second.run_async(|entry| *entry *= 2)).unwrap());
        s.spawn(move || {
            block_on(async move {
                for number in 0..numbers {
                    in_task.publish_async(|entry| *entry = number).await.unwrap();
                }
            });
        });
        s.spawn(move || (0..numbers).for_each(|number| in_thread.publish(|entry| *entry = number).unwrap()));
        let mut total = 0;
        assert_eq!(third.run(|entry| total += *entry), Ok(2 * numbers));
        total
    });
    assert_eq!(total, 2 * numbers * (numbers + 1));
}

#[test]
fn a_task_is_woken_when_its_entry_is_ready() {
    let mut graph = sleepy(4);
    let (mut first, mut second) = (graph.stage("first"), graph.stage("second"));
    let mut producer = graph.single_producer();
    let (woken, mut future) = (Woken::new(), pin!(second.consume_async(4, |batch| assert!(batch.eq([&7, &8])))));
    assert!(poll(future.as_mut(), &woken).is_pending());
    producer.publish_batch(2, |batch| batch.zip([7, 8]).for_each(|(entry, n)| *entry = n)).unwrap();
    assert_eq!(woken.count(), 0, "the first stage has not passed it on");
    assert_eq!(first.try_consume(2, |_| ()), Ok(Progress::Worked(2)));
    assert_eq!(woken.count(), 1);
    assert_eq!(poll(future.as_mut(), &woken), Poll::Ready(Ok(Progress::Worked(2))));
}

/// By default it lets others run before it waits, and it is polled again by itself.
#[test]
fn a_task_yields_before_it_waits() {
    let mut graph = Graph::new(4, || 0_u64);
    let mut stage = graph.stage("stage");
    let producer = graph.single_producer();
    let (woken, mut future) = (Woken::new(), pin!(stage.consume_async(4, |_| unreachable!())));
    assert!(poll(future.as_mut(), &woken).is_pending());
    assert_eq!(woken.count(), 1);
    assert!(poll(future.as_mut(), &woken).is_pending());
    assert_eq!(woken.count(), 1, "now it waits");
    drop(producer);
    assert_eq!(woken.count(), 2);
    assert_eq!(poll(future.as_mut(), &woken), Poll::Ready(Ok(Progress::Finished)));
}

/// A stage that always has entries lets other tasks run now and then.
#[test]
fn a_running_task_takes_turns() {
    let mut graph = sleepy(4096);
    let stage = graph.stage("stage");
    let mut producer = graph.single_producer();
    producer.publish_batch(4096, |_| ()).unwrap();
    drop(producer);
    let (woken, mut future) = (Woken::new(), pin!(stage.run_async(|_| ())));
    let mut turns = 0;
    while poll(future.as_mut(), &woken).is_pending() {
        turns += 1;
        assert_eq!(woken.count(), turns, "it wakes itself");
    }
    assert_eq!(turns, 4);
}

fn a_dropped_publish_has_published_nothing<S: Sharing>(make: fn(Graph<u64>) -> Producer<u64, S>) {
    let mut graph = sleepy(1);
    let mut stage = graph.stage("stage");
    let mut producer = make(graph);
    producer.publish(|entry| *entry = 1).unwrap();
    {
        let mut future = pin!(producer.publish_async(|_| unreachable!()));
        assert!(poll_once(future.as_mut()).is_pending());
    }
    assert_eq!(stage.try_consume(4, |batch| assert!(batch.eq([&1]))), Ok(Progress::Worked(1)));
    assert_eq!(stage.try_consume(4, |_| unreachable!()), Ok(Progress::Idle));
    assert_eq!(poll_once(pin!(producer.publish_async(|entry| *entry = 2))), Poll::Ready(Ok(())));
    assert_eq!(stage.try_consume(4, |batch| assert!(batch.eq([&2]))), Ok(Progress::Worked(1)));
}

#[test]
fn a_publish_that_is_dropped_has_published_nothing() {
    a_dropped_publish_has_published_nothing(Graph::single_producer);
    a_dropped_publish_has_published_nothing(Graph::multi_producer);
}

#[test]
fn a_consume_that_is_dropped_has_taken_nothing() {
    let mut graph = sleepy(4);
    let mut stage = graph.stage("stage");
    let mut producer = graph.single_producer();
    let woken = Woken::new();
    {
        let mut future = pin!(stage.consume_async(1, |_| unreachable!()));
        assert!(poll(future.as_mut(), &woken).is_pending());
        producer.publish(|entry| *entry = 1).unwrap();
        assert_eq!(woken.count(), 1);
    }
    let again = poll_once(pin!(stage.consume_async(1, |batch| assert!(batch.eq([&1])))));
    assert_eq!(again, Poll::Ready(Ok(Progress::Worked(1))));
}

/// A thread has drawn its number and takes its time. A task does not wait for that, and its entry comes behind the other.
#[test]
fn a_task_does_not_wait_for_a_slow_producer() {
    let _watchdog = watchdog();
    let mut graph = sleepy(4);
    let mut stage = graph.stage("stage");
    let mut slow = graph.multi_producer();
    let mut task = slow.clone();
    slow.publish(|entry| {
        assert_eq!(poll_once(pin!(task.publish_async(|entry| *entry = 2))), Poll::Ready(Ok(())));
        *entry = 1;
    })
    .unwrap();
    assert_eq!(stage.try_consume(4, |batch| assert!(batch.eq([&1, &2]))), Ok(Progress::Worked(2)));
}

/// A stage that waits for entries and a producer that waits for room, both asleep in tasks.
fn return_when(end: impl FnOnce(Handle, Stage<u64>), reason: &Reason) {
    let _watchdog = watchdog();
    let mut graph = sleepy(1);
    let (middle, mut last) = (graph.stage("middle"), graph.stage("last"));
    let mut producer = graph.multi_producer();
    producer.publish(|entry| *entry = 1).unwrap();
    let woken = [Woken::new(), Woken::new()];
    let mut other = producer.clone();
    let mut publishing = Box::pin(async move { other.publish_async(|_| unreachable!()).await });
    let mut consuming = pin!(last.consume_async(1, |_| unreachable!()));
    assert!(poll(publishing.as_mut(), &woken[0]).is_pending());
    assert!(poll(consuming.as_mut(), &woken[1]).is_pending());
    end(producer.handle(), middle);
    assert_eq!(woken.each_ref().map(|woken| woken.count()), [1, 1]);
    let closed = |outcome: Result<(), Closed>| outcome.unwrap_err().reason().clone();
    assert_eq!(poll_once(publishing.as_mut()).map(closed), Poll::Ready(reason.clone()));
    assert_eq!(poll_once(consuming.as_mut()).map(|outcome| closed(outcome.map(|_| ()))), Poll::Ready(reason.clone()));
}

#[test]
fn tasks_return_when_the_graph_is_closed() {
    let close = |handle: Handle, middle| {
        handle.close();
        drop(middle);
    };
    return_when(close, &Reason::Closed);
}

#[test]
fn tasks_return_when_a_stage_is_dropped() {
    return_when(|_, middle| drop(middle), &Reason::Dropped("middle".into()));
}

#[test]
fn tasks_return_when_a_stage_panics() {
    let panics = |_, middle: Stage<u64>| {
        assert!(catch_unwind(AssertUnwindSafe(|| middle.run(|_| panic_any(0)))).is_err());
    };
    return_when(panics, &Reason::Panicked("middle".into()));
}

/// A thread and a task sleep for the same lane, for different counts; the thread has drawn its numbers, and comes first.
#[test]
fn a_task_and_a_thread_wait_for_room() {
    let _watchdog = watchdog();
    let mut graph = sleepy(2);
    let mut stage = graph.stage("stage");
    let mut producer = graph.multi_producer();
    let mut in_thread = producer.clone();
    producer.publish_batch(2, |batch| batch.for_each(|entry| *entry = 1)).unwrap();
    let for_two = move || in_thread.publish_batch(2, |batch| batch.for_each(|entry| *entry = 2));
    let thread = thread::Builder::new().name("for two".into()).spawn(for_two).unwrap();
    all_asleep(&["for two"]);
    let task = thread::spawn(move || block_on(producer.publish_async(|entry| *entry = 3)));
    let mut seen = vec![];
    while seen.len() < 5 {
        _ = stage.consume(1, |batch| seen.extend(batch.map(|entry| *entry))).unwrap();
    }
    thread.join().unwrap().unwrap();
    task.join().unwrap().unwrap();
    assert!(!crate::NAMES_ARE_KNOWN || seen == [1, 1, 2, 2, 3], "{seen:?}");
}

/// What is held is given back when it is dropped, whole or in part.
#[test]
fn entries_that_are_not_passed_on_come_again() {
    let mut graph = sleepy(4);
    let (mut first, mut second) = (graph.stage("first"), graph.stage("second"));
    let mut producer = graph.single_producer();
    producer.publish_batch(3, |batch| batch.zip([1, 2, 3]).for_each(|(entry, n)| *entry = n)).unwrap();
    drop(producer);
    {
        let mut entries = first.next(2).unwrap().unwrap();
        assert_eq!(entries.len(), 2);
        entries.iter().for_each(|entry| *entry *= 10);
        assert!(entries.iter().eq([&10, &20]), "as often as one asks");
    }
    assert_eq!((first.position(), second.try_consume(4, |_| unreachable!())), (0, Ok(Progress::Idle)));
    let mut entries = first.next(8).unwrap().unwrap();
    assert!(entries.iter().eq([&10, &20, &3]), "as they were left");
    entries.pass_on_first(1);
    assert_eq!(second.try_consume(4, |batch| assert!(batch.eq([&10]))), Ok(Progress::Worked(1)));
    block_on(async {
        first.next_async(8).await.unwrap().unwrap().pass_on();
        assert!(first.next_async(8).await.unwrap().is_none());
    });
    assert!(first.next(8).unwrap().is_none());
    assert_eq!(second.try_consume(4, |batch| assert!(batch.eq([&20, &3]))), Ok(Progress::Worked(2)));
}

#[test]
fn a_panic_with_entries_in_hand_closes_the_graph() {
    let mut graph = sleepy(4);
    let mut stage = graph.stage("stage");
    let mut producer = graph.single_producer();
    producer.publish(|entry| *entry = 1).unwrap();
    let holding = AssertUnwindSafe(|| {
        let _entries = stage.next(1).unwrap();
        panic_any(0);
    });
    assert!(catch_unwind(holding).is_err());
    let closed = producer.publish(|_| unreachable!()).unwrap_err();
    assert_eq!(*closed.reason(), Reason::Panicked("stage".into()));
}
