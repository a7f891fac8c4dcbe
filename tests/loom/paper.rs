//! The paper's listings: a take against a post, of every kind of semaphore.

use crate::explore::explore_run;
use layby::paper::{RawSemaphore, TicketSemaphore, TwaArraySemaphore, TwaChainSemaphore, TwaMonitorSemaphore};
use layby::sys::Native;
use loom::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use loom::thread;

/// `takers` threads that take one permit each, against one that writes and then posts as many. Every taker gets one, and
/// sees what was written. In both orders of threads: see `explore_orders`.
fn takes_against_posts<S: RawSemaphore + 'static>(preemptions: usize, takers: usize) {
    for poster_first in [true, false] {
        explore_run(preemptions, move || {
            let shared = Arc::new((S::with_permits(0), AtomicU32::new(0)));
            let spawn = |role: fn(&S, &AtomicU32, usize)| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || role(&shared.0, &shared.1, takers))
            };
            let poster = || {
                spawn(|semaphore, written, takers| {
                    written.store(1, Ordering::Relaxed);
                    (0..takers).for_each(|_| semaphore.post());
                })
            };
            let taker = || {
                spawn(|semaphore, written, _| {
                    semaphore.take();
                    assert_eq!(written.load(Ordering::Relaxed), 1, "the permit came before what it was to carry");
                })
            };
            let mut threads = Vec::new();
            threads.extend(poster_first.then(poster));
            threads.extend((0..takers).map(|_| taker()));
            threads.extend((!poster_first).then(poster));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}

#[test]
fn listing_1() {
    takes_against_posts::<TicketSemaphore>(3, 1);
}

/// The far ones sleep on their bucket, and nobody is near.
#[test]
fn listing_2_asleep() {
    takes_against_posts::<TwaArraySemaphore<0, Native>>(3, 1);
}

/// Two far ones, on one bucket: the model has no other.
#[test]
fn listing_2_with_two_asleep() {
    takes_against_posts::<TwaArraySemaphore<0, Native>>(2, 2);
}

/// One is near, the other far: a post tells the far one that it is near.
#[test]
fn listing_2_near_and_far() {
    takes_against_posts::<TwaArraySemaphore<1, Native>>(2, 2);
}

/// Listing 3 with AddressSignalPolite.
struct Polite(TwaChainSemaphore);

impl RawSemaphore for Polite {
    const NAME: &'static str = "twa-chain, politely";

    fn with_permits(permits: u64) -> Self {
        Self(TwaChainSemaphore::with_permits(permits))
    }

    fn take(&self) {
        self.0.take();
    }

    fn post(&self) {
        self.0.post_politely();
    }
}

/// The SWAP against the detach, and of the ways out of a mis-queue the undo and the wait for a notifier.
#[test]
fn listing_3() {
    takes_against_posts::<TwaChainSemaphore>(3, 1);
}

#[test]
fn listing_3_politely() {
    takes_against_posts::<Polite>(3, 1);
}

/// Two on one chain: each is the other's successor in some executions, and mis-queued in some, in every way out.
#[test]
fn listing_3_with_two() {
    takes_against_posts::<TwaChainSemaphore>(2, 2);
}

#[test]
fn listing_3_with_two_politely() {
    takes_against_posts::<Polite>(2, 2);
}

/// A chain of three is woken from thread to thread.
#[test]
fn listing_3_with_three() {
    takes_against_posts::<TwaChainSemaphore>(1, 3);
}

/// Three semaphores, without permits, and a word to be written. In a model they share one chain: there is no other.
type Strangers = ([TwaChainSemaphore; 3], AtomicU32);

/// The first role is the main thread's. In one order only: it takes long enough.
fn strangers(preemptions: usize, [mains, others @ ..]: [fn(&Strangers); 3]) {
    explore_run(preemptions, move || {
        let semaphores = [(); 3].map(|()| TwaChainSemaphore::with_permits(0));
        let shared = Arc::new((semaphores, AtomicU32::new(0)));
        let threads = others.map(|role| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || role(&shared))
        });
        mains(&shared);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Two keys on one chain: who is woken for the other's permit waits for its own.
#[test]
fn listing_3_with_strangers() {
    strangers(
        2,
        [
            |([x, ..], _)| x.take(),
            |([_, y, _], written)| {
                y.take();
                assert_eq!(written.load(Ordering::Relaxed), 1, "a permit from nowhere");
            },
            |([x, y, _], written)| {
                x.post();
                written.store(1, Ordering::Relaxed);
                y.post();
            },
        ],
    );
}

/// The taker of x is mis-queued on top of the taker of y, when a third comes: on top of it, or after both have been detached.
#[test]
fn listing_3_with_a_newcomer() {
    strangers(
        2,
        [
            |([_, y, _], _)| y.take(),
            |([x, y, z], _)| {
                x.take();
                y.post();
                z.post();
            },
            |([x, _, z], _)| {
                x.post();
                // So that the others come first, and the bound does not have to pay for it.
                thread::yield_now();
                z.take();
            },
        ],
    );
}

#[test]
fn listing_4() {
    takes_against_posts::<TwaMonitorSemaphore>(3, 1);
}

#[test]
fn listing_4_with_two() {
    takes_against_posts::<TwaMonitorSemaphore>(2, 2);
}
