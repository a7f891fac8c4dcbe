//! Address-based wait and notify: the paper's LocationWait and LocationWakeAll over a hash table of pop-stacks.
//!
//! | form | for | element |
//! |---|---|---|
//! | [`wait_until`] | a condition in a closure | on the stack, off its chain on return |
//! | [`location_wait`] | a loop around a condition | the thread's own, may linger |
//! | [`arm`] | a check between arming and waiting | the thread's own, may linger |
//! | [`WaitTable::wait_if`] | the same as a closure, on any table; can be woken one by one | on the stack |
//!
//! # The protocol
//!
//! A waiter publishes an element on the chain of its key's slot, then checks its condition, then waits for the element's
//! gate. A notifier makes the condition true, then looks at the slot, detaches what is there, and sets each gate.
//!
//! Wrong, if the waiter checks before it publishes:
//!
//! ```text
//! waiter                              notifier
//! condition? no
//!                                     condition = true
//!                                     slot empty? yes: nobody to wake
//! publish, sleep                      (for ever)
//! ```
//!
//! Right:
//!
//! ```text
//! waiter                              notifier
//! publish on the slot                 condition = true
//! fence A                             fence B
//! condition? no: sleep                slot empty? no: detach, set gates, wake
//! ```
//!
//! That the waiter reads "no" and the notifier reads "yes" is impossible: of the two fences one comes first in the
//! order of all `SeqCst` fences. If A is first, what was written before A, the element, is seen by what is read after B.
//! If B is first, what was written before B, the condition, is seen by what is read after A. Without the fences both
//! may read the old value, and do: it is store buffering, on x86 as on ARM. See
//! [`sync`](../../src/layby/sync/mod.rs.html) for the form without fence B.
//!
//! # Invariants
//!
//! - **I1.** A published element that is not yet notified is in exactly one place: on its slot's chain; in the hands of
//!   a notifier, which will set its gate; or in the hands of a picker, while its slot says `PICKED`.
//! - **I2.** An element on a chain or in somebody's hands is alive, and stays where it is. Its owner leaves its frame,
//!   or its thread, only when the gate is set or when it has itself taken the element off the chain.
//! - **I3.** Setting the gate is a notifier's last access to an element.
//! - **I4.** Only the owner publishes an element, only while it is on no chain and in nobody's hands.
//! - **I5.** A picker that puts elements back has seen that no notifier came while they were in its hands; if one came,
//!   it notifies them all (`FLUSH`).
//! - **I6.** An element of the forms that return with it still published lives in a thread-local, and lingers only on
//!   slots that are never freed.
//!
//! No wake-up is lost: by the argument above the notifier finds the slot not empty if the waiter is to sleep. By I1 the
//! waiter's element is then on the chain, which the notifier detaches and notifies; or in the hands of a notifier, which
//! sets its gate, whereupon the waiter checks again, after publishing again; or in a picker's hands, with I5 the same.
//!
//! # What is promised
//!
//! Spurious wake-ups happen, lost ones do not. Nothing is promised about the order in which waiters of one key run.

mod bank;
mod element;
mod global;
mod key;
mod local;
mod pop_stack;
mod publication;
mod table;
mod trace;
mod waiters;
mod wake;

#[cfg(not(layby_model))]
pub use bank::Slots;
pub use global::{
    Global, Home, arm, global, location_wait, location_wait_deadline, location_wake_all, location_wake_all_seqcst,
    wait_until, wait_until_deadline, wait_until_timeout,
};
pub use key::Key;
pub use local::Armed;
pub use table::WaitTable;
pub use waiters::{Activity, Waiter, Waiters, dump_waiters, dump_waiters_on_signal, waiters};

/// How a wait with a deadline ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitOutcome {
    /// A wake-up, or an early return: check the condition again.
    Woken,
    /// The deadline has passed, and no wake-up came before it.
    TimedOut,
}
