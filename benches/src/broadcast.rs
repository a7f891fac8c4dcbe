//! One thread lets many go at once, over and over.

use crate::crowd::Counter;
use event_listener::{Event, Listener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A count and `event_listener::Event`, used as its docs say: listen, look again, wait.
#[derive(Default)]
pub struct Listeners {
    count: AtomicU64,
    changed: Event,
}

impl Counter for Listeners {
    fn advance(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.changed.notify(usize::MAX);
    }

    fn wait_at_least(&self, value: u64) {
        while self.count.load(Ordering::SeqCst) < value {
            let listener = self.changed.listen();
            if self.count.load(Ordering::SeqCst) < value {
                listener.wait();
            }
        }
    }
}

/// n times: all of `waiters` threads wait for the same value, and one advance lets them go. From the first advance until
/// the last thread has come back n times.
pub fn broadcast<C: Counter>(waiters: u64, n: u64) -> Duration {
    let (start, back) = (C::default(), C::default());
    std::thread::scope(|scope| {
        for _ in 0..waiters {
            scope.spawn(|| {
                for round in 0..=n {
                    start.wait_at_least(round + 1);
                    back.advance();
                }
            });
        }
        let mut rounds = 0;
        let mut round = || {
            start.advance();
            rounds += 1;
            back.wait_at_least(rounds * waiters);
        };
        // Once before the clock starts, so that all are there.
        round();
        crate::workload::repeat(n, round)
    })
}
