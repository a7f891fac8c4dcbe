//! The table: keys to slots, the loops of the closure forms, and the wakes.

use super::{
    Key, WaitOutcome,
    bank::{Bank, State},
    element::Label,
    pop_stack::Slot,
    publication::with_published,
    trace::Stamp,
    wake::{wake_chain, wake_one_of, wake_those},
};
use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{fence_before_peek, fence_before_peek_seqcst};
use crate::sys::{Backend, Native};
use core::{fmt, marker::PhantomData, ops::RangeInclusive};
use std::time::{Duration, Instant};

/// A table of wait chains: of one's own, or [the global one](super::global()).
///
/// A table of one's own shares its slots with nobody, so that strangers' waits cannot cause spurious wake-ups; and it
/// can be of any size, down to the one slot that forces every collision in a test.
///
/// The forms that take a closure work on any table. Those that leave the thread's element lingering on a chain
/// ([`location_wait`](Self::location_wait), [`arm`](Self::arm)) need a table that is never dropped, `&'static self`.
///
/// ```
/// use layby::WaitTable;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let table: WaitTable = WaitTable::with_slots(64);
/// let ready = AtomicBool::new(false);
/// std::thread::scope(|s| {
///     s.spawn(|| table.wait_until(&ready, || ready.load(Ordering::Relaxed)));
///     ready.store(true, Ordering::Relaxed);
///     table.wake_all(&ready);
/// });
/// ```
///
/// An element that lingers could outlive this table, so the loop form does not compile for it:
///
/// ```compile_fail,E0597
/// let table: layby::WaitTable = layby::WaitTable::with_slots(64);
/// table.location_wait(&0);
/// ```
pub struct WaitTable<B: Backend = Native> {
    bank: Bank,
    state: State,
    backend: PhantomData<B>,
}

impl<B: Backend> WaitTable<B> {
    /// As many slots as the paper found right for most systems.
    pub const DEFAULT_SLOTS: usize = 4096;

    /// An empty table of [`DEFAULT_SLOTS`](Self::DEFAULT_SLOTS) slots.
    pub fn new() -> Self {
        Self::with_slots(Self::DEFAULT_SLOTS)
    }

    /// An empty table of `slots` slots.
    ///
    /// # Panics
    /// If `slots` is not a power of two.
    pub fn with_slots(slots: usize) -> Self {
        Self { bank: Bank::owned(slots), state: State::current(), backend: PhantomData }
    }

    /// A table over slots in a static.
    #[cfg(not(layby_model))]
    pub const fn from_slots<const N: usize>(slots: &'static super::Slots<N>) -> Self {
        Self { bank: Bank::in_static(slots), state: State::new(), backend: PhantomData }
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.bank.slots().len()
    }

    #[inline(always)]
    fn slot(&self, hash: u32) -> &Slot {
        let slots = self.bank.slots();
        &slots[hash as usize & (slots.len() - 1)]
    }

    /// The slot to publish on.
    #[inline]
    pub(super) fn enter(&self, key: Key) -> &Slot {
        self.state.enter(self.bank.slots());
        self.slot(key.hash())
    }

    /// Waits until `condition` holds. It is evaluated by the calling thread only, any number of times; it may panic,
    /// and may itself wait.
    ///
    /// The thread that makes it true must then call [`wake_all`](Self::wake_all) with an equal key.
    pub fn wait_until(&self, key: impl Into<Key>, condition: impl FnMut() -> bool) {
        self.wait_until_at(key.into(), Deadline::NEVER, condition, SpinFirst::Briefly);
    }

    /// Like [`wait_until`](Self::wait_until), but gives up at `deadline`: `false` if it passed and the condition still did
    /// not hold.
    pub fn wait_until_deadline(&self, key: impl Into<Key>, deadline: Instant, condition: impl FnMut() -> bool) -> bool {
        self.wait_until_at(key.into(), Deadline::at(deadline), condition, SpinFirst::Briefly)
    }

    /// Like [`wait_until`](Self::wait_until), but waits for at most `timeout`: `false` if it passed and the condition still
    /// did not hold. A timeout too long for the clock means forever.
    pub fn wait_until_timeout(&self, key: impl Into<Key>, timeout: Duration, condition: impl FnMut() -> bool) -> bool {
        self.wait_until_at(key.into(), Deadline::after(timeout), condition, SpinFirst::Briefly)
    }

    /// The loop of every form that waits for a condition. `spin` says what the caller does before it sleeps.
    pub(crate) fn wait_until_at(
        &self,
        key: Key,
        deadline: Deadline,
        mut condition: impl FnMut() -> bool,
        spin: SpinFirst,
    ) -> bool {
        let label = Label { key, selectable: false };
        let mut since = Stamp::NONE;
        let mut woken = false;
        loop {
            if condition() {
                return true;
            }
            if woken {
                counters::count(Event::FutileWake);
            }
            if deadline.has_passed() {
                // It may have come true in time, since we checked.
                return condition();
            }
            let (held, notified) = with_published::<B, _>(self.enter(key), label, since, |element| {
                // The ratification: if no notifier has seen the element yet, we see the notifier's change here.
                let held = condition();
                if !held {
                    element.wait(deadline, spin);
                    since = element.since();
                }
                held
            });
            if held {
                return true;
            }
            woken = notified;
        }
    }

    /// Publishes the caller, evaluates `still` once, and if it is true waits for a wake-up of `key`: what a futex's
    /// wait does, with any condition.
    ///
    /// May return early. A wait that may be chosen by [`wake_one`](Self::wake_one) must be this one, and its caller must
    /// check the state again after it, for its return may have used up another thread's wake-up. If `still` is false or
    /// panics, nothing is used up: a wake-up that chose the caller meanwhile goes to the next in line.
    pub fn wait_if(&self, key: impl Into<Key>, still: impl FnOnce() -> bool) {
        self.wait_if_at(key.into(), Deadline::NEVER, SpinFirst::Briefly, still);
    }

    /// Like [`wait_if`](Self::wait_if), but gives up at `deadline`. A wake-up that has been used up is never reported as a
    /// timeout.
    pub fn wait_if_deadline(
        &self,
        key: impl Into<Key>,
        deadline: Instant,
        still: impl FnOnce() -> bool,
    ) -> WaitOutcome {
        self.wait_if_at(key.into(), Deadline::at(deadline), SpinFirst::Briefly, still)
    }

    /// Both of the above. A caller that has spun for long enough itself passes [`SpinFirst::No`].
    pub(crate) fn wait_if_at(
        &self,
        key: Key,
        deadline: Deadline,
        spin: SpinFirst,
        still: impl FnOnce() -> bool,
    ) -> WaitOutcome {
        let label = Label { key, selectable: true };
        let (waited, notified) = with_published::<B, _>(self.enter(key), label, Stamp::NONE, |element| {
            let waited = still();
            if waited {
                element.wait(deadline, spin);
            }
            waited
        });
        if waited && !notified && deadline.has_passed() { WaitOutcome::TimedOut } else { WaitOutcome::Woken }
    }

    /// Wakes every thread that waits on `key`; returns how many waiting elements this call notified.
    ///
    /// Fenced: any store before it counts, of any ordering. The number counts elements, not threads that go on: those of
    /// other keys in the same slot, and those left lingering by a wait that is over, are among them; those that a
    /// concurrent call has in its hands are left to that call.
    ///
    /// Never blocks, allocates nothing, takes no lock: it may be called from a signal handler (except on
    /// [`Park`](crate::sys::Park), if somebody sleeps).
    #[inline]
    pub fn wake_all(&self, key: impl Into<Key>) -> usize {
        fence_before_peek();
        self.wake_if_occupied(key.into().hash())
    }

    /// Like [`wake_all`](Self::wake_all), but without its fence, for callers that changed the condition by a `SeqCst` store or
    /// read-modify-write. With a weaker change a wake-up can be lost.
    #[inline]
    pub fn wake_all_seqcst(&self, key: impl Into<Key>) -> usize {
        fence_before_peek_seqcst();
        self.wake_if_occupied(key.into().hash())
    }

    /// Wakes every thread that waits on the [key](Key::ticket) of one of `tickets` at `location`; returns how many
    /// waiting elements this call notified. Without a fence, like [`wake_all_seqcst`](Self::wake_all_seqcst).
    ///
    /// A few tickets cost a peek at the slot of each. More than the table has slots cost one peek at every slot, and then
    /// nobody is woken whose ticket is not among them. The location is not read: it may be gone.
    #[inline]
    pub fn wake_tickets_seqcst<T: ?Sized>(&self, location: *const T, tickets: RangeInclusive<u64>) -> usize {
        fence_before_peek_seqcst();
        let more_than_slots = tickets.end().saturating_sub(*tickets.start()) >= self.slots() as u64;
        if more_than_slots {
            return self.wake_among_all(location, &tickets);
        }
        // All peeks first, folded into one branch: most often nobody waits.
        let hash = |ticket| Key::ticket_at(location, ticket).hash();
        let anyone = tickets.clone().fold(false, |seen, ticket| seen | self.is_occupied(hash(ticket)));
        if anyone { tickets.map(|ticket| self.wake_if_occupied(hash(ticket))).sum() } else { 0 }
    }

    #[cold]
    fn wake_among_all<T: ?Sized>(&self, location: *const T, tickets: &RangeInclusive<u64>) -> usize {
        self.occupied_slots().map(|(_, slot)| wake_those::<B>(slot, |key| key.is_among(location, tickets))).sum()
    }

    /// The slots where somebody may wait, and their numbers.
    pub(super) fn occupied_slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let slots = self.bank.slots().iter().enumerate();
        slots.filter(|(_, slot)| slot.is_occupied() && self.state.is_current())
    }

    /// The peek, and the wake if the slot is occupied. The caller has put fence B, or a `SeqCst` change of the condition,
    /// before it.
    #[inline(always)]
    fn wake_if_occupied(&self, hash: u32) -> usize {
        if self.is_occupied(hash) { self.wake_if_current(hash) } else { 0 }
    }

    /// The notifier's peek at the slot of a key with this hash.
    #[inline(always)]
    pub(super) fn is_occupied(&self, hash: u32) -> bool {
        self.slot(hash).is_occupied()
    }

    /// See [`raise_alert`](Self::raise_alert).
    #[inline(always)]
    pub(crate) fn alerts(&self) -> usize {
        self.state.alerts()
    }

    /// Sends every post of this table's ticket queues to its slow path, until the alert is lowered.
    pub(crate) fn raise_alert(&self) {
        // Enter first: otherwise the child's first wait would clear this alert with its parent's.
        self.state.enter(self.bank.slots());
        self.state.raise_alert();
    }

    pub(crate) fn lower_alert(&self) {
        self.state.lower_alert();
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wake_if_current(&self, hash: u32) -> usize {
        if self.state.is_current() { wake_chain::<B>(self.slot(hash)) } else { 0 }
    }

    /// Wakes the thread that has waited longest on `key` by [`wait_if`](Self::wait_if); threads that wait on it in
    /// another form are all woken too. Returns how many waiting elements this call notified.
    ///
    /// Fenced like [`wake_all`](Self::wake_all); costs time in proportion to the slot's chain. It wakes more only if
    /// another thread changes the same chain at the same time, and never nobody when somebody waits.
    pub fn wake_one(&self, key: impl Into<Key>) -> usize {
        let key = key.into();
        fence_before_peek();
        let slot = self.slot(key.hash());
        if slot.is_occupied() && self.state.is_current() { wake_one_of::<B>(slot, key) } else { 0 }
    }
}

impl<B: Backend> Default for WaitTable<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Backend> fmt::Debug for WaitTable<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let occupied = self.bank.slots().iter().filter(|slot| slot.is_occupied()).count();
        f.debug_struct("WaitTable")
            .field("backend", &B::NAME)
            .field("slots", &self.slots())
            .field("occupied", &occupied)
            .field("alerts", &self.alerts())
            .finish()
    }
}
