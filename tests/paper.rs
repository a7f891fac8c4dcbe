//! One suite for every kind of semaphore, in every configuration that has its own way of waiting.

#![cfg(not(layby_model))]

mod common;

use common::{Tally, counting_backend, eventually, few, scaled, watchdog};
use layby::{
    paper::{RawSemaphore, TicketSemaphore, TwaArraySemaphore, TwaChainSemaphore, TwaMonitorSemaphore},
    sema::Semaphore,
    sys::{Native, Park, Spin},
    wait_table::global,
};
use std::{
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

const MAX: u64 = Semaphore::MAX_PERMITS;

const THREADS: usize = few(8);

fn permits_bound<S: RawSemaphore>(permits: usize) {
    let _watchdog = watchdog();
    let semaphore = S::with_permits(permits as u64);
    let inside = AtomicUsize::new(0);
    let entries = Tally::new();
    let rounds = scaled(500);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for _ in 0..rounds {
                    semaphore.take();
                    assert!(inside.fetch_add(1, Ordering::Relaxed) < permits, "{}: too many inside", S::NAME);
                    entries.add();
                    if entries.get().is_multiple_of(16) {
                        thread::yield_now();
                    }
                    inside.fetch_sub(1, Ordering::Relaxed);
                    semaphore.post();
                }
            });
        }
    });
    assert_eq!(entries.get(), THREADS * rounds);
    // None was lost: if one were, the last of these takes would wait forever.
    for _ in 0..permits {
        semaphore.take();
    }
}

/// Two semaphores hand a ball to and fro; what is written before a post, relaxed, is there after the take.
fn hand_over<S: RawSemaphore>() {
    let _watchdog = watchdog();
    let (ping, pong) = (S::with_permits(0), S::with_permits(0));
    let ball = AtomicUsize::new(0);
    let rounds = scaled(2000);
    let play = |ours: &S, theirs: &S, side: usize| {
        for exchange in 0..rounds {
            ours.take();
            assert_eq!(ball.load(Ordering::Relaxed), 2 * exchange + side, "{}: an old ball", S::NAME);
            ball.store(2 * exchange + side + 1, Ordering::Relaxed);
            theirs.post();
        }
    };
    ping.post();
    thread::scope(|s| {
        s.spawn(|| play(&pong, &ping, 1));
        play(&ping, &pong, 0);
    });
    assert_eq!(ball.load(Ordering::Relaxed), 2 * rounds);
}

/// Every permit posted, before the takers come and after, is taken by one of them.
fn every_post_admits_one<S: RawSemaphore>() {
    let _watchdog = watchdog();
    let semaphore = S::with_permits(3);
    let admitted = Tally::new();
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                semaphore.take();
                admitted.add();
            });
        }
        admitted.reaches(3);
        for posted in 1..=THREADS - 3 {
            semaphore.post();
            admitted.reaches(3 + posted);
            assert_eq!(admitted.get(), 3 + posted, "{}: a permit from nowhere", S::NAME);
        }
    });
}

/// A semaphore at rest can be moved.
fn moves<S: RawSemaphore>() {
    let _watchdog = watchdog();
    let mut semaphore = S::with_permits(0);
    for _ in 0..20 {
        thread::scope(|s| {
            s.spawn(|| semaphore.take());
            semaphore.post();
        });
        let boxed = Box::new(semaphore);
        boxed.post();
        semaphore = *boxed;
        semaphore.take();
    }
}

fn takes_two_words<S>() {
    // Where there are no 64-bit atomics the counters have 32.
    let words = if MAX > u64::from(u32::MAX) { 2 * 8 } else { 2 * 4 };
    assert_eq!(size_of::<S>(), words);
}

fn shows_itself<S: RawSemaphore + Debug>() {
    let shown = format!("{:?}", S::with_permits(42));
    assert!(shown.contains("Semaphore") && shown.contains("42"), "{shown}");
}

fn holds_as_many_as_it_can_count<S: RawSemaphore>() {
    let semaphore = S::with_permits(MAX);
    semaphore.take();
    semaphore.post();
    semaphore.take();
}

macro_rules! suite {
    ($($kind:ident: $semaphore:ty;)*) => { $(
        mod $kind {
            #[allow(unused_imports, reason = "not every kind has parameters")]
            use super::{common::homes::*, *};

            #[test]
            fn one_permit_is_mutual_exclusion() {
                permits_bound::<$semaphore>(1);
            }

            #[test]
            fn three_permits_are_for_three() {
                permits_bound::<$semaphore>(3);
            }

            #[test]
            fn hand_over() {
                super::hand_over::<$semaphore>();
            }

            #[test]
            fn every_post_admits_one() {
                super::every_post_admits_one::<$semaphore>();
            }

            #[test]
            fn moves() {
                super::moves::<$semaphore>();
            }

            #[test]
            fn looks() {
                takes_two_words::<$semaphore>();
                shows_itself::<$semaphore>();
                holds_as_many_as_it_can_count::<$semaphore>();
            }

            #[test]
            #[should_panic(expected = "more permits than a semaphore can hold")]
            fn too_many_permits() {
                let _ = <$semaphore as RawSemaphore>::with_permits(MAX + 1);
            }
        }
    )* };
}

suite! {
    twa: Semaphore;
    twa_one_slot: Semaphore<OneSlot>;
    twa_park: Semaphore<Parking>;
    twa_spin: Semaphore<Spinning>;
    ticket: TicketSemaphore;
    array: TwaArraySemaphore<1, Spin>;
    array_all_sleep: TwaArraySemaphore<0, Native>;
    array_two_near: TwaArraySemaphore<2, Park>;
    chain: TwaChainSemaphore;
    monitor: TwaMonitorSemaphore;
}

/// All are near: nobody waits in the array.
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
mod array_all_near {
    use super::*;

    #[test]
    fn hand_over() {
        super::hand_over::<TwaArraySemaphore<{ u32::MAX }>>();
    }
}

/// Who is woken without a permit waits again.
fn does_not_go_without_a_permit<S: RawSemaphore>() {
    let semaphore = S::with_permits(0);
    thread::scope(|s| {
        let taker = s.spawn(|| semaphore.take());
        for _ in 0..3 {
            eventually(|| taker.is_finished() || global().wake_everybody() > 0);
            assert!(!taker.is_finished(), "{}: a permit from nowhere", S::NAME);
        }
        semaphore.post();
    });
}

#[test]
fn who_is_woken_for_nothing_does_not_go() {
    let _watchdog = watchdog();
    does_not_go_without_a_permit::<Semaphore>();
    does_not_go_without_a_permit::<TwaMonitorSemaphore>();
}

/// Semaphores as far apart as the array has buckets share them: a post of one wakes the sleepers of both, since it cannot
/// know whose they are. The stranger, who has slept longer, looks for nothing and sleeps again.
#[test]
fn strangers_in_a_bucket_are_woken_too() {
    counting_backend!(Shared);
    type Array = TwaArraySemaphore<0, Shared>;
    const BUCKETS: usize = 8192;
    let _watchdog = watchdog();
    let semaphores: Vec<_> = (0..=BUCKETS / size_of::<Array>()).map(|_| Array::with_permits(0)).collect();
    let [one, .., stranger] = semaphores.as_slice() else { unreachable!() };
    for _ in 0..scaled(50) {
        thread::scope(|s| {
            let before = Shared::waits().get();
            let stays = s.spawn(|| stranger.take());
            Shared::waits().reaches(before + 1);
            let goes = s.spawn(|| one.take());
            Shared::waits().reaches(before + 2);
            one.post();
            goes.join().unwrap();
            Shared::waits().reaches(before + 3);
            assert!(!stays.is_finished(), "a permit from nowhere");
            stranger.post();
        });
    }
}

/// Listing 3's chains: semaphores as far apart as there are chains share them, and a post of one wakes the waiters of both, from
/// the youngest to the oldest. The stranger waits on.
#[test]
fn strangers_on_a_chain_wait_on() {
    const CHAINS: usize = 4096;
    let _watchdog = watchdog();
    let make = || TwaChainSemaphore::with_permits(0);
    let semaphores: Vec<_> = (0..=CHAINS / size_of::<TwaChainSemaphore>()).map(|_| make()).collect();
    let [one, .., stranger] = semaphores.as_slice() else { unreachable!() };
    for _ in 0..scaled(200) {
        let posted = AtomicUsize::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                stranger.take();
                assert_eq!(posted.load(Ordering::Relaxed), 1, "a permit from nowhere");
            });
            s.spawn(|| one.take());
            one.post();
            thread::yield_now();
            posted.store(1, Ordering::Relaxed);
            stranger.post_politely();
        });
    }
}

/// A thread that ends leaves the word that it parked on, and a poke that comes late leaves a flag there: nobody minds.
#[test]
fn threads_that_come_and_go_are_woken_one_by_one() {
    let _watchdog = watchdog();
    let semaphore = TwaChainSemaphore::with_permits(0);
    for _ in 0..scaled(300) {
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| semaphore.take());
            }
            for _ in 0..3 {
                semaphore.post();
            }
        });
    }
}

#[test]
fn names_differ() {
    let mut names = [
        <Semaphore as RawSemaphore>::NAME,
        TicketSemaphore::NAME,
        <TwaArraySemaphore>::NAME,
        TwaChainSemaphore::NAME,
        TwaMonitorSemaphore::NAME,
    ];
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}
