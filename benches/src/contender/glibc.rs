//! The C library's semaphore: `sem_wait` and `sem_post`. Barging: a late arrival may take what was posted for a sleeper.

use super::PostTake;
use std::cell::UnsafeCell;

/// `sem_t`, private to the process. Boxed, as it must not move.
pub struct SemT(Box<UnsafeCell<libc::sem_t>>);

// SAFETY: a sem_t is made to be used by several threads.
unsafe impl Send for SemT {}
// SAFETY: as above.
unsafe impl Sync for SemT {}

impl PostTake for SemT {
    fn with_permits(permits: u32) -> Self {
        // SAFETY: sem_t is plain data; sem_init overwrites it.
        let sem = Box::new(UnsafeCell::new(unsafe { std::mem::zeroed() }));
        // SAFETY: the pointer is to a live sem_t that nobody else knows yet.
        let result = unsafe { libc::sem_init(sem.get(), 0, permits) };
        assert_eq!(result, 0, "sem_init failed");
        Self(sem)
    }

    #[inline]
    fn take(&self) {
        // SAFETY: the semaphore is initialised and alive. A signal may interrupt the wait, as its manual says.
        while unsafe { libc::sem_wait(self.0.get()) } != 0 {}
    }

    #[inline]
    fn post(&self) {
        // SAFETY: the semaphore is initialised and alive.
        unsafe { libc::sem_post(self.0.get()) };
    }
}

impl Drop for SemT {
    fn drop(&mut self) {
        // SAFETY: initialised, and `&mut` says that nobody waits on it.
        unsafe { libc::sem_destroy(self.0.get()) };
    }
}
