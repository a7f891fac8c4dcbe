//! A mutex of one's own in forty lines: one byte, no unsafe, and it says when nobody need be woken.
//!
//! `cargo run --example 02_own_mutex`

use layby::atomic::{wait, wake_one};
use std::{
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
    thread,
};

const FREE: u8 = 0;
const LOCKED: u8 = 1;
/// Locked, and somebody may wait.
const CONTENDED: u8 = 2;

#[derive(Default)]
struct ByteMutex(AtomicU8);

impl ByteMutex {
    fn lock(&self) -> Guard<'_> {
        if self.0.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Whoever has waited takes it as CONTENDED: others may wait still.
            while self.0.swap(CONTENDED, Ordering::Acquire) != FREE {
                wait(&self.0, CONTENDED);
            }
        }
        Guard(self)
    }
}

/// The lock is held while this lives.
struct Guard<'a>(&'a ByteMutex);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.0.0.swap(FREE, Ordering::Release) == CONTENDED {
            wake_one(&self.0.0);
        }
    }
}

fn main() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 50_000;
    let (mutex, total) = (ByteMutex::default(), AtomicU64::new(0));
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for _ in 0..ROUNDS {
                    let _guard = mutex.lock();
                    // Not atomic as a whole: only the mutex makes it come out right.
                    total.store(total.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            });
        }
    });
    let total = total.into_inner();
    println!("{THREADS} threads counted to {total} under a mutex of {} byte", size_of::<ByteMutex>());
    assert_eq!(total, THREADS * ROUNDS);
}
