//! Listing 2: TWA-Semaphore, with a waiting array of update counters.

use super::{RawSemaphore, tickets::Tickets};
use crate::spin_policy::{self, Line};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicU32, Ordering},
    const_outside_models, fence_before_peek_seqcst, world_static,
};
use crate::sys::{Broadcast, Spin};
use crate::ticket_queue::{Distance, MAX_DISTANCE, Word};
use crate::wait_table::{Invariant, twa_hash};
use core::{fmt, marker::PhantomData, ptr};

/// A bucket: its sequence changes when those who wait on it should look at Grant again. 32 bits are enough: a waiter would
/// have to miss exactly 2^32 changes between two looks.
pub(crate) struct WaitBucket {
    update_sequence: AtomicU32,
    /// How many threads sleep on it, or are about to: without any, a change makes no system call.
    sleepers: AtomicU32,
}

impl WaitBucket {
    const_outside_models! {
        fn new() -> Self {
            Self { update_sequence: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
        }
    }

    fn sequence(&self) -> u32 {
        // Ordering: SeqCst here and below, as in the paper.
        self.update_sequence.load(Ordering::SeqCst)
    }

    /// Waits until the sequence is not `seen`.
    fn wait_for_change<B: Broadcast>(&self, seen: u32) {
        if !B::SLEEPS {
            spin_policy::spin_forever_until(Line::of(&self.update_sequence), || self.sequence() != seen);
            return;
        }
        // Counted before the last look at the sequence, which is the backend's: either it sees the change, or `change`
        // sees the count.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence_before_peek_seqcst();
        while self.sequence() == seen {
            B::wait(&self.update_sequence, seen, None);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn change<B: Broadcast>(&self) {
        self.update_sequence.fetch_add(1, Ordering::SeqCst);
        fence_before_peek_seqcst();
        // All whose tickets share the bucket have to look. Not one wake for each that is counted: a thread that has come
        // since then sleeps on the new sequence, and could use up a wake that is meant for another.
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            B::wake_all(&raw const self.update_sequence);
        }
    }
}

/// The paper has 2048. Tickets of one semaphore that are a 17th of this apart share a cache line, and so do the threads that
/// spin there: it takes 8192 to keep 482 apart. See sim/README.md, "What the model changed".
const TABLE_SIZE: usize = if IN_A_MODEL { 1 } else { 8192 };

/// Aligned, so that eight buckets are one cache line.
#[repr(align(128))]
pub(crate) struct WaitArray([WaitBucket; TABLE_SIZE]);

world_static! {
    /// The long-term waiting array, shared by all semaphores of this kind.
    pub(crate) fn wait_array() -> &'static WaitArray {
        const { WaitArray([const { WaitBucket::new() }; TABLE_SIZE]) }
        model { WaitArray(core::array::from_fn(|_| WaitBucket::new())) }
    }
}

/// The paper's TWA-Semaphore: a waiter near its turn spins on Grant; one far from it waits on a counter that it shares with
/// few others.
///
/// `THRESHOLD` is the paper's LongTermThreshold: how many waiters are near. With `B =` [`Spin`], the default, far
/// waiters spin too; with a backend that sleeps they sleep, and with `THRESHOLD = 0` nobody spins at all.
///
/// ```
/// use layby::paper::{RawSemaphore, TwaArraySemaphore};
/// use layby::sys::Native;
///
/// let spins: TwaArraySemaphore = TwaArraySemaphore::with_permits(1);
/// let sleeps: TwaArraySemaphore<0, Native> = TwaArraySemaphore::with_permits(1);
/// spins.take();
/// sleeps.take();
/// ```
pub struct TwaArraySemaphore<const THRESHOLD: u32 = 1, B: Broadcast = Spin> {
    tickets: Tickets,
    backend: Invariant<B>,
}

impl<const THRESHOLD: u32, B: Broadcast> TwaArraySemaphore<THRESHOLD, B> {
    const NEAR: Distance = {
        // As a `Word`, which is as wide as the target's atomics.
        assert!(THRESHOLD as Word <= MAX_DISTANCE, "THRESHOLD is more than this target can count");
        THRESHOLD as Distance
    };

    fn bucket(&self, ticket: Word) -> &'static WaitBucket {
        let address = ptr::from_ref(self).addr() as u32;
        &wait_array().0[twa_hash(address, ticket as u32) as usize & (TABLE_SIZE - 1)]
    }
}

impl<const THRESHOLD: u32, B: Broadcast> RawSemaphore for TwaArraySemaphore<THRESHOLD, B> {
    const NAME: &'static str = "twa-array";

    fn with_permits(permits: u64) -> Self {
        Self { tickets: Tickets::new(permits), backend: PhantomData }
    }

    fn take(&self) {
        let tx = self.tickets.draw();
        // Fast path: there is a permit for us.
        if self.tickets.surplus(tx) > 0 {
            return;
        }
        let bucket = self.bucket(tx);
        loop {
            // Before Grant: a post that the next load does not see changes the sequence after this one.
            let seen = bucket.sequence();
            let dx = self.tickets.surplus(tx);
            if dx > 0 {
                return;
            }
            if dx + Self::NEAR > 0 {
                // Near: global spinning on Grant.
                spin_policy::spin_forever_until(self.tickets.line(), || self.tickets.surplus(tx) > 0);
                return;
            }
            // Far: by proxy, on the bucket.
            bucket.wait_for_change::<B>(seen);
        }
    }

    fn post(&self) {
        // The holder of the ticket granted is near, and sees it. The one that is near from now on has to be told.
        let g = self.tickets.grant().wrapping_add(Self::NEAR.cast_unsigned());
        if self.tickets.is_drawn(g) {
            self.bucket(g).change::<B>();
        }
    }
}

impl<const THRESHOLD: u32, B: Broadcast> fmt::Debug for TwaArraySemaphore<THRESHOLD, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwaArraySemaphore").field("tickets", &self.tickets).finish()
    }
}
