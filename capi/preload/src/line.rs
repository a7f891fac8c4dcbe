//! A `sem_t` that is layby's.
//!
//! | bytes | |
//! |---|---|
//! | 0 to 15 | the semaphore |
//! | 16 to 19 | [`OURS`], or the `sem_t` is the C library's |
//! | 20 to 23 | which process it was last used in, and whether it is being [adopted](Line::adopt) |
//! | 24 to 31 | |
//!
//! glibc uses the first 16 bytes, and sets the others to 0 where it makes a file of a semaphore. So a `sem_t` that was never
//! initialised, in memory full of zeros, is the C library's and has the value 0, as without this library; and so is one that
//! is shared with other processes.
//!
//! # In the child of a fork
//!
//! It has a copy of the semaphore, with the tickets of threads that it does not have. What it posts would be granted to them:
//!
//! ```text
//! parent, which holds the one permit      another thread of the parent
//!                                         draws a ticket, waits
//! fork
//! child: post; it goes to the ticket, which nobody holds
//! child: wait (for ever)
//! ```
//!
//! So whoever uses a semaphore first in a process makes it anew, with as many permits as can be had, and without tickets. That
//! one thread does, with all signals blocked, so that no handler can come upon a semaphore that is half made; others wait for it.
//!
//! Permits that were on their way in the parent stay where they were: what had been granted to a thread is that thread's.

use crate::signals::SignalsBlocked;
use crate::sleep::{self, Sleep};
use core::{
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};
use layby::sema::Semaphore;
use libc::sem_t;

/// What a `sem_t` of ours has behind its semaphore. Arbitrary.
const OURS: u32 = 0x6c61_7962;

/// The process that has forked from the first one this many times, times two. A line's word is odd while it is adopted.
static PROCESS: AtomicU32 = AtomicU32::new(0);
const ADOPTED: u32 = 1;

/// A child begins, with one thread.
pub(crate) fn begin_process() {
    // Ordering: relaxed; there is no other thread yet.
    PROCESS.store(process().wrapping_add(2), Ordering::Relaxed);
}

#[inline]
fn process() -> u32 {
    PROCESS.load(Ordering::Relaxed)
}

/// A semaphore with its mark.
#[repr(C)]
pub(crate) struct Line {
    semaphore: Semaphore<Sleep>,
    owner: AtomicU32,
    process: AtomicU32,
}

const _: () = assert!(size_of::<Line>() <= size_of::<sem_t>() && align_of::<Line>() <= align_of::<sem_t>());

impl Line {
    /// Makes a semaphore of ours.
    ///
    /// # Safety
    /// There is room for a `sem_t`, which nobody uses.
    pub(crate) unsafe fn init(sem: *mut sem_t, permits: u32) {
        let semaphore = Semaphore::new_in(u64::from(permits));
        let line = Self { semaphore, owner: AtomicU32::new(OURS), process: AtomicU32::new(process()) };
        // SAFETY: by the caller's promise.
        unsafe { sem.cast::<Self>().write(line) };
    }

    /// Leaves a `sem_t` to the C library, or to nobody.
    ///
    /// # Safety
    /// There is a `sem_t`, which nobody else uses.
    pub(crate) unsafe fn disown(sem: *mut sem_t) {
        // SAFETY: by the caller's promise.
        unsafe { (*sem.cast::<Self>()).owner.store(0, Ordering::Relaxed) };
    }

    /// What a `sem_t` is, if it is ours.
    ///
    /// # Safety
    /// There is a `sem_t`, for as long as the result is used.
    #[inline]
    pub(crate) unsafe fn of<'a>(sem: *mut sem_t) -> Option<&'a Semaphore<Sleep>> {
        // SAFETY: by the caller's promise; whoever it is of, all of it has been written, and the mark is changed by us alone.
        let line = unsafe { &*sem.cast::<Self>() };
        // Ordering: relaxed; the program sees to it that a semaphore is initialised before it is used.
        if line.owner.load(Ordering::Relaxed) != OURS {
            return None;
        }
        // Ordering: acquire; matches the release in `adopt`.
        if line.process.load(Ordering::Acquire) != process() {
            line.adopt();
        }
        Some(&line.semaphore)
    }

    /// Makes the copy of a parent's semaphore the child's own.
    #[cold]
    fn adopt(&self) {
        let (of_this, being_adopted) = (process(), process() | ADOPTED);
        let blocked = SignalsBlocked::begin();
        loop {
            // Ordering: acquire; as in `of`.
            let seen = self.process.load(Ordering::Acquire);
            if seen == of_this {
                break;
            }
            if seen == being_adopted {
                sleep::while_it_is(&self.process, being_adopted);
                continue;
            }
            if self.process.compare_exchange(seen, being_adopted, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                let semaphore = Semaphore::new_in(self.semaphore.available());
                // SAFETY: nobody in this process uses it before the word says so, and it has nothing to drop.
                unsafe { ptr::from_ref(&self.semaphore).cast_mut().write(semaphore) };
                // Ordering: release; matches the acquire in `of`.
                self.process.store(of_this, Ordering::Release);
                sleep::wake_all(&self.process);
                break;
            }
        }
        blocked.end();
    }
}
