//! Eventcounts and sequencers (Reed and Kanodia, 1979), and the eventcount that puts blocking on top of a lock-free
//! structure.
//!
//! | type | is | waits for |
//! |---|---|---|
//! | [`EventCount`] | a count that only grows | the count to reach a value |
//! | [`Sequencer`] | a source of consecutive tickets | nothing |
//! | [`WaitPoint`] | prepare, check again, commit or cancel | a notification, about any condition |
//!
//! Threads that follow each other's progress wait by [`EventCount`], and draw what they work on from a [`Sequencer`]. Threads that
//! wait for a structure of somebody else's, a queue or a set, wait at a [`WaitPoint`], which wakes one for each thing added.
//!
//! Tasks wait by the same types, in forms that end in `_async`; a [`Prepared`] can be awaited.
//!
//! The module needs 64-bit atomics, which some 32-bit targets lack.
//!
//! # The protocol of `EventCount`
//!
//! A waiter for value `v` waits on the key (address, `v`), so an advance from `a` to `b` peeks at the keys `a + 1 ..= b`
//! and wakes nobody else: of a thousand waiters for a thousand values, an advance by one wakes one.
//!
//! Wrong, if the advance peeked before it counted:
//!
//! ```text
//! waiter for 1                        advance
//!                                     slot of (count, 1) empty? yes: nobody to wake
//! publish at (count, 1)
//! count >= 1? no: sleep
//!                                     count = 1                      (the waiter sleeps forever)
//! ```
//!
//! Right:
//!
//! ```text
//! waiter for 1                        advance
//! publish at (count, 1)               count = 1, by a SeqCst read-modify-write
//! fence A                             (needs no fence B)
//! count >= 1? no: sleep               slot of (count, 1) empty? no: detach, set gates, wake
//! ```
//!
//! That the waiter reads "no" and the advance reads "yes" is impossible, by the argument of [`crate::wait_table`].
//!
//! # Invariants
//!
//! - **E1.** The count never falls and never wraps, except that an advance past the largest count, which panics, may be seen
//!   until it has been taken back; `closed` is never taken back.
//! - **E2.** A thread that raises the count from `a` to `b` afterwards peeks at every key in `a + 1 ..= b`. Raises are
//!   read-modify-writes, so these ranges partition all values reached: every value has one advance that is in charge.
//! - **E3.** A thread that closes the count afterwards peeks at every slot of the table.
//! - **E4.** After its read-modify-write an advance uses the address as a name only: a waiter that has been satisfied
//!   may free the count.

#![forbid(unsafe_code)]

mod bounded;
mod count;
mod sequencer;
mod tasks;
mod wait_point;

pub use count::EventCount;
pub use sequencer::Sequencer;
pub use tasks::{AtLeast, CommitAsync, Committed, For, Until, WaitAtLeastAsync, WaitForAsync, WaitUntilAsync};
pub use wait_point::{Prepared, WaitPoint};
