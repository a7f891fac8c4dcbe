//! Everything that takes part, each behind the same two traits.
//!
//! A new contender is an implementation of [`PostTake`] or [`Exclusion`] and one row of [`registry::CONTENDERS`].

pub mod async_ones;
#[cfg(target_os = "linux")]
pub mod glibc;
pub mod layby_own;
pub mod locks;
pub mod registry;
pub mod spinning;
pub mod word_wait;

/// A counting semaphore.
pub trait PostTake: Send + Sync {
    fn with_permits(permits: u32) -> Self;
    fn take(&self);
    fn post(&self);
}

/// What keeps all but one thread out of a critical section, a mutex or a semaphore of one permit; or all but a few.
pub trait Exclusion: Send + Sync {
    /// Whether it can let in more than one at a time.
    const COUNTS: bool;

    /// One that lets in `permits` at a time: 1, unless it counts.
    fn with_permits(permits: u32) -> Self;

    fn exclusively<R>(&self, section: impl FnOnce() -> R) -> R;
}

/// A semaphore as an exclusion.
pub struct Permits<S>(S);

impl<S: PostTake> Exclusion for Permits<S> {
    const COUNTS: bool = true;

    fn with_permits(permits: u32) -> Self {
        Self(S::with_permits(permits))
    }

    #[inline]
    fn exclusively<R>(&self, section: impl FnOnce() -> R) -> R {
        self.0.take();
        let result = section();
        self.0.post();
        result
    }
}

/// The same alignment for all: two cache lines of its own, since CPUs prefetch pairs of lines.
#[repr(align(128))]
#[derive(Default)]
pub struct Aligned<T>(pub T);

#[cfg(test)]
mod tests {
    use super::registry::CONTENDERS;
    use super::*;
    use std::cell::UnsafeCell;

    struct Counter(UnsafeCell<u64>);
    // SAFETY: accessed only inside the exclusion under test.
    unsafe impl Sync for Counter {}

    /// Four threads count to 4,000 in all without losing one.
    pub(crate) fn excludes<E: Exclusion>() {
        let exclusion = E::with_permits(1);
        let counter = Counter(UnsafeCell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let counter = &counter;
                    for _ in 0..1000 {
                        // SAFETY: inside the exclusion.
                        exclusion.exclusively(|| unsafe { *counter.0.get() += 1 });
                    }
                });
            }
        });
        assert_eq!(counter.0.into_inner(), 4000);
    }

    #[test]
    fn every_contender_excludes() {
        for contender in CONTENDERS {
            (contender.check)();
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = CONTENDERS.iter().map(|contender| contender.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CONTENDERS.len());
    }
}
