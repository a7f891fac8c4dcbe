//! Children, forked while the threads of a round are in the middle of everything: they find the table empty, and use it.

#![allow(unsafe_code, reason = "threads that cannot be scoped")]

use crate::{
    common::{
        Rally, Random, assert_at_rest,
        child::{Bare, Child},
    },
    tables::assert_empty,
    worker::Worker,
};
use layby::{sema::Semaphore, wait_table::Home};
use std::{
    ptr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

static CHILDREN: AtomicUsize = AtomicUsize::new(0);

/// How many there have been.
pub(crate) fn children() -> usize {
    CHILDREN.load(Ordering::Relaxed)
}

pub(crate) fn fork_until<H: Home>(stop: &AtomicBool, mut worker: Worker<'_>) {
    while !stop.load(Ordering::Relaxed) {
        let chance = worker.random.below(1 << 20);
        let child = Child::that(|| live::<H>(chance));
        worker.at(|| child.succeeds());
        CHILDREN.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(worker.random.below(10) as u64));
    }
}

fn live<H: Home>(chance: usize) {
    let table = H::TABLE;
    assert_eq!(table.wake_all(table) + table.wake_one(table), 0, "not empty");
    // Publishes, however slow the machine is: that is what empties the table of the parent's elements.
    table.wait_if(table, || false);
    assert_empty(table);
    let rally = Rally::leaked(table);
    let partner = Bare::start(move || rally.play(1, 1));
    // In threads of its own: they get stacks on which the parent's threads had elements and semaphores.
    let threads = [0, 1].map(|number| Bare::start(move || share::<H>(chance + number)));
    let player = Bare::start(move || rally.play(0, 1));
    [partner, player].into_iter().chain(threads).for_each(Bare::join);
    assert_empty(table);
}

/// Some threads share a semaphore on the stack of this one; some of their takes give up.
fn share<H: Home>(chance: usize) {
    let permits = 1 + chance as u64 % 2;
    let mut semaphore = Semaphore::<H>::new_in(permits);
    let address = ptr::from_ref(&semaphore).expose_provenance();
    let threads = [0, 1, 2].map(|number| {
        Bare::start(move || {
            // SAFETY: joined before the semaphore is used otherwise.
            let semaphore = unsafe { &*ptr::with_exposed_provenance::<Semaphore<H>>(address) };
            let mut random = Random::of(&[chance, number]);
            for _ in 0..20 {
                let n = 1 + random.below(permits as usize) as u64;
                let patience = random.choose(&[Duration::ZERO, Duration::from_micros(30), Duration::MAX]);
                if semaphore.take_many_timeout(n, patience) {
                    thread::yield_now();
                    semaphore.post_many(n);
                }
            }
        })
    });
    threads.into_iter().for_each(Bare::join);
    assert_at_rest(&mut semaphore, permits);
}
