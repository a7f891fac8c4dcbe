//! Addition that panics instead of wrapping, on a counter that others read without a check.

use crate::sync::{
    atomic::{AtomicU64, Ordering},
    hint,
};

/// The largest count: at a billion steps a second it lasts for 146 years. The values up to twice as much are room for
/// additions that turn out to be too many.
pub(super) const MAX: u64 = (1 << 62) - 1;

/// Up to this much is added first and checked afterwards: a wrap would need 2^30 threads at once in the middle of
/// failing. More is checked first.
const ADDED_AT_ONCE: u64 = 1 << 32;

/// Adds `n` to the count, the bits up to [`MAX`] of `counter`, and returns the counter before.
///
/// # Panics
/// If the count would exceed [`MAX`]; it is then unchanged. Also if it would not, while another's addition that exceeds it is being
/// taken back.
#[inline]
#[track_caller]
pub(super) fn add(counter: &AtomicU64, n: u64) -> u64 {
    if n > ADDED_AT_ONCE {
        let Some(before) = add_if(counter, n, |sum| sum <= MAX) else {
            overflow(count(counter.load(Ordering::Relaxed)), n)
        };
        return before;
    }
    // Ordering: SeqCst; see `wake_tickets_seqcst`. It is acquire and release for later additions.
    let before = counter.fetch_add(n, Ordering::SeqCst);
    if count(before) + n > MAX {
        counter.fetch_sub(n, Ordering::SeqCst);
        overflow(count(before), n);
    }
    before
}

/// Adds `n` if the sum is `allowed`, and returns the counter before; `None` if it is not allowed or more than [`MAX`].
pub(super) fn add_if(counter: &AtomicU64, n: u64, allowed: impl Fn(u64) -> bool) -> Option<u64> {
    // Ordering: as in `add`; relaxed on failure, when nothing has been done.
    let mut seen = counter.load(Ordering::Relaxed);
    loop {
        count(seen).checked_add(n).filter(|sum| *sum <= MAX && allowed(*sum))?;
        match counter.compare_exchange_weak(seen, seen + n, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(before) => return Some(before),
            Err(now) => seen = now,
        }
    }
}

/// The counter, when no addition that turned out to be too many is in it: that is about to be taken back.
#[inline]
pub(super) fn settled(load: impl Fn() -> u64) -> u64 {
    loop {
        let counter = load();
        if count(counter) <= MAX {
            return counter;
        }
        hint::spin_loop();
    }
}

/// The count in a counter that may have a flag above it.
#[inline]
pub(super) fn count(counter: u64) -> u64 {
    counter & (2 * MAX + 1)
}

#[cold]
#[track_caller]
fn overflow(count: u64, n: u64) -> ! {
    panic!("layby: a count of {count} cannot grow by {n}: the largest is {MAX}");
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn what_is_about_to_be_taken_back_is_not_seen() {
        let seen = core::cell::Cell::new(MAX + 5);
        assert_eq!(settled(|| seen.replace(MAX - 5)), MAX - 5);
    }

    /// Another addition was too many and has not been taken back yet: what comes now must not count on top of it.
    #[test]
    fn nothing_is_added_to_what_is_too_much_already() {
        for flag in [0, 1 << 63] {
            let counter = AtomicU64::new(flag | (MAX + 1));
            for n in [1, ADDED_AT_ONCE, ADDED_AT_ONCE + 1] {
                assert!(catch_unwind(AssertUnwindSafe(|| add(&counter, n))).is_err());
            }
            assert_eq!(add_if(&counter, 1, |_| true), None);
            assert_eq!(counter.load(Ordering::Relaxed), flag | (MAX + 1));
        }
    }
}
