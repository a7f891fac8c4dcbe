//! How many CPUs this process may use, and which one a thread runs on.
//!
//! Linux says that of a thread, and threads may be pinned:
//!
//! | who is pinned to a CPU | CPUs | as the thread says that asks first | as the main thread says | as all say together |
//! |---|---|---|---|---|
//! | the process, from its start | 1 | 1 | 1 | 1 |
//! | one thread, which asks first | many | 1 | many | many |
//! | the main thread | many | many | 1 | many |
//! | every thread, each to its own | many | 1 | 1 | many |
//!
//! Too few is the costly mistake: with one CPU nobody spins, and every hand-over is a sleep and a wake-up. So it is the last:
//! each thread that is about to wait adds the CPUs that it may use, the first time and now and then after that, and those
//! of the main thread, for threads that have not waited yet.
//!
//! What has been added stays. A process that is confined later, all of it, spins where it should not, for as long as the
//! spin policy lets it; a fork's child starts anew. Quotas of control groups are not looked at: they say for how long threads
//! run, not how many at once, and are in files, which are read where allocating is allowed.

use super::fork::Birth;
use crate::sync::{
    IN_A_MODEL,
    atomic::Ordering,
    unchecked_atomic::{AtomicU32, AtomicUsize},
    world_thread_local,
};
use core::cell::Cell;

/// The number of CPUs that the process may use, as far as is known; at least 1. For signal handlers too.
#[inline]
pub(crate) fn count() -> usize {
    given().unwrap_or_else(|| CPUS.count())
}

/// The same, asked by a thread that is about to wait, which says now and then what it may use itself.
#[inline]
pub(crate) fn count_with_this_thread() -> usize {
    given().unwrap_or_else(|| {
        let due = COUNTS_LEFT.with(|left| {
            left.set(left.get().checked_sub(1).unwrap_or(COUNTS_PER_QUESTION));
            left.get() == COUNTS_PER_QUESTION
        });
        if due { CPUS.ask() } else { CPUS.count() }
    })
}

/// The number of the CPU that the calling thread runs on, or did a moment ago; 0 where the system does not say.
#[inline]
pub(crate) fn current() -> usize {
    if given().is_some() { 0 } else { platform::current() }
}

/// What a world without an operating system says.
#[inline(always)]
fn given() -> Option<usize> {
    // A model must not depend on the machine.
    if IN_A_MODEL {
        return Some(2);
    }
    #[cfg(layby_coherence)]
    return crate::sync::coherence::cpus();
    #[cfg(not(layby_coherence))]
    None
}

/// A thread asks once in this many times. Arbitrary: a question is two system calls, and a wait that spins takes longer
/// than one.
const COUNTS_PER_QUESTION: u32 = 1000;

world_thread_local! {
    /// How many times are left until the thread asks again.
    static COUNTS_LEFT: Cell<u32> = Cell::new(0);
}

static CPUS: Cpus = Cpus::new();

/// All of it is advice: threads that ask at the same time may forget what one of them has added, until it asks again.
struct Cpus {
    /// In which process the rest was asked, plus 1; 0 if nobody has asked.
    asked_in: AtomicU32,
    count: AtomicUsize,
    allowed: Set,
}

impl Cpus {
    const fn new() -> Self {
        Self { asked_in: AtomicU32::new(0), count: AtomicUsize::new(1), allowed: Set::new() }
    }

    #[inline]
    fn this_process() -> u32 {
        Birth::now().number().wrapping_add(1)
    }

    #[inline]
    fn count(&self) -> usize {
        // Ordering: relaxed, here and below; it is advice.
        if self.asked_in.load(Ordering::Relaxed) == Self::this_process() {
            self.count.load(Ordering::Relaxed)
        } else {
            self.ask()
        }
    }

    /// Adds what the calling thread may use, and the main thread.
    #[cold]
    fn ask(&self) -> usize {
        if self.asked_in.load(Ordering::Relaxed) != Self::this_process() {
            self.allowed.clear();
        }
        let count = self.allowed.ask().max(1);
        self.count.store(count, Ordering::Relaxed);
        self.asked_in.store(Self::this_process(), Ordering::Relaxed);
        count
    }
}

use platform::Set;

#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
mod platform {
    use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicUsize};
    use crate::sys::errno;

    /// As many CPUs as the C library's own sets have room for.
    pub(super) const WORDS: usize = 1024 / usize::BITS as usize;

    /// CPUs, a bit for each, as the kernel has them.
    pub(super) struct Set([AtomicUsize; WORDS]);

    impl Set {
        pub(super) const fn new() -> Self {
            Self([const { AtomicUsize::new(0) }; WORDS])
        }

        pub(super) fn clear(&self) {
            self.0.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }

        /// Adds what the calling thread may use, and the main thread; returns how many there are now.
        pub(super) fn ask(&self) -> usize {
            const THIS_THREAD: libc::pid_t = 0;
            // SAFETY: always allowed.
            let main_thread = unsafe { libc::getpid() };
            for thread in [THIS_THREAD, main_thread] {
                self.add(&allowed_to(thread));
            }
            self.len()
        }

        pub(super) fn add(&self, cpus: &[usize; WORDS]) {
            for (word, cpus) in self.0.iter().zip(cpus) {
                word.fetch_or(*cpus, Ordering::Relaxed);
            }
        }

        pub(super) fn len(&self) -> usize {
            self.0.iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
        }
    }

    pub(super) fn current() -> usize {
        // SAFETY: always allowed.
        let cpu = errno::kept(|| unsafe { libc::sched_getcpu() });
        usize::try_from(cpu).unwrap_or(0)
    }

    /// The CPUs that a thread may use. If the kernel does not say, all of them: there are more than a set has room for, which
    /// is more than enough to spin on, or it is not to be asked.
    fn allowed_to(thread: libc::pid_t) -> [usize; WORDS] {
        let mut cpus = [0; WORDS];
        // SAFETY: a set is an array of words like this one, and the size is its own.
        let result = errno::kept(|| unsafe {
            libc::sched_getaffinity(thread, size_of_val(&cpus), (&raw mut cpus).cast::<libc::cpu_set_t>())
        });
        if result == 0 { cpus } else { [usize::MAX; WORDS] }
    }
}

/// Elsewhere the system knows it of the process.
#[cfg(any(not(any(target_os = "linux", target_os = "android")), layby_model))]
mod platform {
    pub(super) struct Set;

    impl Set {
        pub(super) const fn new() -> Self {
            Self
        }

        pub(super) fn clear(&self) {}

        pub(super) fn ask(&self) -> usize {
            of_the_process().unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        }
    }

    pub(super) fn current() -> usize {
        0
    }

    /// `None` if it may use CPUs of several groups.
    #[cfg(all(windows, not(layby_model)))]
    fn of_the_process() -> Option<usize> {
        use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessAffinityMask};
        let (mut allowed, mut of_the_system) = (0, 0);
        // SAFETY: the process's own handle, and two live words.
        let known = unsafe { GetProcessAffinityMask(GetCurrentProcess(), &raw mut allowed, &raw mut of_the_system) };
        (known != 0 && allowed != 0).then_some(allowed.count_ones() as usize)
    }

    #[cfg(any(not(windows), layby_model))]
    fn of_the_process() -> Option<usize> {
        None
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(layby_model)))]
mod tests {
    use super::*;
    use platform::WORDS;

    /// Pins the calling thread to the first CPU that it may use.
    fn pin() {
        // SAFETY: an all-zero set is a valid empty one, the size is its own, and 0 is the calling thread.
        unsafe {
            let mut set: libc::cpu_set_t = core::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set), 0);
            let cpu = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &set)).unwrap();
            set = core::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
        }
    }

    /// On one CPU it shows nothing.
    #[test]
    fn a_pinned_thread_that_asks_first_does_not_speak_for_all() {
        let cpus = Cpus::new();
        let asks_first = || {
            pin();
            cpus.count()
        };
        let counted = std::thread::scope(|s| s.spawn(asks_first).join().unwrap());
        assert_eq!(counted, Set::new().ask());
    }

    #[test]
    fn threads_that_are_all_pinned_count_together() {
        let set = Set::new();
        for cpu in [5, 7, 5] {
            let mut of_one_thread = [0; WORDS];
            of_one_thread[0] = 1 << cpu;
            set.add(&of_one_thread);
        }
        assert_eq!(set.len(), 2);
    }

    /// A child may be confined otherwise than its parent.
    #[test]
    fn a_child_starts_anew() {
        let cpus = Cpus::new();
        let all = [usize::MAX; WORDS];
        cpus.ask();
        cpus.allowed.add(&all);
        assert_eq!(cpus.ask(), 1024);
        assert_eq!(cpus.count(), 1024, "as the last who asked has found");
        cpus.asked_in.store(Cpus::this_process().wrapping_sub(1), Ordering::Relaxed);
        assert!(cpus.count() < 1024, "what the parent knew");
    }
}
