//! Tasks that wait: what a thread does on its stack, a task does in its future, and what wakes it is a waker.
//!
//! The element is published once and stays published while the task is away. Its waker is anybody's who has the element in hand, until a poll
//! that has another one takes it back. The gate decides whose it is (`element.rs`).
//!
//! # Rules
//!
//! The owner, in `poll` (W) and when it leaves, because it is dropped or because its condition holds (D):
//!
//! - **W1.** It writes its waker, publishes the element as `PARKED`, fence A, checks, and returns `Pending`. A notifier that comes before
//!   the check calls the waker, and if the check succeeds all the same, the task is polled once for nothing.
//! - **W2.** If it cannot park it has been notified meanwhile. It wakes itself, and returns `Pending`: the next poll checks.
//! - **W3.** A poll that finds the element notified checks, and publishes it again. One that finds it called checks, and waits
//!   on where it is (`element.rs`, C2 and C3).
//! - **W4.** A poll that finds it parked checks, and if it has the same waker as before, that is all: a notifier that comes meanwhile wakes
//!   the task. With another waker it takes back the old one, for which it picks the slot, replaces it, and parks again. The old one is
//!   dropped, and the new one cloned, while nothing is in hand. If a picker is at work, or a notifier has the old waker, the poll wakes
//!   itself.
//! - **W5.** A condition may panic with the element published. It stays published, and the next poll or the drop finds it so.
//! - **D1.** It need not take its waker back first: who takes that meanwhile wakes a task that is awake.
//! - **D2.** The element is withdrawn, as a thread's is (`publication.rs`): from its chain; out of others' hands by waiting
//!   for its gate, and asleep if it takes long.
//! - **D4.** Foreign code comes last: wakers that it must call because it was a picker, those of tasks that a ticket goes on to, its own
//!   waker's drop. Before it come the threads that sleep until they have their elements back. Wrong, otherwise:
//!
//! ```text
//! drops a future with a ticket                another thread, which holds the lock L
//! picks its chain: b is in hand
//!                                             drops b: asleep until it is let go
//! lets b go: its thread is to be woken
//! gives its permit to the next, a task:
//! calls its waker, which locks L: waits       (sleeps forever)
//! ```
//!
//! - **D5.** That may unwind when the condition has held, and the poll with it. The wait is over all the same, so that nothing is
//!   abandoned later; and what was got is given back, once: a permit, a lock, a wake-up. Wrong is to leave either to the drop
//!   of the other: a permit that is dropped, and the ticket that it was got with abandoned, make two; a lock that nobody has been
//!   told of is locked for good. Nor may it wait for what was got, which is held meanwhile (SECURITY.md).
//!
//! A notifier: **N1.** takes the waker out before it sets the gate. **B1.** It calls wakers when it has nothing in hand and no
//! slot is picked (`wakers.rs`).
//!
//! - **O1.** An owner that leaves and finds that it was notified, and has not checked its condition since, passes that on: a
//!   wake of one may have chosen it. Also if its condition held: perhaps it took what was there before.
//!
//! # Never a spin
//!
//! A poll does not wait, with one exception, which a drop has too: the condition holds, and another thread has the element in
//! hand at this moment. Then it is waited for as a thread does whose deadline has passed (`publication.rs`, "Late"): a few
//! instructions, or until that thread runs again; asleep, if it takes long. A poll with another waker than before that meets another thread at the slot
//! wakes its task and returns: an executor that does this again and again, on the only CPU and at a higher priority than that thread, does nothing else.

#![allow(unsafe_code)]

mod banks;
mod element;
mod future;
mod wakers;

use super::{
    Invariant, Key, WaitTable,
    linked::{Label, settling},
    pop_stack::Pick,
    publication::withdraw,
};
use crate::counters::{self, Event};
use crate::sync::fence_after_push;
use crate::sys::{Backend, fork::Birth, process_exit};
pub(super) use banks::{TaskBanks, TaskSlot};
use core::{
    fmt,
    future::Future,
    marker::PhantomData,
    panic::Location,
    pin::Pin,
    task::{Context, Poll, Waker},
};
pub(super) use element::{Doing, TaskElement};
use element::{Found, Stage, Status};
pub use future::{WaitForAsync, WaitIfAsync, WaitUntilAsync, wait_for_async, wait_if_async, wait_until_async};
pub(crate) use wakers::Wakes;

/// Which table a future waits in.
///
/// # Safety
/// It is the same table at every call, and is there for as long as the value is.
pub unsafe trait InTable {
    /// How the table's threads sleep.
    type Backend: Backend;

    #[doc(hidden)]
    fn table(&self) -> &WaitTable<Self::Backend>;
}

// SAFETY: a reference.
unsafe impl<B: Backend> InTable for &WaitTable<B> {
    type Backend = B;

    fn table(&self) -> &WaitTable<B> {
        self
    }
}

/// The table of a [home](super::Home): takes no room in a future.
pub struct AtHome<H>(Invariant<H>);

impl<H> AtHome<H> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<H> fmt::Debug for AtHome<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtHome")
    }
}

// SAFETY: a home's table is a constant.
unsafe impl<H: super::Home> InTable for AtHome<H> {
    type Backend = H::Backend;

    fn table(&self) -> &WaitTable<H::Backend> {
        super::table_of::<H>()
    }
}

/// When an attempt is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before it waits.
    First,
    /// It is published: who changes the condition from now on wakes it. If this attempt fails it waits.
    Published,
    /// It has been woken.
    Woken,
    /// It is polled, though nobody has woken it.
    Idle,
}

/// What a future of a primitive waits for. All of it is safe code: whatever it does, the element is published and withdrawn as
/// it must be.
pub trait Purpose {
    /// What it gets.
    type Output;

    /// The condition, and what it has taken if it holds. `last` is the key under which it was last published, if it ever was in
    /// this process: what a future has from the parent of a fork it must ask for anew.
    #[doc(hidden)]
    fn attempt(&mut self, moment: Moment, last: Option<Key>) -> Option<Self::Output>;

    /// The key to wait under, asked for when an attempt has failed: it may be known only then, as a ticket that is drawn here is.
    /// It is published under this key at once, and nothing foreign comes between. `given` is the one that the future was made
    /// with, `last` is as above. If there is a `last` it is that again: one that was called is not asked, and waits on under it.
    #[doc(hidden)]
    fn key(&mut self, given: Key, last: Option<Key>) -> Key {
        last.unwrap_or(given)
    }

    /// The future is dropped, it was last published under `last` in this process, and no attempt has succeeded. The element is off
    /// its chain.
    #[doc(hidden)]
    fn abandon(&mut self, last: Key) {
        let _ = last;
    }

    /// An attempt has succeeded, and its output cannot be delivered: foreign code has unwound the poll. To drop it is enough if
    /// that gives back what was got.
    #[doc(hidden)]
    fn give_back(&mut self, output: Self::Output) {
        drop(output);
    }
}

/// A future that waits in a wait table until an attempt succeeds.
///
/// It waits for its element when it is dropped, and when its condition holds, if another thread has that in its hands at this
/// very moment: see [Deadlines](crate::wait_table#deadlines).
#[must_use = "futures do nothing unless polled"]
#[repr(C, align(16))]
pub struct Waiting<R: InTable, P: Purpose> {
    element: TaskElement,
    within: R,
    purpose: P,
}

impl<R: InTable, P: Purpose> Waiting<R, P> {
    /// A future that waits under `key`. Whether it is `selectable` by a wake of one is the primitive's choice, and has the
    /// consequences that [`WaitTable::wait_if`] tells of. Reports name the caller; a primitive's functions are `#[track_caller]`
    /// too, so that it is the primitive's.
    #[track_caller]
    #[inline]
    pub(crate) fn new(within: R, key: Key, selectable: bool, purpose: P) -> Self {
        Self { element: TaskElement::new(Label { key, selectable }), within, purpose }
    }

    /// The same, and reports name `location`: for a future that is made inside of another's `async` block, which has no caller.
    pub(crate) fn made_at(mut self, location: &'static Location<'static>) -> Self {
        self.element.set_location(location);
        self
    }

    /// The key under which the element was last published, if it ever was in this process.
    #[inline]
    fn last_key(&self) -> Option<Key> {
        let status = self.element.status();
        let is_ours = !status.is_at(Stage::New) && status.is_of_this_process();
        is_ours.then(|| self.element.place(status).0.key)
    }

    /// By the owner: publishes the element; returns the key. Fence A is left to the caller.
    ///
    /// # Safety
    /// As of [`wait`](Self::wait).
    #[inline]
    unsafe fn publish(&mut self) -> Key {
        let (given, last) = (self.element.place(self.element.status()).0, self.last_key());
        let key = self.purpose.key(given.key, last);
        let hash = key.hash();
        let (bank, slot) = self.within.table().enter_for_task(key.row(), &self.element);
        // SAFETY: by the caller's promise.
        unsafe { self.element.rearm(key, bank) };
        // SAFETY: by the caller's promise; and the drop withdraws it.
        unsafe { slot.push_hashed(&self.element, hash) };
        key
    }

    /// By the owner: takes the element off its chain. If it `passes_on`, its condition has not been
    /// checked since it was notified, if it was (O1).
    fn leave(&self, passes_on: bool, due: &mut Wakes<R::Backend>) {
        let element = &self.element;
        let status = element.status();
        if !status.is_published() {
            return;
        }
        let (label, bank) = element.place(status);
        withdraw::<R::Backend, _>(self.slot_of(label.key, bank), element, Birth::now(), due);
        element.set_stage(Stage::Idle);
        if passes_on && label.selectable && element.was_woken() {
            // No fence B: who was passed over for us was there before our gate was set, so we find it.
            self.within.table().wake_one_noting(label.key, due);
        }
    }

    /// The slot where the element was last published, in this process.
    #[inline]
    fn slot_of(&self, key: Key, bank: usize) -> &TaskSlot {
        let Some(slot) = self.within.table().task_slot_in(bank, key) else {
            unreachable!("a bank stays for as long as its table")
        };
        slot
    }

    /// A poll of one that waits already.
    #[inline(never)]
    fn poll_again(&mut self, waker: &Waker) -> Poll<P::Output> {
        let status = self.element.status();
        assert!(!status.is_at(Stage::Finished), "polled again though it was ready");
        let (label, bank) = self.element.place(status);
        let last = status.is_of_this_process().then_some(label.key);
        let found = status.is_published().then(|| self.element.look());
        let moment = match found {
            None => Moment::First,
            Some(Found::Parked | Found::Waiting) => Moment::Idle,
            Some(Found::InNotifiersHands | Found::Called | Found::Notified) => Moment::Woken,
        };
        let attempted = self.purpose.attempt(moment, last);
        // A condition may fork: in the child the element is on no chain.
        let found = found.filter(|_| status.is_of_this_process());
        let Some(output) = attempted else {
            let is_as_it_should_be = found == Some(Found::Parked) && self.element.is_kept(waker);
            return if is_as_it_should_be { Poll::Pending } else { self.wait_again(found, waker) };
        };
        // What most do that were woken: the waker is gone, too.
        if found == Some(Found::Called) && self.slot_of(label.key, bank).take_alone(&self.element) {
            self.element.set_status(status.at(Stage::Finished));
            return Poll::Ready(output);
        }
        self.finish(moment == Moment::Idle, output)
    }

    /// An attempt has failed of one that was woken, or has another waker, or is on no chain.
    #[inline(never)]
    fn wait_again(&mut self, found: Option<Found>, waker: &Waker) -> Poll<P::Output> {
        let (label, bank) = self.element.place(self.element.status());
        match found {
            Some(Found::Called) => {
                // SAFETY: we are the owner, and it has been called.
                unsafe { self.element.set_waker(waker) };
                self.wait_on(label.key, waker)
            }
            Some(Found::Parked) => self.park_with_another(waker, self.slot_of(label.key, bank)),
            Some(Found::InNotifiersHands) => {
                waker.wake_by_ref();
                Poll::Pending
            }
            Some(Found::Waiting) => self.park_again(waker),
            // SAFETY: we are the owner, it is on no chain, and it is pinned.
            Some(Found::Notified) | None => unsafe { self.wait_anew(waker) },
        }
    }

    /// By the owner of an element that was parked in this slot, when an attempt has failed: with another waker than before.
    fn park_with_another(&self, waker: &Waker, slot: &TaskSlot) -> Poll<P::Output> {
        // What is due to others comes last: their wakers may panic.
        settling(|due| {
            if self.regain(slot, due) {
                return self.park_again(waker);
            }
            waker.wake_by_ref();
            Poll::Pending
        })
    }

    /// Takes its waker back. `false` if a picker is at work, or a notifier has it.
    fn regain(&self, slot: &TaskSlot, due: &mut Wakes<R::Backend>) -> bool {
        let Pick::Got(picked) = slot.try_pick() else { return false };
        // SAFETY: we are the owner, and have picked the slot.
        let has_it_back = unsafe { self.element.regain() };
        picked.put_back::<R::Backend>(due);
        due.wake_sleepers();
        has_it_back
    }

    /// By the owner of an element that it has regained, when an attempt has failed.
    fn park_again(&self, waker: &Waker) -> Poll<P::Output> {
        // SAFETY: we are the owner, and the gate is `WAITING`.
        unsafe { self.element.set_waker(waker) };
        if !self.element.park() {
            waker.wake_by_ref();
        }
        Poll::Pending
    }

    /// By the owner of an element that was called, and has a waker again: it waits where it is, as if it were published anew.
    fn wait_on(&mut self, key: Key, waker: &Waker) -> Poll<P::Output> {
        if self.element.wait_on() {
            return self.ratify(key, waker);
        }
        // SAFETY: it has been notified, and is pinned.
        unsafe { self.wait_anew(waker) }
    }

    /// By the owner of an element that was published before.
    ///
    /// # Safety
    /// As of [`wait`](Self::wait).
    unsafe fn wait_anew(&mut self, waker: &Waker) -> Poll<P::Output> {
        if self.element.status().is_published() {
            self.element.set_stage(Stage::Idle);
        }
        // SAFETY: by the caller's promise.
        unsafe { self.wait(waker) }
    }

    /// By the owner, when an attempt has failed: publishes the element, and waits.
    ///
    /// # Safety
    /// The element is on no chain and in nobody's hands. It is pinned: it stays where it is until it is dropped.
    #[inline(never)]
    unsafe fn wait(&mut self, waker: &Waker) -> Poll<P::Output> {
        // SAFETY: we are the owner, and it is on no chain.
        unsafe { self.element.set_waker(waker) };
        // SAFETY: by the caller's promise.
        let key = unsafe { self.publish() };
        self.ratify(key, waker)
    }

    /// By the owner of an element that has just been published under `key`, or made to wait on there.
    #[inline(always)]
    fn ratify(&mut self, key: Key, waker: &Waker) -> Poll<P::Output> {
        fence_after_push();
        counters::count(Event::Wait);
        // The ratification: if no notifier has seen the element yet, we see the notifier's change here.
        match self.purpose.attempt(Moment::Published, Some(key)) {
            Some(output) => self.finish(true, output),
            None => {
                // It has forked, and this is the child: the next poll publishes it here.
                if !self.element.status().is_of_this_process() {
                    waker.wake_by_ref();
                }
                Poll::Pending
            }
        }
    }

    /// By the owner, because an attempt has succeeded: leaves. Foreign code comes last (D5).
    #[inline(never)]
    fn finish(&mut self, passes_on: bool, output: P::Output) -> Poll<P::Output> {
        let mut undelivered = Undelivered { waiting: self, output: Some(output) };
        let waiting = &*undelivered.waiting;
        settling(|due| {
            waiting.leave(passes_on, due);
            waiting.element.set_stage(Stage::Finished);
        });
        // SAFETY: we are the owner, and the element is on no chain.
        drop(unsafe { waiting.element.take_waker() });
        Poll::Ready(undelivered.output.take().expect("it is taken here alone"))
    }

    /// The future is dropped though the wait is not over. The element may be on a chain, or in somebody's hands; the `&mut` does not
    /// claim otherwise, for an element is pinned.
    #[inline(never)]
    fn give_up(&mut self, status: Status) {
        if process_exit::others_were_killed() {
            return;
        }
        let (label, bank) = self.element.place(status);
        // What is not selectable has no wake-up to pass on.
        if status.is_published() && !label.selectable && self.slot_of(label.key, bank).take_alone(&self.element) {
            return self.abandon(status);
        }
        self.give_up_among_others();
    }

    /// The same, if the element is not alone on its chain, or has been taken off.
    #[inline(never)]
    fn give_up_among_others(&mut self) {
        settling(|due| {
            self.leave(true, due);
            // Those for whom this is abandoned may be tasks, whose wakers may wait for who sleeps (D4).
            due.wake_sleepers();
            self.abandon(self.element.status());
        });
    }

    /// By the owner, whose element has been published and is on no chain any more. It asks once more which process this is: a handler may
    /// have forked since it asked before.
    #[inline]
    fn abandon(&mut self, status: Status) {
        if status.is_of_this_process() {
            let (label, _) = self.element.place(status);
            self.purpose.abandon(label.key);
        }
    }

    /// What was got is given back, and the wake-up, if that was all or a part of it, goes to the next.
    fn give_back(&mut self, output: P::Output) {
        self.purpose.give_back(output);
        let (label, _) = self.element.place(self.element.status());
        if label.selectable {
            // No fence B: as in `leave`.
            settling(|due| self.within.table().wake_one_noting(label.key, due));
        }
    }
}

/// What an attempt has got, until the poll returns it.
struct Undelivered<'a, R: InTable, P: Purpose> {
    waiting: &'a mut Waiting<R, P>,
    output: Option<P::Output>,
}

impl<R: InTable, P: Purpose> Drop for Undelivered<'_, R, P> {
    #[inline]
    fn drop(&mut self) {
        if let Some(output) = self.output.take() {
            self.waiting.give_back(output);
        }
    }
}

impl<R: InTable, P: Purpose> Future for Waiting<R, P> {
    type Output = P::Output;

    /// What most polls are, the first one when there is nothing to wait for, and no more: it is compiled into its caller.
    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<P::Output> {
        // SAFETY: what must not move is the element, and it is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        if !this.element.status().is_at(Stage::New) {
            return this.poll_again(context.waker());
        }
        let Some(output) = this.purpose.attempt(Moment::First, None) else {
            // SAFETY: it has never been published, and is pinned.
            return unsafe { this.wait(context.waker()) };
        };
        this.element.set_stage(Stage::Finished);
        Poll::Ready(output)
    }
}

impl<R: InTable, P: Purpose> Drop for Waiting<R, P> {
    #[inline]
    fn drop(&mut self) {
        let status = self.element.status();
        if status.waits() {
            self.give_up(status);
        }
    }
}

impl<R: InTable, P: Purpose> fmt::Debug for Waiting<R, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.element.status();
        let (label, _) = self.element.place(status);
        f.debug_struct("Waiting").field("key", &label.key).field("stage", &status.stage()).finish_non_exhaustive()
    }
}
