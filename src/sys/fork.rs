//! After `fork` the child has one thread, but a copy of every wait chain of its parent.
//!
//! Those chains hold elements on stacks that the child's C library hands out again to new threads, so the child must
//! never walk them. A generation counts the forks on the way from the first process to this one; a table that finds
//! itself of an older generation empties itself before its next use, and an element that was published in an older one
//! knows that it is on no chain any more. The same goes for the markers of abandoned tickets: the queue that one names may
//! have lived on such a stack.

use super::nap::nap;
use crate::sync::{atomic::Ordering, hint, thread, unchecked_atomic::AtomicU32};
use std::time::Duration;

#[cfg(all(unix, not(layby_model)))]
mod unix {
    use crate::sync::{
        atomic::Ordering,
        unchecked_atomic::{AtomicBool, AtomicU32},
    };

    static GENERATION: AtomicU32 = AtomicU32::new(0);
    static WATCHED: AtomicBool = AtomicBool::new(false);

    extern "C" fn in_child() {
        // Ordering: relaxed; the child has no other thread yet.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        crate::sys::only_thread::begin();
    }

    #[inline]
    pub(crate) fn generation() -> u32 {
        // Ordering: relaxed; it changes only while the process has one thread.
        GENERATION.load(Ordering::Relaxed)
    }

    /// Has the C library count forks from the moment when the program or library that this crate is part of is loaded.
    ///
    /// The first wait is too late. With glibc a child runs the handlers that were registered when its fork began, in the
    /// order in which they were: not ours, if that wait came while others' `prepare` handlers ran, or ours after others'
    /// that were registered before it and may wake.
    ///
    /// It runs before `main`, when the standard library promises nothing: it calls the C library and touches an atomic.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    extern "C" fn at_load() {
        register();
    }

    /// Before all constructors without a priority, in the same program or library, that may register handlers themselves.
    /// Lower numbers than 101 are the implementation's.
    // SAFETY: the section is an array of such functions. The arguments that some C libraries pass are ignored.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[used]
    #[unsafe(link_section = ".init_array.00101")]
    static AT_LOAD: extern "C" fn() = at_load;

    /// Has the C library count forks from now on, if it does not yet: on systems where nothing is done at load, or if that
    /// failed. Called before the first element of all is published: until then a child inherits only empty chains.
    #[inline]
    pub(crate) fn watch() {
        // Ordering: relaxed; registering twice only makes a fork count twice.
        if !WATCHED.load(Ordering::Relaxed) {
            register();
        }
    }

    #[cold]
    fn register() {
        // SAFETY: the handler touches an atomic, which is allowed in a forked child of a threaded process. It is there for
        // as long as it is registered: glibc and Bionic forget the handlers of a library that is unloaded, musl unloads none.
        if unsafe { libc::pthread_atfork(None, None, Some(in_child)) } == 0 {
            WATCHED.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(all(unix, not(layby_model)))]
pub(crate) use unix::{generation, watch};

#[cfg(not(all(unix, not(layby_model))))]
#[inline]
pub(crate) fn generation() -> u32 {
    0
}

#[cfg(not(all(unix, not(layby_model))))]
#[inline]
pub(crate) fn watch() {}

/// The process in which something was made: a fork's child is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Birth(u32);

impl Birth {
    #[inline]
    pub(crate) fn now() -> Self {
        Self(generation())
    }

    #[inline]
    pub(crate) fn is_of_this_process(self) -> bool {
        self == Self::now()
    }

    /// Equal for everything made in one process, different in its child.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// Which process's elements or markers a place holds.
///
/// The word is twice the generation of those that the place holds, and odd while a thread of that generation empties it.
/// A fork may come in the middle of that: the child sees a renewal of another generation than its own, which nobody will
/// finish, and starts anew.
///
/// A thread that searches the place and finds another generation, or a renewal, returns as if the place were empty: what is
/// this process's own is published only after the renewal, and by the argument of [`crate::wait_table`] a thread that
/// publishes after the search sees what the searcher changed before it. So the generation is read after the place.
pub(crate) struct Generation(AtomicU32);

const RENEWING: u32 = 1;

/// How often a thread looks whether another has emptied the place: at once, which is enough if the other runs; then letting
/// it run, if it waits for this CPU; then asleep between, if it must not run before us or does not run at all. Arbitrary.
const LOOKS: u32 = 1000;
const LOOKS_AND_YIELDS: u32 = 1100;
const NAP: Duration = Duration::from_micros(100);

/// The word of a place that holds what is this process's own.
#[inline]
fn current_word() -> u32 {
    generation().wrapping_mul(2)
}

impl Generation {
    /// For a place that has existed since before any fork.
    #[cfg(not(layby_model))]
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    pub(crate) fn current() -> Self {
        Self(AtomicU32::new(current_word()))
    }

    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        // Ordering: acquire; matches the release in `renew`.
        self.0.load(Ordering::Acquire) == current_word()
    }

    /// Makes the place fit for publishing: a child's first use empties it of what is its parent's.
    #[inline]
    pub(crate) fn enter(&self, empty: impl FnOnce()) {
        watch();
        if !self.is_current() {
            self.renew(empty);
            self.wait_until_current();
        }
    }

    /// Another thread may be at work. If it is held up, so are we, and a wait with a deadline is late, as it is when a notifier
    /// is held up: a take that gave up here would have to come back, to note that its ticket is abandoned.
    #[cold]
    fn wait_until_current(&self) {
        let mut looks = 0;
        while !self.is_current() {
            match looks {
                0..LOOKS => hint::spin_loop(),
                LOOKS..LOOKS_AND_YIELDS => thread::yield_now(),
                _ => nap(NAP),
            }
            looks = looks.saturating_add(1);
        }
    }

    /// Only the first thread that comes empties the place.
    #[cold]
    fn renew(&self, empty: impl FnOnce()) {
        if self.claim(self.0.load(Ordering::Relaxed)) {
            empty();
            // Ordering: release; matches the acquire in `is_current`: a thread that sees the new generation sees it empty.
            self.0.store(current_word(), Ordering::Release);
        }
    }

    /// Whether it is the caller, who has seen this word, that empties the place.
    fn claim(&self, seen: u32) -> bool {
        let current = current_word();
        if seen == current || seen == current | RENEWING {
            return false;
        }
        self.0.compare_exchange(seen, current | RENEWING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::*;

    /// A fork in the middle of a renewal: the thread that renews does not exist in the child.
    #[test]
    fn a_renewal_that_the_parent_left_unfinished_is_done_by_the_child() {
        let left_behind = current_word().wrapping_sub(2) | RENEWING;
        let generation = Generation(AtomicU32::new(left_behind));
        assert!(!generation.is_current());
        let mut emptied = false;
        generation.renew(|| emptied = true);
        assert!(emptied && generation.is_current());
    }

    /// Another thread of this process is at work: it is left to it.
    #[test]
    fn a_renewal_of_this_process_is_done_once() {
        let generation = Generation(AtomicU32::new(current_word() | RENEWING));
        generation.renew(|| unreachable!("emptied twice"));
        assert!(!generation.is_current());
    }

    /// The C library is told once, and not by each wait: it keeps what it is told. (Two threads may both tell it.)
    #[cfg(all(unix, not(layby_no_fork)))]
    #[test]
    fn a_fork_does_not_count_for_each_wait() {
        const WAITS: u32 = 1000;
        (0..WAITS).for_each(|_| watch());
        let before = generation();
        // SAFETY: the child looks at an atomic and exits; the status is a live int.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(i32::from(!(1..WAITS).contains(&generation().wrapping_sub(before))));
            }
            let mut status = -1;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            status
        };
        assert_eq!(status, 0);
    }

    /// Two threads have seen the parent's word, and both mean to empty the place.
    #[test]
    fn one_of_two_who_saw_the_parents_word_empties_the_place() {
        let of_the_parent = current_word().wrapping_sub(2);
        let generation = Generation(AtomicU32::new(of_the_parent));
        assert_eq!([(); 2].map(|()| generation.claim(of_the_parent)), [true, false]);
    }

    /// A thread that saw an old generation may come here when another has renewed it, and others have published.
    #[test]
    fn what_has_been_renewed_is_not_emptied() {
        let generation = Generation::current();
        generation.renew(|| unreachable!("emptied of what is this process's own"));
        assert!(generation.is_current());
    }

    /// The thread that empties the place is held up until the other has gone to sleep.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[cfg_attr(miri, ignore = "no /proc to see it by")]
    #[test]
    fn who_waits_for_another_to_empty_a_place_leaves_it_the_cpu() {
        use crate::sync::unchecked_atomic::AtomicUsize;
        use crate::sys::thread_id;

        let place = Generation(AtomicU32::new(current_word().wrapping_sub(2)));
        let (waiter, slept) = (AtomicUsize::new(0), AtomicU32::new(0));
        let sleeps = |thread: usize| {
            let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
            let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
            count.trim().parse::<u64>().unwrap()
        };
        std::thread::scope(|s| {
            place.enter(|| {
                s.spawn(|| {
                    waiter.store(thread_id::current(), Ordering::Relaxed);
                    place.enter(|| unreachable!("another thread does it"));
                });
                let waiter = || Some(waiter.load(Ordering::Relaxed)).filter(|&thread| thread != 0);
                let mut first = None;
                for _ in 0..10_000 {
                    if let Some(count) = waiter().map(sleeps) {
                        // Whatever it has slept before, it has slept here.
                        if count > *first.get_or_insert(count) + 2 {
                            slept.store(1, Ordering::Relaxed);
                            break;
                        }
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        });
        assert_eq!(slept.into_inner(), 1, "it does nothing but look");
    }

    /// Two threads come at once: one of them empties the place, and neither publishes there before it has.
    #[test]
    fn one_thread_empties_a_place_and_the_other_waits_for_it() {
        const PLACES: u32 = if cfg!(miri) { 4 } else { 2000 };
        let of_the_parent = || Generation(AtomicU32::new(current_word().wrapping_sub(2)));
        let places: Vec<_> = (0..PLACES).map(|_| (of_the_parent(), AtomicU32::new(0), AtomicU32::new(0))).collect();
        let (arrived, right) = (AtomicU32::new(0), AtomicU32::new(0));
        let enter_all = || {
            for (both, (generation, begun, emptied)) in (1..).map(|nth| 2 * nth).zip(&places) {
                arrived.fetch_add(1, Ordering::Relaxed);
                for attempt in 0.. {
                    if arrived.load(Ordering::Relaxed) >= both {
                        break;
                    }
                    if attempt > 1000 { std::thread::yield_now() } else { hint::spin_loop() }
                }
                generation.enter(|| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    // More than once: on a busy machine others get to run first.
                    (0..10).for_each(|_| std::thread::yield_now());
                    emptied.fetch_add(1, Ordering::Relaxed);
                });
                let seen = (begun.load(Ordering::Relaxed), emptied.load(Ordering::Relaxed));
                right.fetch_add(u32::from(seen == (1, 1)), Ordering::Relaxed);
            }
        };
        std::thread::scope(|s| {
            s.spawn(enter_all);
            enter_all();
        });
        assert_eq!(right.into_inner(), 2 * PLACES);
    }
}
