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

/// What keeps all but one thread out of a critical section: a mutex, or a semaphore of one permit.
pub trait Exclusion: Send + Sync {
    fn new() -> Self;
    fn exclusively<R>(&self, section: impl FnOnce() -> R) -> R;
}

/// A semaphore of one permit as an exclusion.
pub struct OnePermit<S>(S);

impl<S: PostTake> Exclusion for OnePermit<S> {
    fn new() -> Self {
        Self(S::with_permits(1))
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
        let exclusion = E::new();
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
