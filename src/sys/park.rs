//! Identity-based park and unpark, for every platform that has no address-based wait: `parking_lot_core`.
//!
//! Why not [`std::thread::park`]: a notifier must take the waiter's handle before it sets the gate, and a
//! `std::thread::Thread` is counted; the notifier may be left with the last count and would then free memory in the
//! middle of a wake. Its token is also shared with every other library on the thread. `parking_lot_core` identifies the
//! waiter by its element's address and owns nothing.

use super::{AtomicU32, Backend, Broadcast};
#[cfg(not(any(layby_model, layby_coherence)))]
use crate::counters::{self, Event};
use std::time::Instant;

/// Sleeps by `parking_lot_core`, with the gate's address as the identity of its owner.
///
/// Waking a stale address is harmless: only threads that parked here carry our token, so a lock of somebody else that
/// has come to live at that address is passed over; another waiter of ours there checks its own word.
///
/// After a fork the child inherits `parking_lot_core`'s own table, sleepers and locks that others held included, so a
/// table on this backend is not promised to work there. [`Native`](super::Native) on Linux and Windows is another.
#[derive(Debug, Clone, Copy)]
pub struct Park;

// SAFETY: the word is only read; `parking_lot_core` does not unwind, nor do our closures.
#[cfg(not(any(layby_model, layby_coherence)))]
unsafe impl Backend for Park {
    const NAME: &'static str = "park";
    const WAKE_ALL: Option<fn(*const AtomicU32)> = Some(<Self as Broadcast>::wake_all);

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        use crate::sync::atomic::Ordering;
        counters::count(Event::SleepCall);
        // Ordering: relaxed is enough. `validate` runs under the bucket's lock, and so does the notifier's look for
        // sleepers, after it changed the word.
        let validate = || word.load(Ordering::Relaxed) == expected;
        // SAFETY:
        // - the key is an address that we own for as long as we are parked;
        // - neither closure panics or calls into `parking_lot_core`.
        unsafe {
            parking_lot_core::park(core::ptr::from_ref(word).addr(), validate, || {}, |_, _| {}, OURS, deadline);
        }
    }

    /// All of them: `parking_lot_core` has no wake of one that leaves foreign sleepers alone, and none is needed.
    fn wake(word: *const AtomicU32) {
        use parking_lot_core::{DEFAULT_UNPARK_TOKEN, FilterOp};
        counters::count(Event::WakeCall);
        let ours_only = |token| if token == OURS { FilterOp::Unpark } else { FilterOp::Skip };
        // SAFETY:
        // - the key is only compared; a foreign waiter on the same address does not carry our token and is skipped;
        // - neither closure panics or calls into `parking_lot_core`.
        unsafe {
            parking_lot_core::unpark_filter(word.addr(), ours_only, |_| DEFAULT_UNPARK_TOKEN);
        }
    }
}

#[cfg(not(any(layby_model, layby_coherence)))]
impl Broadcast for Park {
    fn wake_all(word: *const AtomicU32) {
        Self::wake(word);
    }
}

/// Tells our sleepers from those of other users of `parking_lot_core` in the process ("layb" in ASCII).
#[cfg(not(any(layby_model, layby_coherence)))]
const OURS: parking_lot_core::ParkToken = parking_lot_core::ParkToken(0x6c61_7962);

// SAFETY: the word is only read. A checker that unwinds ends the execution.
#[cfg(any(layby_model, layby_coherence))]
unsafe impl Backend for Park {
    const NAME: &'static str = "model";
    const WAKE_ALL: Option<fn(*const AtomicU32)> = Some(<Self as Broadcast>::wake_all);

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        crate::sync::parker::sleep(word, expected, deadline);
    }

    fn wake(word: *const AtomicU32) {
        crate::sync::parker::wake(word);
    }
}

#[cfg(any(layby_model, layby_coherence))]
impl Broadcast for Park {
    fn wake_all(word: *const AtomicU32) {
        crate::sync::parker::wake_all(word);
    }
}
