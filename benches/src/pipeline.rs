//! Three stages: one thread makes numbers, the next changes them, the last adds them up.

use crate::contender::Aligned;
use layby::eventcount::EventCount;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Places between stages, for all.
const RING: u64 = 1024;

/// Stages over one ring: each stage's EventCount says how many places it has done. A stage looks at the one before it
/// once, then does all that are ready, and tells of `BATCH` at a time.
pub fn eventcounts<const BATCH: usize>(n: u64) -> Duration {
    let n = n.next_multiple_of(BATCH as u64);
    let plan = Plan { places: n, batch: BATCH as u64 };
    let ring: Vec<AtomicU64> = (0..RING).map(|_| AtomicU64::new(0)).collect();
    let place = |index: u64| &ring[(index % RING) as usize];
    let stages: [Aligned<EventCount>; 3] = Default::default();
    let [made, changed, added] = &stages;
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let free = |next: u64| added.0.wait_at_least(next.saturating_sub(RING)) + RING;
            stage(plan, free, &made.0, |index| place(index).store(index, Ordering::Relaxed));
        });
        scope.spawn(|| {
            let step = |index| place(index).store(place(index).load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            stage(plan, |next| made.0.wait_at_least(next), &changed.0, step);
        });
        let mut sum = 0;
        let add = |index| sum += place(index).load(Ordering::Relaxed);
        stage(plan, |next| changed.0.wait_at_least(next), &added.0, add);
        check(sum, n);
    });
    start.elapsed()
}

/// How many places there are to do, and how many a stage does between two advances.
#[derive(Clone, Copy)]
struct Plan {
    places: u64,
    batch: u64,
}

/// Does every place as soon as `ready` says so, and tells of each batch.
fn stage(plan: Plan, ready: impl Fn(u64) -> u64, own: &EventCount, mut work: impl FnMut(u64)) {
    let mut done = 0;
    while done < plan.places {
        let until = ready(done + plan.batch).min(plan.places);
        while done < until {
            (done..done + plan.batch).for_each(&mut work);
            done = own.advance_by(plan.batch);
        }
    }
}

pub fn crossbeam<const BATCH: usize>(n: u64) -> Duration {
    let channel = || crossbeam_channel::bounded::<[u64; BATCH]>(RING as usize / BATCH);
    let ((made, to_change), (changed, to_add)) = (channel(), channel());
    through_channels(n, |i| made.send(i).is_ok(), to_change.iter(), |i| changed.send(i).is_ok(), to_add.iter())
}

pub fn std_mpsc<const BATCH: usize>(n: u64) -> Duration {
    let channel = || std::sync::mpsc::sync_channel::<[u64; BATCH]>(RING as usize / BATCH);
    let ((made, to_change), (changed, to_add)) = (channel(), channel());
    through_channels(n, |i| made.send(i).is_ok(), to_change.into_iter(), |i| changed.send(i).is_ok(), to_add.iter())
}

/// The same stages over two bounded channels, whose messages are batches.
fn through_channels<const BATCH: usize>(
    n: u64,
    make: impl Fn([u64; BATCH]) -> bool + Send,
    to_change: impl Iterator<Item = [u64; BATCH]> + Send,
    change: impl Fn([u64; BATCH]) -> bool + Send,
    to_add: impl Iterator<Item = [u64; BATCH]>,
) -> Duration {
    let batch = BATCH as u64;
    let batches = n.div_ceil(batch);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let numbers = move |of: u64| std::array::from_fn(|i| of * batch + i as u64);
        scope.spawn(move || assert!((0..batches).all(|of| make(numbers(of)))));
        scope.spawn(move || assert!(to_change.take(batches as usize).all(|batch| change(batch.map(|i| i + 1)))));
        check(to_add.take(batches as usize).flatten().sum(), batches * batch);
    });
    start.elapsed()
}

/// Every number has come through every stage.
fn check(sum: u64, n: u64) {
    assert_eq!(black_box(sum), n * (n + 1) / 2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pipeline_passes_all() {
        let pipelines: [fn(u64) -> Duration; 6] =
            [eventcounts::<1>, crossbeam::<1>, std_mpsc::<1>, eventcounts::<16>, crossbeam::<16>, std_mpsc::<16>];
        for pipeline in pipelines {
            for n in [1, 1023, 5000] {
                pipeline(n);
            }
        }
    }
}
