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
//! gate. A notifier makes the condition true, then peeks at the slot, detaches what is there, and sets each gate.
//!
//! Wrong, if the waiter checks before it publishes:
//!
//! ```text
//! waiter                              notifier
//! condition? no
//!                                     condition = true
//!                                     slot empty? yes: nobody to wake
//! publish, sleep                      (forever)
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
//! No wake-up is lost: by the argument above the notifier finds the slot not empty if the waiter goes to sleep. By I1 the
//! waiter's element is then on the chain, which the notifier detaches and notifies; or in the hands of a notifier, which
//! sets its gate, whereupon the waiter checks again, after publishing again; or in a picker's hands, with I5 the same.
//!
//! # What is promised
//!
//! Spurious wake-ups happen, lost ones do not. Nothing is promised about the order in which waiters of one key run.
//!
//! # A wait, step by step
//!
//! [`wait_until`] on the global table, of a thread that has to sleep:
//!
//! 1. `WaitTable::wait_until_at` (`table.rs`) evaluates the condition: false. Has the deadline passed? No.
//! 2. `WaitTable::enter` makes the table fit for publishing, which matters after a fork (`bank.rs`, `sys/fork.rs`), and
//!    finds the slot by the key's hash (`key.rs`).
//! 3. `with_published` (`publication.rs`) makes an element on this stack frame (`element.rs`), with a label that says what
//!    it waits for and a trace that says who waits (`trace.rs`); `Slot::push` (`pop_stack.rs`) puts it on top of the slot's
//!    chain: published.
//! 4. Fence A: `fence_after_publish` (`sync/mod.rs`).
//! 5. The condition once more: still false.
//! 6. `Element::wait` (`element.rs`) polls its own gate for a while (`spin_policy.rs`), then sets it to `SLEEPING`.
//! 7. `Backend::wait` (`sys/futex.rs` on Linux): asleep.
//! 8. The gate says `NOTIFIED`: the notifier has let go of the element. (At the deadline instead: `SLEEPING` back to
//!    `WAITING`, and the caller's condition decides a last time.)
//! 9. The end of `with_published` withdraws the element (`withdraw`): it is off its chain already, nothing to do.
//!    After a timeout it is picked off.
//! 10. Back to 1: the condition holds, or the wake-up was for nothing.
//!
//! # A wake, step by step
//!
//! [`location_wake_all`], the condition having been made true:
//!
//! 1. Fence B: `fence_before_peek` (`sync/mod.rs`).
//! 2. The peek, `Global::is_occupied` (`global.rs`), which is `Slot::is_occupied` (`pop_stack.rs`): one load. Most often the
//!    slot is empty, and that was all.
//! 3. `WaitTable::wake_if_current` (`table.rs`): are the elements this process's own? After a fork they may not be.
//! 4. `wake_chain` (`wake.rs`) detaches the whole chain by one compare-and-swap (`Slot::detach_all`).
//! 5. For each element: read the link to the next, then `Element::notify` (`element.rs`) swaps the gate to `NOTIFIED`. From
//!    then on the element is its owner's; the gate's address is only a name.
//! 6. The gate said `SLEEPING`: `Backend::wake` (`sys/futex.rs`). It said `WAITING`: no system call.
//!
//! A wake that has to choose ([`WaitTable::wake_one`]), a withdrawal in step 9 that finds its element still there, and a
//! report *pick*: they take the chain and mark the slot `PICKED`, take out the elements they want, and put the others back.
//!
//! # Glossary
//!
//! | word | meaning |
//! |---|---|
//! | key | what is waited on: an address, or an address and a ticket |
//! | element | one waiting thread: a gate, a link, a label; on its stack or in a thread-local |
//! | gate | the word in an element that its owner spins and sleeps on |
//! | label | what an element waits for, and whether a wake of one may select it |
//! | slot, chain | a word of the table, and the stack of elements that hangs on it |
//! | bank, table, home | the array of slots; a bank with its state; the type that stands for a static table |
//! | publish | to push an element on its slot's chain, where notifiers find it |
//! | peek | a notifier's load of a slot: may anybody wait here? |
//! | detach | to take a whole chain, to notify it |
//! | notify | to set an element's gate, which gives it back to its owner |
//! | wake | to notify those who wait for a key, and have the operating system wake those of them that sleep |
//! | in hand | detached or picked, and not yet notified or put back |
//! | pick, put back | to take a chain in hand in order to take out some elements; to return the others |
//! | flush | what a notifier asks of a picker in its way: to notify all it holds instead of putting them back |
//! | withdraw | to take one's own element off its chain |
//! | linger | to stay on a chain after the wait is over, as the loop form's element may |
//! | ticket, grant | a place in a ticket queue; the number of tickets that may go |
//! | near, far, staged | soon to be granted, or not; woken ahead of its grant to stay awake until then |
//! | abandon, settle | to leave a queue with a ticket that is not granted; to see that such a ticket holds up nobody |
//! | marker, span | where an abandoned ticket is noted; the tickets that one marker covers |
//! | alert | a reason for every post of a table's queues to take its slow path: there are markers |
//! | generation, birth | how many forks lie between the first process and this one; the generation a thing was made in |
//! | world | what atomics, threads and clocks are: std's, a model checker's, or the simulator's |

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
