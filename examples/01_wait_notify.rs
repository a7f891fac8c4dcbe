//! Waiting for a location, in the three forms: a download that reports its progress, and threads that wait for it.
//!
//! `cargo run --example 01_wait_notify`

use layby::{arm, location_wait, location_wake_all, wait_until};
use std::{
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

/// Any location will do, and it needs no field for its waiters.
static PERCENT: AtomicU32 = AtomicU32::new(0);

fn percent() -> u32 {
    PERCENT.load(Ordering::Acquire)
}

fn main() {
    // A condition in a closure: returns only when it holds.
    let closure = thread::spawn(|| {
        wait_until(&PERCENT, || percent() >= 25);
        println!("wait_until:    a quarter is there ({}%)", percent());
    });
    // A loop around a condition.
    let looping = thread::spawn(|| {
        while percent() < 50 {
            location_wait(&PERCENT);
        }
        println!("location_wait: half of it is there ({}%)", percent());
    });
    // Arm, check, wait: for a check that does not fit a closure.
    let armed = thread::spawn(|| {
        loop {
            let armed = arm(&PERCENT);
            if percent() == 100 {
                println!("arm:           all of it is there");
                return;
            }
            armed.wait();
        }
    });

    for _ in 0..100 {
        thread::sleep(Duration::from_micros(500));
        PERCENT.fetch_add(1, Ordering::Release);
        // Costs next to nothing while nobody waits, and a system call only for those that really sleep.
        location_wake_all(&PERCENT);
    }
    for waiter in [closure, looping, armed] {
        waiter.join().unwrap();
    }
}
