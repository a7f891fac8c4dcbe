//! Promise 13: threads and tasks are admitted in the order of their tickets, however many of them leave.
//!
//! `LAYBY_MIXED_ADMISSIONS=10000000 cargo test --release --test tasks mixed` is the long form.

use crate::common::task::poll_once;
use crate::common::{Random, number_from_environment, scaled, watchdog};
use layby::sema::{Semaphore, TakeAsync};
use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Instant;

type Take = Pin<Box<TakeAsync<'static>>>;

/// One thread, so that who came when is known: tasks join, three of ten leave, threads give up among them, permits come. Whoever
/// stays is admitted in the order in which it came, and each permit goes to one.
#[test]
fn those_who_stay_are_admitted_in_order() {
    let admissions = number_from_environment("LAYBY_MIXED_ADMISSIONS").unwrap_or_else(|| scaled(20_000));
    let semaphore: &'static Semaphore = Box::leak(Box::new(Semaphore::new(0)));
    let (mut random, mut line, mut admitted) = (Random::new(1), VecDeque::<Take>::new(), 0);
    while admitted < admissions {
        match random.below(10) {
            0..=4 => {
                let mut take = Box::pin(semaphore.take_async());
                assert!(poll_once(take.as_mut()).is_pending(), "it has overtaken somebody");
                line.push_back(take);
            }
            5 | 6 if !line.is_empty() => drop(line.remove(random.below(line.len()))),
            7 if !line.is_empty() => assert!(!semaphore.take_deadline(Instant::now())),
            _ if !line.is_empty() => {
                let permits = 1 + random.below(line.len().min(3));
                if random.below(2) == 0 {
                    semaphore.post_many(permits as u64);
                } else {
                    (0..permits).for_each(|_| semaphore.post_conservatively());
                }
                // The first of them may leave with its permit, which goes to the next.
                if line.len() > permits && random.below(3) == 0 {
                    line.pop_front();
                }
                for _ in 0..permits {
                    let mut take = line.pop_front().expect("somebody waits");
                    assert!(poll_once(take.as_mut()).is_ready(), "the permit went to another");
                    admitted += 1;
                }
                if let Some(next) = line.front_mut() {
                    assert!(poll_once(next.as_mut()).is_pending(), "a permit was made");
                }
            }
            _ => {}
        }
    }
    line.clear();
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// Several threads, each with tasks of its own, which it polls, drops and serves; all permits come back.
#[test]
fn no_permit_is_lost_or_made_among_threads() {
    let _watchdog = watchdog();
    let rounds = number_from_environment("LAYBY_MIXED_ADMISSIONS").unwrap_or_else(|| scaled(8_000)) / 4;
    let semaphore: &'static Semaphore = Box::leak(Box::new(Semaphore::new(3)));
    std::thread::scope(|s| {
        for seed in 0..4 {
            s.spawn(move || {
                let (mut random, mut line) = (Random::new(seed), VecDeque::<Take>::new());
                for _ in 0..rounds {
                    match random.below(10) {
                        0..=2 => drop(semaphore.acquire_timeout(std::time::Duration::from_micros(10))),
                        3..=5 => drop(line.pop_back()),
                        _ => line.push_back(Box::pin(semaphore.take_async())),
                    }
                    line.retain_mut(|take| {
                        let is_ready = poll_once(take.as_mut()).is_ready();
                        if is_ready {
                            semaphore.post();
                        }
                        !is_ready
                    });
                }
            });
        }
    });
    assert_eq!((semaphore.available(), semaphore.waiters()), (3, 0));
}
