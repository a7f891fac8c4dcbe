//! Address-based wait and notify: the paper's LocationWait and LocationWakeAll over a hash table of pop-stacks.
//!
//! | form | for | element |
//! |---|---|---|
//! | [`wait_until`] | a condition in a closure | on the stack, off its chain on return |
//! | [`location_wait`] | a loop around a condition | the thread's own, may linger |
//! | [`arm`] | a check between arming and waiting | the thread's own, may linger |
//! | [`wait_if`] | the same as a closure, on any table; can be woken one by one | on the stack |
//! | [`wait_until_any`] | a condition on several locations | one for each, on the stack |
//!
//! Those on the stack have forms with a [`Limit`]: a deadline, a [`Cancel`], or several of them.
//!
//! # Which form
//!
//! | who may go on | wait | wake |
//! |---|---|---|
//! | everybody: flag, latch, barrier, once | [`wait_until`] | [`location_wake_all`] |
//! | any one: lock, event, queue | [`wait_if`] in a loop; for a queue rather a `WaitPoint` of [`eventcount`](crate::eventcount) | [`location_wake_one`] |
//! | the one whose number it is | [`wait_until`] on [`Key::ticket`] | [`location_wake_all`] of that key |
//! | whoever a loop or a check that fits no closure lets go | [`location_wait`], [`arm`] | [`location_wake_all`] |
//!
//! [`location_wake_all`] wakes everybody who waits there in whatever form. If only one of them can go on, the others are woken for
//! nothing, a thundering herd. A wake of one is for [`wait_if`] only: it wakes all who wait in other forms.
//!
//! Fair exclusion in a line, with two counters:
//!
//! ```
//! use layby::{Key, location_wake_all, wait_until};
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! let (tickets, serving) = (AtomicU64::new(0), AtomicU64::new(0));
//! std::thread::scope(|s| {
//!     for _ in 0..4 {
//!         s.spawn(|| {
//!             let mine = tickets.fetch_add(1, Ordering::Relaxed);
//!             wait_until(Key::ticket(&serving, mine), || serving.load(Ordering::Acquire) == mine);
//!             // One at a time, in the order of the tickets; and now the next, whoever else waits.
//!             serving.store(mine + 1, Ordering::Release);
//!             location_wake_all(Key::ticket(&serving, mine + 1));
//!         });
//!     }
//! });
//! ```
//!
//! # The protocol
//!
//! A waiter publishes an element on the chain of its key's slot, then checks its condition, then waits for the element's
//! gate. A notifier makes the condition true, then peeks at the slot, picks the elements of its key, and sets each gate.
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
//! condition? no: sleep                slot empty? no: pick, set gates, wake
//! ```
//!
//! That the waiter reads "no" and the notifier reads "yes" is impossible: of the two fences one comes first in the
//! order of all `SeqCst` fences. If A is first, what was written before A, the element, is seen by what is read after B.
//! If B is first, what was written before B, the condition, is seen by what is read after A. Without the fences both
//! may read the old value, and do: it is store buffering, on x86 as on ARM. See
//! [`wake_all_seqcst`](WaitTable::wake_all_seqcst) for the form without fence B.
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
//! waiter's element is then on the chain, where the notifier picks it and notifies it; or in the hands of a notifier, which
//! sets its gate, whereupon the waiter checks again, after publishing again; or in a picker's hands, with I5 the same.
//!
//! # What is promised
//!
//! Spurious wake-ups happen, when two threads choose among the waiters of one slot at a time; lost ones do not. Nothing is
//! promised about the order in which waiters of one key run.
//!
//! # Deadlines
//!
//! A wait never ends before its deadline without a reason, and one that has passed ends it, as soon as the operating system
//! lets its thread run. One thing may keep it longer: another thread that has the waiter's element in its hands at that moment,
//! because it wakes or searches the same slot, must set the gate or put the element back before the wait can return. That
//! takes a few instructions; if the thread is not running, because it was preempted, stopped or interrupted there, it takes
//! until it is. There is no bound on that. A program with hard deadlines keeps strangers out by a table of its own, and
//! does not wake with threads that may not run. The end of a thread that has used the loop form or [`arm`] is held up in the
//! same way. (Why it cannot be bounded is at the head of `publication.rs`.)
//!
//! # A wait, step by step
//!
//! [`wait_until`] on the global table, of a thread that has to sleep:
//!
//! 1. `WaitTable::wait_until_at` (`table.rs`) evaluates the condition: false. Has the deadline passed? No.
//! 2. `WaitTable::enter` makes the table fit for publishing, which matters after a fork (`bank.rs`, `sys/fork.rs`), and
//!    finds the slot by the key's hash (`key.rs`).
//! 3. `with_published` (`publication.rs`) makes an element on this stack frame (`element.rs`), with a label that says what
//!    it waits for and a trace that says who waits (`trace.rs`); `Slot::push_hashed` (`pop_stack.rs`) puts it on top of the slot's
//!    chain: published.
//! 4. Fence A: `fence_after_push` (`sync/mod.rs`).
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
//!    And does the slot's fingerprint allow for our key? If strangers alone wait there, that was all.
//! 4. `wake_those` (`wake.rs`) *picks*: it takes the chain and marks the slot `PICKED`, takes out the elements of its key, and
//!    puts the others back (`pop_stack.rs`).
//! 5. For each element taken: read the link to the next, then `Element::notify` (`element.rs`) swaps the gate to `NOTIFIED`.
//!    From then on the element is its owner's; the gate's address is only a name.
//! 6. Where the gate said `SLEEPING`: `Backend::wake` (`sys/futex.rs`), when all gates are set, or those of some sleepers. Where
//!    it said `WAITING`: no system call.
//!
//! [`WaitTable::wake_one`], a withdrawal in step 9 that finds its element still there, and a report pick likewise.
//!
//! # Glossary
//!
//! | word | meaning |
//! |---|---|
//! | key | what is waited on: an address, or an address and a ticket |
//! | element | one waiting thread: a gate, a link, a label; on its stack or in a thread-local |
//! | gate | the word in an element, or of a group, that its owner spins and sleeps on |
//! | group, member | several elements of one thread that are published at once, and one of them |
//! | limit | what ends a wait besides what it waits for: a deadline, a cancellation |
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
//! | fingerprint | bits of a slot's word that tell whether its elements may be of a key |
//! | flush | what a notifier asks of a picker in its way: to notify all it holds instead of putting them back |
//! | withdraw | to take one's own element off its chain |
//! | linger | to stay on a chain after the wait is over, as the loop form's element may |
//! | ticket, grant | a place in a ticket queue; the number of tickets that may go |
//! | near, far, staged | soon to be granted, or not; woken ahead of its grant to stay awake until then |
//! | abandon, settle | to leave a queue with a ticket that is not granted; to see that such a ticket holds up nobody |
//! | marker, run | what is left for an abandoned ticket; tickets one behind the other that all have one |
//! | alert | a reason for every post of a table's queues to take its slow path: there are markers |
//! | generation, birth | how many forks lie between the first process and this one; the generation a thing was made in |
//! | world | what atomics, threads and clocks are: std's, a model checker's, or the simulator's |

mod any;
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
mod asymmetric;
mod bank;
mod cancel;
mod crowd;
mod element;
mod gate;
mod global;
mod group;
mod key;
mod limit;
mod linked;
mod local;
mod location;
pub(crate) mod names;
mod pop_stack;
mod publication;
mod table;
mod task;
mod trace;
mod waiters;
mod wake;

/// How many forks there are between this process and the first.
#[cfg(feature = "mutex")]
pub(crate) use crate::sys::fork::generation;
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub(crate) use asymmetric::AsymmetricFences;
#[cfg(not(layby_model))]
pub use bank::Slots;
pub use cancel::Cancel;
#[cfg(layby_model)]
pub(crate) use crowd::crowds;
pub use global::{
    Global, Home, arm, global, location_wait, location_wait_deadline, location_wake_all, location_wake_all_seqcst,
    location_wake_one, wait_for, wait_for_deadline, wait_for_timeout, wait_for_within, wait_if, wait_if_deadline,
    wait_if_within, wait_until, wait_until_any, wait_until_any_deadline, wait_until_any_timeout, wait_until_any_within,
    wait_until_deadline, wait_until_timeout, wait_until_within,
};
pub(crate) use global::{Invariant, Peek, table_of};
pub use key::Key;
pub(crate) use key::twa_hash;
pub use limit::Limit;
pub use local::Armed;
pub use location::Location;
pub use table::WaitTable;
pub use task::{
    AtHome, WaitForAsync, WaitIfAsync, WaitUntilAsync, Waiting, wait_for_async, wait_if_async, wait_until_async,
};
pub(crate) use task::{Moment, Purpose, Wakes};
pub use waiters::{Activity, Waiter, Waiters, dump_waiters, dump_waiters_on_signal, waiters};

/// How a wait with a deadline ended.
#[must_use = "says whether the deadline has passed"]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitOutcome {
    /// A wake-up, or an early return: check the condition again.
    Woken,
    /// The deadline has passed, and no wake-up came before it.
    TimedOut,
}

impl WaitOutcome {
    /// Of a wait that has no limit but a deadline.
    pub(crate) fn of(ended: Result<(), crate::error::Stopped>) -> Self {
        if ended.is_ok() { Self::Woken } else { Self::TimedOut }
    }
}
