//! In which order `notify_one` wakes. Alone in its process, and with the mutex whose keys stay the same: a wake-up of
//! another key in the same slot of the table may end a wait early, which is allowed, and would change the order.

#![cfg(not(layby_model))]

mod common;

use common::watchdog;
use layby::mutex::{Condvar, Mutex};
use std::sync::mpsc;
use std::thread;

#[test]
fn notify_one_is_first_come_first_served() {
    const WAITERS: usize = 5;
    let _watchdog = watchdog();
    let (waiting, changed) = (Mutex::new(0), Condvar::new());
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
