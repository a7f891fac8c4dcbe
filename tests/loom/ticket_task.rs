//! Tasks in a semaphore's line: take against post, drop against post, and a line of threads and tasks. What they share with
//! threads is in `ticket_queue.rs`, and what all tasks share is in `task.rs`.

use crate::bell::{Bell, block_on, poll, poll_once};
use crate::explore::{explore_roles, explore_run};
use layby::sema::{Pool, Semaphore};
use loom::thread;
use std::{pin::pin, sync::Arc};

type Post = fn(&Semaphore);

const POSTS: [Post; 3] = [Semaphore::post, Semaphore::post_conservatively, |semaphore| semaphore.post_many(1)];

fn explore<const N: usize>(preemptions: usize, roles: [fn(&Semaphore); N], at_rest: fn(&Semaphore)) {
    explore_roles(preemptions, || Semaphore::new(0), roles, at_rest);
}

fn take(semaphore: &Semaphore) {
    block_on(pin!(semaphore.take_async()), &Bell::new());
}

fn take_two(semaphore: &Semaphore) {
    block_on(pin!(semaphore.take_many_async(2)), &Bell::new());
}

/// Polls once, and drops the future; with the permit, if it got one.
fn give_up(semaphore: &Semaphore) {
    poll_once(pin!(semaphore.acquire_async()));
}

fn is_empty(semaphore: &Semaphore) {
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// As [`is_empty`], with a permit; and it can be taken, so that no abandoned ticket is before it.
fn has_one(semaphore: &Semaphore) {
    assert_eq!((semaphore.available(), semaphore.waiters()), (1, 0));
    assert!(semaphore.try_take());
}

/// T1 and T2, for a task.
#[test]
fn a_task_takes_against_post() {
    for post in POSTS {
        explore(3, [take, post], is_empty);
    }
}

/// T1, of a post that looks for a marker before and after, because another semaphore of the table has one.
#[test]
fn a_take_against_a_conservative_post_past_anothers_marker() {
    explore_run(2, || {
        let (semaphore, other) = (Arc::new(Semaphore::new(0)), Semaphore::new(0));
        let (mut left, mut waits) = (Box::pin(other.take_async()), Box::pin(other.take_async()));
        poll_once(left.as_mut());
        poll_once(waits.as_mut());
        drop(left);
        let taker = thread::spawn({
            let semaphore = Arc::clone(&semaphore);
            move || semaphore.take()
        });
        semaphore.post_conservatively();
        taker.join().unwrap();
        drop(waits);
        is_empty(&semaphore);
    });
}

/// M3: the markers of two who leave are in two cells, and a permit comes for the first when the second is leaving.
#[test]
fn one_leaves_behind_another_against_a_conservative_post() {
    explore_run(2, || {
        let semaphore = Arc::new(Semaphore::new(1));
        assert!(semaphore.try_take());
        let [mut first, mut second, mut third] = [(); 3].map(|()| Box::pin(semaphore.acquire_owned_async()));
        let bell = Bell::new();
        poll_once(first.as_mut());
        poll_once(second.as_mut());
        assert!(poll(third.as_mut(), &bell).is_pending());
        drop(first);
        let leaves = thread::spawn(move || drop(second));
        semaphore.post_conservatively();
        leaves.join().unwrap();
        bell.wait();
        assert!(poll(third.as_mut(), &bell).is_ready());
    });
}

#[test]
fn a_task_takes_two_against_two_posts() {
    explore(
        2,
        [take_two, |semaphore| {
            semaphore.post();
            semaphore.post_conservatively();
        }],
        is_empty,
    );
}

/// H3: granted or not, the permit stays.
#[test]
fn a_future_is_dropped_against_post() {
    for post in POSTS {
        explore(2, [give_up, post], has_one);
    }
}

#[test]
fn a_thread_and_a_task_in_one_line() {
    explore(1, [take, Semaphore::take, |semaphore| semaphore.post_many(2)], is_empty);
}

#[test]
fn a_thread_and_a_task_in_one_line_against_conservative_posts() {
    explore(
        1,
        [take, Semaphore::take, |semaphore| {
            semaphore.post_conservatively();
            semaphore.post_conservatively();
        }],
        is_empty,
    );
}

/// Two tasks of one thread; the first leaves, with what it was given. The second must get the one permit: from the post, from the
/// first, or from the marker that the first has left (W).
fn take_behind_one_that_leaves(semaphore: &Semaphore) {
    let mut first = Box::pin(semaphore.acquire_async());
    poll_once(first.as_mut());
    let (mut second, bell) = (pin!(semaphore.take_async()), Bell::new());
    if poll(second.as_mut(), &bell).is_pending() {
        drop(first);
        bell.wait();
        block_on(second, &bell);
    }
}

#[test]
fn a_granted_future_is_dropped_before_another() {
    for post in [Semaphore::post, Semaphore::post_conservatively] {
        explore(1, [take_behind_one_that_leaves, post], is_empty);
    }
}

/// The one before it has left a marker, which the first post grants; nobody holds what the second one grants.
#[test]
fn posts_of_both_kinds_against_one_that_leaves() {
    explore_run(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let [mut first, mut second] = [(); 2].map(|()| Box::pin(semaphore.acquire_owned_async()));
        poll_once(first.as_mut());
        poll_once(second.as_mut());
        drop(first);
        let leaves = loom::thread::spawn(move || drop(second));
        semaphore.post_conservatively();
        semaphore.post();
        leaves.join().unwrap();
        assert_eq!((semaphore.available(), semaphore.waiters()), (2, 0));
    });
}

/// The one that leaves is a thread's, the one behind it is a task's, and the other way round.
#[test]
fn one_leaves_among_threads_and_tasks() {
    explore(1, [take, give_up, Semaphore::post], is_empty);
    explore(1, [Semaphore::take, give_up, Semaphore::post_conservatively], is_empty);
}

/// All are told, and all permits come back.
#[test]
fn a_pool_closes_against_those_who_wait() {
    fn held() -> Pool {
        let pool = Pool::new(1);
        pool.acquire().unwrap().forget();
        pool
    }
    fn wait(pool: &Pool) {
        assert!(pool.acquire().is_err());
    }
    fn wait_as_task(pool: &Pool) {
        assert!(block_on(pin!(pool.acquire_async()), &Bell::new()).is_err());
    }
    for wait in [wait, wait_as_task] {
        explore_roles(2, held, [wait, |pool| _ = pool.close()], |pool| assert_eq!(pool.waiters(), 0));
    }
}

/// Who has a permit and wants another is told as well, though it may stand behind who waits for all permits.
#[test]
fn a_pool_is_shut_down_against_one_who_holds_a_permit() {
    fn acquire_two(pool: &Pool) {
        if let Ok(held) = pool.acquire() {
            assert!(pool.acquire().is_err());
            drop(held);
        }
    }
    fn acquire_two_as_task(pool: &Pool) {
        let bell = Bell::new();
        if let Ok(held) = block_on(pin!(pool.acquire_async()), &bell) {
            assert!(block_on(pin!(pool.acquire_async()), &bell).is_err());
            drop(held);
        }
    }
    for acquire in [acquire_two, acquire_two_as_task] {
        explore_roles(1, || Pool::new(1), [acquire, Pool::shutdown], |pool| assert_eq!(pool.waiters(), 0));
    }
}
