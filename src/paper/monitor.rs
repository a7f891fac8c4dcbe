//! Listing 4, of which the paper prints only the caption: TWA-Semaphore with MONITOR-MWAIT inspired waiting chains.

use super::{RawSemaphore, tickets::Tickets};
use crate::ticket_queue::key_of;
use crate::wait_table::{arm, global};

/// The paper's TWA-Semaphore in the manner of MONITOR and MWAIT: arm, check again, wait.
///
/// ```
/// use layby::paper::{RawSemaphore, TwaMonitorSemaphore};
///
/// let semaphore = TwaMonitorSemaphore::with_permits(1);
/// semaphore.take();
/// semaphore.post();
/// ```
#[derive(Debug)]
pub struct TwaMonitorSemaphore {
    tickets: Tickets,
}

impl RawSemaphore for TwaMonitorSemaphore {
    const NAME: &'static str = "twa-monitor";

    fn with_permits(permits: u64) -> Self {
        Self { tickets: Tickets::new(permits) }
    }

    fn take(&self) {
        let tx = self.tickets.draw();
        // Fast path: there is a permit for us.
        while self.tickets.surplus(tx) <= 0 {
            let armed = arm(key_of(self, tx));
            // Ratify: a grant that came before we were armed will not wake us.
            if self.tickets.surplus(tx) > 0 {
                return;
            }
            armed.wait();
        }
    }

    fn post(&self) {
        let g = self.tickets.grant();
        // Common fast path: nobody holds the ticket.
        if self.tickets.is_drawn(g) {
            global().wake_all_seqcst(key_of(self, g));
        }
    }
}
