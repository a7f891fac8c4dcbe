//! Pipelines of other shapes than a chain: three producers, a diamond; and how long an entry takes at a fixed rate.

use crate::os::process_usage;
use crate::pipeline::Passing;
use disruptor::{BusySpin, Producer as _, Sequence};
use hdrhistogram::Histogram;
use layby::pipeline::{Graph, WaitStrategy};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const RING: usize = 1024;
const PRODUCERS: u64 = 3;

/// Three producers that are `send`ing, by clones of `sender`, to one that adds up.
fn from_three<S: Clone + Send>(n: u64, sender: S, send: fn(&mut S, u64), received: impl FnOnce() -> u64) -> Duration {
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..PRODUCERS {
            let mut sender = sender.clone();
            scope.spawn(move || (0..n / PRODUCERS).for_each(|number| send(&mut sender, number)));
        }
        drop(sender);
        let each = n / PRODUCERS;
        assert_eq!(received(), PRODUCERS * (each * each.saturating_sub(1) / 2));
    });
    start.elapsed()
}

pub fn layby_producers(n: u64) -> Duration {
    let mut graph = Graph::new(RING, || 0);
    let add = graph.stage("add");
    let send = |producer: &mut layby::pipeline::MultiProducer<u64>, number| {
        producer.publish(|entry| *entry = number).expect("nobody closes it");
    };
    from_three(n, graph.multi_producer(), send, || {
        let mut sum = 0;
        add.run(|entry| sum += *entry).expect("nobody closes it");
        sum
    })
}

/// An entry for the crate disruptor, whose stages share what they get.
#[derive(Default)]
struct Shared(AtomicU64);

pub fn disruptor_producers(n: u64) -> Duration {
    let total = Arc::new(AtomicU64::new(0));
    let (sum, start) = (total.clone(), Instant::now());
    let add = move |entry: &Shared, _: Sequence, _: bool| {
        sum.store(sum.load(Ordering::Relaxed) + entry.0.load(Ordering::Relaxed), Ordering::Relaxed);
    };
    let producer = disruptor::build_multi_producer(RING, Shared::default, BusySpin).handle_events_with(add).build();
    thread::scope(|scope| {
        for _ in 0..PRODUCERS {
            let mut producer = producer.clone();
            scope.spawn(move || (0..n / PRODUCERS).for_each(|number| producer.publish(|e| *e.0.get_mut() = number)));
        }
    });
    drop(producer); // Returns when the stage is done.
    black_box(total.load(Ordering::Relaxed));
    start.elapsed()
}

pub fn crossbeam_producers(n: u64) -> Duration {
    let (sender, receiver) = crossbeam_channel::bounded(RING);
    from_three(
        n,
        sender,
        |sender, number| sender.send(number).expect("it is there"),
        move || receiver.into_iter().sum(),
    )
}

pub fn std_producers(n: u64) -> Duration {
    let (sender, receiver) = std::sync::mpsc::sync_channel(RING);
    from_three(
        n,
        sender,
        |sender, number| sender.send(number).expect("it is there"),
        move || receiver.into_iter().sum(),
    )
}

pub fn kanal_producers(n: u64) -> Duration {
    let (sender, receiver) = kanal::bounded(RING);
    let all = move || std::iter::from_fn(|| receiver.recv().ok()).sum();
    from_three(n, sender, |sender, number| sender.send(number).expect("it is there"), all)
}

pub fn flume_producers(n: u64) -> Duration {
    let (sender, receiver) = flume::bounded(RING);
    from_three(
        n,
        sender,
        |sender, number| sender.send(number).expect("it is there"),
        move || receiver.into_iter().sum(),
    )
}

/// Change, then add and multiply at the same time, then count.
pub fn layby_diamond(n: u64) -> Duration {
    let mut graph = Graph::new(RING, || 0_u64);
    let change = graph.stage("change");
    let [add, multiply] = graph.readers(["add", "multiply"]);
    let count = graph.stage("count");
    let mut producer = graph.single_producer();
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || (0..n).for_each(|i| producer.publish(|entry| *entry = i).expect("nobody closes it")));
        scope.spawn(|| change.run(|entry| *entry += 1).expect("as above"));
        let mut sum = 0_u64;
        scope.spawn(move || add.run(|entry| sum += black_box(*entry)).expect("as above"));
        let mut product = 1_u64;
        scope.spawn(move || multiply.run(|entry| product = product.wrapping_mul(black_box(*entry))).expect("as above"));
        assert_eq!(count.run(|entry| _ = black_box(entry)), Ok(n));
    });
    start.elapsed()
}

pub fn disruptor_diamond(n: u64) -> Duration {
    let start = Instant::now();
    let change = |e: &Shared, _: Sequence, _: bool| e.0.store(e.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let look = |e: &Shared, _: Sequence, _: bool| _ = black_box(e.0.load(Ordering::Relaxed));
    let mut producer = disruptor::build_single_producer(RING, Shared::default, BusySpin)
        .handle_events_with(change)
        .and_then()
        .handle_events_with(look)
        .handle_events_with(look)
        .and_then()
        .handle_events_with(look)
        .build();
    (0..n).for_each(|number| producer.publish(|e| *e.0.get_mut() = number));
    drop(producer);
    start.elapsed()
}

/// Five channels, one for each arrow.
pub fn crossbeam_diamond(n: u64) -> Duration {
    let [made, left, right, added, multiplied] = std::array::from_fn(|_| crossbeam_channel::bounded::<u64>(RING));
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || (0..n).for_each(|number| made.0.send(number).expect("it is there")));
        scope.spawn(move || {
            for number in made.1 {
                left.0.send(number + 1).expect("it is there");
                right.0.send(number + 1).expect("it is there");
            }
        });
        for (input, output) in [(left.1, added.0), (right.1, multiplied.0)] {
            scope.spawn(move || input.into_iter().for_each(|n| output.send(black_box(n)).expect("it is there")));
        }
        assert_eq!(added.1.into_iter().zip(multiplied.1).count() as u64, n);
    });
    start.elapsed()
}

/// Three producers and one stage: every peer that has several, by name.
pub fn peers_of_producers() -> [(&'static str, Passing); 5] {
    [
        ("disruptor (BusySpin)", disruptor_producers),
        ("crossbeam-channel", crossbeam_producers),
        ("std mpsc", std_producers),
        ("kanal", kanal_producers),
        ("flume", flume_producers),
    ]
}

/// A diamond: every peer, by name.
pub fn peers_of_diamond() -> [(&'static str, Passing); 2] {
    [("disruptor (BusySpin)", disruptor_diamond), ("crossbeam-channel", crossbeam_diamond)]
}

/// Waits, awake, until it is time for each of `n` entries, and has it sent.
fn pace(n: u64, every: Duration, mut send: impl FnMut(Instant)) {
    let start = Instant::now();
    for number in 0..n as u32 {
        let due = start + every * number;
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        send(due);
    }
}

/// Nanoseconds from when an entry was due until the stage had it.
pub type Latencies = Histogram<u64>;

fn record(histogram: &mut Latencies, due: Instant) {
    histogram.record(due.elapsed().as_nanos() as u64).expect("it grows");
}

fn latencies() -> Latencies {
    Histogram::new(3).expect("three digits")
}

pub fn layby_latency(n: u64, every: Duration, strategy: WaitStrategy) -> Latencies {
    let mut graph = Graph::with_strategy(RING, strategy, Instant::now);
    let stage = graph.stage("stage");
    let mut producer = graph.single_producer();
    let mut seen = latencies();
    thread::scope(|scope| {
        scope.spawn(move || pace(n, every, |due| producer.publish(|entry| *entry = due).expect("nobody closes it")));
        stage.run(|due| record(&mut seen, *due)).expect("nobody closes it");
    });
    seen
}

pub fn disruptor_latency(n: u64, every: Duration) -> Latencies {
    let seen = Arc::new(Mutex::new(latencies()));
    let to = seen.clone();
    let handler = move |due: &Instant, _: Sequence, _: bool| record(&mut to.lock().expect("nobody else has it"), *due);
    let mut producer =
        disruptor::build_single_producer(RING, Instant::now, BusySpin).handle_events_with(handler).build();
    pace(n, every, |due| producer.publish(|entry| *entry = due));
    drop(producer);
    seen.lock().expect("the stage is done").clone()
}

pub fn crossbeam_latency(n: u64, every: Duration) -> Latencies {
    let (sender, receiver) = crossbeam_channel::bounded(RING);
    let mut seen = latencies();
    thread::scope(|scope| {
        scope.spawn(move || pace(n, every, |due| sender.send(due).expect("it is there")));
        receiver.into_iter().for_each(|due| record(&mut seen, due));
    });
    seen
}

/// The CPU time of a graph of three stages, all of which wait for `how_long`.
pub fn idle(how_long: Duration) -> Duration {
    let mut graph = Graph::new(RING, || 0);
    let stages = ["first", "second", "third"].map(|name| graph.stage(name));
    let producer = graph.single_producer();
    thread::scope(|scope| {
        stages.into_iter().for_each(|stage| _ = scope.spawn(|| stage.run(|_: &mut i32| ())));
        thread::sleep(Duration::from_millis(100));
        let before = process_usage();
        thread::sleep(how_long);
        let used = process_usage().since(before);
        drop(producer);
        used.cpu
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_passes_all() {
        for (_, pass) in peers_of_producers().into_iter().chain(peers_of_diamond()) {
            pass(3000);
        }
        layby_producers(3000);
        layby_diamond(3000);
        let every = Duration::from_micros(10);
        assert_eq!(layby_latency(100, every, WaitStrategy::default()).len(), 100);
        assert_eq!(disruptor_latency(100, every).len(), 100);
        assert_eq!(crossbeam_latency(100, every).len(), 100);
    }
}
