//! The semaphores of listings 1 to 4 of the paper, to read beside it and to compare with.
//!
//! The paper: Dave Dice and Alex Kogan, *Semaphores Augmented with a Waiting Array*,
//! [arXiv:2501.18447](https://arxiv.org/abs/2501.18447). The listings keep its names `tx`, `dx` and `g`.
//!
//! | listing | type | how a thread waits | use it for |
//! |---|---|---|---|
//! | 1 | [`TicketSemaphore`] | all threads spin on one word | very short critical sections, and never more threads than CPUs |
//! | 2 | [`TwaArraySemaphore`] | near its turn it spins on that word, otherwise it spins or sleeps on a counter chosen by its ticket | comparison |
//! | 3 | [`TwaChainSemaphore`] | sleeps on an element on its own stack | comparison |
//! | 4 | [`TwaMonitorSemaphore`] | arms its thread's element, checks again, and sleeps on it, like MONITOR and MWAIT | comparison |
//! | 5 | [`sema::Semaphore`](crate::sema::Semaphore) | polls for a while and near its turn, otherwise sleeps | everything else |
//!
//! All are strictly first come, first served, take 16 bytes, and implement [`RawSemaphore`]. Only the last has timeouts,
//! takes and posts many permits at a time, and has guards.
//!
//! # The paper, operator by operator
//!
//! Where each is, and how it differs. Everywhere: [`RawSemaphore::take`] and [`RawSemaphore::post`] are the paper's SemaTake and
//! SemaPost; `std::atomic`'s default order is `SeqCst` here too where nothing shows that less is enough; counters are 32 bits
//! wide on targets without 64-bit atomics, and posting more than they hold is a panic.
//!
//! **Listing 1**, `ticket.rs`, over `tickets.rs` (Ticket and Grant, for all of them)
//!
//! | in the paper | here | differs |
//! |---|---|---|
//! | SemaTake, SemaPost | [`TicketSemaphore`] | |
//! | Pause | `sys/spinners.rs`, `spin_forever_until` | yields when the process has at least as many spinners as CPUs: the thread that they wait for may have none; after a microsecond or so, MONITOR and MWAIT's relatives, as the text has them (`sys/polite_wait.rs`) |
//!
//! **Listing 2**, `array.rs`
//!
//! | in the paper | here | differs |
//! |---|---|---|
//! | TWAHash | `wait_table/key.rs`, `twa_hash` | |
//! | WaitBucket | `WaitBucket` | UpdateSequence has 32 bits, which a futex can wait on; besides it a count of sleepers, so that a change that nobody sleeps on makes no system call |
//! | IndexToBucket, TableSize | `TwaArraySemaphore::bucket`, `TABLE_SIZE` | 8192 buckets instead of 2048, so that 482 tickets in a row have cache lines of their own; aligned to 128 bytes instead of a page |
//! | LongTermThreshold | the parameter `THRESHOLD` | |
//! | SemaTake | [`TwaArraySemaphore`] | near and far loops are functions of their own; far waiters spin or, as the text around the listing has it, sleep |
//! | SemaPost | the same | |
//!
//! **Listing 3**, `chain.rs`, over `address_wait.rs` and `park.rs`
//!
//! | in the paper | here | differs |
//! |---|---|---|
//! | Atomic::cas | `compare_exchange` | |
//! | WaitElement | `WaitElement` | its destructor clears `who` |
//! | WaitChain, KeyToChain, TableSize | `WaitChain`, `key_to_chain`, `TABLE_SIZE` | |
//! | Self, Park, Unpark, which the paper presumes | `park.rs`, `Thread` | an identity is a word that is never freed, which is what makes the unpark of a stale thread harmless; Park polls for a while before it sleeps |
//! | Poke | `poke` | |
//! | AddressSignal | `address_signal` | leaves chains alone that a parent process left in its child (also the next) |
//! | AddressSignalPolite | `address_signal_polite`, by [`TwaChainSemaphore::post_politely`] | |
//! | AddressWaitUntil | `address_wait_until` | its value is an `Option`; empties chains that a parent process left; orders are the weakest that the argument needs |
//! | TWAHash | `TwaChainSemaphore::key` | |
//! | SemaTake, SemaPost | [`TwaChainSemaphore`] | |
//!
//! **Listing 4**, `monitor.rs`, of which the paper prints only the caption: arm, check again, wait. It is written over the wait table,
//! with [`arm`](crate::arm).
//!
//! **Listing 5**, `wait_table` and [`sema::Semaphore`](crate::sema::Semaphore)
//!
//! | in the paper | here | differs |
//! |---|---|---|
//! | WaitElement, and E in a thread-local | `wait_table/element.rs`, `Element`; `wait_table/local.rs` | the gate has a third state, asleep, so that only sleepers cost a system call; the element says what it waits for |
//! | ~WaitElement | `wait_table/publication.rs`, `withdraw` | takes out its own element instead of flushing the chain, which would wake strangers |
//! | WaitSlot | `wait_table/pop_stack.rs`, `Slot` | two flags and a fingerprint beside the pointer, for those who take some elements and put the others back |
//! | Poke | `wait_table/pop_stack.rs`, `Chain::notify_all` | system calls when the gates are open. The paper asserts that a gate is not 0 before it is set; it must be 0 |
//! | LocationWait | [`location_wait`](crate::location_wait) | polls before it sleeps. Where the paper flushes a chain to get its element off, it is picked off. A closure form, with its element on the stack, is [`wait_until`](crate::wait_until) |
//! | LocationWakeAll | [`location_wake_all`](crate::location_wake_all) | polite, with the fence that the paper asks for; wakes the waiters of its key alone, where the paper's wakes all of the slot |
//! | IndexToBucket | `wait_table/table.rs`, `WaitTable::slot` | 4096 slots, page-aligned, in the global table; tables of one's own have as many as they like |
//! | TWAHash | `wait_table/key.rs`, `Key::hash` | over the mixed address: semaphores at the same place of their pages would share a slot for each ticket |
//! | Mix32A | `wait_table/key.rs`, `mix32a` | |
//! | Lookup | `wait_table/key.rs`, `mix_address` | with the thread-local cache of one address in the loop form and `arm`: `wait_table/local.rs`, `Lookup`; an empty one is `None`, so address 0 needs no other name |
//! | SemaTake | [`Semaphore::take`](crate::sema::Semaphore::take) | spins near its turn and yields far from it before it sleeps |
//! | SemaPost | [`Semaphore::post`](crate::sema::Semaphore::post) | also looks for tickets that were given up, and makes a waiter ready that will soon be granted |
//! | SemaPostConservative | [`Semaphore::post_conservatively`](crate::sema::Semaphore::post_conservatively) | without adding LongTermThreshold: no waiter of this listing is near, and the paper's would wake another ticket than the one it grants |

mod address_wait;
mod array;
mod chain;
mod monitor;
mod park;
mod ticket;
mod tickets;

pub use crate::sys::Broadcast;
#[cfg(layby_model)]
pub(crate) use address_wait::wait_slots;
pub use array::TwaArraySemaphore;
#[cfg(layby_model)]
pub(crate) use array::wait_array;
pub use chain::TwaChainSemaphore;
pub use monitor::TwaMonitorSemaphore;
pub use ticket::TicketSemaphore;

use crate::sema::Semaphore;
use crate::wait_table::Home;

/// What the five semaphores have in common.
///
/// ```
/// use layby::paper::{RawSemaphore, TicketSemaphore};
/// use layby::sema::Semaphore;
///
/// fn as_a_lock<S: RawSemaphore>() {
///     let semaphore = S::with_permits(1);
///     semaphore.take();
///     semaphore.post();
/// }
/// as_a_lock::<Semaphore>();
/// as_a_lock::<TicketSemaphore>();
/// ```
pub trait RawSemaphore: Send + Sync {
    /// A short name for reports.
    const NAME: &'static str;

    /// Creates a semaphore with this many permits.
    fn with_permits(permits: u64) -> Self;

    /// Takes a permit, waiting for one if necessary.
    fn take(&self);

    /// Adds a permit.
    fn post(&self);
}

impl<H: Home> RawSemaphore for Semaphore<H> {
    const NAME: &'static str = "twa";

    fn with_permits(permits: u64) -> Self {
        Self::new_in(permits)
    }

    #[inline]
    fn take(&self) {
        self.take();
    }

    #[inline]
    fn post(&self) {
        self.post();
    }
}
