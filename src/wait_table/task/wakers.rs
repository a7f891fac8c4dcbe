//! Wakers that have been taken, and are called when nothing is in hand.
//!
//! What a waker does is nobody's business: it may wake, wait and drop futures on the same slot and key, and it may panic.
//! Wrong, therefore, is to call one as soon as it is taken:
//!
//! ```text
//! notifier                            its waker of a                 b's owner, which holds the lock L
//! has a and b in hand
//! takes a's waker, calls it           locks L: waits
//!                                                                    drops b: it is in hand, waits for its gate
//! (forever)                           (forever)                      (forever)
//! ```
//!
//! Most wakes find one. As many as others find have a place here too; what comes on top goes to the heap. It is the one allocation of a
//! wake, and only of one that finds so many tasks of its key.

#![allow(unsafe_code)]

use super::super::{gate::Sleeper, linked::Sleepers};
use crate::sync::{IN_A_MODEL, atomic::Ordering, cell::UnsafeCell, unchecked_atomic::AtomicPtr};
use crate::sys::Backend;
use core::{
    mem::{ManuallyDrop, MaybeUninit},
    ptr,
    task::{RawWakerVTable, Waker},
};
use std::panic::{self, AssertUnwindSafe};

/// How many need no allocation. Arbitrary: half a kilobyte on the notifier's stack.
const AT_ONCE: usize = if IN_A_MODEL { 1 } else { 32 };

/// A waker in two words, or none: so that its owner may ask whose it is while another thread takes it.
pub(super) struct KeptWaker {
    data: AtomicPtr<()>,
    /// Null if there is none.
    vtable: AtomicPtr<RawWakerVTable>,
    /// Nothing: it stands for the right to replace the two, which one thread has at a time.
    right: UnsafeCell<()>,
}

impl KeptWaker {
    #[inline]
    pub(super) fn none() -> Self {
        let (data, vtable) = (AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut()));
        Self { data, vtable, right: UnsafeCell::new(()) }
    }

    /// By its owner: whether it is this one. If another thread takes it meanwhile, either may be said.
    #[inline]
    pub(super) fn is(&self, waker: &Waker) -> bool {
        // As `Waker::will_wake`. Ordering: relaxed, both; nobody but the owner writes anything but null.
        ptr::eq(self.vtable.load(Ordering::Relaxed), waker.vtable())
            && ptr::eq(self.data.load(Ordering::Relaxed), waker.data())
    }

    /// # Safety
    /// No other thread replaces it at this time, and what others have done to it before lies in the past.
    #[inline]
    pub(super) unsafe fn replace(&self, waker: Option<Waker>) -> Option<Waker> {
        self.right.with_mut(|_| ());
        // Ordering: relaxed, all; by the caller's promise.
        let (data, vtable) = (self.data.load(Ordering::Relaxed), self.vtable.load(Ordering::Relaxed));
        if let Some(waker) = waker.map(ManuallyDrop::new) {
            self.data.store(waker.data().cast_mut(), Ordering::Relaxed);
            self.vtable.store(ptr::from_ref(waker.vtable()).cast_mut(), Ordering::Relaxed);
        } else {
            self.vtable.store(ptr::null_mut(), Ordering::Relaxed);
        }
        // SAFETY: null, or what a waker gave that was forgotten here, and is made of it once.
        unsafe { vtable.as_ref().map(|vtable| Waker::new(data, vtable)) }
    }
}

impl Drop for KeptWaker {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the one who drops it has it alone.
        drop(unsafe { self.replace(None) });
    }
}

/// What is due to the owners of tasks' elements that have been notified, and is done when this is dropped. If some wakers panic the
/// others are called all the same, and the first panic goes on.
pub(crate) struct Wakes<B: Backend> {
    /// The waker that was taken first. Not dropped, for when this is there is none any more; nor is what follows.
    first: ManuallyDrop<Option<Waker>>,
    more: ManuallyDrop<Option<More<B>>>,
}

/// What most wakes have none of.
struct More<B: Backend> {
    /// Owners that block until they have their elements back.
    sleepers: Sleepers<B>,
    wakers: Wakers,
}

impl<B: Backend> Default for Wakes<B> {
    #[inline]
    fn default() -> Self {
        Self { first: ManuallyDrop::new(None), more: ManuallyDrop::new(None) }
    }
}

impl<B: Backend> Wakes<B> {
    /// A waker that was taken, if one was there.
    #[inline]
    pub(super) fn add_waker(&mut self, waker: Option<Waker>) {
        if self.first.is_none() {
            *self.first = waker;
        } else if let Some(waker) = waker {
            self.more().wakers.add(waker);
        }
    }

    #[cold]
    pub(super) fn add_sleeper(&mut self, sleeper: Sleeper) {
        self.more().sleepers.add(sleeper);
    }

    /// Wakes the owners that block, now: for a caller that has nothing in hand any more, and is about to call foreign code itself.
    pub(super) fn wake_sleepers(&mut self) {
        if let Some(more) = &mut *self.more {
            drop(core::mem::take(&mut more.sleepers));
        }
    }

    #[inline(never)]
    fn more(&mut self) -> &mut More<B> {
        self.more.get_or_insert_with(|| More { sleepers: Sleepers::default(), wakers: Wakers::default() })
    }

    /// Sleepers come first: they are in nobody's hands any more. Then the oldest waker: chains are taken from the youngest on.
    #[inline(never)]
    fn settle_all(&mut self) {
        let mut wakers = self.more.take().map(|More { sleepers, wakers }| {
            drop(sleepers);
            wakers
        });
        let mut panicked = None;
        while let Some(waker) = wakers.as_mut().and_then(Wakers::pop).or_else(|| self.first.take()) {
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                match panicked {
                    None => panicked = Some(payload),
                    // Its drop may panic too.
                    Some(_) => core::mem::forget(payload),
                }
            }
        }
        match panicked {
            Some(payload) if !std::thread::panicking() => panic::resume_unwind(payload),
            // Its drop may panic too.
            payload => core::mem::forget(payload),
        }
    }
}

impl<B: Backend> Drop for Wakes<B> {
    #[inline]
    fn drop(&mut self) {
        if self.more.is_some() || std::thread::panicking() {
            return self.settle_all();
        }
        if let Some(waker) = self.first.take() {
            // It may panic: there is no other.
            waker.wake();
        }
    }
}

/// A stack of wakers.
struct Wakers {
    /// Written up to `count`: there is nothing to clear.
    first: [MaybeUninit<Waker>; AT_ONCE],
    count: usize,
    more: Vec<Waker>,
}

impl Default for Wakers {
    #[inline]
    fn default() -> Self {
        let mut new = MaybeUninit::<Self>::uninit();
        let place = new.as_mut_ptr();
        // Field by field: of a value that is written as a whole the compiler clears what is not initialized.
        // SAFETY: the place is ours, and what is not written may be anything.
        unsafe {
            (&raw mut (*place).count).write(0);
            (&raw mut (*place).more).write(Vec::new());
            new.assume_init()
        }
    }
}

impl Wakers {
    fn add(&mut self, waker: Waker) {
        match self.first.get_mut(self.count) {
            Some(place) => {
                place.write(waker);
                self.count += 1;
            }
            None => self.more.push(waker),
        }
    }

    /// What was added last: the oldest of a chain.
    fn pop(&mut self) -> Option<Waker> {
        self.more.pop().or_else(|| {
            self.count = self.count.checked_sub(1)?;
            // SAFETY: it is one of the first `count`, and is not any more.
            Some(unsafe { self.first[self.count].assume_init_read() })
        })
    }
}
