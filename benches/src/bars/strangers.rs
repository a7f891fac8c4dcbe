//! A hot lock beside threads that sleep for something else in the same table.

use super::measure::{Bound, Effort, Finding, against};
use crate::contender::layby_own::{Apart, Crowded};
use crate::workload::repeat_alone;
use layby::Key;
use layby::eventcount::EventCount;
use layby::mutex::RawFairMutex;
use layby::sema::Semaphore;
use layby::wait_table::Home;
use parking_lot::lock_api::{self, RawMutex as _};
use std::hint::black_box;
use std::thread;
use std::time::Duration;

const SLEEPERS: usize = 100;

fn lock_and_unlock<H: Home>(n: u64) -> Duration {
    let mutex = lock_api::Mutex::<RawFairMutex<H>, ()>::from_raw(RawFairMutex::INIT, ());
    repeat_alone(n, || drop(black_box(&mutex).lock()))
}

fn take_and_post<H: Home>(n: u64) -> Duration {
    let semaphore = Semaphore::<H>::new_in(1);
    repeat_alone(n, || {
        black_box(&semaphore).take();
        black_box(&semaphore).post_conservatively();
    })
}

fn advance<H: Home>(n: u64) -> Duration {
    let count = EventCount::<H>::new_in();
    repeat_alone(n, || {
        black_box(black_box(&count).advance());
    })
}

/// Has every slot written to once: memory that never was is not read at the same cost.
fn touch_all_slots<H: Home>() {
    let table = H::TABLE;
    for ticket in 0..table.slots() as u64 {
        table.wait_if(Key::ticket(table, ticket), || false);
    }
}

/// Each with 100 threads asleep in its table, against the same with nobody there.
pub fn beside_sleepers(effort: Effort) -> Vec<Finding> {
    let effort = effort.in_short_slices();
    touch_all_slots::<Apart>();
    touch_all_slots::<Crowded>();
    let semaphores: Vec<_> = (0..SLEEPERS).map(|_| Semaphore::<Crowded>::new_in(0)).collect();
    thread::scope(|s| {
        for semaphore in &semaphores {
            s.spawn(|| semaphore.take());
        }
        while Crowded::TABLE.waiters().len() < SLEEPERS {
            thread::sleep(Duration::from_millis(1));
        }
        let pair = |what: &str, ours: fn(u64) -> Duration, alone: fn(u64) -> Duration| {
            let (mut ours, mut alone) = (ours, alone);
            against(what, &mut ours, &mut [("with nobody there", Bound::AtMost(1.05), &mut alone)], effort)
        };
        let findings = [
            pair("FairMutex beside 100 sleepers", lock_and_unlock::<Crowded>, lock_and_unlock::<Apart>),
            pair("post_conservatively beside 100 sleepers", take_and_post::<Crowded>, take_and_post::<Apart>),
            pair("advance beside 100 sleepers", advance::<Crowded>, advance::<Apart>),
        ];
        semaphores.iter().for_each(Semaphore::post);
        findings.into_iter().flatten().collect()
    })
}
