//! Listing 3: TWA-Semaphore with waiting chains.

#![allow(unsafe_code)]

use super::address_wait::{address_signal, address_signal_polite, address_wait_until};
use super::{RawSemaphore, tickets::Tickets};
use crate::ticket_queue::Word;
use crate::wait_table::twa_hash;
use core::ptr;

/// The paper's TWA-Semaphore with waiting chains: a waiter parks on an element on its own stack.
///
/// It pushes the element onto the chain of its ticket's slot by one SWAP (AddressWaitUntil), a post detaches the chain of the
/// ticket that it grants and wakes the youngest of it (AddressSignal), and each waiter wakes the next. The chains are this
/// type's own, apart from the [wait table](crate::wait_table), and so are not in its reports.
///
/// A thread's first wait allocates 128 bytes, which later threads use again.
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

impl TwaChainSemaphore {
    /// TWAHash, of this semaphore's address.
    fn key(&self, ticket: Word) -> u32 {
        twa_hash(ptr::from_ref(self).addr() as u32, ticket as u32)
    }

    /// [`post`](RawSemaphore::post) with AddressSignalPolite, which only looks at the chain if nobody waits there.
    ///
    /// ```
    /// use layby::paper::{RawSemaphore, TwaChainSemaphore};
    ///
    /// let semaphore = TwaChainSemaphore::with_permits(0);
    /// semaphore.post_politely();
    /// semaphore.take();
    /// ```
    pub fn post_politely(&self) {
        let g = self.tickets.grant();
        let key = self.key(g);
        address_signal_polite(key);
    }
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
        let key = self.key(tx);
        // SAFETY: the condition loads a word and compares it, and does not unwind.
        unsafe { address_wait_until(key, || (self.tickets.surplus(tx) > 0).then_some(())) };
        debug_assert!(self.tickets.surplus(tx) > 0);
    }

    fn post(&self) {
        let g = self.tickets.grant();
        let key = self.key(g);
        address_signal(key);
    }
}
