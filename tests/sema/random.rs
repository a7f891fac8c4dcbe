//! Promises 6 and 7 (README), at random: takes of one and of many, with and without time, and posts of one and of many, on more
//! threads than CPUs. After each round the books are checked, and the semaphore is moved.
//!
//! A few seconds by default; `LAYBY_SOAK_SECONDS` says how many for a long run, `LAYBY_SEED` repeats a failed one.

use crate::common::{
    Random, assert_at_rest,
    homes::{OneSlot, Parking},
    number_from_environment, scaled, soak_duration,
};
use layby::{
    sema::Semaphore,
    wait_table::{Global, Home},
};
use std::{
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// Rounds with a seed each, until the time is up. A round that hangs or fails tells its seed.
fn rounds(mut round: impl FnMut(usize)) {
    struct Seed(usize);
    impl Drop for Seed {
        fn drop(&mut self) {
            if thread::panicking() {
                eprintln!("failed with LAYBY_SEED={}", self.0);
            }
        }
    }

    let start = Instant::now();
    let chosen = number_from_environment("LAYBY_SEED");
    let mut seed = chosen.unwrap_or_else(|| std::process::id() as usize * 100_000);
    loop {
        let (finish, finished) = mpsc::channel::<()>();
        let watchdog = thread::spawn(move || {
            if finished.recv_timeout(Duration::from_secs(180)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("hangs with LAYBY_SEED={seed}: a permit or a wake-up was lost");
                std::process::abort();
            }
        });
        let guard = Seed(seed);
        round(seed);
        drop((guard, finish));
        watchdog.join().unwrap();
        seed += 1;
        if start.elapsed() >= soak_duration() {
            return;
        }
    }
}

/// The permits of a round, and how many are out.
struct Books<'a, H: Home> {
    semaphore: &'a Semaphore<H>,
    permits: u64,
    out: AtomicU64,
}

impl<H: Home> Books<'_, H> {
    /// One thread's part of a round.
    fn work(&self, mut random: Random, steps: usize) {
        let mut held = 0;
        for _ in 0..steps {
            let n = random.below(self.permits as usize) as u64 + 1;
            if held > 0 && random.below(2) == 0 {
                self.put_back(n.min(held), &mut random);
                held -= n.min(held);
            } else if self.take(n, held == 0, &mut random) {
                held += n;
            }
            if random.below(8) == 0 {
                thread::yield_now();
            }
        }
        self.put_back(held, &mut random);
    }

    /// Whoever holds permits waits for more only for a time, else all could wait for one another.
    fn take(&self, n: u64, may_wait: bool, random: &mut Random) -> bool {
        let soon = Duration::from_micros(random.below(150) as u64);
        let got = match random.below(if may_wait { 7 } else { 5 }) {
            0 => self.semaphore.try_take_many(n),
            1 => self.semaphore.take_many_timeout(n, soon),
            2 => self.semaphore.take_many_deadline(n, Instant::now() + soon),
            3 => n == 1 && self.semaphore.take_timeout(soon),
            4 => n == 1 && self.semaphore.try_take(),
            5 => {
                self.semaphore.take_many(n);
                true
            }
            _ => self.semaphore.take_many_timeout(n, Duration::MAX),
        };
        if got {
            let out = self.out.fetch_add(n, Ordering::Relaxed) + n;
            assert!(out <= self.permits, "{out} permits are out, of {}", self.permits);
        }
        got
    }

    fn put_back(&self, n: u64, random: &mut Random) {
        self.out.fetch_sub(n, Ordering::Relaxed);
        match random.below(3) {
            0 => (0..n).for_each(|_| self.semaphore.post()),
            1 => (0..n).for_each(|_| self.semaphore.post_conservatively()),
            _ => self.semaphore.post_many(n),
        }
    }
}

fn nothing_is_lost<H: Home>() {
    let threads = 2 * thread::available_parallelism().map_or(2, usize::from) + 4;
    let permits = 4;
    let mut semaphore = Semaphore::<H>::new_in(permits);
    rounds(|seed| {
        let books = Books { semaphore: &semaphore, permits, out: AtomicU64::new(0) };
        thread::scope(|s| {
            for nth in 0..threads {
                let books = &books;
                s.spawn(move || books.work(Random::new(seed.wrapping_mul(1000) + nth), scaled(100)));
            }
        });
        assert_eq!(books.out.into_inner(), 0);
        assert_at_rest(&mut semaphore, permits);
    });
}

#[test]
fn nothing_is_lost_in_the_global_table() {
    nothing_is_lost::<Global>();
}

#[test]
fn nothing_is_lost_on_one_slot() {
    nothing_is_lost::<OneSlot>();
}

#[test]
fn nothing_is_lost_by_parking() {
    nothing_is_lost::<Parking>();
}

/// Producers and consumers, so that permits do not come back: consumers give up all the time, and try again until each
/// has what it came for. If a permit got lost, the last of them would never be done.
#[test]
fn every_permit_posted_is_taken() {
    let consumers = 2 * thread::available_parallelism().map_or(2, usize::from) + 2;
    let mut semaphore = Semaphore::new(0);
    rounds(|seed| {
        let wanted = scaled(60) as u64;
        thread::scope(|s| {
            let semaphore = &semaphore;
            for nth in 0..consumers {
                let mut random = Random::new(seed.wrapping_mul(1000) + nth);
                s.spawn(move || {
                    let mut got = 0;
                    while got < wanted {
                        let n = (random.below(3) as u64 + 1).min(wanted - got);
                        let soon = Duration::from_micros(random.below(100) as u64);
                        if semaphore.take_many_timeout(n, soon) {
                            got += n;
                        }
                    }
                });
            }
            let mut random = Random::new(seed);
            let mut left = wanted * consumers as u64;
            while left > 0 {
                let n = (random.below(4) as u64 + 1).min(left);
                left -= n;
                match n {
                    1 => semaphore.post(),
                    n => semaphore.post_many(n),
                }
                // Seldom: on one CPU, all consumers then use up their time slices.
                if random.below(32) == 0 {
                    thread::yield_now();
                }
            }
        });
        assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
        let moved = vec![std::mem::replace(&mut semaphore, Semaphore::new(0))];
        semaphore = moved.into_iter().next().unwrap();
    });
}
