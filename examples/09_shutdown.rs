//! A pool of workers that shuts down, jobs left or not, whatever each of them waits for, and without polling: for a job, for a
//! connection, or for a batch to be complete.
//!
//! The one `Cancel` may as well be a static, and raised by a signal handler: that allocates nothing and takes no lock.
//!
//! `cargo run --example 09_shutdown`

use layby::{Cancel, Limit, Stopped, WaitError, eventcount::EventCount, sema::Semaphore};
use std::{
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

/// What the workers share.
struct Workers {
    jobs: Semaphore,
    connections: Semaphore,
    log: Mutex<Vec<usize>>,
    done: EventCount,
    shutdown: Cancel,
}

impl Workers {
    /// Works until it is told to stop: every wait can be the one that is cancelled, and `?` is all that it takes.
    fn work(&self, worker: usize) -> Result<(), Stopped> {
        loop {
            // What is there wins over a cancellation: without this the jobs that are left would be done first.
            Limit::from(&self.shutdown).check()?;
            self.jobs.take_within(&self.shutdown)?;
            // Somebody is patient for a second, and not at all during a shutdown.
            let within = Limit::from(Duration::from_secs(1)).or(&self.shutdown);
            let connection = self.connections.acquire_within(within)?;
            self.log.lock().unwrap().push(worker);
            drop(connection);
            self.done.advance();
        }
    }

    /// Reports each time that ten more jobs are done.
    fn report(&self) -> Result<(), WaitError> {
        let mut next = 10;
        loop {
            let done = self.done.wait_at_least_within(next, &self.shutdown)?;
            println!("{done} jobs are done");
            next = done + 10;
        }
    }
}

fn main() {
    let pool = Workers {
        jobs: Semaphore::new(0),
        connections: Semaphore::new(2),
        log: Mutex::new(vec![]),
        done: EventCount::new(),
        shutdown: Cancel::new(),
    };
    thread::scope(|s| {
        let pool = &pool;
        let workers: Vec<_> = (0..8).map(|worker| s.spawn(move || pool.work(worker))).collect();
        let reporter = s.spawn(|| pool.report());
        pool.jobs.post_many(35);
        // Nobody closes the count.
        pool.done.wait_at_least(35).expect("it is open");

        // All are asleep by now, or soon: the workers in `take_within`, the reporter in `wait_at_least_within`.
        let asked = Instant::now();
        pool.shutdown.cancel();
        for worker in workers {
            assert_eq!(worker.join().unwrap(), Err(Stopped::Cancelled));
        }
        assert_eq!(reporter.join().unwrap(), Err(WaitError::Cancelled));
        println!("all have stopped, {:?} after they were asked to", asked.elapsed());
    });
    // Nothing is lost, and nobody is left in line.
    assert_eq!(pool.log.lock().unwrap().len(), 35);
    assert_eq!((pool.jobs.available(), pool.jobs.waiters(), pool.connections.available()), (0, 0, 2));
}
