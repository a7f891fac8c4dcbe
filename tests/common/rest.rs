//! A semaphore when nobody is inside any call.

use layby::{sema::Semaphore, wait_table::Home};
use std::{mem, time::Duration};

/// Checks that all permits are there, that nobody is in line, and that nothing is left of abandoned tickets: neither here,
/// nor under another address, where the semaphore goes for a moment.
pub(crate) fn assert_at_rest<H: Home>(semaphore: &mut Semaphore<H>, permits: u64) {
    assert_eq!((semaphore.available(), semaphore.waiters()), (permits, 0), "at rest");
    let moved = Box::new(mem::replace(semaphore, Semaphore::new_in(0)));
    assert!(!semaphore.take_timeout(Duration::ZERO) && semaphore.waiters() == 0);
    *semaphore = *moved;
    assert!(semaphore.try_take_many(permits) && !semaphore.try_take());
    semaphore.post_many(permits);
}
