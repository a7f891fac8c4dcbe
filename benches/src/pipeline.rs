//! Pipelines: one thread makes numbers and the next adds them up; or one between them changes them first.

use crate::contender::Aligned;
use disruptor::{BusySpin, Sequence};
use layby::eventcount::EventCount;
use layby::pipeline::{Graph, Producer};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Places between stages, for all.
const RING: usize = 1024;

/// How many numbers to pass, and the function that says how long it took.
pub type Passing = fn(u64) -> Duration;

/// What the last stage must have added up: the numbers below `n`, each of them changed by 1 if there is a stage that does.
fn check(sum: u64, n: u64, changes: u64) {
    assert_eq!(black_box(sum), n * n.saturating_sub(1) / 2 + changes * n);
}

/// As many batches as `n` numbers need.
fn batches<const BATCH: usize>(n: u64) -> u64 {
    n.div_ceil(BATCH as u64)
}

fn publish_all<const BATCH: usize>(mut producer: Producer<u64>, n: u64) {
    let mut next = 0;
    for _ in 0..batches::<BATCH>(n) {
        let fill = |entry: &mut u64| {
            *entry = next;
            next += 1;
        };
        let published = if BATCH == 1 {
            producer.publish(fill)
        } else {
            producer.publish_batch(BATCH, |batch| batch.for_each(fill))
        };
        published.expect("nobody closes it");
    }
}

/// `layby::pipeline`, a producer and one stage.
pub fn layby_two<const BATCH: usize>(n: u64) -> Duration {
    let mut graph = Graph::new(RING, || 0);
    let add = graph.stage("add");
    let producer = graph.single_producer();
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| publish_all::<BATCH>(producer, n));
        let mut sum = 0;
        let seen = add.run(|entry| sum += *entry).expect("nobody closes it");
        check(sum, seen, 0);
    });
    start.elapsed()
}

/// `layby::pipeline`, a producer and two stages.
pub fn layby_three<const BATCH: usize>(n: u64) -> Duration {
    let mut graph = Graph::new(RING, || 0);
    let (change, add) = (graph.stage("change"), graph.stage("add"));
    let producer = graph.single_producer();
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| publish_all::<BATCH>(producer, n));
        scope.spawn(|| change.run(|entry| *entry += 1).expect("as above"));
        let mut sum = 0;
        let seen = add.run(|entry| sum += *entry).expect("nobody closes it");
        check(sum, seen, 1);
    });
    start.elapsed()
}

/// An entry for the crate disruptor, whose stages share what they get.
#[derive(Default)]
struct Shared(AtomicU64);

/// The sum of a stage's numbers, as of the last batch.
fn adding(total: &Arc<AtomicU64>) -> impl FnMut(&Shared, Sequence, bool) + Send + 'static {
    let (total, mut sum) = (total.clone(), 0);
    move |entry: &Shared, _, end_of_batch| {
        sum += entry.0.load(Ordering::Relaxed);
        if end_of_batch {
            total.store(sum, Ordering::Relaxed);
        }
    }
}

/// Publishes all, and returns when all stages are done.
fn publish_to_disruptor<const BATCH: usize>(mut producer: impl disruptor::Producer<Shared>, n: u64) {
    let mut next = 0;
    for _ in 0..batches::<BATCH>(n) {
        let mut fill = |entry: &mut Shared| {
            *entry.0.get_mut() = next;
            next += 1;
        };
        if BATCH == 1 {
            producer.publish(fill);
        } else {
            producer.batch_publish(BATCH, |batch| batch.for_each(&mut fill));
        }
    }
}

/// The crate disruptor, which spins: a producer and one stage.
pub fn disruptor_two<const BATCH: usize>(n: u64) -> Duration {
    let total = Arc::default();
    let start = Instant::now();
    let stages = disruptor::build_single_producer(RING, Shared::default, BusySpin).handle_events_with(adding(&total));
    publish_to_disruptor::<BATCH>(stages.build(), n);
    check(total.load(Ordering::Relaxed), batches::<BATCH>(n) * BATCH as u64, 0);
    start.elapsed()
}

/// The crate disruptor, which spins: a producer and two stages.
pub fn disruptor_three<const BATCH: usize>(n: u64) -> Duration {
    let total = Arc::default();
    let change = |entry: &Shared, _, _| entry.0.store(entry.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let start = Instant::now();
    let first = disruptor::build_single_producer(RING, Shared::default, BusySpin).handle_events_with(change);
    let stages = first.and_then().handle_events_with(adding(&total));
    publish_to_disruptor::<BATCH>(stages.build(), n);
    check(total.load(Ordering::Relaxed), batches::<BATCH>(n) * BATCH as u64, 1);
    start.elapsed()
}

/// What a channel is made of, for numbers in batches: how to send one, and what comes out.
type Ends<S, R> = (S, R);

/// Numbers through one channel.
fn two_threads<const BATCH: usize>(
    n: u64,
    (send, received): Ends<impl FnMut([u64; BATCH]) -> bool + Send, impl Iterator<Item = [u64; BATCH]>>,
) -> Duration {
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || make(n, send));
        check(received.flatten().sum(), batches::<BATCH>(n) * BATCH as u64, 0);
    });
    start.elapsed()
}

/// Numbers through two channels, and changed between them.
fn three_threads<const BATCH: usize>(
    n: u64,
    (send, received): Ends<impl FnMut([u64; BATCH]) -> bool + Send, impl Iterator<Item = [u64; BATCH]> + Send>,
    (pass_on, passed_on): Ends<impl FnMut([u64; BATCH]) -> bool + Send, impl Iterator<Item = [u64; BATCH]>>,
) -> Duration {
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || make(n, send));
        scope.spawn(move || assert!(received.map(|batch| batch.map(|number| number + 1)).all(pass_on)));
        check(passed_on.flatten().sum(), batches::<BATCH>(n) * BATCH as u64, 1);
    });
    start.elapsed()
}

fn make<const BATCH: usize>(n: u64, send: impl FnMut([u64; BATCH]) -> bool) {
    let batch = |nth: u64| std::array::from_fn(|i| nth * BATCH as u64 + i as u64);
    assert!((0..batches::<BATCH>(n)).map(batch).all(send));
}

/// The two functions for a bounded channel whose messages are batches.
macro_rules! channel {
    ($(#[$meta:meta])* $two:ident, $three:ident: $ends:ident) => {
        $(#[$meta])*
        pub fn $two<const BATCH: usize>(n: u64) -> Duration {
            two_threads::<BATCH>(n, $ends())
        }

        $(#[$meta])*
        pub fn $three<const BATCH: usize>(n: u64) -> Duration {
            three_threads::<BATCH>(n, $ends(), $ends())
        }
    };
}

fn crossbeam_ends<const BATCH: usize>()
-> Ends<impl FnMut([u64; BATCH]) -> bool + Send, impl Iterator<Item = [u64; BATCH]> + Send> {
    let (sender, receiver) = crossbeam_channel::bounded(RING / BATCH);
    (move |batch| sender.send(batch).is_ok(), receiver.into_iter())
}

fn std_ends<const BATCH: usize>()
-> Ends<impl FnMut([u64; BATCH]) -> bool + Send, impl Iterator<Item = [u64; BATCH]> + Send> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(RING / BATCH);
    (move |batch| sender.send(batch).is_ok(), receiver.into_iter())
}

fn flume_ends<const BATCH: usize>()
-> Ends<impl FnMut([u64; BATCH]) -> bool + Send, impl Iterator<Item = [u64; BATCH]> + Send> {
    let (sender, receiver) = flume::bounded(RING / BATCH);
    (move |batch| sender.send(batch).is_ok(), receiver.into_iter())
}

fn kanal_ends<const BATCH: usize>()
-> Ends<impl FnMut([u64; BATCH]) -> bool + Send, impl Iterator<Item = [u64; BATCH]> + Send> {
    let (sender, receiver) = kanal::bounded(RING / BATCH);
    (move |batch| sender.send(batch).is_ok(), std::iter::from_fn(move || receiver.recv().ok()))
}

/// Has no way to wait: both sides yield between looks.
fn rtrb_ends<const BATCH: usize>()
-> Ends<impl FnMut([u64; BATCH]) -> bool + Send, impl Iterator<Item = [u64; BATCH]> + Send> {
    let (mut sender, mut receiver) = rtrb::RingBuffer::new(RING / BATCH);
    let send = move |batch| {
        while sender.push(batch).is_err() {
            thread::yield_now();
        }
        true
    };
    let receive = move || loop {
        match receiver.pop() {
            Ok(batch) => return Some(batch),
            // Asked before the last look, so that nothing is left behind.
            Err(_) if receiver.is_abandoned() && receiver.is_empty() => return None,
            Err(_) => thread::yield_now(),
        }
    };
    (send, std::iter::from_fn(receive))
}

channel!(crossbeam_two, crossbeam_three: crossbeam_ends);
channel!(std_mpsc_two, std_mpsc_three: std_ends);
channel!(flume_two, flume_three: flume_ends);
channel!(kanal_two, kanal_three: kanal_ends);
channel!(rtrb_two, rtrb_three: rtrb_ends);

/// The same by hand: three EventCounts, each on a cache line of its own, that say how many places a stage has done. A stage
/// looks at the one before it once, then does all that are ready, and tells of `BATCH` at a time.
pub fn eventcounts_three<const BATCH: usize>(n: u64) -> Duration {
    let places = batches::<BATCH>(n) * BATCH as u64;
    let ring: Vec<AtomicU64> = (0..RING).map(|_| AtomicU64::new(0)).collect();
    let place = |index: u64| &ring[index as usize % RING];
    let stages: [Aligned<EventCount>; 3] = Default::default();
    let [made, changed, added] = &stages;
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            let free = |next: u64| reached(&added.0, next.saturating_sub(RING as u64)) + RING as u64;
            stage::<BATCH>(places, free, &made.0, |index| place(index).store(index, Ordering::Relaxed));
        });
        scope.spawn(|| {
            let step = |index| place(index).store(place(index).load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            stage::<BATCH>(places, |next| reached(&made.0, next), &changed.0, step);
        });
        let mut sum = 0;
        let add = |index| sum += place(index).load(Ordering::Relaxed);
        stage::<BATCH>(places, |next| reached(&changed.0, next), &added.0, add);
        check(sum, places, 1);
    });
    start.elapsed()
}

/// The count, when it has reached `value`.
fn reached(count: &EventCount, value: u64) -> u64 {
    count.wait_at_least(value).expect("nobody closes it")
}

/// Does every place as soon as `ready` says so, and tells of each batch.
fn stage<const BATCH: usize>(places: u64, ready: impl Fn(u64) -> u64, own: &EventCount, mut work: impl FnMut(u64)) {
    let mut done = 0;
    while done < places {
        let until = ready(done + BATCH as u64).min(places);
        while done < until {
            (done..done + BATCH as u64).for_each(&mut work);
            done = own.advance_by(BATCH as u64);
        }
    }
}

/// A producer and one stage: every peer, by name.
pub fn peers_of_two<const BATCH: usize>() -> [(&'static str, Passing); 6] {
    [
        ("disruptor (BusySpin)", disruptor_two::<BATCH>),
        ("crossbeam-channel", crossbeam_two::<BATCH>),
        ("std mpsc", std_mpsc_two::<BATCH>),
        ("kanal", kanal_two::<BATCH>),
        ("flume", flume_two::<BATCH>),
        ("rtrb, yielding", rtrb_two::<BATCH>),
    ]
}

/// A producer and two stages: every peer, by name.
pub fn peers_of_three<const BATCH: usize>() -> [(&'static str, Passing); 7] {
    [
        ("disruptor (BusySpin)", disruptor_three::<BATCH>),
        ("crossbeam-channel", crossbeam_three::<BATCH>),
        ("std mpsc", std_mpsc_three::<BATCH>),
        ("kanal", kanal_three::<BATCH>),
        ("flume", flume_three::<BATCH>),
        ("rtrb, yielding", rtrb_three::<BATCH>),
        ("EventCounts by hand", eventcounts_three::<BATCH>),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pipeline_passes_all() {
        let ours: [Passing; 4] = [layby_two::<1>, layby_two::<16>, layby_three::<1>, layby_three::<16>];
        let two = [peers_of_two::<1>(), peers_of_two::<16>()].into_iter().flatten();
        let three = [peers_of_three::<1>(), peers_of_three::<16>()].into_iter().flatten();
        for (_, pass) in ours.map(|pass| ("ours", pass)).into_iter().chain(two).chain(three) {
            for n in [1, 1023, 2000] {
                pass(n);
            }
        }
    }
}
