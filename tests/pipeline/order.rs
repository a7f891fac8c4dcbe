//! Each entry goes through each stage once, in order; readers see what the stage before them wrote; nobody goes too far.

use crate::common::{scaled, watchdog};
use layby::pipeline::{Graph, Progress, Stage, WaitStrategy};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What each stage adds its mark to.
#[derive(Default, Clone, Debug, PartialEq, Eq)]
struct Item {
    number: u64,
    marks: Vec<u32>,
}

impl Item {
    fn refill(&mut self, number: u64) {
        self.number = number;
        self.marks.clear();
    }
}

/// Two stages that mark, and a last one that gives back what came out.
fn marked(
    first: Stage<Item>,
    second: Stage<Item>,
    last: Stage<Item>,
    batch: usize,
    publish: impl FnOnce(),
) -> Vec<Item> {
    thread::scope(|s| {
        s.spawn(move || first.run_batches(batch, |items| items.for_each(|item| item.marks.push(1))).unwrap());
        s.spawn(move || second.run_batches(batch, |items| items.for_each(|item| item.marks.push(2))).unwrap());
        let collect = s.spawn(move || {
            let mut out = vec![];
            let seen = last.run_batches(batch, |items| out.extend(items.map(|item| item.clone()))).unwrap();
            assert_eq!(seen, out.len() as u64);
            out
        });
        publish();
        collect.join().unwrap()
    })
}

#[test]
fn one_producer_keeps_its_order() {
    let _watchdog = watchdog();
    let items = scaled(4000).next_multiple_of(64) as u64;
    for strategy in [WaitStrategy::SpinThenSleep, WaitStrategy::Sleep, WaitStrategy::Spin] {
        for (capacity, batch) in [(1, 1), (2, 1), (16, 16), (64, 16), (1024, 1)] {
            let mut graph = Graph::with_strategy(capacity, strategy, Item::default);
            let [first, second, last] = ["first", "second", "last"].map(|name| graph.stage(name));
            let mut producer = graph.single_producer();
            let out = marked(first, second, last, batch, move || {
                let mut numbers = 0..items;
                while !numbers.is_empty() {
                    let fill = |(item, number): (&mut Item, u64)| item.refill(number);
                    producer.publish_batch(batch, |items| items.zip(&mut numbers).for_each(fill)).unwrap();
                }
            });
            assert!(out.iter().map(|item| item.number).eq(0..items));
            assert!(out.iter().all(|item| item.marks == [1, 2]), "each stage once, in order");
        }
    }
}

#[test]
fn several_producers_lose_and_repeat_nothing() {
    const PRODUCERS: u64 = 4;
    let _watchdog = watchdog();
    let each = scaled(1600) as u64;
    for (capacity, batch) in [(4, 1), (64, 16)] {
        let mut graph = Graph::new(capacity, Item::default);
        let [first, second, last] = ["first", "second", "last"].map(|name| graph.stage(name));
        let producer = graph.multi_producer();
        let out = marked(first, second, last, batch, || {
            for nth in 0..PRODUCERS {
                let mut producer = producer.clone();
                thread::spawn(move || {
                    for n in 0..each {
                        producer.publish(|item| item.refill(n * PRODUCERS + nth)).unwrap();
                    }
                });
            }
            drop(producer);
        });
        for nth in 0..PRODUCERS {
            let theirs = out.iter().map(|item| item.number).filter(|number| number % PRODUCERS == nth);
            assert!(theirs.eq((0..each).map(|n| n * PRODUCERS + nth)), "each producer's items keep their order");
        }
        assert_eq!(out.len() as u64, PRODUCERS * each);
    }
}

/// Who comes behind it in the ring publishes and goes on. The entries come out in order all the same, when the slow one is done.
#[test]
fn a_slow_producer_does_not_hold_up_the_others() {
    let _watchdog = watchdog();
    let mut graph = Graph::new(8, || 0);
    let mut stage = graph.stage("stage");
    let mut slow = graph.multi_producer();
    let mut other = slow.clone();
    slow.publish(|entry| {
        *entry = 1;
        other.publish(|entry| *entry = 2).unwrap();
        other.try_publish(|entry| *entry = 3).unwrap();
        assert_eq!(stage.try_consume(8, |_| ()), Ok(Progress::Idle), "nothing is passed over");
    })
    .unwrap();
    assert_eq!(stage.try_consume(8, |batch| assert!(batch.eq([&1, &2, &3]))), Ok(Progress::Worked(3)));
}

/// Readers see what was parsed; who comes after them comes after both; the reader behind another comes after that one.
#[test]
fn a_diamond_joins_all_its_readers() {
    let _watchdog = watchdog();
    let items = scaled(3000) as u64;
    let mut graph = Graph::new(8, || (0_u64, 0_u64));
    let parse = graph.stage("parse");
    let (check, audit, persist) = graph.parallel(|section| {
        let (check, checked) = section.reader("check");
        let (audit, _) = section.reader_after([checked], "audit");
        let (persist, _) = section.reader("persist");
        (check, audit, persist)
    });
    let acknowledge = graph.stage("acknowledge");
    let mut producer = graph.single_producer();
    let [checked, audited, persisted] = &[const { AtomicU64::new(0) }; 3];
    let is_after = |reader: &AtomicU64, number: u64| assert!(reader.load(Ordering::Relaxed) > number);
    let read = |done: &AtomicU64, (number, parsed): &(u64, u64)| {
        assert_eq!(*parsed, number + 1, "parsed before it is read, and not yet acknowledged");
        assert_eq!(done.swap(number + 1, Ordering::Relaxed), *number, "in order");
    };
    thread::scope(|s| {
        s.spawn(|| parse.run(|entry| entry.1 = entry.0 + 1).unwrap());
        s.spawn(|| check.run(|entry| read(checked, entry)).unwrap());
        s.spawn(|| persist.run_batches(4, |batch| batch.for_each(|entry| read(persisted, entry))).unwrap());
        s.spawn(|| {
            audit.run(|entry| {
                is_after(checked, entry.0);
                read(audited, entry);
            })
        });
        s.spawn(|| {
            acknowledge.run(|entry| {
                [checked, audited, persisted].iter().for_each(|reader| is_after(reader, entry.0));
                entry.1 = 0;
            })
        });
        for number in 0..items {
            producer.publish(|entry| *entry = (number, 0)).unwrap();
        }
        drop(producer);
    });
    assert_eq!([checked, audited, persisted].map(|done| done.load(Ordering::Relaxed)), [items; 3]);
}

#[test]
fn broadcast_reaches_every_reader() {
    let _watchdog = watchdog();
    let numbers = scaled(100) as u64;
    let mut graph = Graph::new(4, || 0_u64);
    let readers = graph.readers([0, 1, 2, 3].map(|nth| format!("reader {nth}")));
    let mut producer = graph.single_producer();
    thread::scope(|s| {
        let sums = readers.map(|reader| {
            s.spawn(move || {
                let mut sum = 0;
                reader.run(|number| sum += *number).map(|_| sum)
            })
        });
        (0..numbers).for_each(|number| producer.publish(|entry| *entry = number).unwrap());
        drop(producer);
        sums.into_iter().for_each(|sum| assert_eq!(sum.join().unwrap(), Ok(numbers * (numbers - 1) / 2)));
    });
}

/// Nobody comes after the producers, so there is always room, and an entry is still filled by one at a time.
#[test]
fn a_graph_without_stages_takes_everything() {
    let _watchdog = watchdog();
    let producer = Graph::new(1, || 0_u64).multi_producer();
    let (handle, each) = (producer.handle(), scaled(100) as u64);
    thread::scope(|s| {
        for _ in 0..3 {
            let mut producer = producer.clone();
            s.spawn(move || (0..each).for_each(|_| producer.publish(|entry| *entry += 1).unwrap()));
        }
        drop(producer);
    });
    assert_eq!(handle.published(), 3 * each);
}

#[test]
fn entries_keep_what_they_have_allocated() {
    let mut graph = Graph::new(1, || Vec::with_capacity(100));
    let mut stage = graph.stage("clear");
    let mut producer = graph.single_producer();
    let mut places = vec![];
    for _ in 0..3 {
        producer.publish(|entry| entry.push(1_u8)).unwrap();
        _ = stage.consume(1, |batch| batch.for_each(|entry| (places.push(entry.as_ptr()), entry.clear()).1)).unwrap();
    }
    assert!(places.iter().all(|place| *place == places[0]));
    drop(producer);
}

/// What the closure does not look at is passed on all the same.
#[test]
fn a_batch_is_passed_on_as_a_whole() {
    let mut graph = Graph::new(8, || 0);
    let mut stage = graph.stage("looks at one");
    let mut producer = graph.single_producer();
    producer.publish_batch(5, |batch| assert_eq!((batch.len(), batch.sequence()), (5, 0))).unwrap();
    _ = stage.consume(3, |mut batch| assert_eq!((batch.next(), batch.len()), (Some(&mut 0), 2))).unwrap();
    assert_eq!(stage.position(), 3);
    _ = stage.consume(3, |batch| assert_eq!((batch.sequence(), batch.len()), (3, 2))).unwrap();
    assert!(format!("{producer:?}").contains("looks at one: 5 (0 behind, waits for producer)"));
}

#[test]
fn wrong_sizes_are_told() {
    let panics = |what: &dyn Fn()| catch_unwind(AssertUnwindSafe(what)).is_err();
    assert!(panics(&|| drop(Graph::new(0, || 0))));
    assert!(panics(&|| drop(Graph::new(3, || 0))));
    assert!(panics(&|| _ = Graph::new(4, || 0).single_producer().publish_batch(5, |_| ())));
    assert!(panics(&|| _ = Graph::new(4, || 0).multi_producer().try_publish_batch(5, |_| ())));
    assert!(panics(&|| _ = Graph::new(4, || 0).stage("none").try_consume(0, |_| ())));
    // Nothing is not wrong.
    assert_eq!(Graph::new(4, || 0).single_producer().publish_batch(0, |_| unreachable!()), Ok(()));
}
