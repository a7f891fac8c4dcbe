//! First come, first served: in a line whose order is known, and by the numbers of the tickets.

use super::Game;
use crate::{
    common::Queue,
    common::{Random, assert_at_rest},
    worker::Worker,
};
use layby::{
    mutex::{RawFairMutex, Ticket},
    sema::Semaphore,
    wait_table::Home,
};
use std::{
    marker::PhantomData,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// A line that is made anew each time, of threads that are, too.
pub(crate) struct Order<H>(PhantomData<fn() -> H>);

impl<H: Home> Order<H> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<H: Home> Game for Order<H> {
    fn play(&self, worker: &mut Worker<'_>) {
        let mut random = Random::of(&[worker.random.below(1 << 20)]);
        worker.at(|| play_in_order::<H>(&mut random));
    }

    fn check(self: Box<Self>) {}
}

/// Some threads stand in line, of whom some give up. Permits come one by one, and those who stay get them in order.
fn play_in_order<H: Home>(random: &mut Random) {
    let mut semaphore = Semaphore::<H>::new_in(0);
    let left = thread::scope(|s| {
        let mut queue = Queue::new(s, &semaphore);
        let mut stays = Vec::new();
        let mut threads = Vec::new();
        for _ in 0..2 + random.below(4) {
            // Who wants two gives up with one in hand, which goes on to those behind.
            let (patience, n) = match random.below(3) {
                0 => (Duration::from_micros(random.below(2000) as u64), 1 + random.below(2) as u64),
                _ => (Duration::MAX, 1),
            };
            stays.push(patience == Duration::MAX);
            threads.push(queue.join(n, move |semaphore| semaphore.take_many_timeout(n, patience)));
        }
        let mut staying = stays.iter().filter(|stays| **stays).count();
        let mut last = None;
        while staying > 0 {
            semaphore.post();
            let admitted = queue.next_admitted();
            assert!(last < Some(admitted), "{admitted} was let go after {last:?}");
            last = Some(admitted);
            staying -= usize::from(stays[admitted]);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        queue.is_anyone_admitted()
    });
    assert!(!left, "somebody was let go without a permit");
    assert_at_rest(&mut semaphore, 0);
}

/// The holders of a fair mutex have tickets that only grow.
pub(crate) struct FairOrder<H: Home> {
    mutex: RawFairMutex<H>,
    /// One more than the last holder's ticket.
    next: AtomicU64,
}

impl<H: Home> FairOrder<H> {
    pub(crate) fn new() -> Self {
        Self { mutex: RawFairMutex::new_in(), next: AtomicU64::new(0) }
    }
}

impl<H: Home> Game for FairOrder<H> {
    fn play(&self, worker: &mut Worker<'_>) {
        let soon = worker.soon();
        let ticket = match worker.random.below(5) {
            0 => self.mutex.try_acquire(),
            1 => worker.at(|| self.mutex.acquire_timeout(soon)),
            2 => worker.at(|| self.mutex.acquire_deadline(Instant::now() + soon)),
            _ => Some(worker.at(|| self.mutex.acquire())),
        };
        if let Some(ticket) = ticket {
            let report = format!("{ticket:?}");
            let number: u64 =
                report.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a ticket shows its number");
            let next = self.next.load(Ordering::Relaxed);
            assert!(number >= next, "{number} came when {next} was next");
            worker.linger();
            assert_eq!(self.next.load(Ordering::Relaxed), next, "two held the lock at once");
            self.next.store(number + 1, Ordering::Relaxed);
            release(&self.mutex, ticket);
        }
    }

    fn check(self: Box<Self>) {
        assert_eq!(self.mutex.waiters(), 0);
        let elsewhere = self.mutex;
        let ticket = elsewhere.try_acquire().expect("left locked, or abandoned tickets were left in line");
        release(&elsewhere, ticket);
    }
}

#[allow(unsafe_code)]
fn release<H: Home>(mutex: &RawFairMutex<H>, ticket: Ticket) {
    // SAFETY: called with the mutex whose ticket it is.
    unsafe { mutex.release(ticket) }
}
