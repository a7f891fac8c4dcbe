//! Random graphs against a reference: chains of stages and sections, one or several producers, rings and batches of any size, and
//! stages that poll, wait or wait for a time, in threads and in futures, which are dropped now and then, or give back what they
//! were given. In some rounds the graph is closed in the middle, or a stage's closure panics.
//!
//! A few seconds by default; `LAYBY_SOAK_SECONDS` says how many for a long run, `LAYBY_SEED` repeats a failed one.

use crate::common::task::{block_on, poll_once};
use crate::common::{Random, number_from_environment, scaled, soak_duration, watchdog};
use layby::pipeline::{
    Access, Batch, Closed, Graph, MultiProducer, Progress, Reader, Reason, Refused, Stage, WaitStrategy,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

/// Which producer made it, which of theirs it is, and what the stages made of it: what `reference` says.
type Item = (usize, u64, u64);

/// What a sole stage does; readers look that it was done by all before them, and by nobody else.
fn step(value: u64, stage: u64) -> u64 {
    value.wrapping_mul(31).wrapping_add(stage)
}

fn reference((producer, number, _): &Item, stages: u64) -> u64 {
    (0..stages).fold(*number * 100 + *producer as u64, step)
}

/// Does a stage's work in batches of random size, in one of the forms, until the graph has finished; returns what it saw.
fn work<A: Access>(
    mut stage: Stage<Item, A>,
    mut random: Random,
    mut on_batch: impl FnMut(Batch<'_, Item, A>),
) -> Result<u64, Closed> {
    loop {
        let (most, soon) = (random.below(20) + 1, Duration::from_micros(random.below(200) as u64));
        let progress = match random.below(8) {
            0 => stage.try_consume(most, &mut on_batch)?,
            1 => stage.consume_timeout(most, soon, &mut on_batch)?,
            2 => stage.consume_deadline(most, Instant::now() + soon, &mut on_batch)?,
            3 => match poll_once(pin!(stage.consume_async(most, &mut on_batch))) {
                Poll::Ready(outcome) => outcome?,
                Poll::Pending => Progress::Idle,
            },
            4 => block_on(stage.consume_async(most, &mut on_batch))?,
            5 => match stage.next(most)? {
                Some(_not_passed_on) => Progress::Idle,
                None => Progress::Finished,
            },
            _ => stage.consume(most, &mut on_batch)?,
        };
        match progress {
            Progress::Finished => return Ok(stage.position()),
            Progress::Worked(n) => assert!((1..=most).contains(&n)),
            Progress::Idle => thread::yield_now(),
        }
    }
}

/// Each producer's items come in order and without a gap.
struct Seen {
    next: Vec<u64>,
    stages: u64,
}

impl Seen {
    fn check(&mut self, item: &Item) {
        assert_eq!(item.1, self.next[item.0], "in order");
        assert_eq!(item.2, reference(item, self.stages), "by every stage before, and none after");
        self.next[item.0] += 1;
    }
}

fn publish(
    mut producer: MultiProducer<Item>,
    nth: usize,
    items: u64,
    capacity: usize,
    mut random: Random,
) -> Result<u64, Closed> {
    let mut published = 0;
    while published < items {
        let n = (random.below(capacity.min(20)) + 1).min((items - published) as usize);
        let fill = |batch: Batch<'_, Item>| {
            for (number, entry) in (published..).zip(batch) {
                *entry = (nth, number, 0);
                entry.2 = reference(entry, 0);
            }
        };
        let soon = Duration::from_micros(random.below(200) as u64);
        let outcome = match random.below(5) {
            0 => producer.try_publish_batch(n, fill),
            1 => producer.publish_batch_deadline(n, Instant::now() + soon, fill),
            2 => match poll_once(pin!(producer.publish_batch_async(n, fill))) {
                Poll::Ready(outcome) => outcome.map_err(Refused::Closed),
                Poll::Pending => Err(Refused::Full),
            },
            3 => block_on(producer.publish_batch_async(n, fill)).map_err(Refused::Closed),
            _ => producer.publish_batch(n, fill).map_err(Refused::Closed),
        };
        match outcome {
            Ok(()) => published += n as u64,
            Err(Refused::Full) => thread::yield_now(),
            Err(Refused::Closed(closed)) => return Err(closed),
        }
    }
    Ok(published)
}

/// Panics at one of its steps, if it is to.
struct Fuse(Option<u64>);

impl Fuse {
    fn step(&mut self) {
        match &mut self.0 {
            Some(0) => resume_unwind(Box::new(())),
            Some(left) => *left -= 1,
            None => {}
        }
    }
}

/// What `work` returned, or nothing if it panicked.
fn caught(work: impl FnOnce() -> Result<u64, Closed>) -> Result<u64, Option<Closed>> {
    catch_unwind(AssertUnwindSafe(work)).map_or(Err(None), |ended| ended.map_err(Some))
}

fn round(seed: usize) {
    let mut random = Random::of(&[seed]);
    let capacity = 1 << random.below(6);
    let strategy = random.choose(&[WaitStrategy::SpinThenSleep, WaitStrategy::Sleep]);
    let producers = random.below(3) + 1;
    let items = scaled(600) as u64;
    let (closes, panics) = (random.one_in(3), random.one_in(4));
    let mut graph = Graph::with_strategy(capacity, strategy, || (0, 0, 0));
    let mut soles: Vec<(Stage<Item>, u64)> = vec![];
    let mut readers: Vec<(Reader<Item>, u64)> = vec![];
    for _ in 0..=random.below(3) {
        let stages = soles.len() as u64;
        if random.one_in(2) {
            soles.push((graph.stage("sole"), stages));
        } else {
            graph.parallel(|section| {
                let mut made = vec![];
                for _ in 0..=random.below(3) {
                    let after = made.clone().into_iter().filter(|_| random.one_in(3));
                    let (reader, token) = section.reader_after(after.collect::<Vec<_>>(), "reader");
                    made.push(token);
                    readers.push((reader, stages));
                }
            });
        }
    }
    let producer = graph.multi_producer();
    let handle = producer.handle();
    let (victim, last_step) = (random.below(soles.len() + readers.len()), random.below(items as usize) as u64);
    let mut fuses = (0..).map(|nth| Fuse((panics && nth == victim).then_some(last_step)));
    thread::scope(|s| {
        let mut threads = vec![];
        let mut seeds = (1..).map(|nth| Random::of(&[seed, nth]));
        for (stage, stages) in soles {
            let (random, mut seen) = (seeds.next().unwrap(), Seen { next: vec![0; producers], stages });
            let mut fuse = fuses.next().unwrap();
            let mut one = move |item: &mut Item| {
                fuse.step();
                seen.check(item);
                item.2 = step(item.2, stages);
            };
            threads.push(s.spawn(move || caught(|| work(stage, random, |batch| batch.for_each(&mut one)))));
        }
        for (reader, stages) in readers {
            let (random, mut seen) = (seeds.next().unwrap(), Seen { next: vec![0; producers], stages });
            let mut fuse = fuses.next().unwrap();
            let mut one = move |item: &Item| {
                fuse.step();
                seen.check(item);
            };
            threads.push(s.spawn(move || caught(|| work(reader, random, |batch| batch.for_each(&mut one)))));
        }
        let publishing: Vec<_> = (0..producers)
            .map(|nth| {
                let (producer, random) = (producer.clone(), seeds.next().unwrap());
                s.spawn(move || publish(producer, nth, items, capacity, random))
            })
            .collect();
        drop(producer);
        if closes {
            (0..random.below(50)).for_each(|_| thread::yield_now());
            handle.close();
        }
        let published: Vec<_> = publishing.into_iter().map(|thread| thread.join().unwrap()).collect();
        let worked: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let panicked = worked.iter().filter(|worked| **worked == Err(None)).count();
        if !closes {
            assert_eq!(panicked, usize::from(panics));
            let of_a_panic = |closed: &Closed| panics && matches!(closed.reason(), Reason::Panicked(_));
            let is_told = |closed: &Option<Closed>| closed.as_ref().is_none_or(of_a_panic);
            let all = items * producers as u64;
            assert!(published.iter().all(|ended| ended.as_ref().map_or_else(of_a_panic, |n| *n == items)));
            assert!(worked.iter().all(|ended| ended.as_ref().map_or_else(is_told, |n| *n == all)));
            assert_eq!(handle.closed().is_some(), panics);
        }
    });
}

#[test]
fn random_graphs_do_as_the_reference_does() {
    struct Seed(usize);
    impl Drop for Seed {
        fn drop(&mut self) {
            if thread::panicking() {
                eprintln!("failed with LAYBY_SEED={}", self.0);
            }
        }
    }

    let start = Instant::now();
    let mut seed = number_from_environment("LAYBY_SEED").unwrap_or_else(|| std::process::id() as usize * 100_000);
    while start.elapsed() < soak_duration() {
        let (_watchdog, _seed) = (watchdog(), Seed(seed));
        round(seed);
        seed += 1;
    }
}
