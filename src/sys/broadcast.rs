//! What listing 2 needs of a backend besides the contract.

use super::{AtomicU32, Backend};

/// A backend on which many threads may sleep on one word and be woken together: what the buckets of
/// [`TwaArraySemaphore`](crate::paper::TwaArraySemaphore) ask for, and nothing else in the crate.
pub trait Broadcast: Backend {
    /// Whether a waiter gives up its CPU. If not, nobody has to be woken.
    const SLEEPS: bool = true;

    /// Wakes every thread that sleeps on the word at this address, which is only a name, as in [`Backend::wake`].
    fn wake_all(word: *const AtomicU32);
}
