//! A client of somebody's service that allows so many calls a second, and a few more after a pause: calls come from tasks and from
//! threads, wait for their turn in one line, and one that is not wanted any more leaves it without using up a token.
//!
//! `cargo run -p async_service --bin rate_limiter`

use layby::{Cancel, sema::Semaphore, wait_until_async};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::{
    select,
    task::{spawn_blocking, yield_now},
    time::{sleep_until, timeout},
};

/// A token bucket. A call takes a token and does not put it back.
struct RateLimiter {
    tokens: Semaphore,
    burst: u64,
    period: Duration,
    stop: Cancel,
}

impl RateLimiter {
    /// A call each `period`, or up to `burst` of them at once after a pause.
    const fn new(burst: u64, period: Duration) -> Self {
        Self { tokens: Semaphore::new(burst), burst, period, stop: Cancel::new() }
    }

    /// Waits for a turn, in a task.
    async fn turn(&self) {
        self.tokens.take_async().await;
    }

    /// Waits for a turn, in a thread.
    fn turn_blocking(&self) {
        self.tokens.take();
    }

    /// Adds a token each period, until it is stopped: for a task of its own.
    async fn run(&self) {
        let mut next = tokio::time::Instant::now();
        loop {
            // By the clock, so that a late tick is not the next one's delay too.
            next += self.period;
            select! {
                () = sleep_until(next) => { self.tokens.post_up_to(1, self.burst); }
                () = wait_until_async(&self.stop, || self.stop.is_cancelled()) => break,
            }
        }
    }
}

static CALLS: RateLimiter = RateLimiter::new(4, Duration::from_millis(5));
static DONE: AtomicU64 = AtomicU64::new(0);

fn main() {
    const TASKS: u64 = 8;
    const CALLS_OF_EACH: u64 = 4;
    let since = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let given_up = runtime.block_on(async {
        let ticker = tokio::spawn(CALLS.run());
        let tasks = (0..TASKS).map(|_| {
            tokio::spawn(async {
                for _ in 0..CALLS_OF_EACH {
                    CALLS.turn().await;
                    DONE.fetch_add(1, Relaxed);
                }
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let thread = spawn_blocking(|| {
            for _ in 0..CALLS_OF_EACH {
                CALLS.turn_blocking();
                DONE.fetch_add(1, Relaxed);
            }
        });
        // With all those in line before it, it is not served so soon. Its token is not lost.
        yield_now().await;
        let given_up = timeout(Duration::from_millis(1), CALLS.turn()).await.is_err();
        for task in tasks {
            task.await.expect("a task that does not panic");
        }
        // To join a thread here would block the ticker that it waits for.
        thread.await.expect("a thread that does not panic");
        CALLS.stop.cancel();
        ticker.await.expect("it does not panic");
        given_up
    });

    let (done, took) = (DONE.load(Relaxed), since.elapsed());
    println!("{done} calls in {took:?}, one given up: {given_up}");
    let at_least = CALLS.period * u32::try_from(done - CALLS.burst).expect("a few");
    assert_eq!(done, (TASKS + 1) * CALLS_OF_EACH);
    assert!(took >= at_least, "no more than allowed: that takes {at_least:?}");
    assert_eq!(CALLS.tokens.waiters(), 0);
}
