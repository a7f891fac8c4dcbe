//! Listing 1: Ticket-Semaphore.

use super::{RawSemaphore, tickets::Tickets};
use crate::spin_policy;

/// The paper's Ticket-Semaphore: all waiters spin on one word.
///
/// Nothing is faster for two threads that hand a permit back and forth on CPUs of their own. With more, every post makes
/// every waiter fetch the word again. Waiters yield when the process has at least as many spinners as CPUs.
///
/// ```
/// use layby::paper::{RawSemaphore, TicketSemaphore};
///
/// let semaphore = TicketSemaphore::with_permits(1);
/// semaphore.take();
/// semaphore.post();
/// ```
#[derive(Debug)]
pub struct TicketSemaphore {
    tickets: Tickets,
}

impl RawSemaphore for TicketSemaphore {
    const NAME: &'static str = "ticket";

    fn with_permits(permits: u64) -> Self {
        Self { tickets: Tickets::new(permits) }
    }

    fn take(&self) {
        let tx = self.tickets.draw();
        // Fast path: there is a permit for us.
        if self.tickets.surplus(tx) > 0 {
            return;
        }
        spin_policy::spin_forever_until(self.tickets.line(), || self.tickets.surplus(tx) > 0);
    }

    fn post(&self) {
        self.tickets.grant();
    }
}
