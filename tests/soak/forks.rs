//! Children, forked while the threads of a round are in the middle of everything: they find the table empty, and use it.

use crate::{
    child::Child,
    common::{Rally, Random},
    games::play_in_order,
    tables::assert_empty,
};
use layby::wait_table::Home;
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

static CHILDREN: AtomicUsize = AtomicUsize::new(0);

/// How many there have been.
pub(crate) fn children() -> usize {
    CHILDREN.load(Ordering::Relaxed)
}

pub(crate) fn fork_until<H: Home>(stop: &AtomicBool, mut random: Random) {
    while !stop.load(Ordering::Relaxed) {
        let chance = random.below(1 << 20);
        Child::that(|| live::<H>(chance)).succeeds();
        CHILDREN.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(random.below(10) as u64));
    }
}

fn live<H: Home>(chance: usize) {
    let table = H::table();
    assert_eq!(table.wake_all(table) + table.wake_one(table), 0, "not empty");
    assert!(!table.wait_until_timeout(table, Duration::from_micros(50), || false));
    assert_empty(table);
    // In threads of its own: they get stacks on which the parent's threads had elements and semaphores.
    let threads = [0, 1].map(|number| {
        thread::spawn(move || {
            let mut random = Random::of(&[chance, number]);
            (0..3).for_each(|_| play_in_order::<H>(&mut random));
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    thread::spawn(move || Rally::run(table, 1)).join().unwrap();
    assert_empty(table);
}
