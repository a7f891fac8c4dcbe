//! Takes, posts and abandoned tickets of the semaphore. `ci/abandon_model.py` explores the same protocol with more threads,
//! without weak memory.
//!
//! Each pair of the protocol, which rests on `SeqCst` accesses, is a pair of fences here.

#![allow(unsafe_code, reason = "a semaphore that is freed while somebody else still returns from it")]

use crate::explore::{ALL, explore_orders, explore_run};
use layby::model::expire_deadlines;
use layby::sema::Semaphore;
use loom::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use loom::thread::{self, JoinHandle};
use std::time::Instant;

/// What a thread of a model does: returns how many permits it put in, less those it took.
type Role = fn(&Semaphore) -> i64;

/// When the deadlines pass.
#[derive(Clone, Copy)]
enum Deadlines {
    /// Before all else: a take that is not granted at once is abandoned.
    Passed,
    /// When a role says so, if at all.
    Pending,
}

/// Starts each of `roles` in a thread of its own.
fn start<const N: usize>(semaphore: &Arc<Semaphore>, roles: [Role; N]) -> [JoinHandle<i64>; N] {
    roles.map(|role| {
        let semaphore = Arc::clone(semaphore);
        thread::spawn(move || role(&semaphore))
    })
}

/// Explores what `roles` do at once, in both orders. When all are done no permit is lost or made, and nobody is left in
/// line.
fn explore<const N: usize>(preemptions: usize, deadlines: Deadlines, permits: u64, roles: [Role; N]) {
    explore_orders(preemptions, roles, move |roles| {
        if let Deadlines::Passed = deadlines {
            expire_deadlines();
        }
        let semaphore = Arc::new(Semaphore::new(permits));
        let threads = start(&semaphore, roles);
        let change: i64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(semaphore.waiters(), 0, "somebody is left in line");
        assert_eq!(semaphore.available().cast_signed(), permits.cast_signed() + change, "permits were lost or made");
        assert_no_trace(semaphore);
    });
}

/// Nothing is left of abandoned tickets: the semaphore can be moved, away from any marker, and still counts right.
fn assert_no_trace(semaphore: Arc<Semaphore>) {
    let moved = Arc::try_unwrap(semaphore).expect("all threads have ended");
    let available = moved.available();
    moved.post();
    assert!(moved.try_take_many(available + 1), "abandoned tickets were left in line");
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

/// Like [`timed`], but puts back what it got, so that a taker behind it does not wait forever.
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

fn take_and_post(semaphore: &Semaphore) -> i64 {
    semaphore.take();
    semaphore.post();
    0
}

fn expire(_: &Semaphore) -> i64 {
    expire_deadlines();
    0
}

/// T1 and T2.
#[test]
fn take_against_post() {
    explore(3, Deadlines::Pending, 0, [take, post]);
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
    explore(6, Deadlines::Passed, 0, [timed, timed]);
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
    explore(2, Deadlines::Passed, 0, [timed, try_take, post]);
}

/// A permit that came for the first of two tickets goes on to whoever is behind.
#[test]
fn giving_up_partly_granted() {
    explore(3, Deadlines::Passed, 1, [timed_two, take]);
}

#[test]
fn giving_up_partly_granted_against_post() {
    explore(1, Deadlines::Passed, 0, [timed_two, take, post]);
}

/// Two that wait side by side leave at the same time, and their markers join. The post comes when both are gone.
#[test]
fn two_leave_together_before_a_taker() {
    explore_leaving(Semaphore::post);
}

#[test]
fn two_leave_together_before_a_taker_and_a_conservative_post() {
    explore_leaving(Semaphore::post_conservatively);
}

fn explore_leaving(post: fn(&Semaphore)) {
    explore_run(2, move || {
        let semaphore = Arc::new(Semaphore::new(0));
        let [first, second, taker] = start(&semaphore, [timed, timed, take]);
        expire_deadlines();
        assert_eq!(first.join().unwrap() + second.join().unwrap(), 0, "there was no permit");
        post(&semaphore);
        taker.join().unwrap();
        assert_eq!((semaphore.waiters(), semaphore.available()), (0, 0));
        assert_no_trace(semaphore);
    });
}

/// A cell is used again, for other tickets.
#[test]
fn giving_up_twice() {
    fn one_then_two(semaphore: &Semaphore) -> i64 {
        timed(semaphore) + timed_two(semaphore)
    }
    fn one_then_one(semaphore: &Semaphore) -> i64 {
        timed(semaphore) + timed(semaphore)
    }
    explore(3, Deadlines::Passed, 0, [one_then_two, one_then_one]);
}

#[test]
fn three_give_up() {
    explore(2, Deadlines::Passed, 0, [timed, timed, timed]);
}

/// A permit goes out and comes back: there is never more than one. And whoever looks for room, where there is room for one
/// more, finds it.
#[test]
fn permits_are_counted_at_one_moment() {
    const ALMOST_FULL: u64 = Semaphore::MAX_PERMITS - 1;
    fn twice(semaphore: &Semaphore) -> i64 {
        take_and_post(semaphore) + take_and_post(semaphore)
    }
    fn count(semaphore: &Semaphore) -> i64 {
        assert!(semaphore.available() <= 1, "more permits than there are");
        assert_eq!(semaphore.waiters(), 0, "nobody ever waits");
        0
    }
    fn post_many_and_take(semaphore: &Semaphore) -> i64 {
        semaphore.post_many(1);
        take(semaphore) + 1
    }
    explore(2, Deadlines::Pending, 1, [twice, count]);
    explore(2, Deadlines::Pending, ALMOST_FULL, [take_and_post, post_many_and_take]);
}

/// Promise 8 (README): whoever has got its permit may free the semaphore while `post_conservatively` returns. loom
/// panics when an atomic is used of which only garbage is left.
#[test]
fn a_taker_frees_while_a_conservative_post_returns() {
    struct Shared(*mut Semaphore);
    // SAFETY: a semaphore is `Sync`, and is freed by the taker only.
    unsafe impl Send for Shared {}
    explore_run(ALL, || {
        let place = Box::into_raw(Box::new(Semaphore::new(0)));
        let (taking, posting) = (Shared(place), Shared(place));
        let taker = thread::spawn(move || {
            let Shared(place) = { taking };
            // SAFETY: it lives until we have the permit, and nobody uses it any more then. The memory stays.
            unsafe {
                (*place).take();
                place.drop_in_place();
                place.write_bytes(u8::MAX, 1);
            }
        });
        let poster = thread::spawn(move || {
            let Shared(place) = { posting };
            // SAFETY: the taker waits for this post.
            unsafe { (*place).post_conservatively() };
        });
        taker.join().unwrap();
        poster.join().unwrap();
        // SAFETY: made by a box, of which the contents are gone.
        drop(unsafe { Box::from_raw(place.cast::<std::mem::MaybeUninit<Semaphore>>()) });
    });
}

/// A conservative post is late. Meanwhile its taker has freed the semaphore and made another in its place, where the ticket
/// that was granted is abandoned; all who used that one have returned, and it is gone too.
#[test]
fn a_late_conservative_post_leaves_the_next_semaphore_alone() {
    #[derive(Clone, Copy)]
    struct Shared(*mut Semaphore);
    // SAFETY: a semaphore is `Sync`, and is replaced by the taker only.
    unsafe impl Send for Shared {}
    explore_run(4, || {
        expire_deadlines();
        let place = Shared(Box::into_raw(Box::new(Semaphore::new(0))));
        let poster = thread::spawn(move || {
            let Shared(place) = { place };
            // SAFETY: the taker waits for this post.
            unsafe { (*place).post_conservatively() };
        });
        // SAFETY: the old one lives until we have its permit, the new one until both of its users have returned. The memory
        // stays.
        unsafe {
            let Shared(old) = place;
            (*old).take();
            old.drop_in_place();
            old.write(Semaphore::new(0));
            let other = thread::spawn(move || {
                let Shared(new) = { place };
                timed(&*new)
            });
            assert_eq!(timed(&*old) + other.join().unwrap(), 0, "a permit from nowhere");
            old.drop_in_place();
            old.write_bytes(u8::MAX, 1);
        }
        poster.join().unwrap();
        let Shared(place) = place;
        // SAFETY: made by a box, of which the contents are gone.
        drop(unsafe { Box::from_raw(place.cast::<std::mem::MaybeUninit<Semaphore>>()) });
    });
}

/// As many are waited for as can be, but for two. A permit comes and somebody else joins the line; there is still room
/// for two.
#[test]
fn tickets_are_counted_at_one_moment() {
    const ALMOST_ALL: u64 = Semaphore::MAX_PERMITS - 2;
    explore_run(1, || {
        expire_deadlines();
        let semaphore = Arc::new(Semaphore::new(0));
        let take_almost_all: Role = |semaphore| {
            semaphore.take_many(ALMOST_ALL);
            0
        };
        let post_and_take: Role = |semaphore| post(semaphore) + timed(semaphore);
        let [all, one, two] = start(&semaphore, [take_almost_all, post_and_take, timed_two]);
        let posted = one.join().unwrap() + two.join().unwrap();
        semaphore.post_many(ALMOST_ALL - posted.cast_unsigned());
        all.join().unwrap();
        assert_eq!((semaphore.waiters(), semaphore.available()), (0, 0));
    });
}

/// What was written before a post is there for whoever gets the permit, also by way of a thread that gave up.
#[test]
fn a_permit_carries_what_was_written_before_it() {
    for post in [Semaphore::post, Semaphore::post_conservatively, |semaphore: &Semaphore| semaphore.post_many(1)] {
        explore_hand_over(post);
    }
}

fn explore_hand_over(post: fn(&Semaphore)) {
    explore_run(2, move || {
        expire_deadlines();
        let shared = Arc::new((Semaphore::new(0), AtomicUsize::new(0)));
        let [giving_up, taking] = [
            |semaphore: &Semaphore, _: &AtomicUsize| assert_eq!(timed_round(semaphore), 0),
            |semaphore: &Semaphore, written: &AtomicUsize| {
                semaphore.take();
                assert_eq!(written.load(Ordering::Relaxed), 1, "the permit came before what it was to carry");
            },
        ]
        .map(|role: fn(&Semaphore, &AtomicUsize)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || role(&shared.0, &shared.1))
        });
        shared.1.store(1, Ordering::Relaxed);
        post(&shared.0);
        giving_up.join().unwrap();
        taking.join().unwrap();
    });
}
