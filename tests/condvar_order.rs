//! In which order `notify_one` wakes. Alone in its process: a stranger's wake-up in the same slot of the table may end a
//! wait early, which is allowed, and would change the order.

#![cfg(not(any(layby_loom, layby_shuttle)))]

use layby::mutex::{RawCondvar, RawFairMutex, RawMutex};
use std::sync::mpsc;
use std::thread;

fn wakes_the_one_that_has_waited_longest<R: lock_api::RawMutex + Sync>() {
    const WAITERS: usize = 5;
    let (waiting, changed) = (lock_api::Mutex::<R, _>::new(0), lock_api::Condvar::<RawCondvar<R>>::new());
    let (sender, woken) = mpsc::channel();
    thread::scope(|s| {
        for n in 0..WAITERS {
            let (waiting, changed, sender) = (&waiting, &changed, sender.clone());
            s.spawn(move || {
                let mut waiting = waiting.lock();
                *waiting += 1;
                changed.wait(&mut waiting);
                sender.send(n).unwrap();
            });
            // In this order: a thread is published before it unlocks.
            while *waiting.lock() != n + 1 {
                thread::yield_now();
            }
        }
        for n in 0..WAITERS {
            changed.notify_one();
            assert_eq!(woken.recv().unwrap(), n);
        }
    });
}

#[test]
fn notify_one_is_first_come_first_served() {
    wakes_the_one_that_has_waited_longest::<RawMutex>();
    wakes_the_one_that_has_waited_longest::<RawFairMutex>();
}
