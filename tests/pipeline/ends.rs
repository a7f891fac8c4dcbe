//! Every way to end: whoever waits returns, and says why; what was published before a drop is worked on.

use crate::all_asleep;
use crate::common::{eventually, watchdog};
use layby::pipeline::{Closed, Graph, Handle, MultiProducer, Progress, Reason, Stage};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::thread::{self, JoinHandle};

fn spawn<R: Send + 'static>(name: &str, work: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
    thread::Builder::new().name(name.into()).spawn(work).unwrap()
}

fn reason(closed: Result<u64, Closed>) -> Reason {
    closed.unwrap_err().reason().clone()
}

/// A ring of two, with three stages. The second is not run, and everybody else sleeps: the producers for room, the first stage for
/// entries, the last for the second.
struct Stuck {
    second: Stage<u64>,
    threads: Threads,
}

struct Threads {
    stages: [JoinHandle<Result<u64, Closed>>; 2],
    /// They publish until they are refused, and say why.
    producers: [JoinHandle<Reason>; 2],
    handle: Handle,
}

impl Stuck {
    /// The threads' names are `prefix` and a number.
    fn new(prefix: &str) -> Self {
        let names = ["1", "2", "3", "4"].map(|n| format!("{prefix}{n}"));
        let [a, b, c, d] = names.each_ref().map(String::as_str);
        let mut graph = Graph::new(2, || 0);
        let [first, second, last] = ["first", "second", "last"].map(|name| graph.stage(name));
        let producer = graph.multi_producer();
        let handle = producer.handle();
        let publish_all = |mut producer: MultiProducer<u64>| {
            move || (0..).find_map(|n| producer.publish(|entry| *entry = n).err()).unwrap().reason().clone()
        };
        let stages = [spawn(a, move || first.run(|_| ())), spawn(b, move || last.run(|_| ()))];
        let producers = [spawn(c, publish_all(producer.clone())), spawn(d, publish_all(producer))];
        all_asleep(&[a, b, c, d]);
        eventually(|| handle.published() == 2);
        Self { second, threads: Threads { stages, producers, handle } }
    }
}

impl Threads {
    fn return_because_of(self, expected: &Reason) {
        self.stages.into_iter().for_each(|stage| assert_eq!(reason(stage.join().unwrap()), *expected));
        self.producers.into_iter().for_each(|producer| assert_eq!(producer.join().unwrap(), *expected));
        assert_eq!(self.handle.closed().unwrap().reason(), expected);
    }
}

#[test]
fn closing_lets_everybody_return() {
    let _watchdog = watchdog();
    let Stuck { second, threads } = Stuck::new("closing");
    threads.handle.close();
    threads.return_because_of(&Reason::Closed);
    assert_eq!(reason(second.run(|_| unreachable!())), Reason::Closed, "though two entries are ready");
}

#[test]
fn a_stage_that_is_dropped_closes_the_graph() {
    let _watchdog = watchdog();
    let Stuck { second, threads } = Stuck::new("dropping");
    drop(second);
    threads.return_because_of(&Reason::Dropped("second".into()));
}

/// The panic goes on in its thread, and everybody else hears of it; what comes later is not overwritten by another reason.
#[test]
fn a_panic_in_a_stage_closes_the_graph() {
    let _watchdog = watchdog();
    let Stuck { second, threads } = Stuck::new("panicking");
    let handle = threads.handle.clone();
    let unwound = catch_unwind(AssertUnwindSafe(|| second.run(|_| panic_any("on purpose"))));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"on purpose"));
    let panicked = Reason::Panicked("second".into());
    threads.return_because_of(&panicked);
    handle.close();
    assert_eq!(handle.closed().unwrap().reason(), &panicked, "the first reason counts");
}

#[test]
fn a_panic_in_a_reader_closes_the_graph() {
    let _watchdog = watchdog();
    let mut graph = Graph::new(4, || 0);
    let [fails, waits] = graph.readers(["fails", "waits"]);
    let after = graph.stage("after");
    let mut producer = graph.single_producer();
    let threads = [spawn("reader", move || waits.run(|_| ())), spawn("after", move || after.run(|_| ()))];
    producer.publish(|entry| *entry = 1).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| fails.run(|_| panic_any(0)))).is_err());
    for thread in threads {
        assert_eq!(reason(thread.join().unwrap()), Reason::Panicked("fails".into()));
    }
    assert!(producer.publish(|_| unreachable!()).is_err(), "though there is room");
}

#[test]
fn a_panic_in_a_producer_closes_the_graph() {
    let _watchdog = watchdog();
    for several in [false, true] {
        let mut graph = Graph::new(4, || 0);
        let stage = graph.stage("stage");
        let panics = |_: &mut u32| panic_any(0);
        let run = spawn("stage", move || stage.run(|_| ()));
        let unwound = if several {
            let mut producer = graph.multi_producer();
            let mut other = producer.clone();
            let unwound = catch_unwind(AssertUnwindSafe(|| producer.publish(panics)));
            // It drew the number before theirs, so they would wait for it forever.
            assert!(other.publish(|_| unreachable!()).is_err());
            unwound
        } else {
            let mut producer = graph.single_producer();
            catch_unwind(AssertUnwindSafe(|| producer.publish(panics)))
        };
        assert!(unwound.is_err());
        assert_eq!(reason(run.join().unwrap()), Reason::Panicked("producer".into()));
    }
}

/// Who is behind the one that panics has drawn its number, and waits for room.
#[test]
fn a_panic_frees_producers_behind_it() {
    let _watchdog = watchdog();
    let graph = Graph::new(1, || 0);
    let mut first = graph.multi_producer();
    let mut second = first.clone();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        _ = first.publish(|_| {
            let waiting = spawn("behind it", move || second.publish(|entry| *entry = 2));
            all_asleep(&["behind it"]);
            panic_any(waiting);
        });
    }));
    let waiting = unwound.unwrap_err().downcast::<JoinHandle<Result<(), Closed>>>().unwrap();
    assert_eq!(waiting.join().unwrap().unwrap_err().reason(), &Reason::Panicked("producer".into()));
}

/// Nothing is lost that was published: each stage works on all of it, also those that begin later.
#[test]
fn dropping_the_producers_finishes_the_graph() {
    let _watchdog = watchdog();
    let mut graph = Graph::new(8, || 0);
    let (first, second) = (graph.stage("first"), graph.stage("second"));
    let mut producer = graph.multi_producer();
    let mut last_one = producer.clone();
    let first = spawn("finishing", move || first.run(|entry| *entry += 1));
    producer.publish(|entry| *entry = 10).unwrap();
    drop(producer);
    all_asleep(&["finishing"]);
    last_one.publish(|entry| *entry = 20).unwrap();
    let handle = last_one.handle();
    drop(last_one);
    let mut seen = vec![];
    assert_eq!(second.run(|entry| seen.push(*entry)), Ok(2));
    assert_eq!((seen, first.join().unwrap()), (vec![11, 21], Ok(2)));
    assert_eq!(handle.closed(), None);
}

#[test]
fn a_graph_that_is_dropped_has_finished() {
    let _watchdog = watchdog();
    let mut graph = Graph::new(8, || 0);
    let stage = graph.stage("no producer");
    let run = spawn("no producer", move || stage.run(|_| ()));
    all_asleep(&["no producer"]);
    drop(graph);
    assert_eq!(run.join().unwrap(), Ok(0));
}

/// Wiring that panics leaves the readers it made where they are: what comes later still comes after them.
#[test]
fn a_section_that_panics_is_a_section() {
    let _watchdog = watchdog();
    let mut graph = Graph::new(2, || 0);
    let mut leaked = None;
    let wiring = catch_unwind(AssertUnwindSafe(|| {
        graph.parallel(|section| {
            leaked = Some(section.reader("leaked").0);
            panic_any(0);
        })
    }));
    assert!(wiring.is_err());
    let (mut reader, mut after) = (leaked.unwrap(), graph.stage("after"));
    let mut producer = graph.single_producer();
    producer.publish(|entry| *entry = 1).unwrap();
    assert_eq!(after.try_consume(1, |_| unreachable!()), Ok(Progress::Idle));
    _ = reader.try_consume(1, |batch| assert!(batch.eq([&1]))).unwrap();
    assert_eq!(after.try_consume(1, |_| ()), Ok(Progress::Worked(1)));
}
