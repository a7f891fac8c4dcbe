//! A barrier: threads wait for each other, again and again.

use super::sync::atomic::{AtomicU64, Ordering};
use layby::{location_wake_all, wait_until};

pub struct Barrier {
    parties: u64,
    /// How many have arrived in all. Each `parties` of them make a round.
    arrived: AtomicU64,
    /// How many rounds are complete.
    rounds: AtomicU64,
}

impl Barrier {
    pub fn new(parties: u64) -> Self {
        Self { parties, arrived: AtomicU64::new(0), rounds: AtomicU64::new(0) }
    }

    /// Waits until all have called this; `true` for the one who came last.
    pub fn wait(&self) -> bool {
        // Release, for the last one; acquire, so that the last one passes on what the others did.
        let number = self.arrived.fetch_add(1, Ordering::AcqRel);
        let round = number / self.parties;
        let is_last = (number + 1).is_multiple_of(self.parties);
        if is_last {
            self.rounds.fetch_add(1, Ordering::Release);
            location_wake_all(&self.rounds);
        } else {
            wait_until(&self.rounds, || self.rounds.load(Ordering::Acquire) > round);
        }
        is_last
    }
}
