//! The concurrent pop-stack: push one, detach all. And a way to take some and put the rest back.
//!
//! A slot's word is a pointer to the youngest element, two flags, and a fingerprint:
//!
//! | flags | meaning | set by | cleared by |
//! |---|---|---|---|
//! | none | the chain hangs on the slot | | |
//! | `PICKED` | a picker holds older elements in its hands and will put back those it does not want | the picker | that picker |
//! | `PICKED`, `FLUSH` | and a notifier came meanwhile: the picker must notify all it holds | any notifier | that picker |
//!
//! | operation | from | to | what it gets |
//! |---|---|---|---|
//! | `push` | top, flags | element, flags | |
//! | `detach_all` | top | empty | the chain |
//! | | top, `PICKED` | `PICKED`, `FLUSH` | what came after the picker |
//! | `try_pick` | top, no flag | `PICKED` | the chain |
//! | `put_back` | `PICKED` | the chain in hand | |
//! | | top, `PICKED` | `PICKED` | the newcomers, to hold with the rest |
//! | | top, `PICKED`, `FLUSH` | empty | the newcomers, to notify with the rest |
//!
//! # Why a picker must be seen
//!
//! The wrong interleaving, with a picker that simply detaches and pushes back:
//!
//! ```text
//! picker (wakes one of key x)         notifier (of key y)            waiter of y
//!                                                                    publish e, check: false, sleep
//! detach: e is in its hands
//!                                     make y's condition true
//!                                     slot is empty: nobody waits
//! e is not of key x: push e back                                     sleeps forever
//! ```
//!
//! With the flag the notifier sees `PICKED` and leaves `FLUSH`; the picker cannot put back without seeing it, for it is
//! in the very word that it must compare-and-swap. If the notifier comes after the put-back, it sees `e` on the chain.
//!
//! Notifiers do not wait for a picker, nor a picker for anybody. `PICKED` is cleared only by the picker that set it, so the
//! put-back has no ABA problem. The paper's first way out of a mis-queue, to undo one's push by a compare-and-swap of
//! the head, would have one: a picker may put the element back on other elements than those it was pushed on.
//!
//! # Alone
//!
//! An owner whose element is alone on its chain takes it off by one compare-and-swap, from the element to nothing. That has an
//! ABA problem of the same kind, if others can come between the look at the link and the swap:
//!
//! ```text
//! owner of e                          picker
//! the slot says e
//!                                     picks: e and the older d are in its hands
//!                                     cuts e's link, to build the chain anew
//! e leads to nothing
//!                                     links e to d, puts back: the slot says e
//! from e to nothing: d is lost
//! ```
//!
//! - **L.** The link of an element that has been on a chain without a picker leads to nothing only if there is nothing older, and then
//!   for as long as the element is published: newcomers come on top, and a picker changes a link only to pass over
//!   what it takes.
//!
//! An element that is pushed while a picker is at work leads to nothing until that puts back; its owner, too, looks at the link
//! only when it has seen the element on the slot without the flag.
//!
//! # The fingerprint
//!
//! A notifier that finds elements must pick them to learn their keys, and a lock that uses a new ticket each time comes by
//! every slot. So the bits of the word that an element's alignment leaves tell a few bits of its key: those in which all
//! elements agree that are on the chain or in a picker's hands, or `MIXED`. A notifier whose key has another fingerprint
//! leaves at once.
//!
//! - **F.** If the fingerprint is not `MIXED`, it is that of every element on the chain and in the picker's hands.
//!
//! A push that finds another fingerprint leaves `MIXED`; picking and flushing keep what is there, which is true of fewer
//! elements too; putting back works it out anew if it was `MIXED`. It is part of the word that a push compares and swaps, so
//! whoever must see the element by the argument of fences A and B sees a fingerprint that covers it.
//!
//! # A top that has come again
//!
//! ```text
//! pushes e                            others
//! reads the top: d
//!                                     d is notified, and its frame gone
//!                                     a new element, at d's address, is pushed
//! e's link = d; the swap succeeds
//! ```
//!
//! The link leads to the new element: that it was made of the old one's address does no harm, for a push does not follow what it has
//! read. But the language has it that a pointer belongs to the object that it was made of, and has no rule yet for one that a
//! compare-and-swap has found equal to another's (C++ calls it pointer zap; every stack of this kind has it). Compilers do not act on
//! it: they would have to know whose pointer a load of an atomic returns. To expose addresses would be within the rules, at no cost, and
//! would take from Miri what `ci/miri.sh` has it check, strict provenance of all other pointers; so it is left.

#![allow(unsafe_code)]

use super::{
    Key,
    key::fingerprint,
    linked::{Label, Linked},
};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicPtr, Ordering},
    const_outside_models,
};
use crate::sys::Backend;
use core::{marker::PhantomData, ptr};

/// How often a thread that finds a picker at work tries again before it asks for a flush. Arbitrary: a picker holds a chain
/// for about as many instructions as the chain has elements.
pub(super) const PICK_ATTEMPTS: u32 = if IN_A_MODEL { 1 } else { 100 };

/// How many elements a chain has at most of which some stay there though they have been called. Arbitrary: a chain that is
/// gone through in no time.
pub(super) const MOST_CALLED: usize = if IN_A_MODEL { 1 } else { 8 };

const PICKED: usize = 1;
const FLUSH: usize = 2;

const FLAGS: usize = PICKED | FLUSH;

/// What a few bits tell of the keys of elements, in their place in a slot's word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fingerprint(usize);

impl Fingerprint {
    /// Of elements whose keys do not agree in it.
    const MIXED: Self = Self(0);

    /// Of a key with this hash, in a word that has the room which elements of type `E` leave.
    fn of<E: Linked>(hash: u32) -> Self {
        Self(fingerprint(hash, E::ALIGNMENT / (FLAGS + 1)) * (FLAGS + 1))
    }

    /// Of an element that may not be labelled.
    fn of_label<E: Linked>(label: Option<Label>) -> Self {
        label.map_or(Self::MIXED, |label| Self::of::<E>(label.key.hash()))
    }

    fn joined(self, other: Self) -> Self {
        if self == other { self } else { Self::MIXED }
    }
}

/// A slot's word: a pointer to the youngest element, and in its low bits the flags and the fingerprint.
struct Head<E>(*mut E);

impl<E> Clone for Head<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Head<E> {}

impl<E> PartialEq for Head<E> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl<E: Linked> Head<E> {
    const EMPTY: Self = Self(ptr::null_mut());

    /// The bits of a word that are not its pointer's.
    const LOW_BITS: usize = E::ALIGNMENT - 1;

    fn top(self) -> *mut E {
        self.0.map_addr(|address| address & !Self::LOW_BITS)
    }

    fn fingerprint(self) -> Fingerprint {
        Fingerprint(self.0.addr() & Self::LOW_BITS & !FLAGS)
    }

    /// The same flags, and what one more element makes of the rest.
    fn with(self, element: *const E, fingerprint: Fingerprint) -> Self {
        let joined = if self == Self::EMPTY { fingerprint } else { self.fingerprint().joined(fingerprint) };
        Self(element.cast_mut().map_addr(|address| address | (self.0.addr() & FLAGS) | joined.0))
    }

    /// No flags, and these elements.
    fn of(chain: &Chain<E>, fingerprint: Fingerprint) -> Self {
        Self(chain.top.map_addr(|address| address | fingerprint.0))
    }

    /// No elements, and these flags; the fingerprint is still true of those in a picker's hands.
    fn without_top(self, flags: usize) -> Self {
        Self(ptr::without_provenance_mut(self.fingerprint().0 | flags))
    }

    fn has(self, flag: usize) -> bool {
        self.0.addr() & flag != 0
    }

    /// Whether this is the youngest element, and no picker is at work: all bits but those of the fingerprint are the element's.
    #[inline]
    fn is_unpicked_with_top(self, element: *const E) -> bool {
        (self.0.addr() ^ element.addr()) & (!Self::LOW_BITS | FLAGS) == 0
    }
}

/// One slot of a table: the head of a chain of waiting elements.
pub(super) struct Slot<E> {
    head: AtomicPtr<E>,
}

impl<E: Linked> Slot<E> {
    const_outside_models! {
        pub(super) fn new() -> Self {
            Self { head: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// The notifier's peek: whether anybody may wait here. The caller has put fence B, or a `SeqCst` change of the
    /// condition, before it.
    #[inline]
    pub(super) fn is_occupied(&self) -> bool {
        // Ordering: SeqCst, for the notifier that has no fence of its own; see `sync::fence_before_peek_seqcst`.
        !self.head.load(Ordering::SeqCst).is_null()
    }

    /// Whether somebody may wait here for a key with this hash, on the chain or in a picker's hands. For a notifier that has peeked.
    #[inline]
    pub(super) fn may_hold(&self, hash: u32) -> bool {
        // Ordering: relaxed; the peek has seen the word, and this is the same word or a later one.
        let head = Head(self.head.load(Ordering::Relaxed));
        head != Head::EMPTY && [Fingerprint::MIXED, Fingerprint::of::<E>(hash)].contains(&head.fingerprint())
    }

    /// Forgets all elements: those of a parent process, which do not exist in this one.
    pub(super) fn forget_all(&self) {
        self.head.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Publishes `element`.
    ///
    /// # Safety
    /// - The element is on no chain and in nobody's hands.
    /// - It stays where it is until it has been notified, or taken off by [`Picked::take`].
    pub(super) unsafe fn push(&self, element: &E) {
        // SAFETY: by the caller's promise we are the only one that can reach the element.
        let label = unsafe { element.label() };
        // SAFETY: by the caller's promise.
        unsafe { self.push_with(element, Fingerprint::of_label::<E>(label)) };
    }

    /// The same, of an element whose key has this hash.
    ///
    /// # Safety
    /// As above.
    #[inline]
    pub(super) unsafe fn push_hashed(&self, element: &E, hash: u32) {
        // SAFETY: by the caller's promise.
        unsafe { self.push_with(element, Fingerprint::of::<E>(hash)) };
    }

    #[inline]
    unsafe fn push_with(&self, element: &E, fingerprint: Fingerprint) {
        debug_assert_eq!(ptr::from_ref(element).addr() % E::ALIGNMENT, 0, "an element leaves no room for the flags");
        // Ordering: relaxed; what we read is not followed, only linked.
        let mut seen = Head(self.head.load(Ordering::Relaxed));
        loop {
            // Ordering: relaxed; released by the compare-and-swap.
            element.succ().store(seen.top(), Ordering::Relaxed);
            let ours = seen.with(element, fingerprint);
            // Ordering: release; matches the acquire in `detach_all` and `try_pick`: the element's fields are visible to the
            // thread that takes it, and so are those of the elements below (a read-modify-write continues their release
            // sequence). That a notifier without a fence of its own sees the element is fence A's work, which follows
            // (ci/litmus.py).
            match self.head.compare_exchange_weak(seen.0, ours.0, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = Head(now),
            }
        }
    }

    /// Takes all elements, to be notified. Elements in a picker's hands are notified by the picker.
    pub(super) fn detach_all(&self) -> Chain<E> {
        let mut seen = Head(self.head.load(Ordering::Relaxed));
        loop {
            let left = if seen.has(PICKED) { seen.without_top(PICKED | FLUSH) } else { Head::EMPTY };
            if seen == left {
                return Chain::EMPTY;
            }
            // Ordering: acquire; matches the release in `push` and `put_back`. Nothing to release: that a woken
            // thread sees the notifier's change is the business of fences A and B, also when a picker does the waking.
            match self.head.compare_exchange_weak(seen.0, left.0, Ordering::Acquire, Ordering::Relaxed) {
                Ok(taken) => return Chain { top: Head(taken).top() },
                Err(now) => seen = Head(now),
            }
        }
    }

    /// By the owner of a published element: takes it off the chain, if there is no other and no picker. See "Alone".
    #[inline]
    pub(super) fn take_alone(&self, element: &E) -> bool {
        // Ordering: acquire; matches the release in `put_back`: the link.
        let seen = Head(self.head.load(Ordering::Acquire));
        // Ordering: relaxed; as above.
        let is_alone = seen.is_unpicked_with_top(element) && element.succ().load(Ordering::Relaxed).is_null();
        // Ordering: acquire; matches the release in `put_back`: others have let go of the element.
        is_alone && self.head.compare_exchange(seen.0, ptr::null_mut(), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether a picker is at work that will notify all it holds.
    fn is_to_be_flushed(&self) -> bool {
        // Ordering: relaxed; only how long to try depends on it.
        Head::<E>(self.head.load(Ordering::Relaxed)).has(FLUSH)
    }

    /// Takes all elements, to choose some and put the others back.
    #[inline]
    pub(super) fn try_pick(&self) -> Pick<'_, E> {
        let mut seen = Head(self.head.load(Ordering::Relaxed));
        loop {
            if seen.has(PICKED) {
                return Pick::Busy;
            }
            if seen == Head::EMPTY {
                return Pick::Empty;
            }
            let picked = seen.without_top(PICKED);
            // Ordering: acquire; matches the release in `push` and `put_back`. Nothing to release: the flag says all.
            match self.head.compare_exchange_weak(seen.0, picked.0, Ordering::Acquire, Ordering::Relaxed) {
                Ok(taken) => return Pick::Got(Picked { slot: self, chain: Chain { top: Head(taken).top() } }),
                Err(now) => seen = Head(now),
            }
        }
    }

    /// Tries to pick up to `attempts` times while another picker is at work; between two attempts `try_again` pauses, and
    /// says whether to go on. Not if somebody has lost patience already: that picker most likely has no CPU.
    #[inline]
    pub(super) fn pick_patiently(&self, attempts: u32, try_again: impl Fn(u32) -> bool) -> Pick<'_, E> {
        for attempt in 1..attempts {
            match self.try_pick() {
                Pick::Busy if !self.is_to_be_flushed() && try_again(attempt) => {}
                found => return found,
            }
        }
        self.try_pick()
    }
}

/// What [`Slot::try_pick`] found.
pub(super) enum Pick<'a, E: Linked> {
    /// No element, and no picker.
    Empty,
    /// Another picker.
    Busy,
    Got(Picked<'a, E>),
}

/// Elements in the hands of a picker, which must [put back](Self::put_back) what it does not take.
#[must_use = "elements that are not put back are never woken"]
pub(super) struct Picked<'a, E: Linked> {
    slot: &'a Slot<E>,
    chain: Chain<E>,
}

impl<E: Linked> Picked<'_, E> {
    /// Takes `element` off the chain; `false` if it is not among those in hand.
    pub(super) fn take(&mut self, element: &E) -> bool {
        let taken = self.take_if(|candidate| ptr::eq(candidate, element));
        // An element that was taken by its own owner need not be notified.
        !core::mem::ManuallyDrop::new(taken).top.is_null()
    }

    /// Chooses the oldest selectable element of `key`, if none `is_chosen` yet, and all of `key` that are not selectable.
    pub(super) fn choose_one_of<B: Backend>(
        &mut self,
        key: Key,
        is_chosen: &mut bool,
        due: &mut E::Due<B>,
    ) -> Chosen<E> {
        let is_candidate = |element: &&E| {
            label_in_hand(*element).is_some_and(|label| label.key == key && label.selectable) && !element.is_called()
        };
        let oldest: *const E = self.chain.iter().filter(is_candidate).last().map_or(ptr::null(), ptr::from_ref);
        let oldest = if *is_chosen { ptr::null() } else { oldest };
        *is_chosen |= !oldest.is_null();
        let is_wanted = |element: &E| {
            ptr::eq(element, oldest)
                || label_in_hand(element).is_some_and(|label| label.key == key && !label.selectable)
        };
        self.choose(is_wanted, due)
    }

    /// Chooses all elements whose key is `wanted`.
    #[inline]
    pub(super) fn choose_those<B: Backend>(&mut self, wanted: impl Fn(Key) -> bool, due: &mut E::Due<B>) -> Chosen<E> {
        self.choose(|element| label_in_hand(element).is_some_and(|label| wanted(label.key)), due)
    }

    /// Takes the elements that are wanted, if they have not been called; some are called now instead, and stay.
    #[inline]
    fn choose<B: Backend>(&mut self, is_wanted: impl Fn(&E) -> bool, due: &mut E::Due<B>) -> Chosen<E> {
        let Some(only) = self.chain.only() else {
            return self.choose_among_several(is_wanted, due);
        };
        match fate_of::<B, E>(only, is_wanted, true, due) {
            Fate::Stays => Chosen { called: 0, taken: Chain::EMPTY },
            Fate::Called => Chosen { called: 1, taken: Chain::EMPTY },
            Fate::Taken => Chosen { called: 0, taken: self.chain.take() },
        }
    }

    #[inline(never)]
    fn choose_among_several<B: Backend>(&mut self, is_wanted: impl Fn(&E) -> bool, due: &mut E::Due<B>) -> Chosen<E> {
        let may_stay = self.chain.iter().nth(MOST_CALLED).is_none();
        if !may_stay {
            self.chain.iter().find_map(label_in_hand).into_iter().for_each(E::fetch_many);
        }
        let mut called = 0;
        let taken = self.take_if(|element| {
            let fate = fate_of::<B, E>(element, &is_wanted, may_stay, due);
            called += usize::from(fate == Fate::Called);
            fate == Fate::Taken
        });
        Chosen { called, taken }
    }

    /// Shows every element in hand, and what it waits for.
    pub(super) fn for_each(&self, mut see: impl FnMut(&E, Label)) {
        for element in self.chain.iter() {
            if let Some(label) = label_in_hand(element) {
                see(element, label);
            }
        }
    }

    fn take_if(&mut self, choose: impl FnMut(&E) -> bool) -> Chain<E> {
        let (taken, rest) = self.chain.take().partition(choose);
        self.chain = rest;
        taken
    }

    /// The fingerprint of what is in hand, which is all that there is: `seen` has no top.
    fn fingerprint_of_rest(&self, seen: Head<E>) -> Fingerprint {
        if self.chain.top.is_null() {
            return Head::<E>::EMPTY.fingerprint();
        }
        if seen.fingerprint() != Fingerprint::MIXED {
            return seen.fingerprint();
        }
        let of = |element: &E| Fingerprint::of_label::<E>(label_in_hand(element));
        self.chain.iter().map(of).reduce(Fingerprint::joined).unwrap_or(Fingerprint::MIXED)
    }

    /// Notifies the elements in hand, and those that came meanwhile.
    #[cold]
    fn flush<B: Backend>(mut self, due: &mut E::Due<B>) {
        // Ordering: acquire; matches the release in `push`.
        let newcomers = Chain { top: Head(self.slot.head.swap(ptr::null_mut(), Ordering::Acquire)).top() };
        newcomers.notify_all::<B>(due);
        self.chain.take().notify_all::<B>(due);
    }

    /// Puts the elements in hand back under those that came meanwhile, or notifies them all if a notifier came. What is
    /// `due` to those is left to the caller.
    #[inline]
    pub(super) fn put_back<B: Backend>(mut self, due: &mut E::Due<B>) {
        let head = &self.slot.head;
        loop {
            let seen = Head(head.load(Ordering::Relaxed));
            if seen.has(FLUSH) {
                return self.flush::<B>(due);
            }
            let (left, order) = if seen.top().is_null() {
                // Ordering: release; our changes of the links are visible to the thread that takes the chain next, and what we did with
                // those that we have called to their owners.
                (Head::of(&self.chain, self.fingerprint_of_rest(seen)), Ordering::Release)
            } else {
                // Ordering: acquire; matches the release in `push`.
                (seen.without_top(PICKED), Ordering::Acquire)
            };
            if head.compare_exchange_weak(seen.0, left.0, order, Ordering::Relaxed).is_ok() {
                if seen.top().is_null() {
                    self.chain.forget();
                    return;
                }
                let (newcomers, held) = (Chain { top: seen.top() }, self.chain.take());
                self.chain = newcomers.on_top_of(held);
            }
        }
    }
}

/// What a notifier does with an element in hand.
#[derive(PartialEq, Eq)]
enum Fate {
    Stays,
    /// It has been called, and stays.
    Called,
    Taken,
}

#[inline(always)]
fn fate_of<B: Backend, E: Linked>(
    element: &E,
    is_wanted: impl Fn(&E) -> bool,
    may_stay: bool,
    due: &mut E::Due<B>,
) -> Fate {
    if !is_wanted(element) || element.is_called() {
        return Fate::Stays;
    }
    // SAFETY: called only by a picker for elements in its hands, which are put back or notified.
    if may_stay && unsafe { element.call::<B>(due) } { Fate::Called } else { Fate::Taken }
}

/// What a notifier has chosen of a chain in hand.
#[must_use = "elements that are dropped are never woken"]
pub(super) struct Chosen<E: Linked> {
    /// How many have been called; they are still in hand, to be put back.
    called: usize,
    /// The others.
    taken: Chain<E>,
}

impl<E: Linked> Chosen<E> {
    /// Notifies those that have not been called; returns how many there are in all.
    #[inline]
    pub(super) fn notify_all<B: Backend>(self, due: &mut E::Due<B>) -> usize {
        self.called + self.taken.notify_each::<B>(due)
    }
}

/// What an element in hand waits for.
fn label_in_hand<E: Linked>(element: &E) -> Option<Label> {
    // SAFETY: called only by the thread that has the element in its hands.
    unsafe { element.label() }
}

/// Detached elements, youngest first: alive, in our hands, and waiting for us to notify them (invariant I2).
#[must_use = "elements that are dropped are never woken"]
pub(super) struct Chain<E: Linked> {
    top: *mut E,
}

impl<E: Linked> Chain<E> {
    const EMPTY: Self = Self { top: ptr::null_mut() };

    fn take(&mut self) -> Self {
        core::mem::replace(self, Self::EMPTY)
    }

    /// The elements are somebody else's now.
    fn forget(&mut self) {
        self.top = ptr::null_mut();
    }

    /// Notifies every element; returns how many there were. What is `due` to their owners besides is left to the caller, for
    /// when it has nothing in hand.
    #[inline(never)]
    pub(super) fn notify_all<B: Backend>(self, due: &mut E::Due<B>) -> usize {
        self.notify_each::<B>(due)
    }

    #[inline(always)]
    fn notify_each<B: Backend>(mut self, due: &mut E::Due<B>) -> usize {
        let mut count = 0;
        while let Some(element) = self.pop() {
            count += 1;
            // SAFETY: `pop` has read the link and will not touch the element again; it is in our hands, and given up here.
            unsafe { E::notify::<B>(element, due) };
        }
        count
    }

    /// How many elements have a key that is `wanted`, and have not been called.
    pub(super) fn count_those(&self, wanted: impl Fn(Key) -> bool) -> usize {
        let is_wanted = |element: &&E| label_in_hand(*element).is_some_and(|label| wanted(label.key));
        self.iter().filter(|element| is_wanted(element) && !element.is_called()).count()
    }

    /// Takes the youngest element off; its link has been read when this returns.
    #[inline]
    fn pop(&mut self) -> Option<*const E> {
        let element = self.top;
        if element.is_null() {
            return None;
        }
        // SAFETY: an element in our hands is alive (I2).
        // Ordering: relaxed; detaching has acquired the links of the whole chain.
        self.top = unsafe { (*element).succ().load(Ordering::Relaxed) };
        Some(element)
    }

    fn iter(&self) -> Elements<'_, E> {
        Elements { next: self.top, chain: PhantomData }
    }

    /// The element of a chain of one, as most are.
    #[inline]
    fn only(&self) -> Option<&E> {
        let mut elements = self.iter();
        let first = elements.next()?;
        elements.next.is_null().then_some(first)
    }

    /// Splits off the elements that `choose` chooses. Both parts keep their order.
    fn partition(mut self, mut choose: impl FnMut(&E) -> bool) -> (Self, Self) {
        let (mut taken, mut rest) = (Builder::new(), Builder::new());
        while let Some(element) = self.pop() {
            // SAFETY: an element in our hands is alive (I2).
            let element = unsafe { &*element };
            if choose(element) { taken.append(element) } else { rest.append(element) }
        }
        (taken.finish(), rest.finish())
    }

    /// Joins two chains, `self` being the younger.
    fn on_top_of(mut self, mut older: Self) -> Self {
        let Some(last) = self.iter().last() else { return older };
        // Ordering: relaxed; released when the chain is put back.
        last.succ().store(older.top, Ordering::Relaxed);
        older.forget();
        self.take()
    }
}

impl<E: Linked> Drop for Chain<E> {
    fn drop(&mut self) {
        // A model that has failed is unwound wherever its threads were.
        let is_over = IN_A_MODEL && std::thread::panicking();
        debug_assert!(self.top.is_null() || is_over, "elements were dropped without being notified");
    }
}

/// Iterates over elements in hand.
struct Elements<'a, E: Linked> {
    next: *const E,
    chain: PhantomData<&'a Chain<E>>,
}

impl<'a, E: Linked> Iterator for Elements<'a, E> {
    type Item = &'a E;

    fn next(&mut self) -> Option<&'a E> {
        // SAFETY: the chain is borrowed, so its elements stay in hand, and alive (I2).
        let element = unsafe { self.next.as_ref() }?;
        // Ordering: relaxed, as in `pop`.
        self.next = element.succ().load(Ordering::Relaxed);
        Some(element)
    }
}

/// Builds a chain from its youngest element to its oldest.
struct Builder<E: Linked> {
    chain: Chain<E>,
    last: *const E,
}

impl<E: Linked> Builder<E> {
    const fn new() -> Self {
        Self { chain: Chain::EMPTY, last: ptr::null() }
    }

    fn append(&mut self, element: &E) {
        let link = ptr::from_ref(element).cast_mut();
        self.link(link);
        self.last = link;
    }

    fn finish(mut self) -> Chain<E> {
        self.link(ptr::null_mut());
        self.chain
    }

    /// Makes the last element lead to `link`, or the chain begin there. A link that is right is not written.
    fn link(&mut self, link: *mut E) {
        // SAFETY: null, or an element in our hands, which is alive (I2).
        match unsafe { self.last.as_ref() } {
            // Ordering: relaxed; released when the chain is put back.
            Some(last) if last.succ().load(Ordering::Relaxed) != link => last.succ().store(link, Ordering::Relaxed),
            Some(_) => {}
            None => self.chain.top = link,
        }
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::super::{element::Element, linked::settling};
    use super::*;
    use crate::sys::Native;

    /// Elements that came while a picker was at work are younger than those in its hands.
    #[test]
    fn newcomers_go_on_top() {
        let slot = Slot::new();
        let elements = [(); 4].map(|()| Element::new(None));
        let [a, b, c, d] = &elements;
        let push = |element| {
            // SAFETY: new, and on no chain when this test ends.
            unsafe { slot.push(element) }
        };
        let pick = || match slot.try_pick() {
            Pick::Got(picked) => picked,
            Pick::Empty | Pick::Busy => unreachable!("nobody else is here"),
        };
        push(a);
        push(b);
        let picked = pick();
        push(c);
        push(d);
        settling(|due| picked.put_back::<Native>(due));
        let picked = pick();
        let expected = [d, c, b, a];
        assert!(picked.chain.iter().map(ptr::from_ref).eq(expected.map(ptr::from_ref)), "youngest first");
        settling(|due| picked.put_back::<Native>(due));
        assert_eq!(settling(|due| slot.detach_all().notify_all::<Native>(due)), 4);
    }
}
