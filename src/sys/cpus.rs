//! How many CPUs this process may use.

use crate::sync::{IN_A_MODEL, atomic::Ordering, unchecked_atomic::AtomicUsize};

/// The number of CPUs that the process was allowed to use when first asked; at least 1.
///
/// Asked on the way to sleep, so it must not allocate: `std::thread::available_parallelism` reads control-group files.
pub(crate) fn count() -> usize {
    // A model must not depend on the machine.
    if IN_A_MODEL {
        return 2;
    }
    #[cfg(layby_coherence)]
    if let Some(count) = crate::sync::coherence::cpus() {
        return count;
    }
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    // Ordering: relaxed; the number is all there is, and two threads that both ask get the same.
    match COUNT.load(Ordering::Relaxed) {
        0 => {
            let count = ask().max(1);
            COUNT.store(count, Ordering::Relaxed);
            count
        }
        count => count,
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn ask() -> usize {
    // SAFETY: an all-zero set is a valid empty one, the size is its own, and pid 0 is the calling thread.
    let (result, set) = unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), set)
    };
    if result != 0 {
        // More CPUs than the set has room for: more than enough to spin on.
        return libc::CPU_SETSIZE as usize;
    }
    // SAFETY: `set` was filled in above.
    unsafe { libc::CPU_COUNT(&set) as usize }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn ask() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
