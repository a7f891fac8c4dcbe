//! Guards: permits that are put back on drop.

use super::Semaphore;
use crate::sync::in_destructor;
use crate::wait_table::{Global, Home};
use core::{fmt, mem, ptr};
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
///
/// A job that hands a part of what it has to another:
///
/// ```
/// use layby::sema::Semaphore;
///
/// let memory = Semaphore::new(100);
/// let mut mine = memory.acquire_many(60);
/// let yours = mine.split(20).expect("there are 60");
/// assert_eq!((mine.permits(), yours.permits()), (40, 20));
/// mine.merge(yours);
/// assert_eq!(mine.permits(), 60);
/// ```
///
/// Dropping it never panics. If others have posted so much meanwhile that not all of its permits fit, the semaphore has
/// [`MAX_PERMITS`](Semaphore::MAX_PERMITS) afterwards, and the rest is gone.
#[must_use = "the permits are put back when this is dropped"]
pub struct Permit<'a, H: Home = Global> {
    semaphore: &'a Semaphore<H>,
    permits: u64,
}

impl<'a, H: Home> Permit<'a, H> {
    #[inline]
    pub(super) fn new(semaphore: &'a Semaphore<H>, permits: u64) -> Self {
        Self { semaphore, permits }
    }

    /// The number of permits.
    #[must_use]
    #[doc(alias("num_permits", "count"))]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// The semaphore that they are of. Of a [`Pool`](super::Pool) it is the one inside: what is put there or taken from it by other
    /// means than the pool's makes its count wrong.
    #[must_use]
    pub fn semaphore(&self) -> &'a Semaphore<H> {
        self.semaphore
    }

    /// Takes `n` of the permits out, as a guard of their own; `None`, and nothing has changed, if there are not that many.
    #[must_use = "what is split off is put back when it is dropped"]
    pub fn split(&mut self, n: u64) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self { semaphore: self.semaphore, permits: n })
    }

    /// Adds the permits of another guard of the same semaphore to this one's.
    ///
    /// # Panics
    /// If the guards are of different semaphores, or have more permits together than a `u64` can count. Those of `other` are put
    /// back then.
    #[track_caller]
    pub fn merge(&mut self, other: Self) {
        assert!(ptr::eq(self.semaphore, other.semaphore), "{DIFFERENT}");
        self.permits = self.permits.checked_add(other.permits).expect(TOO_MANY);
        other.forget();
    }

    /// Drops the guard without putting the permits back: the semaphore has that many fewer from now on.
    pub fn forget(self) {
        mem::forget(self);
    }
}

/// What is wrong with guards that cannot be merged.
const DIFFERENT: &str = "layby: merging permits of two different semaphores";

/// What is wrong with guards that have too many permits.
const TOO_MANY: &str = "layby: merging more permits than can be counted";

impl<H: Home> Drop for Permit<'_, H> {
    #[inline]
    fn drop(&mut self) {
        in_destructor(|| self.semaphore.put_back(self.permits));
    }
}

/// Permits of a shared [`Semaphore`], put back on drop, like a [`Permit`]. They keep it alive, and can be sent to another thread.
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
    #[inline]
    pub(super) fn new(semaphore: Arc<Semaphore<H>>, permits: u64) -> Self {
        Self { semaphore, permits }
    }

    /// The number of permits.
    #[must_use]
    #[doc(alias("num_permits", "count"))]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// The semaphore that they are of.
    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore<H>> {
        &self.semaphore
    }

    /// Takes `n` of the permits out, as a guard of their own; `None`, and nothing has changed, if there are not that many.
    #[must_use = "what is split off is put back when it is dropped"]
    pub fn split(&mut self, n: u64) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self { semaphore: Arc::clone(&self.semaphore), permits: n })
    }

    /// Adds the permits of another guard of the same semaphore to this one's.
    ///
    /// # Panics
    /// If the guards are of different semaphores, or have more permits together than a `u64` can count. Those of `other` are put
    /// back then.
    #[track_caller]
    pub fn merge(&mut self, other: Self) {
        assert!(Arc::ptr_eq(&self.semaphore, &other.semaphore), "{DIFFERENT}");
        self.permits = self.permits.checked_add(other.permits).expect(TOO_MANY);
        other.forget();
    }

    /// Drops the guard without putting the permits back: the semaphore has that many fewer from now on.
    pub fn forget(mut self) {
        self.permits = 0;
    }
}

impl<H: Home> Drop for OwnedPermit<H> {
    #[inline]
    fn drop(&mut self) {
        in_destructor(|| self.semaphore.put_back(self.permits));
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
