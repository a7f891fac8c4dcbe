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
//!
//! # The roster
//!
//! The notifier's way to the one call leads along the chain: two hundred elements on as many stacks, each on a cache line that
//! its owner has written, on another CPU as often as not, and each known only when the one before it has been read. A crowd's
//! roster says where they are, so that a notifier of many asks for all of these lines at once, and finds them there.
//!
//! It is advice. A member writes its element's address to its seat before it sleeps, if that is not there already: a thread that
//! waits at one place again and again has its element at the same address. The notifier does not follow what it reads there:
//! the element may be gone, and a prefetch of an address that is nobody's does nothing. Who has no seat, because another
//! thread's has the same number, is found on the chain as ever.
//!
//! # Polls
//!
//! Members of a crowd that is larger than the machine sleep without polling first. Together they would fill the machine, whose
//! CPUs are for whoever makes their condition true, and for those of them who have been woken and have not run yet.

use super::linked::Label;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicU32, Ordering},
    const_outside_models, prefetch, unchecked_atomic, world_static,
};
use crate::sys::Backend;

/// How many crowds there can be. Arbitrary: more than a program has at a time.
const CROWDS: usize = if IN_A_MODEL { 2 } else { 32 };

/// So many sleepers woken at once make a crowd, and fewer than [`FEW`] that are found in one end it. Arbitrary.
const MANY: u32 = if IN_A_MODEL { 1 } else { 16 };
const FEW: u32 = if IN_A_MODEL { 1 } else { 4 };

/// How many of a crowd's members have a seat. Arbitrary: more than most crowds have.
const SEATS: usize = if IN_A_MODEL { 2 } else { 256 };

/// A word to sleep on, and for whom it is. Aligned like an element: its sleepers and its neighbours do not disturb each other.
#[repr(align(128))]
pub(crate) struct Crowd {
    /// How often it was woken.
    wakes: AtomicU32,
    /// The hash of the key that it is for, with the lowest bit set; 0 if it is for none. Advice: who sleeps on which word
    /// decides about speed.
    of: unchecked_atomic::AtomicU32,
    /// How many the last wake found. Advice.
    members: unchecked_atomic::AtomicU32,
    roster: Roster,
}

/// The addresses of members' elements, or 0. Advice: see "The roster".
#[repr(align(128))]
struct Roster([unchecked_atomic::AtomicUsize; SEATS]);

impl Roster {
    const fn new() -> Self {
        Self([const { unchecked_atomic::AtomicUsize::new(0) }; SEATS])
    }

    /// Threads that were started one after the other have numbers one after the other, or addresses a few pages apart.
    fn seat_of(thread: usize) -> usize {
        (thread ^ (thread >> 12)) % SEATS
    }
}

world_static! {
    /// All of them.
    pub(crate) fn crowds() -> &'static [Crowd; CROWDS] {
        const { [const { Crowd::new() }; CROWDS] }
        model { core::array::from_fn(|_| Crowd::new()) }
    }
}

world_static! {
    /// Whether there has ever been one. Until then nobody looks for its own, which is on another cache line for each key.
    fn are_called() -> &'static unchecked_atomic::AtomicBool {
        const { unchecked_atomic::AtomicBool::new(false) }
        model { unchecked_atomic::AtomicBool::new(false) }
    }
}

impl Crowd {
    const_outside_models! {
        /// One that is for nobody.
        fn new() -> Self {
            Self {
                wakes: AtomicU32::new(0),
                of: unchecked_atomic::AtomicU32::new(0),
                members: unchecked_atomic::AtomicU32::new(0),
                roster: Roster::new(),
            }
        }
    }

    #[inline]
    fn place_of(label: Label) -> (&'static Self, u32) {
        let hash = label.key.hash();
        // By the upper bits: the lower ones choose the slot.
        (&crowds()[(hash >> 16) as usize % CROWDS], hash | 1)
    }

    /// The crowd that a waiter with this label would join, if there is one.
    #[inline]
    pub(super) fn for_waiter<B: Backend>(label: Label) -> Option<&'static Self> {
        if label.selectable || B::WAKE_ALL.is_none() {
            return None;
        }
        Self::named_after(label)
    }

    /// The crowd of a label's key, if there is one.
    #[inline]
    fn named_after(label: Label) -> Option<&'static Self> {
        if !are_called().load(Ordering::Relaxed) {
            return None;
        }
        let (crowd, name) = Self::place_of(label);
        (crowd.of.load(Ordering::Relaxed) == name).then_some(crowd)
    }

    /// What a member does before it sleeps: less than it would alone, if there are many.
    pub(super) fn spin_first(&self, alone: SpinFirst) -> SpinFirst {
        if spin_policy::fill_the_machine(self.members.load(Ordering::Relaxed)) { SpinFirst::No } else { alone }
    }

    /// By a member, before it sleeps: where its element is.
    pub(super) fn take_seat(&self, thread: usize, element: usize) {
        let seat = &self.roster.0[Roster::seat_of(thread)];
        if seat.load(Ordering::Relaxed) != element {
            seat.store(element, Ordering::Relaxed);
        }
    }

    /// By a notifier that will go through the elements of a key, many of them.
    pub(super) fn fetch_members_of(label: Label) {
        let seats = Self::named_after(label).map(|crowd| &crowd.roster.0);
        let elements = seats.into_iter().flatten().map(|seat| seat.load(Ordering::Relaxed));
        elements.filter(|&element| element != 0).for_each(prefetch);
    }

    /// Names the crowd of a label's key after it: who waits with such a label from now on sleeps there.
    #[cold]
    fn call_for(label: Label) {
        let (crowd, name) = Self::place_of(label);
        crowd.of.store(name, Ordering::Relaxed);
        are_called().store(true, Ordering::Relaxed);
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
    #[inline(never)]
    pub(super) fn wake<B: Backend>(&self, members: u32) {
        self.members.store(members, Ordering::Relaxed);
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
    name: usize,
    count: u32,
}

impl Alike {
    /// One more, which could have slept in a crowd. If there are many, the next to come do.
    #[inline]
    pub(super) fn add<B: Backend>(&mut self, label: Label) {
        // Not the hash: most often there is no other, and who takes two keys for one makes a crowd too many.
        let name = label.key.location().wrapping_add(label.key.ticket_or_0() as usize);
        self.count = if self.name == name { self.count + 1 } else { 1 };
        self.name = name;
        if self.count == MANY && B::WAKE_ALL.is_some() {
            Crowd::call_for(label);
        }
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::*;
    use crate::sys::Native;

    #[test]
    fn members_poll_unless_they_are_too_many() {
        let crowd = Crowd::new();
        assert_eq!(crowd.spin_first(SpinFirst::Briefly), SpinFirst::Briefly, "nobody knows yet");
        crowd.wake::<Native>(1);
        assert_eq!(crowd.spin_first(SpinFirst::Briefly), SpinFirst::Briefly);
        crowd.wake::<Native>(u32::MAX);
        assert_eq!(crowd.spin_first(SpinFirst::Briefly), SpinFirst::No);
    }

    #[test]
    fn threads_started_together_have_seats_of_their_own() {
        for (first, apart) in [(4000, 1), (0x7612_0000, 0x11000)] {
            let seats = (0..SEATS).map(|nth| Roster::seat_of(first + nth * apart));
            let seats: std::collections::HashSet<_> = seats.collect();
            assert!(seats.len() * 10 >= SEATS * 9, "{} of {SEATS}", seats.len());
        }
    }
}
