//! The thread's own element, and its lazy removal (the paper's listing 5).
//!
//! The loop form gets no control when its user leaves the loop, so the element may linger on the chain of a wait that is
//! over. It lives in a thread-local, and is withdrawn before it is published on another chain, or when the thread ends. A
//! table that it lingers on must therefore outlive every thread: `&'static self`.
//!
//! | the thread's element is | [`WaitTable::location_wait`] |
//! |---|---|
//! | on no chain | publishes it and returns, so that the caller checks its condition once more |
//! | published for this key, in the loop form | waits |
//! | published for this key by [`WaitTable::arm`] | withdraws it, then as on no chain |
//! | lingering on another key's chain | withdraws it, then as on no chain |
//!
//! An element that lingers on this key's chain since an earlier loop was published before the caller's last check, with
//! fence A between, so it may be waited on without publishing it again. Of one that [`WaitTable::arm`] published that is not
//! known:
//!
//! ```text
//! waiter                              notifier
//! condition? no
//!                                     condition = true
//!                                     slot empty? yes: nobody to wake
//! arm: publish; Armed is dropped
//! location_wait: is published, sleep  (forever)
//! ```

#![allow(unsafe_code)]

use super::{
    Key, Location, WaitOutcome, WaitTable,
    bank::Slot,
    element::Element,
    limit::Limit,
    linked::{Label, Linked},
    publication::{with_published, withdraw_thread},
    trace::Stamp,
};
use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{const_outside_models, fence_after_push, in_destructor, world_thread_local};
use crate::sys::{Backend, Native, fork::Birth, process_exit};
use core::{cell::Cell, fmt, marker::PhantomData, ptr};
use std::time::{Duration, Instant};

/// How long a wait in the loop form lasts when the thread's element is already gone, in the destructor of another
/// thread-local: the form has no place for an element then, so it polls. Arbitrary.
const POLL: Duration = Duration::from_millis(1);

struct Local {
    element: Element,
    place: Cell<Option<Place>>,
    /// What was looked up last.
    last: Cell<Option<Lookup>>,
    /// How often the element has been published; tells an [`Armed`] whether the element is still where it left it.
    publications: Cell<u64>,
}

/// A key of a table, and its slot: the one entry of the paper's cache, in its Lookup.
///
/// Here the thread-local is at hand. It stays right: a table that an element may linger on is never dropped, and its
/// slots for threads stay where they are, when banks for tasks are added, and in a fork's child. In a thread-local's
/// destructor there may be none, and no place for the element either. A wake does without: it may run in a signal handler, which would
/// find an entry half written, and on platforms where a thread-local is allocated when it is first used; and its
/// hash is worked out while its fence waits (docs/measurements.md, "Slot lookup").
#[derive(Clone, Copy)]
struct Lookup {
    /// The address of the table, as a name.
    table: usize,
    key: Key,
    slot: &'static Slot,
}

/// Where the thread's element is.
#[derive(Clone, Copy)]
struct Place {
    slot: &'static Slot,
    key: Key,
    /// Whether it was published in the loop form, whose caller then checked its condition.
    in_loop: bool,
    born: Birth,
    /// [`withdraw_thread`] for the backend of the slot's table.
    withdraw: fn(&Slot, &Element, Birth),
}

world_thread_local! {
    static LOCAL: Local = Local::new();
}

impl Local {
    const_outside_models! {
        fn new() -> Self {
            Self {
                element: Element::new(None),
                place: Cell::new(None),
                last: Cell::new(None),
                publications: Cell::new(0),
            }
        }
    }

    /// The slot of a key.
    #[inline]
    fn look_up<B: Backend>(&self, table: &'static WaitTable<B>, key: Key) -> &'static Slot {
        let name = ptr::from_ref(table).addr();
        match self.last.get() {
            Some(last) if last.key == key && last.table == name => last.slot,
            _ => {
                let slot = table.slot_of(key);
                self.last.set(Some(Lookup { table: name, key, slot }));
                slot
            }
        }
    }

    /// Whether the element is published on this slot for this key: on its chain, or notified since.
    fn is_at(&self, slot: &Slot, key: Key) -> bool {
        self.place
            .get()
            .is_some_and(|place| ptr::eq(place.slot, slot) && place.key == key && place.born.is_of_this_process())
    }

    /// Withdraws the element from whatever chain it is on.
    fn withdraw(&self) {
        if let Some(place) = self.place.take() {
            (place.withdraw)(place.slot, &self.element, place.born);
        }
    }

    /// Whether its caller, in the loop form, has checked its condition since the element was published.
    fn is_checked(&self) -> bool {
        self.place.get().is_some_and(|place| place.in_loop)
    }

    fn publish<B: Backend>(&self, slot: &'static Slot, key: Key, in_loop: bool) {
        self.withdraw();
        // SAFETY: we are the owner, and `withdraw` has taken the element off its chain.
        unsafe { self.element.rearm(Label { key, selectable: false }) };
        self.place.set(Some(Place { slot, key, in_loop, born: Birth::now(), withdraw: withdraw_thread::<B> }));
        self.publications.set(self.publications.get() + 1);
        // SAFETY: the element is on no chain. It is in a thread-local that is in place, whose destructor withdraws it
        // before its memory goes.
        unsafe { slot.push(&self.element) };
        fence_after_push();
    }

    /// Waits on the published element.
    fn wait<B: Backend>(&self, deadline: Deadline) -> WaitOutcome {
        counters::count(Event::Wait);
        self.element.trace.attend();
        let label = self.place.get().map(|place| Label { key: place.key, selectable: false });
        let notified = self.element.wait::<B>(label, deadline, SpinFirst::Briefly);
        self.element.trace.leave();
        if notified {
            self.place.set(None);
            WaitOutcome::Woken
        } else {
            WaitOutcome::TimedOut
        }
    }
}

impl Drop for Local {
    /// The element may be on a chain, or in somebody's hands; the `&mut` does not claim otherwise, for an element is
    /// pinned.
    fn drop(&mut self) {
        if !process_exit::others_were_killed() {
            in_destructor(|| self.withdraw());
        }
    }
}

impl<B: Backend> WaitTable<B> {
    /// The loop form, `while !condition() { table.location_wait(&x) }`. May return early: its first call only publishes
    /// the caller, so that the loop checks the condition once more before the next call sleeps.
    ///
    /// Only for tables that are never dropped: the thread's element may stay on a chain after the loop.
    ///
    /// The check of the condition must be the last thing before the call. In particular, another loop for the same key
    /// between the two may use up the wake-up that the check has just missed; the closure forms and [`Armed`] have no such
    /// gap.
    pub fn location_wait(&'static self, location: impl Location) {
        let _ = self.location_wait_at(location.key(), Deadline::NEVER);
    }

    /// Like [`location_wait`](Self::location_wait), but gives up at `deadline` ([how late](crate::wait_table#deadlines)).
    /// [`Woken`](WaitOutcome::Woken) means: check the condition again.
    pub fn location_wait_deadline(&'static self, location: impl Location, deadline: Instant) -> WaitOutcome {
        self.location_wait_at(location.key(), Deadline::at(deadline))
    }

    fn location_wait_at(&'static self, key: Key, deadline: Deadline) -> WaitOutcome {
        self.make_current();
        LOCAL
            .try_with(|local| {
                let slot = local.look_up(self, key);
                if local.is_at(slot, key) && local.is_checked() {
                    return local.wait::<B>(deadline);
                }
                if deadline.has_passed() {
                    return WaitOutcome::TimedOut;
                }
                local.publish::<B>(slot, key, true);
                WaitOutcome::Woken
            })
            .unwrap_or_else(|_| self.poll(key, deadline))
    }

    /// Arms the thread for `location`: any [`wake_all`](Self::wake_all) from now on ends [`Armed::wait`].
    ///
    /// Only for tables that are never dropped, like [`location_wait`](Self::location_wait); see
    /// [`wait_if`](Self::wait_if) for the same on any table.
    pub fn arm(&'static self, location: impl Location) -> Armed<B> {
        let key = location.key();
        self.make_current();
        let publication = LOCAL
            .try_with(|local| {
                let slot = local.look_up(self, key);
                // An element still there from an earlier wait was followed by fence A then, and the caller's check
                // comes after that; no second fence is needed. Where a notification is not yet seen, the wait sees it.
                if !local.is_at(slot, key) || local.element.is_notified() {
                    local.publish::<B>(slot, key, false);
                }
                local.publications.get()
            })
            .ok();
        Armed { table: self, key, publication, thread_bound: PhantomData }
    }

    /// Waits for a short time by an element on the stack.
    fn poll(&self, key: Key, deadline: Deadline) -> WaitOutcome {
        let until = Limit::at(deadline.earlier_of(Deadline::after(POLL)));
        let label = Label { key, selectable: false };
        let ((), notified) = with_published(self, label, Stamp::NONE, &until, |element| {
            element.wait(&until, SpinFirst::Briefly);
        });
        if notified.is_none() && deadline.has_passed() { WaitOutcome::TimedOut } else { WaitOutcome::Woken }
    }
}

/// A thread that is armed for a key: check the condition, then [wait](Self::wait) or drop it. After the processor's
/// MONITOR and MWAIT.
///
/// A wake-up between arming and waiting ends the wait at once. So does anything else that uses the thread's element in
/// between: a thread can be armed for one key at a time. Dropping it, or forgetting it, costs nothing.
///
/// ```
/// use layby::{arm, location_wake_all};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static READY: AtomicBool = AtomicBool::new(false);
/// let waiter = std::thread::spawn(|| {
///     loop {
///         let armed = arm(&READY);
///         if READY.load(Ordering::Relaxed) {
///             break;
///         }
///         armed.wait();
///     }
/// });
/// READY.store(true, Ordering::Relaxed);
/// location_wake_all(&READY);
/// waiter.join().unwrap();
/// ```
#[must_use = "an armed thread waits only when `wait` is called"]
pub struct Armed<B: Backend = Native> {
    table: &'static WaitTable<B>,
    key: Key,
    /// Which publication of the thread's element this is; `None` if the thread has no element any more.
    publication: Option<u64>,
    thread_bound: PhantomData<*const ()>,
}

impl<B: Backend> Armed<B> {
    /// Waits for a wake-up of the key since it was armed. May return early.
    pub fn wait(self) {
        let _ = self.wait_at(Deadline::NEVER);
    }

    /// Like [`wait`](Self::wait), but gives up at `deadline` ([how late](crate::wait_table#deadlines)).
    pub fn wait_deadline(self, deadline: Instant) -> WaitOutcome {
        self.wait_at(Deadline::at(deadline))
    }

    fn wait_at(&self, deadline: Deadline) -> WaitOutcome {
        let Some(publication) = self.publication else {
            return self.table.poll(self.key, deadline);
        };
        self.table.make_current();
        LOCAL
            .try_with(|local| {
                let slot = local.look_up(self.table, self.key);
                let is_still_armed = local.publications.get() == publication && local.is_at(slot, self.key);
                if is_still_armed { local.wait::<B>(deadline) } else { WaitOutcome::Woken }
            })
            .unwrap_or(WaitOutcome::Woken)
    }
}

impl<B: Backend> fmt::Debug for Armed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Armed").field("key", &self.key).finish_non_exhaustive()
    }
}
