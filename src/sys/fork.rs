//! After `fork` the child has one thread, but a copy of every wait chain of its parent.
//!
//! Those chains hold elements on stacks that the child's C library hands out again to new threads, so the child must
//! never walk them. A generation counts the forks on the way from the first process to this one; a table that finds
//! itself of an older generation empties itself before its next use, and an element that was published in an older one
//! knows that it is on no chain any more.

#[cfg(all(unix, not(any(layby_loom, layby_shuttle))))]
mod unix {
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    static GENERATION: AtomicU32 = AtomicU32::new(0);
    static WATCHED: AtomicBool = AtomicBool::new(false);

    extern "C" fn in_child() {
        // Ordering: relaxed; the child has no other thread yet.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        // The parent's spinners do not spin here.
        super::super::spin_policy::forget_crowd();
    }

    #[inline]
    pub(crate) fn generation() -> u32 {
        // Ordering: relaxed; it changes only while the process has one thread.
        GENERATION.load(Ordering::Relaxed)
    }

    /// Has the C library count forks from now on. Called before the first element of all is published: until then a
    /// child inherits only empty chains.
    #[inline]
    pub(crate) fn watch() {
        // Ordering: relaxed; registering twice only makes a fork count twice.
        if !WATCHED.load(Ordering::Relaxed) && !crate::sync::mutant!("forks_unwatched") {
            register();
        }
    }

    #[cold]
    fn register() {
        // SAFETY: the handler touches two atomics, which is allowed in a forked child of a threaded process.
        if unsafe { libc::pthread_atfork(None, None, Some(in_child)) } == 0 {
            WATCHED.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(all(unix, not(any(layby_loom, layby_shuttle))))]
pub(crate) use unix::{generation, watch};

#[cfg(not(all(unix, not(any(layby_loom, layby_shuttle)))))]
#[inline]
pub(crate) fn generation() -> u32 {
    0
}

#[cfg(not(all(unix, not(any(layby_loom, layby_shuttle)))))]
#[inline]
pub(crate) fn watch() {}
