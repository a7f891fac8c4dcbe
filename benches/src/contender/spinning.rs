//! What spins and never sleeps. Measured only with as many threads as there are CPUs, since beyond that a spinner waits
//! for a thread that it keeps from running.

use super::PostTake;
use crate::contender::word_wait::take_one;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The plain ticket lock as a semaphore, spinning on its grant: FIFO.
pub struct SpinTicket {
    ticket: AtomicU64,
    grant: AtomicU64,
}

impl PostTake for SpinTicket {
    fn with_permits(permits: u32) -> Self {
        Self { ticket: AtomicU64::new(0), grant: AtomicU64::new(permits.into()) }
    }

    #[inline]
    fn take(&self) {
        let ticket = self.ticket.fetch_add(1, Ordering::Relaxed);
        while self.grant.load(Ordering::Acquire) <= ticket {
            spin_loop();
        }
    }

    #[inline]
    fn post(&self) {
        self.grant.fetch_add(1, Ordering::Release);
    }
}

/// Test, test-and-set over a count: barging.
pub struct SpinCount(AtomicU32);

impl PostTake for SpinCount {
    fn with_permits(permits: u32) -> Self {
        Self(AtomicU32::new(permits))
    }

    #[inline]
    fn take(&self) {
        while !take_one(&self.0) {
            while self.0.load(Ordering::Relaxed) == 0 {
                spin_loop();
            }
        }
    }

    #[inline]
    fn post(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}
