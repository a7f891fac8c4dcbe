//! Calls that do not wait, or not for long: what they say, and that they change nothing when they give up.

use crate::common::watchdog;
use layby::pipeline::{Graph, MultiProducer, Producer, Progress, Refused, Sharing};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_millis(5);

/// Fills a ring of two, in all the ways that give up.
fn gives_up_without_a_trace<S: Sharing>(graph: impl FnOnce(Graph<u64>) -> Producer<u64, S>) {
    let _watchdog = watchdog();
    let mut made = Graph::new(2, || 0);
    let stage = made.stage("not yet");
    let mut producer = graph(made);
    assert_eq!(producer.try_publish(|entry| *entry = 0), Ok(()));
    assert_eq!(producer.try_publish_batch(2, |_| unreachable!()), Err(Refused::Full));
    assert_eq!(producer.publish_timeout(SOON, |entry| *entry = 1), Ok(()));

    let deadline = Instant::now() + SOON;
    assert_eq!(producer.publish_deadline(deadline, |_| unreachable!()), Err(Refused::Full));
    assert!(Instant::now() >= deadline);
    assert_eq!(producer.publish_timeout(SOON, |_| unreachable!()), Err(Refused::Full));
    assert_eq!(producer.publish_batch_deadline(1, Instant::now(), |_| unreachable!()), Err(Refused::Full));
    assert_eq!(producer.try_publish(|_| unreachable!()), Err(Refused::Full));

    let (sender, numbers) = mpsc::channel();
    let run = thread::spawn(move || stage.run(|entry| sender.send(*entry).unwrap()));
    // Now there will be room.
    let later = Instant::now() + Duration::from_secs(3600);
    assert_eq!(producer.publish_deadline(later, |entry| *entry = 2), Ok(()));
    assert_eq!(producer.publish_batch_deadline(1, later, |batch| batch.for_each(|entry| *entry = 3)), Ok(()));
    assert_eq!(producer.publish_timeout(Duration::MAX, |entry| *entry = 4), Ok(()));
    drop(producer);
    assert!(numbers.iter().eq(0..=4));
    assert_eq!(run.join().unwrap(), Ok(5));
}

#[test]
fn a_timed_publish_gives_up_without_a_trace() {
    gives_up_without_a_trace(Graph::single_producer);
}

#[test]
fn a_timed_publish_of_one_of_several_gives_up_without_a_trace() {
    gives_up_without_a_trace(Graph::multi_producer);
}

/// One that waits without a limit is served before one that comes later and takes less.
#[test]
fn a_large_batch_is_not_overtaken() {
    let _watchdog = watchdog();
    let mut graph = Graph::new(4, || 0);
    let mut stage = graph.stage("slow");
    let mut large = graph.multi_producer();
    let mut small: MultiProducer<_> = large.clone();
    small.publish_batch(3, |batch| batch.for_each(|entry| *entry = 1)).unwrap();
    let waiting = thread::Builder::new()
        .name("large".into())
        .spawn(move || large.publish_batch(4, |batch| batch.for_each(|entry| *entry = 4)))
        .unwrap();
    crate::all_asleep(&["large"]);
    if crate::NAMES_ARE_KNOWN {
        let refused = small.try_publish(|_| unreachable!());
        assert_eq!(refused, Err(Refused::Full), "there is room for one, but it is not its turn");
    }
    assert_eq!(stage.consume(4, |batch| assert!(batch.eq([&1, &1, &1]))), Ok(Progress::Worked(3)));
    waiting.join().unwrap().unwrap();
    assert_eq!(stage.consume(4, |batch| assert!(batch.eq([&4; 4]))), Ok(Progress::Worked(4)));
    drop(small);
    assert_eq!(stage.consume(4, |_| unreachable!()), Ok(Progress::Finished));
}

#[test]
fn a_timed_consume_gives_up_without_a_trace() {
    let _watchdog = watchdog();
    let mut graph = Graph::new(2, || 0);
    let mut stage = graph.stage("polled");
    let mut producer = graph.single_producer();
    let deadline = Instant::now() + SOON;
    assert_eq!(stage.consume_deadline(1, deadline, |_| unreachable!()), Ok(Progress::Idle));
    assert!(Instant::now() >= deadline);
    assert_eq!(stage.consume_timeout(1, SOON, |_| unreachable!()), Ok(Progress::Idle));
    assert_eq!(stage.try_consume(1, |_| unreachable!()), Ok(Progress::Idle));
    producer.publish_batch(2, |batch| batch.zip([5, 6]).for_each(|(entry, number)| *entry = number)).unwrap();
    assert_eq!(stage.consume_timeout(1, Duration::MAX, |batch| assert!(batch.eq([&5]))), Ok(Progress::Worked(1)));
    assert_eq!(stage.consume_deadline(1, deadline, |batch| assert!(batch.eq([&6]))), Ok(Progress::Worked(1)));
    drop(producer);
    // As often as one asks.
    assert_eq!(stage.consume_timeout(1, SOON, |_| unreachable!()), Ok(Progress::Finished));
    assert_eq!(stage.consume(1, |_| unreachable!()), Ok(Progress::Finished));
}

/// One thread asks two stages in turn: nothing here needs a thread for each.
#[test]
fn one_thread_can_do_it_all() {
    let mut graph = Graph::new(4, || 0_u64);
    let (mut double, mut sum) = (graph.stage("double"), graph.stage("sum"));
    let mut producer = graph.single_producer();
    let mut total = 0;
    for number in 0..100 {
        while producer.try_publish(|entry| *entry = number) == Err(Refused::Full) {
            _ = double.try_consume(3, |batch| batch.for_each(|entry| *entry *= 2)).unwrap();
            _ = sum.try_consume(3, |batch| total += batch.map(|entry| *entry).sum::<u64>()).unwrap();
        }
    }
    drop(producer);
    while double.consume(4, |batch| batch.for_each(|entry| *entry *= 2)) != Ok(Progress::Finished) {
        _ = sum.try_consume(4, |batch| total += batch.map(|entry| *entry).sum::<u64>()).unwrap();
    }
    while sum.consume(4, |batch| total += batch.map(|entry| *entry).sum::<u64>()) != Ok(Progress::Finished) {}
    assert_eq!(total, 9900);
}
