//! Threads that sleep on one word, because they are woken together.
//!
//! A thread sleeps on the gate of its own element, so that it can be woken alone; two hundred that are woken together then cost
//! their notifier two hundred system calls. A notifier that has woken many of one key remembers the key, and those who wait for
//! it from then on sleep on a word that they share: the next wake of all is one system call. Where few are found to sleep there,
//! the key is forgotten.
//!
//! The gate still says who may go. The shared word counts the wakes, so that nobody falls asleep behind one:
//!
//! ```text
//! waiter                                        notifier
//! gate: WAITING -> IN_CROWD                     gate: IN_CROWD -> NOTIFIED   (of each)
//! reads the count: c                            count += 1
//! gate open? no                                 wake all who sleep on the count
//! sleep while the count is c
//! ```
//!
//! - **Q1.** A waiter reads the count before it looks at its gate. If it reads what the notifier wrote, it sees its gate open
//!   (release and acquire). If it does not, the count is not `c` any more when the notifier wakes: either it did not fall asleep,
//!   or it is woken. Wrong is the other order: gate, notifier, count, asleep behind the wake.
//! - **Q2.** A notifier wakes a crowd after the last gate that it opens, when it has nothing in hand.
//!
//! Crowds are few, and a key finds its own by its hash. Two that share a word wake each other for nothing: each looks at its gate
//! and sleeps again. They are for the whole process and never freed, so their addresses outlive every sleeper; and in the child of a
//! fork nobody sleeps there.
//!
//! Only waits of which a wake takes all are in a crowd: not those that a wake of one may choose, and not members of a group,
//! which sleep on the group's gate.

use super::linked::Label;
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicU32, Ordering},
    unchecked_atomic, world_static,
};
use crate::sys::Backend;

/// How many crowds there can be. Arbitrary: more than a program has at a time.
const CROWDS: usize = if IN_A_MODEL { 2 } else { 32 };

/// So many sleepers woken at once make a crowd, and fewer than [`FEW`] that are found in one end it. Arbitrary.
const MANY: u32 = if IN_A_MODEL { 1 } else { 16 };
const FEW: u32 = if IN_A_MODEL { 1 } else { 4 };

/// A word to sleep on, and for whom it is. Aligned like an element: its sleepers and its neighbours do not disturb each other.
#[repr(align(128))]
pub(crate) struct Crowd {
    /// How often it was woken.
    wakes: AtomicU32,
    /// The hash of the key that it is for, with the lowest bit set; 0 if it is for none. Advice: who sleeps on which word
    /// decides about speed.
    of: unchecked_atomic::AtomicU32,
}

world_static! {
    /// All of them.
    pub(crate) fn crowds() -> &'static [Crowd; CROWDS] {
        const { [const { Crowd { wakes: AtomicU32::new(0), of: unchecked_atomic::AtomicU32::new(0) } }; CROWDS] }
        model { core::array::from_fn(|_| Crowd { wakes: AtomicU32::new(0), of: unchecked_atomic::AtomicU32::new(0) }) }
    }
}

impl Crowd {
    fn place_of(label: Label) -> (&'static Self, u32) {
        let hash = label.key.hash();
        // By the upper bits: the lower ones choose the slot.
        (&crowds()[(hash >> 16) as usize % CROWDS], hash | 1)
    }

    /// The crowd that a waiter with this label would join, if there is one.
    pub(super) fn for_waiter<B: Backend>(label: Label) -> Option<&'static Self> {
        if label.selectable || B::WAKE_ALL.is_none() {
            return None;
        }
        let (crowd, name) = Self::place_of(label);
        (crowd.of.load(Ordering::Relaxed) == name).then_some(crowd)
    }

    /// The crowd in which a waiter with this label sleeps.
    pub(super) fn of(label: Label) -> &'static Self {
        Self::place_of(label).0
    }

    /// By a waiter, before it looks at its gate (Q1).
    pub(super) fn wakes(&self) -> u32 {
        // Ordering: acquire; matches the release in `wake`: whoever sees the count sees its gate open.
        self.wakes.load(Ordering::Acquire)
    }

    /// By a waiter whose gate was not open after it read the count.
    pub(super) fn word(&self) -> &AtomicU32 {
        &self.wakes
    }

    /// By a notifier that has opened the gates of `members` sleepers (Q2).
    pub(super) fn wake<B: Backend>(&self, members: u32) {
        if members < FEW {
            self.of.store(0, Ordering::Relaxed);
        }
        // Ordering: release; matches the acquire in `wakes`.
        self.wakes.fetch_add(1, Ordering::Release);
        if let Some(wake_all) = B::WAKE_ALL {
            wake_all(&raw const self.wakes);
        }
    }
}

/// How many of one key a notifier has woken one by one.
#[derive(Default)]
pub(super) struct Alike {
    name: u32,
    count: u32,
}

impl Alike {
    /// One more, which could have slept in a crowd. If there are many, the next to come do.
    pub(super) fn add<B: Backend>(&mut self, label: Label) {
        let (crowd, name) = Crowd::place_of(label);
        self.count = if self.name == name { self.count + 1 } else { 1 };
        self.name = name;
        if self.count == MANY && B::WAKE_ALL.is_some() {
            crowd.of.store(name, Ordering::Relaxed);
        }
    }
}
