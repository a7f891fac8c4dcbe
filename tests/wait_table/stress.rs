//! Promise 1 (README): random waits, wake-ups and timeouts, with many more threads than CPUs and hardly any slots; the books must balance.
//!
//! Every token that is put is taken, and takers that are in a wait without a timeout when their token comes depend on
//! its wake-up: a lost one stops the test. Stress on real backends proves nothing by passing.

use crate::common::{Form, Random, leaked, leaked_on, scaled, watchdog};
use layby::{Key, Location, WaitTable, sys::Park};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

const SHELVES: usize = 5;
const TAKERS: usize = 4;
const PUTTERS: usize = 2;

/// A shelf of tokens, and the books.
#[derive(Default)]
struct Shelf {
    tokens: AtomicUsize,
    put: AtomicUsize,
    taken: AtomicUsize,
}

impl Location for Shelf {}

impl Shelf {
    fn try_take(&self) -> bool {
        let taken =
            self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tokens| tokens.checked_sub(1)).is_ok();
        self.taken.fetch_add(usize::from(taken), Ordering::Relaxed);
        taken
    }

    /// Puts tokens, then wakes in one of the ways that suffice for so many.
    fn put<B: layby::sys::Backend>(&self, table: &WaitTable<B>, tokens: usize, random: &mut Random) {
        self.put.fetch_add(tokens, Ordering::Relaxed);
        match random.below(3) {
            0 => {
                self.tokens.fetch_add(tokens, Ordering::SeqCst);
                table.wake_all_seqcst(self);
            }
            1 if tokens == 1 => {
                self.tokens.fetch_add(1, Ordering::Relaxed);
                table.wake_one(self);
            }
            _ => {
                self.tokens.fetch_add(tokens, Ordering::Relaxed);
                table.wake_all(self);
            }
        }
    }
}

/// Threads take from and put on shelves whose keys share a few slots; `wait` is how a taker waits once.
fn trade<B: layby::sys::Backend>(
    table: &WaitTable<B>,
    seed: usize,
    wait: impl Fn(&mut Random, Key, Duration, &dyn Fn() -> bool) + Sync,
) {
    let shelves: [Shelf; SHELVES] = Default::default();
    let takes = scaled(300);
    thread::scope(|s| {
        let mut takers = Vec::new();
        for (nth, shelf) in shelves.iter().enumerate() {
            for taker in 0..TAKERS {
                let (wait, mut random) = (&wait, Random::new(seed + 100 * nth + taker));
                takers.push(s.spawn(move || {
                    for _ in 0..takes {
                        while !shelf.try_take() {
                            let timeout = Duration::from_micros(random.below(50) as u64);
                            wait(&mut random, Key::address(shelf), timeout, &|| {
                                shelf.tokens.load(Ordering::Relaxed) > 0
                            });
                        }
                    }
                }));
            }
        }
        for putter in 0..PUTTERS {
            let (shelves, mut random) = (&shelves, Random::new(seed + 1000 + putter));
            s.spawn(move || {
                let mut left = [TAKERS * takes / PUTTERS; SHELVES];
                while left.iter().any(|left| *left > 0) {
                    let nth = random.below(SHELVES);
                    let tokens = left[nth].min(1 + random.below(3));
                    if tokens > 0 {
                        left[nth] -= tokens;
                        shelves[nth].put(table, tokens, &mut random);
                    }
                    if random.below(4) == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        // A scope ends when its threads' closures have, a join when their thread-locals have: lingering elements too.
        takers.into_iter().for_each(|taker| taker.join().unwrap());
    });
    for shelf in &shelves {
        let books = [&shelf.tokens, &shelf.put, &shelf.taken].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(books, [0, TAKERS * takes, TAKERS * takes], "tokens left, put and taken");
    }
}

#[test]
fn tables_that_are_dropped() {
    let _watchdog = watchdog();
    for (seed, slots) in [1, 2, 8, 64].into_iter().enumerate() {
        let table = WaitTable::with_slots(slots);
        trade(&table, seed, |random, key, timeout, holds| {
            random.choose(&Form::STRICT).wait_strictly(&table, key, timeout, holds);
        });
        assert!(format!("{table:?}").contains("occupied: 0"), "somebody stayed behind in {table:?}");
    }
}

#[test]
fn tables_on_which_elements_linger() {
    let _watchdog = watchdog();
    for (seed, slots) in [1, 4, 64].into_iter().enumerate() {
        let table = leaked(slots);
        trade(table, seed, |random, key, timeout, holds| {
            random.choose(&Form::ALL).wait(table, key, timeout, holds);
        });
        assert!(format!("{table:?}").contains("occupied: 0"), "a thread that has ended stayed behind in {table:?}");
    }
}

/// Threads that wander between tables, and so carry their lingering element from one to the next.
#[test]
fn several_tables_at_once_on_another_backend() {
    let _watchdog = watchdog();
    let tables = [1, 2, 16].map(leaked_on::<Park>);
    trade(tables[0], 7, |random, key, timeout, holds| {
        // A detour that nobody wakes but time, and then the wait that counts.
        let detour = random.choose(&tables[1..]);
        random.choose(&[Form::LocationDeadline, Form::ArmDeadline]).wait(detour, key, timeout, holds);
        random.choose(&Form::ALL).wait(tables[0], key, timeout, holds);
    });
    for table in tables {
        assert!(format!("{table:?}").contains("occupied: 0"), "a thread that has ended stayed behind in {table:?}");
    }
}
