//! The concurrent pop-stack: push one, detach all. And a way to take some and put the rest back.
//!
//! A slot's word is a pointer to the youngest element and two flags:
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

#![allow(unsafe_code)]

use super::Key;
use super::element::{Element, Label};
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

const PICKED: usize = 1;
const FLUSH: usize = 2;

/// A slot's word: a pointer to the youngest element, and the flags in its low bits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Head(*mut Element);

impl Head {
    const EMPTY: Self = Self(ptr::null_mut());

    fn flagged(flags: usize) -> Self {
        Self(ptr::without_provenance_mut(flags))
    }

    fn top(self) -> *mut Element {
        self.0.map_addr(|address| address & !(PICKED | FLUSH))
    }

    fn with_top(self, element: *const Element) -> Self {
        Self(element.cast_mut().map_addr(|address| address | (self.0.addr() & (PICKED | FLUSH))))
    }

    fn has(self, flag: usize) -> bool {
        self.0.addr() & flag != 0
    }
}

/// One slot of a table: the head of a chain of waiting elements.
pub(super) struct Slot {
    head: AtomicPtr<Element>,
}

impl Slot {
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

    /// Forgets all elements: those of a parent process, which do not exist in this one.
    pub(super) fn forget_all(&self) {
        self.head.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Publishes `element`.
    ///
    /// # Safety
    /// - The element is on no chain and in nobody's hands.
    /// - It stays where it is until it has been notified, or taken off by [`Picked::take`].
    pub(super) unsafe fn push(&self, element: &Element) {
        // Ordering: relaxed; what we read is not followed, only linked.
        let mut seen = Head(self.head.load(Ordering::Relaxed));
        loop {
            // Ordering: relaxed; released by the compare-and-swap.
            element.succ.store(seen.top(), Ordering::Relaxed);
            let ours = seen.with_top(element);
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
    pub(super) fn detach_all(&self) -> Chain {
        let mut seen = Head(self.head.load(Ordering::Relaxed));
        loop {
            let left = if seen.has(PICKED) { Head::flagged(PICKED | FLUSH) } else { Head::EMPTY };
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

    /// Takes all elements, to choose some and put the others back.
    pub(super) fn try_pick(&self) -> Pick<'_> {
        let mut seen = Head(self.head.load(Ordering::Relaxed));
        loop {
            if seen.has(PICKED) {
                return Pick::Busy;
            }
            if seen == Head::EMPTY {
                return Pick::Empty;
            }
            let picked = Head::flagged(PICKED);
            // Ordering: acquire; matches the release in `push` and `put_back`. Nothing to release: the flag says all.
            match self.head.compare_exchange_weak(seen.0, picked.0, Ordering::Acquire, Ordering::Relaxed) {
                Ok(taken) => return Pick::Got(Picked { slot: self, chain: Chain { top: Head(taken).top() } }),
                Err(now) => seen = Head(now),
            }
        }
    }

    /// Tries to pick up to `attempts` times while another picker is at work; after each attempt that failed, `try_again`
    /// pauses, and says whether to go on.
    pub(super) fn pick_patiently(&self, attempts: u32, try_again: impl Fn(u32) -> bool) -> Pick<'_> {
        for attempt in 0..attempts {
            match self.try_pick() {
                Pick::Busy if try_again(attempt) => {}
                found => return found,
            }
        }
        Pick::Busy
    }
}

/// What [`Slot::try_pick`] found.
pub(super) enum Pick<'a> {
    /// No element, and no picker.
    Empty,
    /// Another picker.
    Busy,
    Got(Picked<'a>),
}

/// Elements in the hands of a picker, which must [put back](Self::put_back) what it does not take.
#[must_use = "elements that are not put back are never woken"]
pub(super) struct Picked<'a> {
    slot: &'a Slot,
    chain: Chain,
}

impl Picked<'_> {
    /// Takes `element` off the chain; `false` if it is not among those in hand.
    pub(super) fn take(&mut self, element: &Element) -> bool {
        let taken = self.take_if(|candidate| ptr::eq(candidate, element));
        // An element that was taken by its own owner need not be notified.
        !core::mem::ManuallyDrop::new(taken).top.is_null()
    }

    /// Takes the oldest selectable element of `key`, and all of `key` that are not selectable.
    pub(super) fn take_one_of(&mut self, key: Key) -> Chain {
        let is_of_key = |label: Label| label.key == key;
        let oldest: *const Element = self
            .chain
            .iter()
            .filter(|element| label_in_hand(element).is_some_and(|label| is_of_key(label) && label.selectable))
            .last()
            .map_or(ptr::null(), ptr::from_ref);
        self.take_if(|element| {
            ptr::eq(element, oldest)
                || label_in_hand(element).is_some_and(|label| is_of_key(label) && !label.selectable)
        })
    }

    /// Takes all elements whose key is `wanted`.
    pub(super) fn take_those(&mut self, wanted: impl Fn(Key) -> bool) -> Chain {
        self.take_if(|element| label_in_hand(element).is_some_and(|label| wanted(label.key)))
    }

    /// Shows every element in hand, and what it waits for.
    pub(super) fn for_each(&self, mut see: impl FnMut(&Element, Label)) {
        for element in self.chain.iter() {
            if let Some(label) = label_in_hand(element) {
                see(element, label);
            }
        }
    }

    fn take_if(&mut self, choose: impl FnMut(&Element) -> bool) -> Chain {
        let (taken, rest) = self.chain.take().partition(choose);
        self.chain = rest;
        taken
    }

    /// Puts the elements in hand back under those that came meanwhile, or notifies them all if a notifier came.
    pub(super) fn put_back<B: Backend>(mut self) {
        let head = &self.slot.head;
        loop {
            let seen = Head(head.load(Ordering::Relaxed));
            if seen.has(FLUSH) {
                // Ordering: acquire; matches the release in `push`. Nothing to release: what we hold goes by its gates.
                let newcomers = Chain { top: Head(head.swap(ptr::null_mut(), Ordering::Acquire)).top() };
                newcomers.notify_all::<B>();
                self.chain.take().notify_all::<B>();
                return;
            }
            let (left, order) = if seen.top().is_null() {
                // Ordering: release; our changes of the links are visible to the thread that takes the chain next.
                (Head(self.chain.top), Ordering::Release)
            } else {
                // Ordering: acquire; matches the release in `push`.
                (Head::flagged(PICKED), Ordering::Acquire)
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

/// What an element in a picker's hands waits for.
fn label_in_hand(element: &Element) -> Option<Label> {
    // SAFETY: called by a picker only, on the elements in its hands.
    unsafe { element.label() }
}

/// Detached elements, youngest first: alive, in our hands, and waiting for us to notify them (invariant I2).
#[must_use = "elements that are dropped are never woken"]
pub(super) struct Chain {
    top: *mut Element,
}

impl Chain {
    const EMPTY: Self = Self { top: ptr::null_mut() };

    fn take(&mut self) -> Self {
        core::mem::replace(self, Self::EMPTY)
    }

    /// The elements are somebody else's now.
    fn forget(&mut self) {
        self.top = ptr::null_mut();
    }

    /// Notifies every element; returns how many there were.
    pub(super) fn notify_all<B: Backend>(mut self) -> usize {
        let mut count = 0;
        while let Some(element) = self.pop() {
            // SAFETY: `pop` has read the link and will not touch the element again; it is in our hands, and given up
            // here.
            unsafe { Element::notify::<B>(element) };
            count += 1;
        }
        count
    }

    /// Takes the youngest element off; its link has been read when this returns.
    fn pop(&mut self) -> Option<*const Element> {
        let element = self.top;
        if element.is_null() {
            return None;
        }
        // SAFETY: an element in our hands is alive (I2).
        // Ordering: relaxed; detaching has acquired the links of the whole chain.
        self.top = unsafe { (*element).succ.load(Ordering::Relaxed) };
        Some(element)
    }

    fn iter(&self) -> Elements<'_> {
        Elements { next: self.top, chain: PhantomData }
    }

    /// Splits off the elements that `choose` chooses. Both parts keep their order.
    fn partition(mut self, mut choose: impl FnMut(&Element) -> bool) -> (Self, Self) {
        let (mut taken, mut rest) = (Builder::new(), Builder::new());
        while let Some(element) = self.pop() {
            // SAFETY: an element in our hands is alive (I2).
            let element = unsafe { &*element };
            if choose(element) { taken.append(element) } else { rest.append(element) }
        }
        (taken.chain, rest.chain)
    }

    /// Joins two chains, `self` being the younger.
    fn on_top_of(mut self, mut older: Self) -> Self {
        let Some(last) = self.iter().last() else { return older };
        // Ordering: relaxed; released when the chain is put back.
        last.succ.store(older.top, Ordering::Relaxed);
        older.forget();
        self.take()
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        debug_assert!(self.top.is_null(), "elements were dropped without being notified");
    }
}

/// Iterates over elements in hand.
struct Elements<'a> {
    next: *const Element,
    chain: PhantomData<&'a Chain>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a Element;

    fn next(&mut self) -> Option<&'a Element> {
        // SAFETY: the chain is borrowed, so its elements stay in hand, and alive (I2).
        let element = unsafe { self.next.as_ref() }?;
        // Ordering: relaxed, as in `pop`.
        self.next = element.succ.load(Ordering::Relaxed);
        Some(element)
    }
}

/// Builds a chain from its youngest element to its oldest.
struct Builder {
    chain: Chain,
    last: *const Element,
}

impl Builder {
    const fn new() -> Self {
        Self { chain: Chain::EMPTY, last: ptr::null() }
    }

    fn append(&mut self, element: &Element) {
        let link = ptr::from_ref(element).cast_mut();
        // Ordering: relaxed; released when the chain is put back.
        element.succ.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: null, or an element in our hands, which is alive (I2).
        match unsafe { self.last.as_ref() } {
            Some(last) => last.succ.store(link, Ordering::Relaxed),
            None => self.chain.top = link,
        }
        self.last = link;
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
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
        picked.put_back::<Native>();
        let picked = pick();
        let expected = [d, c, b, a];
        assert!(picked.chain.iter().map(ptr::from_ref).eq(expected.map(ptr::from_ref)), "youngest first");
        picked.put_back::<Native>();
        assert_eq!(slot.detach_all().notify_all::<Native>(), 4);
    }
}
