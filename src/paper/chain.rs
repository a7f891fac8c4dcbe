//! Listing 3: TWA-Semaphore with waiting chains.

use super::{RawSemaphore, tickets::Tickets};
use crate::ticket_queue::key_of;
use crate::wait_table::global;

/// The paper's TWA-Semaphore with waiting chains: a waiter sleeps on an element on its own stack.
///
/// The element is pushed onto the chain of its ticket's slot (AddressWaitUntil), and a post wakes the chain of the ticket
/// that it grants (AddressSignalPolite). Here the notifier walks the chain; in the paper each waiter wakes the next: see
/// DESIGN.md.
///
/// ```
/// use layby::paper::{RawSemaphore, TwaChainSemaphore};
///
/// let semaphore = TwaChainSemaphore::with_permits(1);
/// semaphore.take();
/// semaphore.post();
/// ```
#[derive(Debug)]
pub struct TwaChainSemaphore {
    tickets: Tickets,
}

impl RawSemaphore for TwaChainSemaphore {
    const NAME: &'static str = "twa-chain";

    fn with_permits(permits: u64) -> Self {
        Self { tickets: Tickets::new(permits) }
    }

    fn take(&self) {
        let tx = self.tickets.draw();
        // Fast path: there is a permit for us.
        if self.tickets.surplus(tx) > 0 {
            return;
        }
        // The key is the semaphore's address and the ticket.
        global().wait_until(key_of(self, tx), || self.tickets.surplus(tx) > 0);
    }

    fn post(&self) {
        let g = self.tickets.grant();
        global().wake_all_seqcst(key_of(self, g));
    }
}
