//! How many threads of this process do something at this moment.

use super::fork::Birth;
use crate::sync::{advice::AtomicUsize, atomic::Ordering};

/// The lower half is their number, the upper half says whose: a fork's child has a copy of its parent's count, and none of its
/// threads. Aligned: it changes often, and its neighbours in memory do not.
#[repr(align(128))]
pub(super) struct HeadCount(AtomicUsize);

const HALF: u32 = usize::BITS / 2;
const NUMBER: usize = (1 << HALF) - 1;

/// The word of a process in which nobody is counted.
fn nobody() -> usize {
    (Birth::now().number() as usize) << HALF
}

impl HeadCount {
    pub(super) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Counts the calling thread; returns how many there are with it.
    pub(super) fn add(&self) -> usize {
        // Ordering: relaxed, here and below; the count is advice.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        if before & !NUMBER == nobody() { (before & NUMBER) + 1 } else { self.start_over() }
    }

    /// The count was a parent's, and what was added to it is forgotten with it.
    #[cold]
    fn start_over(&self) -> usize {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let others = if seen & !NUMBER == nobody() { seen } else { nobody() };
            match self.0.compare_exchange(seen, others + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return (others & NUMBER) + 1,
                Err(now) => seen = now,
            }
        }
    }

    /// The thread that was counted when `born` was now is counted no more.
    pub(super) fn remove(&self, born: Birth) {
        // A signal handler may have forked meanwhile: the child does not count us.
        if born.is_of_this_process() {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(super) fn get(&self) -> usize {
        let seen = self.0.load(Ordering::Relaxed);
        if seen & !NUMBER == nobody() { seen & NUMBER } else { 0 }
    }
}
