//! Takes, posts and abandoned tickets of the semaphore, interleaved by loom. `ci/abandon_model.py` explores the same
//! protocol with more threads, without weak memory.
//!
//! Blind to: `SeqCst` accesses, which loom takes as acquire and release, so that each pair of the protocol is a pair of
//! fences here; memory that is used after it was freed; more than four threads.
//!
//! Bounds are the preemptions loom may make, `LOOM_MAX_PREEMPTIONS` overrides them. Seconds are of one core of a
//! 2-core virtual machine.

#![cfg(layby_loom)]

use layby::model::expire_deadlines;
use layby::sema::Semaphore;
use loom::{sync::Arc, thread};
use std::time::Instant;

/// What a thread of a model does: returns how many permits it put in, less those it took.
type Role = fn(&Semaphore) -> i64;

/// More preemptions than these executions have room for.
const ALL: usize = 100;

/// When the deadlines pass.
#[derive(Clone, Copy)]
enum Deadlines {
    /// Before all else: a take that is not granted at once is abandoned.
    Passed,
    /// When a role says so, if at all.
    Pending,
}

/// Explores what `roles` do at once. When all are done no permit is lost or made, and nobody is left in line.
///
/// Twice, in the order given and the other way round: when loom looks for accesses to exchange it remembers only the
/// last to each atomic, so what it finds depends on who comes first.
fn explore<const N: usize>(preemptions: usize, deadlines: Deadlines, permits: u64, mut roles: [Role; N]) {
    for _ in 0..2 {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(preemptions);
        builder.check(move || {
            if let Deadlines::Passed = deadlines {
                expire_deadlines();
            }
            let semaphore = Arc::new(Semaphore::new(permits));
            let threads = roles.map(|role| {
                let semaphore = Arc::clone(&semaphore);
                thread::spawn(move || role(&semaphore))
            });
            let change: i64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(semaphore.waiters(), 0, "somebody is left in line");
            assert_eq!(
                semaphore.available().cast_signed(),
                permits.cast_signed() + change,
                "permits were lost or made"
            );
        });
        roles.reverse();
    }
}

fn take(semaphore: &Semaphore) -> i64 {
    semaphore.take();
    -1
}

fn take_two(semaphore: &Semaphore) -> i64 {
    semaphore.take_many(2);
    -2
}

/// The model does not look at a deadline's value: it passes when the model says so.
fn timed(semaphore: &Semaphore) -> i64 {
    -i64::from(semaphore.take_deadline(Instant::now()))
}

/// As [`timed`], and puts back what it got, so that a taker behind it does not wait for ever.
fn timed_round(semaphore: &Semaphore) -> i64 {
    if semaphore.take_deadline(Instant::now()) {
        semaphore.post();
    }
    0
}

fn timed_two(semaphore: &Semaphore) -> i64 {
    -2 * i64::from(semaphore.take_many_deadline(2, Instant::now()))
}

fn try_take(semaphore: &Semaphore) -> i64 {
    -i64::from(semaphore.try_take())
}

fn post(semaphore: &Semaphore) -> i64 {
    semaphore.post();
    1
}

fn post_conservatively(semaphore: &Semaphore) -> i64 {
    semaphore.post_conservatively();
    1
}

fn post_two(semaphore: &Semaphore) -> i64 {
    semaphore.post_many(2);
    2
}

fn expire(_: &Semaphore) -> i64 {
    expire_deadlines();
    0
}

/// T1 and T2.
#[test]
fn take_against_post() {
    explore(ALL, Deadlines::Pending, 0, [take, post]);
}

#[test]
fn take_against_conservative_post() {
    explore(ALL, Deadlines::Pending, 0, [take, post_conservatively]);
}

#[test]
fn two_takes_against_a_post_of_two() {
    explore(2, Deadlines::Pending, 0, [take, take, post_two]);
}

#[test]
fn a_take_of_two_against_two_posts() {
    explore(2, Deadlines::Pending, 0, [take_two, post, post_conservatively]);
}

/// Either gives up and leaves the permit, or takes it.
#[test]
fn giving_up_against_post() {
    explore(2, Deadlines::Pending, 0, [timed, post, expire]);
}

/// M2: both tickets go, whoever is last.
#[test]
fn giving_up_against_giving_up() {
    explore(4, Deadlines::Passed, 0, [timed, timed]);
}

/// M1: the permit passes over the abandoned ticket.
#[test]
fn giving_up_before_a_taker() {
    explore(2, Deadlines::Passed, 0, [timed_round, take, post]);
}

#[test]
fn giving_up_before_a_taker_and_a_conservative_post() {
    explore(2, Deadlines::Passed, 0, [timed_round, take, post_conservatively]);
}

/// A ticket that was given back is drawn again.
#[test]
fn giving_up_against_trying() {
    explore(3, Deadlines::Passed, 0, [timed, try_take, post]);
}

/// A permit that came for the first of two tickets goes on to whoever is behind.
#[test]
fn giving_up_partly_granted() {
    explore(3, Deadlines::Passed, 1, [timed_two, take]);
}

#[test]
fn giving_up_partly_granted_against_post() {
    explore(2, Deadlines::Passed, 0, [timed_two, take, post]);
}

/// Markers that join, and one in a block that was added.
#[test]
fn two_give_up_before_a_taker() {
    explore(1, Deadlines::Passed, 0, [timed_round, timed_round, take, post]);
}

#[test]
fn three_give_up() {
    explore(2, Deadlines::Passed, 0, [timed, timed, timed]);
}
