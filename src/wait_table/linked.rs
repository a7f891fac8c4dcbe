//! What the pop-stack asks of an element, whoever owns it: a thread, or a task.

#![allow(unsafe_code)]

use super::{
    Key,
    crowd::{Alike, Crowd},
    gate::Sleeper,
};
use crate::sync::{IN_A_MODEL, atomic::AtomicPtr};
use crate::sys::Backend;
use core::{marker::PhantomData, mem::MaybeUninit};

/// How many sleepers are notified before they are woken. Arbitrary: more than there are on most chains.
const SLEEPERS_AT_ONCE: usize = if IN_A_MODEL { 2 } else { 16 };

/// What an element waits for.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) key: Key,
    /// Whether a wake of one may choose this element as the one. A lingering element must not be: nobody may be waiting
    /// behind it.
    pub(super) selectable: bool,
}

/// An element of a chain. All elements of a table's slot are of one type.
///
/// # Safety
/// - Every element that is published has an address that is a multiple of `ALIGNMENT`, a power of two and at least 8.
/// - `succ` is always the same link, and nobody but the pop-stack changes it while the element is published.
/// - [`notify`](Self::notify) sets the element's gate, which is its last access to the element, and runs nobody else's code.
/// - [`is_notified`](Self::is_notified) is true only when that has happened since the element was last published, and the
///   owner then sees what the notifier did.
pub(super) unsafe trait Linked: Sized {
    /// What an element's address leaves to the slot: two flags, and a fingerprint.
    const ALIGNMENT: usize;

    /// What is left to do for those who have been notified, and is done when it is dropped: it takes long, or is nobody
    /// knows what, and so nothing may be in hand then.
    type Due<B: Backend>: Default;

    /// The next older element of the chain. The pop-stack's, once published.
    fn succ(&self) -> &AtomicPtr<Self>;

    /// What the element waits for.
    ///
    /// # Safety
    /// The caller is the owner, or has the element in its hands: detached from its chain and not yet notified.
    unsafe fn label(&self) -> Option<Label>;

    /// By a thread that has many elements in hand, one of which has this label: asks the processor for those of its key, as far as it
    /// is known where they are.
    fn fetch_many(_label: Label) {}

    /// Releases the element to its owner, and notes what is `due` to that besides.
    ///
    /// # Safety
    /// The caller has the element in its hands, and gives it up with this call.
    unsafe fn notify<B: Backend>(element: *const Self, due: &mut Self::Due<B>);

    /// For those who have it in hand: whether its owner has been woken already, and the element is there only to be seen.
    fn is_called(&self) -> bool {
        false
    }

    /// Wakes its owner, as `due` notes, and leaves the element to be seen. `false` if the owner cannot be woken so, and the element must
    /// be notified.
    ///
    /// # Safety
    /// The caller has picked the slot, has the element in its hands, and will put it back, or notify it.
    unsafe fn call<B: Backend>(&self, _due: &mut Self::Due<B>) -> bool {
        false
    }

    /// Whether a notifier has released the element to its owner.
    fn is_notified(&self) -> bool;

    /// Waits until a notifier releases the element. Only the owner calls it, when somebody has the element in hand.
    fn wait_to_be_released<B: Backend>(&self);
}

/// Does what `notes` notes as due, when nothing is in hand any more.
#[inline]
pub(super) fn settling<D: Default, R>(notes: impl FnOnce(&mut D) -> R) -> R {
    notes(&mut D::default())
}

/// Threads that sleep on gates that have been opened.
///
/// First the gates, then the system calls: an element in hand keeps its owner from leaving when its deadline has passed,
/// and a thread that wakes another may lose its CPU to it.
pub(super) struct Sleepers<B: Backend> {
    /// Most often there is no other.
    first: Option<Sleeper>,
    /// Written up to `count`.
    others: [MaybeUninit<Sleeper>; SLEEPERS_AT_ONCE - 1],
    count: usize,
    alike: Alike,
    /// Of the crowd that was met last, how many.
    in_crowd: Option<(&'static Crowd, u32)>,
    backend: PhantomData<B>,
}

impl<B: Backend> Default for Sleepers<B> {
    #[inline]
    fn default() -> Self {
        let mut new = MaybeUninit::<Self>::uninit();
        let place = new.as_mut_ptr();
        // Field by field: of a value that is written as a whole the compiler clears what is not initialized.
        // SAFETY: the place is ours, and what is not written may be anything, or has no size.
        unsafe {
            (&raw mut (*place).first).write(None);
            (&raw mut (*place).count).write(0);
            (&raw mut (*place).alike).write(Alike::default());
            (&raw mut (*place).in_crowd).write(None);
            new.assume_init()
        }
    }
}

impl<B: Backend> Sleepers<B> {
    #[inline]
    pub(super) fn add(&mut self, sleeper: Sleeper) {
        if self.first.is_none() {
            self.first = Some(sleeper);
        } else {
            self.add_another(sleeper);
        }
    }

    #[inline(never)]
    fn add_another(&mut self, sleeper: Sleeper) {
        if self.count == self.others.len() {
            self.wake();
            self.first = Some(sleeper);
        } else {
            self.others[self.count].write(sleeper);
            self.count += 1;
        }
    }

    /// One more of those added waits for what the label says: if there are many, the next to come sleep in a crowd.
    #[inline]
    pub(super) fn note_alike(&mut self, label: Label) {
        self.alike.add::<B>(label);
    }

    /// One that sleeps in a crowd.
    #[cold]
    pub(super) fn add_one_in(&mut self, crowd: &'static Crowd) {
        match &mut self.in_crowd {
            Some((same, members)) if core::ptr::eq(*same, crowd) => *members += 1,
            other => {
                if let Some((before, members)) = other.replace((crowd, 1)) {
                    before.wake::<B>(members);
                }
            }
        }
    }

    #[inline]
    fn wake(&mut self) {
        if let Some(first) = self.first.take() {
            first.wake();
            if self.count != 0 {
                self.wake_others();
            }
        }
    }

    #[inline(never)]
    fn wake_others(&mut self) {
        for sleeper in &self.others[..self.count] {
            // SAFETY: it is one of the first `count`.
            unsafe { sleeper.assume_init() }.wake();
        }
        self.count = 0;
    }
}

impl<B: Backend> Drop for Sleepers<B> {
    #[inline]
    fn drop(&mut self) {
        self.wake();
        if let Some((crowd, members)) = self.in_crowd {
            crowd.wake::<B>(members);
        }
    }
}
