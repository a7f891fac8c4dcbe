//! Pipelines: who sleeps for a count, and how a graph ends.

use crate::schedules::both_ways;
use layby::pipeline::{Graph, MultiProducer, Reader};
use shuttle::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How many schedules of each kind; arbitrary.
const SCHEDULES: usize = 5000;

/// Two readers sleep for one lane again and again. An announcement that follows a reset does not hide it from the other (W2). (That it
/// does not is seen by `ci/lane_model.py`: it takes more changes of threads than are met by chance.)
#[test]
fn two_readers_want_one_more() {
    both_ways(SCHEDULES, || {
        let mut graph = Graph::new(1, || 0);
        let readers = graph.readers(["left", "right"]);
        let mut producer = graph.single_producer();
        let run = |reader: Reader<u32>| thread::spawn(move || reader.run(|_| ()));
        let readers = readers.map(run);
        (1..=3).for_each(|number| producer.publish(|entry| *entry = number).unwrap());
        drop(producer);
        readers.into_iter().for_each(|reader| assert_eq!(reader.join().unwrap(), Ok(3)));
    });
}

/// A producer unwinds, and leaves; what the other has published behind it is lost, and the stage is told.
#[test]
fn a_producer_that_panics_is_no_end() {
    both_ways(SCHEDULES, || {
        let mut graph = Graph::new(2, || 0);
        let stage = graph.stage("stage");
        let panicking = graph.multi_producer();
        let publishing = panicking.clone();
        let publish = |mut producer: MultiProducer<u32>, panics: bool| {
            thread::spawn(move || {
                let fill = |entry: &mut u32| if panics { resume_unwind(Box::new(())) } else { *entry = 1 };
                drop(catch_unwind(AssertUnwindSafe(|| producer.publish(fill))));
            })
        };
        let threads = [publish(panicking, true), publish(publishing, false)];
        assert!(stage.run(|_| ()).is_err());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
