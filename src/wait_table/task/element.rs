//! One waiting task: its gate, its waker, its link in a chain, and what it waits for.
//!
//! # The gate
//!
//! | gate | the owner | the element |
//! |---|---|---|
//! | `WAITING` | is in poll, and has another waker than before, or that poll has panicked; the waker is its own | on a chain or in hands |
//! | `PARKED` | has returned `Pending`, or is in poll; the waker may be taken | on a chain, in hands, or about to be published |
//! | `TAKING` | must not touch the waker | in a notifier's hands, which takes the waker |
//! | `CALLED` | has been woken, and not been polled since, or blocks in poll or drop; the waker is gone | on a chain or in hands |
//! | `SLEEPING` | blocks in poll or drop | in hands |
//! | `NOTIFIED` | may go; the waker is there if it was not taken | the owner's alone |
//!
//! | transition | by | how |
//! |---|---|---|
//! | any → `PARKED` | the owner, while the element is on no chain | plain store |
//! | `WAITING` → `PARKED` | the owner, when it has another waker | compare-and-swap |
//! | `PARKED` → `WAITING` | the owner, in a poll with another waker, while it has picked the slot | compare-and-swap |
//! | `CALLED` → `PARKED` | the owner, in a poll, when it has a waker again | compare-and-swap |
//! | `WAITING`, `PARKED`, `TAKING`, `CALLED` → `SLEEPING` | the owner, which wants its element back from others' hands | compare-and-swap |
//! | `WAITING`, `CALLED`, `SLEEPING` → `NOTIFIED` | who has it in hand | compare-and-swap |
//! | `PARKED` → `TAKING` | who has it in hand, and will give it up | compare-and-swap |
//! | `PARKED`, or `SLEEPING` by now → `CALLED` | a picker that has it in hand, and will put it back | plain store |
//! | `TAKING`, `SLEEPING` → `NOTIFIED` | who has it in hand | swap |
//!
//! # Woken, and not polled
//!
//! A program that hangs may hang because a task that was woken is not polled: it holds a permit, or its place in line, and
//! whoever should poll it waits for another. A report must show it, and so somebody must know where it is. But of an
//! element that is `NOTIFIED` nobody does: it is its owner's, which does not run (I3).
//!
//! So a notifier that picks leaves it where it is, as `CALLED`, and its owner takes it off. That costs what is saved elsewhere:
//! who is alone on its chain leaves it by one compare-and-swap. What is called is not woken again:
//!
//! - **C1.** A notifier passes over an element that is `CALLED`: it has no waker, and its poll is still to come.
//! - **C2.** A poll that finds it `CALLED`, and its condition false, gives it a waker and makes it `PARKED`, then fence A, then checks
//!   again, as if it were published anew.
//! - **C3.** A picker takes the waker of one that is parked, and then says `CALLED`, by a plain store. So an owner that reads `CALLED` may
//!   write another waker at once; and while it is parked, the waker is taken back only by who has picked the slot.
//!
//! A notifier that changes the condition and then reads `CALLED`, though the owner has made it `PARKED`, has put its fence B
//! before that fence A: the owner's check sees the change. One that has no fence B, because it changed the condition by a `SeqCst`
//! operation, reads the gate by another: what it reads is older than fence A, so that both come before A in the one order of
//! all these. (The `SeqCst` load of the slot does not say so: the owner has not written there.)
//!
//! C3 saves the wake a compare-and-swap, of the five locked instructions that a slot and an element cost in a wait and a wake. Wrong is to
//! take the waker back without picking:
//!
//! ```text
//! owner: poll, with a new waker       picker
//!                                     the gate says PARKED
//! PARKED -> WAITING
//! writes the new waker                takes the waker: half the one and half the other
//! ```
//!
//! Notifiers that have detached the element, or flush what they have in hand, have not picked any more. They go by compare-and-swap, as the
//! owner does ([`notify`](Linked::notify)). With the same waker as before, as most polls have it that nobody has woken, nothing need be taken
//! back: the owner compares two words, which a notifier may clear meanwhile. Then the task is woken, and polled again.
//!
//! The store comes last in any case: what the owner makes of `PARKED` by a compare-and-swap is right behind it in the order of the gate's
//! changes. So it may hide that the owner has fallen asleep:
//!
//! ```text
//! owner: drop                         picker
//!                                     the gate says PARKED
//! the slot is picked: asks for a flush
//! PARKED -> SLEEPING, sleeps
//!                                     says CALLED
//!                                     puts back; is to flush: CALLED -> NOTIFIED
//! sleeps forever                      (nobody sleeps)
//! ```
//!
//! So who notifies one that is `CALLED` wakes it as if it slept: a system call too many, if it does not, but only where two threads choose in
//! one slot at a time.
//!
//! Wrong, too, is to leave all of them there:
//!
//! ```text
//! 10,000 tasks wait for one key       notifier
//!                                     wakes all: 10,000 are called
//! each is polled, and picks a chain of thousands to get off it
//!                                     wakes all once more: goes past those that are left, for nothing
//! ```
//!
//! So it leaves them only on a chain of a few ([`MOST_CALLED`]): that is every chain, where each waiter has a key of its own, for
//! the banks grow. On a longer one, and when two threads choose in one slot at a time, they are notified, and reports miss
//! them.
//!
//! [`MOST_CALLED`]: super::super::pop_stack::MOST_CALLED

#![allow(unsafe_code)]

use super::super::linked::{Label, Linked};
use super::super::{Key, gate::Sleeper, trace::Millis};
use super::{
    banks::TaskBanks,
    wakers::{KeptWaker, Wakes},
};
use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicPtr, AtomicU32, Ordering},
    cell::UnsafeCell,
    store_over_updates, unchecked_atomic,
};
use crate::sys::{Backend, fork::Birth};
use core::{marker::PhantomPinned, panic::Location, ptr, task::Waker};

const WAITING: u32 = 0;
const PARKED: u32 = 1;
const TAKING: u32 = 2;
const SLEEPING: u32 = 3;
const NOTIFIED: u32 = 4;
/// In the bits of [`STATE`]; the others say when that was.
const CALLED: u32 = 5;

/// The bits of a gate that say what it is.
const STATE: u32 = 7;

fn state(gate: u32) -> u32 {
    gate & STATE
}

/// What the owner finds its published element to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// On a chain or in hands, and the waker may be taken.
    Parked,
    /// On a chain or in hands, and the waker is the owner's: a poll has panicked.
    Waiting,
    /// In the hands of a notifier, which takes the waker.
    InNotifiersHands,
    /// Woken, and on a chain or in hands. The waker is gone.
    Called,
    /// Notified, and the owner's alone.
    Notified,
}

/// What a report says of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Doing {
    /// It is polled, or about to be.
    Awake,
    Parked,
    /// It was woken then, and has not been polled since.
    Called(Millis),
}

/// Where the owner is with it. Numbered so that the two questions of a future that is dropped take an instruction each: does it wait,
/// and is it published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// Published, and not known to be notified.
    Published = 0,
    /// On no chain, though it waits.
    Idle = 1,
    /// It has never been published.
    New = 2,
    /// On no chain, and the wait is over.
    Finished = 3,
}

impl Stage {
    const ALL: [Self; 4] = [Self::Published, Self::Idle, Self::New, Self::Finished];

    /// The bit of those that do not wait.
    const NOT_WAITING: u32 = Self::New as u32 & Self::Finished as u32;
}

/// What there is to know of an element besides its gate and its key, in one word, which only its owner writes: at a million tasks it
/// counts how often it is read.
///
/// | bits | |
/// |---|---|
/// | 0, 1 | what [`Key::packed`] gives |
/// | 2 | whether a wake of one may choose the element |
/// | 3 to 5 | the bank where it was last published |
/// | 6, 7 | the [`Stage`] |
/// | 8 to 31 | the process in which it was published, or the lower bits of its number: a future that outlives 2^24 forks, each in the child of the one before, would be taken for its own |
#[derive(Clone, Copy)]
pub(super) struct Status(u32);

impl Status {
    const SELECTABLE: u32 = 1 << Key::PACKED_BITS;
    const PACKED: u32 = Self::SELECTABLE - 1;
    const BANK: u32 = Self::SELECTABLE << 1;
    const STAGE: u32 = 1 << 6;
    const BORN: u32 = 1 << 8;

    fn new(packed: u8, selectable: bool) -> Self {
        Self(u32::from(packed) | if selectable { Self::SELECTABLE } else { 0 } | Self::of_stage(Stage::New))
    }

    const fn of_stage(stage: Stage) -> u32 {
        stage as u32 * Self::STAGE
    }

    #[inline]
    fn of_this_process() -> u32 {
        Birth::now().number().wrapping_mul(Self::BORN)
    }

    /// About to be published in a bank.
    #[inline]
    fn published(self, packed: u8, bank: usize) -> Self {
        const { assert!(TaskBanks::MOST * Self::BANK as usize <= Self::STAGE as usize, "a bank has three bits") };
        let bank = bank as u32 * Self::BANK;
        let stage = Self::of_stage(Stage::Published);
        Self(u32::from(packed) | self.0 & Self::SELECTABLE | bank | stage | Self::of_this_process())
    }

    #[inline]
    pub(super) fn at(self, stage: Stage) -> Self {
        Self(self.0 & !(Self::BORN - Self::STAGE) | Self::of_stage(stage))
    }

    #[inline]
    pub(super) fn stage(self) -> Stage {
        Stage::ALL[(self.0 / Self::STAGE) as usize % Stage::ALL.len()]
    }

    #[inline]
    pub(super) fn is_at(self, stage: Stage) -> bool {
        self.0 & (Self::BORN - Self::STAGE) == Self::of_stage(stage)
    }

    /// Whether it waits: it has been published, and its wait is not over.
    #[inline]
    pub(super) fn waits(self) -> bool {
        self.0 & (Stage::NOT_WAITING * Self::STAGE) == 0
    }

    /// Whether it was published in this process.
    #[inline]
    pub(super) fn is_of_this_process(self) -> bool {
        (self.0 ^ Self::of_this_process()) < Self::BORN
    }

    /// Whether the element is on a chain, or has been, and its owner does not know yet what became of it. One that is on a chain of
    /// the parent process is not ours to touch.
    #[inline]
    pub(super) fn is_published(self) -> bool {
        const { assert!(Stage::Published as u32 == 0) };
        (self.0 ^ Self::of_this_process()) < Self::STAGE
    }

    #[inline]
    fn is_selectable(self) -> bool {
        self.0 & Self::SELECTABLE != 0
    }

    #[inline]
    fn bank(self) -> usize {
        (self.0 % Self::STAGE / Self::BANK) as usize
    }
}

/// One waiting task. Small: a future has it inside, and there may be a million of them. What others than the owner need is in
/// the first half, but for the waker.
///
/// The first byte is the first of what contains it, which is aligned ([`Linked::ALIGNMENT`]).
#[repr(C)]
pub(in super::super) struct TaskElement {
    gate: AtomicU32,
    /// A [`Status`].
    status: unchecked_atomic::AtomicU32,
    succ: AtomicPtr<TaskElement>,
    /// The address and the ticket of the key.
    place: UnsafeCell<(usize, u64)>,
    waker: KeptWaker,
    /// For reports: when it first parked, and its number in its chain.
    since: unchecked_atomic::AtomicU32,
    number: unchecked_atomic::AtomicU32,
    /// For reports: where the future was made.
    location: &'static Location<'static>,
    /// Others reach it while its owner has a `&mut` to it, or to what contains it: see `element.rs`, "Never unique".
    not_unique: PhantomPinned,
}

// SAFETY: `place` is written only by the owner while the element is on no chain, and read by those who have it in their hands
// and by the owner. `waker` is the owner's while the gate is `WAITING` or `CALLED`, or the element on no chain; the notifier's while it is `TAKING`; and while
// it is `PARKED`, that of who has picked the slot and has the element in hand. Pushing, parking, calling, putting back and setting the
// gate release what was done, and taking, finding the gate set, picking and detaching acquire it. The rest is atomic.
unsafe impl Sync for TaskElement {}

impl TaskElement {
    #[track_caller]
    #[inline]
    pub(super) fn new(label: Label) -> Self {
        let (address, ticket, packed) = label.key.packed();
        Self {
            gate: AtomicU32::new(PARKED),
            status: unchecked_atomic::AtomicU32::new(Status::new(packed, label.selectable).0),
            succ: AtomicPtr::new(ptr::null_mut()),
            place: UnsafeCell::new((address, ticket)),
            waker: KeptWaker::none(),
            since: unchecked_atomic::AtomicU32::new(0),
            number: unchecked_atomic::AtomicU32::new(0),
            location: Location::caller(),
            not_unique: PhantomPinned,
        }
    }

    /// For whoever makes the future on behalf of another.
    pub(super) fn set_location(&mut self, location: &'static Location<'static>) {
        self.location = location;
    }

    /// For the owner, and who looks at it.
    #[inline]
    pub(super) fn status(&self) -> Status {
        Status(self.status.load(Ordering::Relaxed))
    }

    /// By the owner.
    #[inline]
    pub(super) fn set_status(&self, status: Status) {
        self.status.store(status.0, Ordering::Relaxed);
    }

    /// By the owner.
    #[inline]
    pub(super) fn set_stage(&self, stage: Stage) {
        self.set_status(self.status().at(stage));
    }

    /// Makes the element ready to be published in a bank: parked, with the waker that it has.
    ///
    /// # Safety
    /// The caller is the owner, and the element is on no chain and in nobody's hands.
    #[inline]
    pub(super) unsafe fn rearm(&self, key: Key, bank: usize) {
        let (address, ticket, packed) = key.packed();
        // SAFETY: by the caller's promise nobody else can reach the element.
        self.place.with_mut(|place| unsafe { *place = (address, ticket) });
        self.set_status(self.status().published(packed, bank));
        self.number.store(0, Ordering::Relaxed);
        if self.since.load(Ordering::Relaxed) == 0 {
            self.since.store(Millis::now().0, Ordering::Relaxed);
        }
        // Ordering: relaxed; the push that follows releases it.
        self.gate.store(PARKED, Ordering::Relaxed);
    }

    /// What it waits for, and in which bank it was last published, by its status. For the owner, and for who has it in hand.
    #[inline]
    pub(super) fn place(&self, status: Status) -> (Label, usize) {
        // SAFETY: only the owner writes it, and only while nobody else has it.
        let (address, ticket) = self.place.with(|place| unsafe { *place });
        let key = Key::unpacked(address, ticket, (status.0 & Status::PACKED) as u8);
        (Label { key, selectable: status.is_selectable() }, status.bank())
    }

    /// By the owner of a published element, in a poll.
    #[inline]
    pub(super) fn look(&self) -> Found {
        // Ordering: acquire; as in `is_notified`, and matches the release in `call`: the waker is out.
        match state(self.gate.load(Ordering::Acquire)) {
            CALLED => Found::Called,
            PARKED => Found::Parked,
            NOTIFIED => Found::Notified,
            WAITING => Found::Waiting,
            _ => Found::InNotifiersHands,
        }
    }

    /// By the owner of an element that was parked: takes its waker back. `false` if a notifier has it.
    ///
    /// # Safety
    /// The caller is the owner, and has picked the slot (C3).
    pub(super) unsafe fn regain(&self) -> bool {
        // Ordering: relaxed; the waker is as the owner has left it. On failure the next poll looks.
        self.gate.compare_exchange(PARKED, WAITING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// By the owner of an element that was called, and has a waker again: it waits on where it is. `false` if it has been notified
    /// meanwhile. Fence A must follow (C2).
    pub(super) fn wait_on(&self) -> bool {
        let waits_on = |gate| (state(gate) == CALLED).then_some(PARKED);
        // Ordering: release, if it succeeds, as in `park`. Acquire of what it finds instead, as in `is_notified`: who has notified it
        // meanwhile has read what the owner is about to write.
        self.gate.fetch_update(Ordering::Release, Ordering::Acquire, waits_on).is_ok()
    }

    /// For the owner of an element on no chain: whether it was woken since it was last published, or waited on.
    pub(super) fn was_woken(&self) -> bool {
        [CALLED, NOTIFIED].contains(&state(self.gate.load(Ordering::Relaxed)))
    }

    /// By the owner of an element that waits: hands the waker to whoever comes to notify. `false` if one has come already.
    #[inline]
    pub(super) fn park(&self) -> bool {
        // Ordering: release; matches the acquire in `notify`: the waker. Relaxed on failure: the next poll looks again.
        self.gate.compare_exchange(WAITING, PARKED, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// For the owner of an element that was parked: whether this is the waker that it has, or had until a notifier took it.
    #[inline]
    pub(super) fn is_kept(&self, waker: &Waker) -> bool {
        self.waker.is(waker)
    }

    /// Makes `waker` the one that is woken.
    ///
    /// To clone one and to drop one is foreign code, which may come here again for other elements: it runs while nothing is in
    /// hand, and while this element is as it should be.
    ///
    /// # Safety
    /// The caller is the owner, and the gate is `WAITING` or `CALLED`, or the element is on no chain and in nobody's hands.
    #[inline]
    pub(super) unsafe fn set_waker(&self, waker: &Waker) {
        if !self.waker.is(waker) {
            let new = waker.clone();
            // SAFETY: by the caller's promise the waker is the owner's.
            drop(unsafe { self.waker.replace(Some(new)) });
        }
    }

    /// Takes the waker, to be dropped.
    ///
    /// # Safety
    /// The caller is the owner, and the element is on no chain and in nobody's hands.
    #[inline]
    pub(super) unsafe fn take_waker(&self) -> Option<Waker> {
        // SAFETY: by the caller's promise the waker is the owner's.
        unsafe { self.waker.replace(None) }
    }

    /// A number that differs from waiter to waiter.
    #[inline]
    pub(in super::super) fn chance(&self) -> u32 {
        Key::address_at(self).hash()
    }

    /// For reports: what it does, and if it has been called, when.
    pub(in super::super) fn doing(&self) -> Doing {
        let gate = self.gate.load(Ordering::Relaxed);
        match state(gate) {
            PARKED => Doing::Parked,
            CALLED => Doing::Called(Millis(gate & !STATE)),
            _ => Doing::Awake,
        }
    }

    /// For reports: where the future was made.
    pub(in super::super) fn location(&self) -> &'static Location<'static> {
        self.location
    }

    /// For reports: when it first parked.
    pub(in super::super) fn since(&self) -> Millis {
        Millis(self.since.load(Ordering::Relaxed))
    }

    /// For a thread that has the element in hand: its number among those of its chain, by the first report that met it.
    pub(in super::super) fn number(&self) -> Option<usize> {
        Some(self.number.load(Ordering::Relaxed) as usize).filter(|&number| number != 0)
    }

    /// For a thread that has the element in hand.
    pub(in super::super) fn set_number(&self, number: usize) {
        self.number.store(number as u32, Ordering::Relaxed);
    }
}

// SAFETY:
// - The element is at the beginning of a `Waiting`, which is aligned so.
// - The link is a field of its own.
// - The compare-and-swap or swap to `NOTIFIED` is `notify`'s last access. It moves a waker, and runs nothing of it.
// - Only a notifier that has the element in hand sets `NOTIFIED`, and a release and an acquire go with it.
unsafe impl Linked for TaskElement {
    const ALIGNMENT: usize = 16;

    type Due<B: Backend> = Wakes<B>;

    #[inline]
    fn succ(&self) -> &AtomicPtr<Self> {
        &self.succ
    }

    #[inline]
    unsafe fn label(&self) -> Option<Label> {
        Some(self.place(self.status()).0)
    }

    /// A waker is moved out before the gate is set, for then the owner may be gone. And it is moved out when the owner
    /// cannot touch it any more:
    ///
    /// ```text
    /// owner: poll, with a new waker       notifier
    ///                                     the gate says PARKED
    /// PARKED -> WAITING
    /// writes the new waker                takes the waker: half the one and half the other
    /// ```
    unsafe fn notify<B: Backend>(element: *const Self, due: &mut Wakes<B>) {
        // SAFETY: an element in somebody's hands is alive (by invariant I2), here and until the gate is set.
        let gate = unsafe { &raw const (*element).gate };
        counters::count(Event::Wake);
        // SAFETY: as above. Ordering: relaxed; the compare-and-swap decides.
        let mut seen = unsafe { (*gate).load(Ordering::Relaxed) };
        let before = loop {
            if cfg!(debug_assertions) || IN_A_MODEL {
                assert!(![TAKING, NOTIFIED].contains(&seen), "an element was notified twice");
            }
            let (next, success) = match seen {
                // Ordering: acquire; matches the release in `park`: the waker.
                PARKED => (TAKING, Ordering::Acquire),
                // Ordering: release; matches the acquire of the owner. Whatever we read of the element we have read.
                _ => (NOTIFIED, Ordering::Release),
            };
            // SAFETY: as above.
            match unsafe { (*gate).compare_exchange(seen, next, success, Ordering::Relaxed) } {
                Ok(PARKED) => {
                    // SAFETY: as above; the gate says that it is ours.
                    let waker = unsafe { (*element).waker.replace(None) };
                    due.add_waker(waker);
                    // Ordering: release, as above; the waker is out. A swap: the owner may have fallen asleep.
                    // SAFETY: as above.
                    break unsafe { (*gate).swap(NOTIFIED, Ordering::Release) };
                }
                Ok(before) => break before,
                Err(now) => seen = now,
            }
        };
        // One that was called may sleep: "Woken, and not polled".
        if before == SLEEPING || state(before) == CALLED {
            due.add_sleeper(Sleeper::on(gate, B::wake));
        }
    }

    #[inline]
    fn is_called(&self) -> bool {
        // Ordering: SeqCst, as the peek at a slot: see C2.
        state(self.gate.load(Ordering::SeqCst)) == CALLED
    }

    /// If it is not parked its owner is about to look, or sleeps: then it is to be notified.
    #[inline]
    unsafe fn call<B: Backend>(&self, due: &mut Wakes<B>) -> bool {
        // Ordering: acquire; matches the release in `park` and `wait_on`: the waker.
        if self.gate.load(Ordering::Acquire) != PARKED {
            return false;
        }
        counters::count(Event::Wake);
        // SAFETY: of an element that is parked, and that we have picked, the waker is ours (C3).
        due.add_waker(unsafe { self.waker.replace(None) });
        // Ordering: release; matches the acquire in `look` and `wait_on`: the waker is out.
        store_over_updates(&self.gate, CALLED | (Millis::now().0 & !STATE));
        true
    }

    #[inline]
    fn is_notified(&self) -> bool {
        // Ordering: acquire; matches the release in `notify`: its last access to the element lies in the past.
        self.gate.load(Ordering::Acquire) == NOTIFIED
    }

    /// The gate decides, whatever a wake by its address says: that may be meant for who had this memory before.
    fn wait_to_be_released<B: Backend>(&self) {
        if spin_policy::spin_until(SpinFirst::Briefly, Deadline::NEVER, || self.is_notified()) {
            return;
        }
        loop {
            // Ordering: acquire, as in `is_notified`.
            match self.gate.load(Ordering::Acquire) {
                NOTIFIED => return,
                SLEEPING => B::wait(&self.gate, SLEEPING, None),
                // Ordering: relaxed; nothing goes with it, and the next round looks.
                awake => _ = self.gate.compare_exchange(awake, SLEEPING, Ordering::Relaxed, Ordering::Relaxed),
            }
        }
    }
}
