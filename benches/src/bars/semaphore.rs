//! The semaphore and the mutex alone, the semaphore between two threads, and in front of a thousand.

use super::measure::{Bound, Effort, Finding, against, ratios, with_free_cpus};
use crate::contender::async_ones::Tokio;
use crate::contender::glibc::SemT;
use crate::contender::layby_own::Apart;
use crate::contender::locks::{ParkingLotCondvar, ParkingLotMutex, Raw, StdMutex};
use crate::contender::word_wait::{Counting, Futex};
use crate::herd::Herd;
use crate::workload::{ping_pong, two_fetch_adds, uncontended, uncontended_exclusion};
use layby::mutex::RawMutex;
use layby::sema::Semaphore;

pub fn no_contention(effort: Effort) -> Vec<Finding> {
    against(
        "take + post, no contention",
        &mut uncontended::<Semaphore>,
        &mut [
            ("two bare fetch_adds", Bound::AtMost(1.10), &mut two_fetch_adds),
            ("glibc sem_t", Bound::AtMost(1.0), &mut uncontended::<SemT>),
            ("parking_lot Mutex + Condvar", Bound::AtMost(1.0), &mut uncontended::<ParkingLotCondvar>),
            ("tokio Semaphore", Bound::AtMost(1.0), &mut uncontended::<Tokio>),
            ("parking_lot Mutex (lock + unlock)", Bound::Shown, &mut uncontended_exclusion::<ParkingLotMutex>),
        ],
        effort.in_short_slices(),
    )
}

pub fn lock_and_unlock(effort: Effort) -> Vec<Finding> {
    against(
        "Mutex lock + unlock, no contention",
        &mut uncontended_exclusion::<Raw<RawMutex>>,
        &mut [
            ("parking_lot Mutex", Bound::AtMost(1.0), &mut uncontended_exclusion::<ParkingLotMutex>),
            ("std Mutex", Bound::AtMost(1.0), &mut uncontended_exclusion::<StdMutex>),
        ],
        effort.in_short_slices(),
    )
}

fn hand_over_within(what: &str, bound: Bound, effort: Effort) -> Vec<Finding> {
    against(
        what,
        &mut ping_pong::<Semaphore>,
        &mut [("glibc sem_t", bound, &mut ping_pong::<SemT>), ("raw futex", bound, &mut ping_pong::<Counting<Futex>>)],
        effort.in_long_slices(),
    )
}

pub fn hand_over(effort: Effort) -> Vec<Finding> {
    with_free_cpus(|| hand_over_within("ping-pong, both CPUs free", Bound::AtMost(0.1), effort))
}

/// To be run in a process confined to one CPU from its start, as by taskset.
pub fn hand_over_pinned(effort: Effort) -> Vec<Finding> {
    hand_over_within("ping-pong, pinned to one CPU", Bound::AtMost(1.1), effort)
}

/// Posts of one round before the thousand.
const POSTS: u64 = 50;

/// What "does not grow" means: room for the noise of a system call. Arbitrary.
const DOES_NOT_GROW: f64 = 1.25;

pub fn before_a_thousand(effort: Effort) -> Vec<Finding> {
    let thousand = Herd::<Semaphore>::gather(1000);
    // In a table of its own, because strangers in one table wake each other now and then, which is not to be counted.
    let ten = Herd::<Semaphore<Apart>>::gather(10);
    let (mut futile, mut staged) = (Vec::new(), Vec::new());
    let mut costs: [Vec<f64>; 2] = Default::default();
    // Threads that slept while the herd was still gathering do not count.
    thousand.serve(1000);
    ten.serve(POSTS);
    for _ in 0..effort.rounds {
        let many = thousand.serve(POSTS);
        let few = ten.serve(POSTS);
        staged.push(many.staged_wakes as f64 / POSTS as f64);
        futile.push(many.futile_wakes as f64 / POSTS as f64);
        for (cost, service) in costs.iter_mut().zip([many, few]) {
            cost.push(service.in_post.as_secs_f64());
        }
    }
    let growth = ratios(&costs[0], &costs[1]);
    vec![
        Finding::new("one post, 1,000 waiting: futile wake-ups", "a post", Bound::AtMost(0.02), futile),
        Finding::new("one post, 1,000 waiting: staged wake-ups", "a post", Bound::Shown, staged),
        Finding::new("one post, 1,000 waiting: its cost", "10 waiting", Bound::AtMost(DOES_NOT_GROW), growth),
    ]
}
