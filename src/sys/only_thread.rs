//! Whether the child of a fork still has the one thread that it began with.
//!
//! While it has, nothing that the parent's threads were in the middle of will ever go on, and nothing else is in the middle of
//! anything, but for what a signal handler has interrupted.

#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
pub(crate) use linux::{begin, is_only_thread_of_child, may_be_only_thread_of_child};

#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
mod linux {
    use super::super::files;
    use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicBool};

    /// Whether this process is a child of a fork, and has not been seen with more than one thread.
    static MAY_BE_ALONE: AtomicBool = AtomicBool::new(false);

    /// A child begins. Called by its handler.
    pub(crate) fn begin() {
        MAY_BE_ALONE.store(true, Ordering::Relaxed);
    }

    /// Whether the caller is the only thread of a child, and has not been seen beside another. Asks the kernel, until the answer is
    /// no.
    #[inline]
    pub(crate) fn is_only_thread_of_child() -> bool {
        may_be_only_thread_of_child() && ask()
    }

    /// Whether it is worth asking.
    #[inline]
    pub(crate) fn may_be_only_thread_of_child() -> bool {
        // Ordering: relaxed; a thread that was started sees what its starter saw, and so the kernel says.
        MAY_BE_ALONE.load(Ordering::Relaxed)
    }

    #[cold]
    fn ask() -> bool {
        let is_alone = count_threads() == Some(1);
        if !is_alone {
            MAY_BE_ALONE.store(false, Ordering::Relaxed);
        }
        is_alone
    }

    /// How many threads the process has, by the kernel's account.
    fn count_threads() -> Option<u32> {
        let mut stat = [0u8; 1024];
        let length = files::read(c"/proc/self/stat", &mut stat)?;
        threads_in(stat.get(..length)?)
    }

    /// The twentieth field. The second is the program's name in brackets, which may contain anything.
    fn threads_in(stat: &[u8]) -> Option<u32> {
        let behind_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let fields = core::str::from_utf8(stat.get(behind_name..)?).ok()?;
        fields.split_ascii_whitespace().nth(17)?.parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_number_of_threads_is_read_whatever_the_program_is_called() {
            let stat = b"7 (a) b (c)) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 13 0 9";
            assert_eq!(threads_in(stat), Some(13));
            assert_eq!(threads_in(b"7 (a) S 1"), None);
            assert_eq!(threads_in(b""), None);
        }

        #[test]
        #[cfg_attr(any(miri, layby_no_fork), ignore = "no /proc, or an emulated one, which counts no threads")]
        fn threads_are_counted() {
            let other = std::sync::Barrier::new(2);
            std::thread::scope(|s| {
                s.spawn(|| other.wait());
                let (counted, alone) = (count_threads(), ask());
                other.wait();
                assert!(counted.unwrap() >= 2 && !alone);
            });
        }

        /// Not a child, so that nothing is asked.
        #[test]
        fn a_process_that_was_not_forked_here_is_not_alone() {
            assert!(!is_only_thread_of_child());
        }
    }
}

/// Elsewhere nothing is promised after a fork.
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(layby_model))))]
#[inline]
pub(crate) fn is_only_thread_of_child() -> bool {
    false
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(layby_model))))]
#[inline]
pub(crate) fn may_be_only_thread_of_child() -> bool {
    false
}
