//! Guards: permits that are put back on drop.

use super::Semaphore;
use crate::wait_table::{Global, Home};
use core::{fmt, mem};
use std::sync::Arc;

/// Permits of a borrowed [`Semaphore`], put back on drop.
///
/// ```
/// use layby::sema::Semaphore;
///
/// let semaphore = Semaphore::new(3);
/// let two = semaphore.acquire_many(2);
/// assert_eq!(semaphore.available(), 1);
/// drop(two);
/// assert_eq!(semaphore.available(), 3);
/// semaphore.acquire().forget();
/// assert_eq!(semaphore.available(), 2);
/// ```
#[must_use = "the permits are put back when this is dropped"]
pub struct Permit<'a, H: Home = Global> {
    semaphore: &'a Semaphore<H>,
    permits: u64,
}

impl<'a, H: Home> Permit<'a, H> {
    pub(super) fn new(semaphore: &'a Semaphore<H>, permits: u64) -> Self {
        Self { semaphore, permits }
    }

    /// The number of permits.
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Drops the guard without putting the permits back: the semaphore has that many fewer from now on.
    pub fn forget(self) {
        mem::forget(self);
    }
}

impl<H: Home> Drop for Permit<'_, H> {
    fn drop(&mut self) {
        put_back(self.semaphore, self.permits);
    }
}

/// Permits of a shared [`Semaphore`], put back on drop. They keep it alive, and can be sent to another thread.
///
/// ```
/// use layby::sema::Semaphore;
/// use std::sync::Arc;
///
/// let semaphore = Arc::new(Semaphore::new(1));
/// let permit = semaphore.acquire_owned();
/// std::thread::spawn(move || drop(permit)).join().unwrap();
/// assert_eq!(semaphore.available(), 1);
/// ```
#[must_use = "the permits are put back when this is dropped"]
pub struct OwnedPermit<H: Home = Global> {
    semaphore: Arc<Semaphore<H>>,
    permits: u64,
}

impl<H: Home> OwnedPermit<H> {
    pub(super) fn new(semaphore: Arc<Semaphore<H>>, permits: u64) -> Self {
        Self { semaphore, permits }
    }

    /// The number of permits.
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Drops the guard without putting the permits back: the semaphore has that many fewer from now on.
    pub fn forget(mut self) {
        self.permits = 0;
    }
}

impl<H: Home> Drop for OwnedPermit<H> {
    fn drop(&mut self) {
        put_back(&self.semaphore, self.permits);
    }
}

fn put_back<H: Home>(semaphore: &Semaphore<H>, permits: u64) {
    match permits {
        1 => semaphore.post(),
        n => semaphore.post_many(n),
    }
}

impl<H: Home> fmt::Debug for Permit<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl<H: Home> fmt::Debug for OwnedPermit<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").field("permits", &self.permits).finish_non_exhaustive()
    }
}
