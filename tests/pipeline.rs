//! The pipeline of `examples/pipeline`: order, nothing lost, room awaited, and every way to end.

#![cfg(not(layby_model))]

mod common;
#[path = "../examples/pipeline/mod.rs"]
mod pipeline;

use common::watchdog;
use pipeline::{Pipeline, Refused};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const STAGES: usize = 3;

/// What each stage adds its mark to.
#[derive(Default, Clone, Debug, PartialEq, Eq)]
struct Item {
    number: u64,
    marks: Vec<usize>,
}

impl Item {
    fn is(&mut self, number: u64) {
        *self = Self { number, marks: vec![] };
    }
}

/// Runs `producers` threads that publish `each` items, `batch` at a time; returns what came out, in that order.
fn run(capacity: usize, producers: u64, each: u64, batch: u64) -> Vec<Item> {
    let pipeline = &Pipeline::<Item>::new(capacity, STAGES);
    let mut out = vec![];
    thread::scope(|s| {
        let mut stages: Vec<_> = (0..STAGES - 1)
            .map(|stage| s.spawn(move || pipeline.run_stage(stage, batch, |item| item.marks.push(stage))))
            .collect();
        let out = &mut out;
        stages.push(s.spawn(move || pipeline.run_stage(STAGES - 1, batch, |item| out.push(item.clone()))));
        let publishing: Vec<_> = (0..producers)
            .map(|producer| {
                s.spawn(move || {
                    let mut numbers = (0..each).map(|n| n * producers + producer);
                    for _ in 0..each / batch {
                        pipeline.publish(batch, |item| item.is(numbers.next().unwrap())).unwrap();
                    }
                })
            })
            .collect();
        publishing.into_iter().for_each(|producer| producer.join().unwrap());
        pipeline.finish();
        for stage in stages {
            assert_eq!(stage.join().unwrap(), producers * each, "each stage has worked on all");
        }
    });
    out
}

#[test]
fn one_producer_keeps_its_order() {
    let _watchdog = watchdog();
    for (capacity, batch) in [(1, 1), (2, 1), (16, 16), (64, 16), (1024, 1)] {
        let out = run(capacity, 1, 4000, batch);
        assert!(out.iter().map(|item| item.number).eq(0..4000));
        assert!(out.iter().all(|item| item.marks == [0, 1]), "each stage once, in order");
    }
}

#[test]
fn several_producers_lose_and_repeat_nothing() {
    let _watchdog = watchdog();
    for (capacity, batch) in [(4, 1), (64, 16)] {
        let out = run(capacity, 4, 1600, batch);
        for producer in 0..4 {
            let theirs = out.iter().map(|item| item.number).filter(|number| number % 4 == producer);
            assert!(theirs.eq((0..1600).map(|n| n * 4 + producer)), "each producer's items keep their order");
        }
        assert_eq!(out.len(), 4 * 1600);
    }
}

#[test]
fn a_timed_publish_gives_up_without_a_trace() {
    let _watchdog = watchdog();
    let pipeline = &Pipeline::<Item>::new(2, 1);
    let soon = || Instant::now() + Duration::from_millis(5);
    for number in 0..2 {
        assert_eq!(pipeline.publish_deadline(1, soon(), |item| item.is(number)), Ok(()));
    }
    let deadline = soon();
    assert_eq!(pipeline.publish_deadline(1, deadline, |item| item.is(99)), Err(Refused::TimedOut));
    assert!(Instant::now() >= deadline);
    thread::scope(|s| {
        let (sender, numbers) = mpsc::channel();
        s.spawn(move || pipeline.run_stage(0, 1, |item| sender.send(item.number).unwrap()));
        // Now there will be room.
        let later = Instant::now() + Duration::from_secs(3600);
        assert_eq!(pipeline.publish_deadline(2, later, |item| item.is(2)), Ok(()));
        pipeline.finish();
        assert!(numbers.iter().eq([0, 1, 2, 2]));
    });
}

#[test]
fn closing_lets_everybody_return() {
    let _watchdog = watchdog();
    let pipeline = &Pipeline::<Item>::new(2, 2);
    thread::scope(|s| {
        let stage = s.spawn(|| pipeline.run_stage(0, 1, |_| ()));
        // The second stage does not run, so this producer waits for room.
        let producer = s.spawn(|| {
            let published = (0..).take_while(|number| pipeline.publish(1, |item| item.is(*number)).is_ok());
            published.count()
        });
        let (sender, reached) = mpsc::channel();
        s.spawn(move || {
            sender.send(()).unwrap();
            pipeline.close();
        });
        reached.recv().unwrap();
        assert!(producer.join().unwrap() <= 2);
        assert!(stage.join().unwrap() <= 2);
    });
    assert_eq!(pipeline.publish(2, |item| item.is(0)), Err(Refused::Closed));
}

#[test]
fn a_panic_in_a_stage_closes_the_pipeline() {
    let _watchdog = watchdog();
    let pipeline = &Pipeline::<Item>::new(4, 1);
    thread::scope(|s| {
        let stage = s.spawn(|| {
            let worked = catch_unwind(AssertUnwindSafe(|| {
                pipeline.run_stage(0, 1, |item| assert_ne!(item.number, 10, "on purpose"));
            }));
            assert!(worked.is_err());
        });
        let refused = (0..).find_map(|number| pipeline.publish(1, |item| item.is(number)).err());
        assert_eq!(refused, Some(Refused::Closed));
        stage.join().unwrap();
    });
}

#[test]
fn a_stage_has_one_worker() {
    let _watchdog = watchdog();
    let pipeline = Pipeline::<Item>::new(4, 1);
    pipeline.finish();
    assert_eq!(pipeline.run_stage(0, 1, |_| ()), 0);
    assert!(catch_unwind(AssertUnwindSafe(|| pipeline.run_stage(0, 1, |_| ()))).is_err());
}
