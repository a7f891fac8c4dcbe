//! What is done n times and timed, by the bars and by the criterion benches alike.

use crate::contender::{Aligned, Exclusion, PostTake};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// `operation`, n times, in CPU time of this thread: for what no other thread takes part in, so that a busy
/// machine does not matter.
#[inline]
pub fn repeat_alone(n: u64, mut operation: impl FnMut()) -> Duration {
    let start = crate::os::thread_cpu_time();
    for _ in 0..n {
        operation();
    }
    crate::os::thread_cpu_time() - start
}

/// `operation`, n times, in wall-clock time.
#[inline]
pub fn repeat(n: u64, mut operation: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..n {
        operation();
    }
    start.elapsed()
}

/// Two bare fetch_adds on two words of one line: what an uncontended take and post cannot be below.
pub fn two_fetch_adds(n: u64) -> Duration {
    let words = Aligned([AtomicU64::new(0), AtomicU64::new(0)]);
    let words = black_box(&words);
    repeat_alone(n, || {
        black_box(words.0[0].fetch_add(1, Ordering::SeqCst));
        black_box(words.0[1].fetch_add(1, Ordering::SeqCst));
    })
}

/// Take and post with nobody else there.
pub fn uncontended<S: PostTake>(n: u64) -> Duration {
    let semaphore = Aligned(S::with_permits(1));
    let semaphore = black_box(&semaphore);
    repeat_alone(n, || {
        semaphore.0.take();
        semaphore.0.post();
    })
}

/// The same of what has no permits, a mutex.
pub fn uncontended_exclusion<E: Exclusion>(n: u64) -> Duration {
    let exclusion = Aligned(E::with_permits(1));
    let exclusion = black_box(&exclusion);
    repeat_alone(n, || exclusion.0.exclusively(|| ()))
}

/// n round trips between two threads over two semaphores; each is two hand-overs.
pub fn ping_pong<S: PostTake>(n: u64) -> Duration {
    let (ping, pong) = (Aligned(S::with_permits(0)), Aligned(S::with_permits(0)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..=n {
                ping.0.take();
                pong.0.post();
            }
        });
        let round_trip = || {
            ping.0.post();
            pong.0.take();
        };
        // Once before the clock starts, so that the other thread is there.
        round_trip();
        repeat(n, round_trip)
    })
}

/// n laps of a token around a ring of `threads` threads, each waiting on a semaphore of its own.
pub fn hand_over_chain<S: PostTake>(threads: usize, n: u64) -> Duration {
    let ring: Vec<_> = (0..threads).map(|_| Aligned(S::with_permits(0))).collect();
    std::thread::scope(|scope| {
        for index in 1..threads {
            let ring = &ring;
            scope.spawn(move || {
                for _ in 0..=n {
                    ring[index].0.take();
                    ring[(index + 1) % threads].0.post();
                }
            });
        }
        let lap = || {
            ring[1 % threads].0.post();
            ring[0].0.take();
        };
        lap();
        repeat(n, lap)
    })
}
