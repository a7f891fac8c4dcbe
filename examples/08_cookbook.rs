//! Primitives of one's own, from `examples/cookbook/`: a small program that uses all of them.
//!
//! Workers meet at a barrier, take numbered jobs from a bounded queue as fast as a rate limiter lets them, and say when they
//! are done.
//!
//! `cargo run --example 08_cookbook`

mod cookbook;

use cookbook::{
    auto_reset_event::AutoResetEvent, barrier::Barrier, bounded_queue::BoundedQueue, latch::Latch, once::Once,
    pool_sleep::PoolSleep, rate_limiter::RateLimiter, ticket_lock::TicketLock,
};
use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::{thread, time::Duration};

const WORKERS: u64 = 3;
const JOBS: u64 = 300;

fn main() {
    let (start, greeting, all_done) = (Barrier::new(WORKERS), Once::new(), Latch::new(WORKERS as usize));
    let (queue, limiter, over) = (BoundedQueue::new(8), RateLimiter::new(50), AtomicBool::new(false));
    let (line, sum, leftovers) = (TicketLock::new(), AtomicU64::new(0), Mutex::new(Vec::new()));
    let (sleep, swept) = (PoolSleep::new(), AutoResetEvent::new());
    thread::scope(|s| {
        for _ in 0..WORKERS {
            s.spawn(|| {
                start.wait();
                greeting.call_once(|| println!("all {WORKERS} workers are here"));
                while let Some(job) = queue.pop() {
                    limiter.acquire();
                    let _guard = line.lock();
                    // Not atomic as a whole: the lock makes it come out right.
                    sum.store(sum.load(Ordering::Relaxed) + job, Ordering::Relaxed);
                    if job % 100 == 0 {
                        leftovers.lock().unwrap().push(job);
                        sleep.added();
                    }
                }
                all_done.count_down();
            });
        }
        s.spawn(|| limiter.run(Duration::from_micros(50), || !over.load(Ordering::Relaxed)));
        s.spawn(|| {
            let mut found = 0;
            while sleep.find(|| leftovers.lock().unwrap().pop()).is_some() {
                found += 1;
            }
            println!("{found} leftovers were swept up");
            swept.set();
        });
        (1..=JOBS).map(Some).chain([None; WORKERS as usize]).for_each(|job| queue.push(job));
        all_done.wait();
        over.store(true, Ordering::Relaxed);
        sleep.close();
        swept.wait();
    });
    println!("the jobs add up to {}", sum.load(Ordering::Relaxed));
    assert_eq!(sum.into_inner(), JOBS * (JOBS + 1) / 2);
}
