//! A mailbox of one place, and its models.
//!
//! ```sh
//! cargo test                                               # the ordinary test
//! RUSTFLAGS="--cfg layby_loom" cargo test --release        # every interleaving of two threads
//! RUSTFLAGS="--cfg layby_shuttle" cargo test --release     # a thousand random ones
//! ```

#[cfg(layby_loom)]
pub use loom::{sync, thread};
#[cfg(layby_shuttle)]
pub use shuttle::{sync, thread};
#[cfg(not(any(layby_loom, layby_shuttle)))]
pub use std::{sync, thread};

use layby::{location_wake_all, wait_for, wait_for_deadline, wait_until};
use std::time::Instant;
use sync::atomic::{AtomicU32, Ordering};

/// Holds a letter, which is a number other than 0.
pub struct Mailbox {
    letter: AtomicU32,
}

const NONE: u32 = 0;

impl Mailbox {
    #[allow(clippy::new_without_default, reason = "an example")]
    pub fn new() -> Self {
        Self { letter: AtomicU32::new(NONE) }
    }

    /// Waits until the mailbox is empty.
    pub fn put(&self, letter: u32) {
        assert_ne!(letter, NONE);
        let into_empty = || self.letter.compare_exchange(NONE, letter, Ordering::Release, Ordering::Relaxed).is_ok();
        wait_until(&self.letter, into_empty);
        location_wake_all(&self.letter);
    }

    /// Waits for a letter.
    pub fn take(&self) -> u32 {
        let letter = wait_for(&self.letter, || self.try_take());
        location_wake_all(&self.letter);
        letter
    }

    /// Waits for a letter until `deadline`.
    pub fn take_deadline(&self, deadline: Instant) -> Option<u32> {
        let letter = wait_for_deadline(&self.letter, deadline, || self.try_take())?;
        location_wake_all(&self.letter);
        Some(letter)
    }

    fn try_take(&self) -> Option<u32> {
        let letter = self.letter.swap(NONE, Ordering::Acquire);
        (letter != NONE).then_some(letter)
    }

    /// Wrong, for the sake of the example: tells nobody.
    pub fn put_silently(&self, letter: u32) {
        self.letter.swap(letter, Ordering::Release);
    }
}
