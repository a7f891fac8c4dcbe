//! Three stages: one thread makes numbers, the next changes them, the last adds them up.

use crate::contender::Aligned;
use layby::eventcount::EventCount;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Places between stages, for all.
const RING: u64 = 1024;

/// Stages over one ring: each stage's EventCount says how many places it has done. A stage looks at the one before it
/// once, then does all that are ready.
pub fn eventcounts(n: u64) -> Duration {
    let ring: Vec<AtomicU64> = (0..RING).map(|_| AtomicU64::new(0)).collect();
    let place = |index: u64| &ring[(index % RING) as usize];
    let stages: [Aligned<EventCount>; 3] = Default::default();
    let [made, changed, added] = &stages;
    // Does every place of n as soon as `ready` says so, and tells of each.
    let stage = |ready: &dyn Fn(u64) -> u64, own: &EventCount, work: &mut dyn FnMut(u64)| {
        let mut done = 0;
        while done < n {
            let until = ready(done + 1).min(n);
            while done < until {
                work(done);
                done += 1;
                own.advance();
            }
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let free = |next: u64| added.0.await_at_least(next.saturating_sub(RING)) + RING;
            stage(&free, &made.0, &mut |index| place(index).store(index, Ordering::Relaxed));
        });
        scope.spawn(|| {
            let step = |index| place(index).store(place(index).load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            stage(&|next| made.0.await_at_least(next), &changed.0, &mut { step });
        });
        let mut sum = 0;
        let mut add = |index| sum += place(index).load(Ordering::Relaxed);
        stage(&|next| changed.0.await_at_least(next), &added.0, &mut add);
        check(sum, n);
    });
    start.elapsed()
}

pub fn crossbeam(n: u64) -> Duration {
    let ((made, to_change), (changed, to_add)) =
        (crossbeam_channel::bounded(RING as usize), crossbeam_channel::bounded(RING as usize));
    through_channels(n, |i| made.send(i).is_ok(), to_change.iter(), |i| changed.send(i).is_ok(), to_add.iter())
}

pub fn std_mpsc(n: u64) -> Duration {
    let ((made, to_change), (changed, to_add)) =
        (std::sync::mpsc::sync_channel(RING as usize), std::sync::mpsc::sync_channel(RING as usize));
    through_channels(n, |i| made.send(i).is_ok(), to_change.into_iter(), |i| changed.send(i).is_ok(), to_add.iter())
}

/// The same stages over two bounded channels.
fn through_channels(
    n: u64,
    make: impl Fn(u64) -> bool + Send,
    to_change: impl Iterator<Item = u64> + Send,
    change: impl Fn(u64) -> bool + Send,
    to_add: impl Iterator<Item = u64>,
) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || assert!((0..n).all(make)));
        scope.spawn(move || assert!(to_change.take(n as usize).all(|i| change(i + 1))));
        check(to_add.take(n as usize).sum(), n);
    });
    start.elapsed()
}

/// Every number has come through every stage.
fn check(sum: u64, n: u64) {
    assert_eq!(black_box(sum), n * (n + 1) / 2);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pipeline_passes_all() {
        for pipeline in [super::eventcounts, super::crossbeam, super::std_mpsc] {
            for n in [1, 1023, 5000] {
                pipeline(n);
            }
        }
    }
}
