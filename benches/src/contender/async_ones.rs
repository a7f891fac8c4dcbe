//! Peers from the asynchronous world, used blocking, as their own documentation says.

use super::{PostTake, word_wait::take_one};
use asyncband::blocking::FutureExt;
use event_listener::{Event, Listener};
use std::sync::atomic::{AtomicU32, Ordering};

/// tokio's semaphore through `blocking_acquire`: strictly FIFO.
pub struct Tokio(tokio::sync::Semaphore);

impl PostTake for Tokio {
    fn with_permits(permits: u32) -> Self {
        Self(tokio::sync::Semaphore::new(permits as usize))
    }

    #[inline]
    fn take(&self) {
        self.0.blocking_acquire().expect("nobody closes it").forget();
    }

    #[inline]
    fn post(&self) {
        self.0.add_permits(1);
    }
}

/// async-lock's semaphore through `acquire_blocking`: barging.
pub struct AsyncLock(async_lock::Semaphore);

impl PostTake for AsyncLock {
    fn with_permits(permits: u32) -> Self {
        Self(async_lock::Semaphore::new(permits as usize))
    }

    #[inline]
    fn take(&self) {
        self.0.acquire_blocking().forget();
    }

    #[inline]
    fn post(&self) {
        self.0.add_permits(1);
    }
}

/// asyncband's semaphore through its `block_on`: FIFO.
pub struct Asyncband(asyncband::semaphore::Semaphore);

impl PostTake for Asyncband {
    fn with_permits(permits: u32) -> Self {
        Self(asyncband::semaphore::Semaphore::new(permits as usize))
    }

    #[inline]
    fn take(&self) {
        self.0.acquire(1).block_on().forget();
    }

    #[inline]
    fn post(&self) {
        self.0.release(1);
    }
}

/// saa's semaphore through `acquire_sync`: FIFO, one word.
pub struct Saa(saa::Semaphore);

impl PostTake for Saa {
    fn with_permits(permits: u32) -> Self {
        Self(saa::Semaphore::with_permits(permits as usize))
    }

    #[inline]
    fn take(&self) {
        self.0.acquire_sync();
    }

    #[inline]
    fn post(&self) {
        self.0.release();
    }
}

/// A counter with event-listener's `Event` for those who find it empty, as that crate's own mutex example: barging.
pub struct EventListener {
    value: AtomicU32,
    posted: Event,
}

impl PostTake for EventListener {
    fn with_permits(permits: u32) -> Self {
        Self { value: AtomicU32::new(permits), posted: Event::new() }
    }

    #[inline]
    fn take(&self) {
        while !take_one(&self.value) {
            event_listener::listener!(self.posted => listener);
            if take_one(&self.value) {
                return;
            }
            listener.wait();
        }
    }

    #[inline]
    fn post(&self) {
        self.value.fetch_add(1, Ordering::SeqCst);
        self.posted.notify(1);
    }
}
