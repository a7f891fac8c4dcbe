//! The table: keys to slots, the loops of the closure forms, and the wakes.

#[cfg(feature = "mutex")]
use super::wake::{Renamed, wake_or_rename};
use super::{
    Invariant, Key, Limit, Location, WaitOutcome,
    bank::{Bank, Slot, State},
    key::Row,
    linked::{Label, settling},
    publication::with_published,
    task::{TaskElement, TaskSlot, Wakes},
    trace::Stamp,
    wake::{OneOf, wake_chain, wake_one_of, wake_those},
};
use crate::counters::{self, Event};
use crate::error::Stopped;
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
/// let table = WaitTable::with_slots(64);
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
/// let table = layby::WaitTable::with_slots(64);
/// table.location_wait(layby::Key::address(&0));
/// ```
#[repr(C, align(64))]
pub struct WaitTable<B: Backend = Native> {
    /// On the cache line of the beginning of `state`: who waits or wakes looks at both.
    bank: Bank,
    state: State,
    backend: Invariant<B>,
}

// Not for every backend: `WaitTable::new()` would have to name one.
impl WaitTable {
    /// As many slots as the paper found right for most systems: 4096. Under Miri, which goes through all of them whenever a reference to
    /// them is passed on, 64.
    pub const DEFAULT_SLOTS: usize = if cfg!(miri) { 64 } else { 4096 };

    /// An empty table of [`DEFAULT_SLOTS`](Self::DEFAULT_SLOTS) slots, whose waiters sleep as the platform has it.
    #[must_use]
    pub fn new() -> Self {
        Self::with_slots(Self::DEFAULT_SLOTS)
    }

    /// An empty table of `slots` slots, whose waiters sleep as the platform has it.
    ///
    /// # Panics
    /// If `slots` is not a power of two.
    #[track_caller]
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        Self::with_slots_in(slots)
    }
}

impl<B: Backend> WaitTable<B> {
    /// An empty table of `slots` slots, on the backend `B`.
    ///
    /// ```
    /// use layby::{WaitTable, sys::Spin};
    ///
    /// let table: WaitTable<Spin> = WaitTable::with_slots_in(64);
    /// assert_eq!(table.slots(), 64);
    /// ```
    ///
    /// # Panics
    /// If `slots` is not a power of two.
    #[track_caller]
    #[must_use]
    pub fn with_slots_in(slots: usize) -> Self {
        Self { bank: Bank::owned(slots), state: State::current(slots), backend: PhantomData }
    }

    /// A table over slots in a static.
    #[cfg(not(layby_model))]
    pub const fn from_slots<const N: usize>(slots: &'static super::Slots<N, B>) -> Self {
        Self { bank: Bank::in_static(slots), state: State::new(N), backend: PhantomData }
    }

    /// How many slots there are.
    #[must_use]
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
        self.enter_hashed(key.hash())
    }

    /// The same, of the key with this hash, for who has worked that out already.
    #[inline]
    pub(super) fn enter_hashed(&self, hash: u32) -> &Slot {
        self.make_current();
        self.slot(hash)
    }

    /// Makes the table fit for publishing, which matters after a fork.
    #[inline]
    pub(super) fn make_current(&self) {
        self.state.enter(&self.bank);
    }

    /// The slot of threads that wait for a key.
    #[inline]
    pub(super) fn slot_of(&self, key: Key) -> &Slot {
        self.slot(key.hash())
    }

    /// The slot for a task to publish on, for a key in this row, and the number of its bank.
    #[inline(always)]
    pub(super) fn enter_for_task(&self, row: Row, element: &TaskElement) -> (usize, &TaskSlot) {
        self.state.enter(&self.bank);
        self.state.tasks_to_come().place_for(row, || element.chance())
    }

    /// The slot where a task has published.
    #[inline]
    pub(super) fn task_slot_in(&self, bank: usize, key: Key) -> Option<&TaskSlot> {
        self.state.tasks().slot_in(bank, key.row())
    }

    /// Waits until `condition` holds. It is evaluated by the calling thread only, any number of times; it may panic,
    /// and may itself wait. When it has returned `true` it is not called again, so it may take what it waits for:
    /// `|| flag.swap(false, Acquire)`.
    ///
    /// The thread that makes it true must then call [`wake_all`](Self::wake_all) with the same location.
    pub fn wait_until(&self, location: impl Location, condition: impl FnMut() -> bool) {
        let ended = self.wait_until_at(location.key(), &Limit::NONE, condition, SpinFirst::Briefly);
        debug_assert_eq!(ended, Ok(()), "a wait without a limit ends when its condition holds");
    }

    /// Like [`wait_until`](Self::wait_until), but gives up at `deadline`: `false` if it passed and the condition still did
    /// not hold. What a condition has taken by returning `true` is never followed by a `false`. How late it may be:
    /// [Deadlines](crate::wait_table#deadlines), and so for all that wait until a deadline or for a time.
    #[must_use = "says whether the condition held"]
    pub fn wait_until_deadline(
        &self,
        location: impl Location,
        deadline: Instant,
        condition: impl FnMut() -> bool,
    ) -> bool {
        self.wait_until_within(location, deadline, condition).is_ok()
    }

    /// Like [`wait_until`](Self::wait_until), but waits for at most `timeout`: `false` if it passed and the condition still
    /// did not hold. A timeout too long for the clock means forever.
    #[must_use = "says whether the condition held"]
    pub fn wait_until_timeout(
        &self,
        location: impl Location,
        timeout: Duration,
        condition: impl FnMut() -> bool,
    ) -> bool {
        self.wait_until_within(location, timeout, condition).is_ok()
    }

    /// Like [`wait_until`](Self::wait_until), but gives up when `limit` is reached: a deadline, a timeout, a
    /// [`Cancel`](super::Cancel), or several of them.
    ///
    /// # Errors
    /// How the limit was reached, if the condition still did not hold then.
    ///
    /// ```
    /// use layby::{Cancel, Stopped, WaitTable};
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let (table, cancel): (WaitTable, _) = (WaitTable::with_slots(64), Cancel::new());
    /// let never = AtomicBool::new(false);
    /// std::thread::scope(|s| {
    ///     let waiter = s.spawn(|| table.wait_until_within(&never, &cancel, || never.load(Ordering::Relaxed)));
    ///     cancel.cancel();
    ///     assert_eq!(waiter.join().unwrap(), Err(Stopped::Cancelled));
    /// });
    /// ```
    pub fn wait_until_within<'a>(
        &self,
        location: impl Location,
        limit: impl Into<Limit<'a>>,
        condition: impl FnMut() -> bool,
    ) -> Result<(), Stopped> {
        self.wait_until_at(location.key(), &limit.into(), condition, SpinFirst::Briefly)
    }

    /// Waits until `attempt` returns something, and returns that. The attempt that succeeded is the last call. Otherwise as
    /// [`wait_until`](Self::wait_until).
    pub fn wait_for<T>(&self, location: impl Location, attempt: impl FnMut() -> Option<T>) -> T {
        self.wait_for_within(location, Limit::NONE, attempt)
            .expect("a wait without a limit ends when an attempt succeeds")
    }

    /// Like [`wait_for`](Self::wait_for), but gives up at `deadline`: `None` if it passed and no attempt succeeded.
    #[must_use = "it may hold what was waited for"]
    pub fn wait_for_deadline<T>(
        &self,
        location: impl Location,
        deadline: Instant,
        attempt: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        self.wait_for_within(location, deadline, attempt).ok()
    }

    /// Like [`wait_for`](Self::wait_for), but waits for at most `timeout`: `None` if it passed and no attempt succeeded. A
    /// timeout too long for the clock means forever.
    #[must_use = "it may hold what was waited for"]
    pub fn wait_for_timeout<T>(
        &self,
        location: impl Location,
        timeout: Duration,
        attempt: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        self.wait_for_within(location, timeout, attempt).ok()
    }

    /// Like [`wait_for`](Self::wait_for), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached, if no attempt succeeded.
    pub fn wait_for_within<'a, T>(
        &self,
        location: impl Location,
        limit: impl Into<Limit<'a>>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Result<T, Stopped> {
        let mut got = None;
        let succeeds = || {
            got = attempt();
            got.is_some()
        };
        self.wait_until_within(location, limit, succeeds)?;
        Ok(got.expect("the attempt that ended the wait"))
    }

    /// The loop of every form that waits for a condition on one location. `spin` says what the caller does before it sleeps.
    #[inline]
    pub(crate) fn wait_until_at(
        &self,
        key: Key,
        limit: &Limit<'_>,
        condition: impl FnMut() -> bool,
        spin: SpinFirst,
    ) -> Result<(), Stopped> {
        let label = Label { key, selectable: false };
        let mut since = Stamp::NONE;
        wait_in_rounds(limit, condition, |condition| {
            let (held, notified) = with_published(self, label, since, limit, |element| {
                // The ratification: if no notifier has seen the element yet, we see the notifier's change here.
                let held = condition();
                if !held {
                    element.wait(limit, spin);
                    since = element.since();
                }
                held
            });
            (held, notified.is_some())
        })
    }

    /// Publishes the caller, evaluates `still` once, and if it is true waits for a wake-up of `location`: what a futex's
    /// wait does, with any condition.
    ///
    /// May return early. A wait that may be chosen by [`wake_one`](Self::wake_one) must be this one, and its caller must
    /// check the state again after it, for its return may have used up another thread's wake-up. If `still` is false or
    /// panics, nothing is used up: a wake-up that chose the caller meanwhile goes to the next in line.
    pub fn wait_if(&self, location: impl Location, still: impl FnOnce() -> bool) {
        let _ = self.wait_if_at(location.key(), &Limit::NONE, SpinFirst::Briefly, still);
    }

    /// Like [`wait_if`](Self::wait_if), but gives up at `deadline` ([how late](crate::wait_table#deadlines)). A wake-up that
    /// has been used up is never reported as a timeout. If the deadline has passed already, `still` decides alone.
    pub fn wait_if_deadline(
        &self,
        location: impl Location,
        deadline: Instant,
        still: impl FnOnce() -> bool,
    ) -> WaitOutcome {
        WaitOutcome::of(self.wait_if_within(location, deadline, still))
    }

    /// Like [`wait_if`](Self::wait_if), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached. A wake-up that has been used up is never reported as one. If it has been reached already,
    /// `still` decides alone.
    pub fn wait_if_within<'a>(
        &self,
        location: impl Location,
        limit: impl Into<Limit<'a>>,
        still: impl FnOnce() -> bool,
    ) -> Result<(), Stopped> {
        self.wait_if_at(location.key(), &limit.into(), SpinFirst::Briefly, still)
    }

    /// All of the above. A caller that has spun for long enough itself passes [`SpinFirst::No`].
    pub(crate) fn wait_if_at(
        &self,
        key: Key,
        limit: &Limit<'_>,
        spin: SpinFirst,
        still: impl FnOnce() -> bool,
    ) -> Result<(), Stopped> {
        self.wait_renamed_at(key, limit, spin, still).map(|_| ())
    }

    /// The same for a key whose waiters may be [renamed](Self::wake_or_rename): returns the key with which the wait ended.
    pub(crate) fn wait_renamed_at(
        &self,
        key: Key,
        limit: &Limit<'_>,
        spin: SpinFirst,
        still: impl FnOnce() -> bool,
    ) -> Result<Key, Stopped> {
        // Late, and not published any more: two that come back late could have each other's elements flushed every time, take
        // that for a wake-up, and come back again.
        if let Err(stopped) = limit.check() {
            return if still() { Err(stopped) } else { Ok(key) };
        }
        let label = Label { key, selectable: true };
        let (waited, notified) = with_published(self, label, Stamp::NONE, limit, |element| {
            let waited = still();
            if waited {
                element.wait(limit, spin);
            }
            waited
        });
        let ended = if waited && notified.is_none() { limit.check() } else { Ok(()) };
        ended.map(|()| notified.unwrap_or(key))
    }

    /// Wakes every thread that waits on `location`; returns how many of its waiting elements this call notified.
    ///
    /// Fenced: any store before it counts, of any ordering. Nobody of another key is disturbed, unless another thread
    /// chooses among the same slot's waiters at the same time. The number counts elements, not threads that go on: those left
    /// lingering by a wait that is over are among them; those that a concurrent call has in its hands are left to that call.
    ///
    /// Never blocks, allocates nothing, takes no lock: it may be called from a signal handler (except on
    /// [`Park`](crate::sys::Park), if somebody sleeps or a task waits).
    #[inline]
    pub fn wake_all(&self, location: impl Location) -> usize {
        fence_before_peek();
        self.wake_if_occupied(location.key())
    }

    /// Like [`wake_all`](Self::wake_all), but without its fence, for callers that changed the condition by a `SeqCst` store or
    /// read-modify-write. With a weaker change a wake-up can be lost.
    #[inline]
    pub fn wake_all_seqcst(&self, location: impl Location) -> usize {
        fence_before_peek_seqcst();
        self.wake_if_occupied(location.key())
    }

    /// Wakes every thread that waits on the [key](Key::ticket) of one of `tickets` at `location`; returns how many
    /// waiting elements this call notified. Without a fence, like [`wake_all_seqcst`](Self::wake_all_seqcst).
    ///
    /// A few tickets cost a peek at the slot of each. More than the table has slots cost one peek at every slot, and then
    /// nobody is woken whose ticket is not among them. The location is not read: it may be gone.
    #[inline]
    pub fn wake_tickets_seqcst<T: ?Sized>(&self, location: *const T, tickets: RangeInclusive<u64>) -> usize {
        self.wake_keys_seqcst(|ticket| Key::ticket_at(location, ticket), tickets)
    }

    /// Like [`wake_tickets_seqcst`](Self::wake_tickets_seqcst), of the keys that `key_of` makes of the tickets of one location.
    #[inline]
    pub(crate) fn wake_keys_seqcst(&self, key_of: impl Fn(u64) -> Key, tickets: RangeInclusive<u64>) -> usize {
        fence_before_peek_seqcst();
        let more_than_slots = tickets.end().saturating_sub(*tickets.start()) >= self.slots() as u64;
        if more_than_slots {
            let first = key_of(*tickets.start());
            return self.wake_everywhere(|key| key.is_among(first, &tickets));
        }
        // All peeks first, folded into one branch: most often nobody waits.
        let is_occupied = |ticket| self.is_occupied(key_of(ticket).hash());
        let anyone = tickets.clone().fold(self.is_alert(), |seen, ticket| seen | is_occupied(ticket));
        let anyone_of_ours = || self.is_alert() || tickets.clone().any(|ticket| self.may_hold(key_of(ticket)));
        if anyone && anyone_of_ours() { self.wake_each(tickets.map(key_of)) } else { 0 }
    }

    /// Wakes those of each key. All wakers of tasks are called at the end, so that one that panics keeps nobody asleep. The caller
    /// has put fence B, or a `SeqCst` change of the condition, before it.
    #[cold]
    fn wake_each(&self, keys: impl Iterator<Item = Key>) -> usize {
        settling(|due| keys.map(|key| self.wake_threads(key) + self.wake_tasks(key, due)).sum())
    }

    /// Wakes those whose key is `wanted`, in whatever slot. The caller has put fence B, or a `SeqCst` change of the condition,
    /// before it.
    #[cold]
    fn wake_everywhere(&self, wanted: impl Fn(Key) -> bool) -> usize {
        self.wake_threads_everywhere(&wanted) + settling(|due| self.wake_tasks_everywhere(&wanted, due))
    }

    /// Like [`wake_everywhere`](Self::wake_everywhere), but threads only, so that no waker runs.
    pub(crate) fn wake_threads_everywhere(&self, wanted: impl Fn(Key) -> bool) -> usize {
        self.occupied_slots().map(|(_, slot)| settling(|due| wake_those::<B, _>(slot, &wanted, due))).sum()
    }

    /// Like [`wake_tasks`](Self::wake_tasks), of all keys that are `wanted`.
    pub(crate) fn wake_tasks_everywhere(&self, wanted: impl Fn(Key) -> bool, due: &mut Wakes<B>) -> usize {
        self.task_slots().map(|(_, slot)| wake_those::<B, _>(slot, &wanted, due)).sum()
    }

    /// Whether tasks wait here, or have waited.
    #[inline]
    pub(crate) fn has_tasks(&self) -> bool {
        self.state.has_tasks()
    }

    /// How many slots for tasks there are; none, until the first task has waited.
    pub(crate) fn slots_for_tasks(&self) -> usize {
        if self.has_tasks() { self.state.tasks().all().map(<[_]>::len).sum() } else { 0 }
    }

    /// Wakes everybody who waits in this table, whatever the key; returns how many waiting elements this call notified. All
    /// check their conditions, and those that do not hold wait on, in line as before: for tests, and for a program that
    /// has lost track.
    ///
    /// Fenced like [`wake_all`](Self::wake_all).
    pub fn wake_everybody(&self) -> usize {
        fence_before_peek();
        let threads = self.occupied_slots().map(|(_, slot)| settling(|due| wake_chain::<B, _>(slot, |_| true, due)));
        let threads = threads.sum::<usize>();
        threads
            + settling(|due| self.task_slots().map(|(_, slot)| wake_those::<B, _>(slot, |_| true, due)).sum::<usize>())
    }

    /// The slots where a thread may wait, and their numbers.
    pub(super) fn occupied_slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let slots = self.bank.slots().iter().enumerate();
        slots.filter(|(_, slot)| slot.is_occupied() && self.state.is_current())
    }

    /// The slots where a task may wait, and their numbers in their banks.
    pub(super) fn task_slots(&self) -> impl Iterator<Item = (usize, &TaskSlot)> {
        self.state.occupied_task_slots()
    }

    /// The peek, and the wake if somebody may wait. The caller has put fence B, or a `SeqCst` change of the condition,
    /// before it.
    #[inline(always)]
    fn wake_if_occupied(&self, key: Key) -> usize {
        if self.is_occupied(key.hash()) | self.is_alert() { self.wake_if_current(key) } else { 0 }
    }

    /// The notifier's peek at the slot of threads of a key with this hash.
    #[inline(always)]
    pub(super) fn is_occupied(&self, hash: u32) -> bool {
        self.slot(hash).is_occupied()
    }

    /// Whether a notifier must look further than at the slot of threads. Part of its peek.
    #[inline(always)]
    pub(crate) fn is_alert(&self) -> bool {
        self.state.is_alert()
    }

    /// Whether a thread may wait for this key, or for one that cannot be told from it, as far as its slot says. For a notifier that has
    /// peeked: most often strangers wait there, and that was all.
    #[inline]
    pub(crate) fn may_hold(&self, key: Key) -> bool {
        self.slot(key.hash()).may_hold(key.hash())
    }

    /// Whether somebody waited on this key, or on another in its slot, in the parent of a process that has not waited in this
    /// table yet.
    #[cold]
    pub(crate) fn shows_parents_waiter(&self, key: Key) -> bool {
        let (thread, mut tasks) = (self.slot(key.hash()), self.state.tasks().slots_of(key.row()));
        let by_thread = thread.is_occupied() && thread.may_hold(key.hash());
        let by_task = tasks.any(|task| task.is_occupied() && task.may_hold(key.hash()));
        (by_thread || by_task) && !self.state.is_current()
    }

    /// How many [alerts](Self::raise_alert) are raised.
    #[inline(always)]
    pub(crate) fn alerts(&self) -> usize {
        self.state.markers()
    }

    /// Sends every post of this table's ticket queues to its slow path, until the alert is lowered.
    pub(crate) fn raise_alert(&self) {
        // Enter first: otherwise the child's first wait would clear this alert with its parent's.
        self.state.enter(&self.bank);
        self.state.raise_alert();
    }

    pub(crate) fn lower_alert(&self) {
        self.state.lower_alert();
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wake_if_current(&self, key: Key) -> usize {
        let threads = self.wake_threads(key);
        threads + if self.is_alert() { settling(|due| self.wake_tasks(key, due)) } else { 0 }
    }

    /// Wakes the threads that wait for a key; no waker runs. The caller has put fence B, or a `SeqCst` change of the condition,
    /// before it.
    #[inline]
    pub(crate) fn wake_threads(&self, key: Key) -> usize {
        self.wake_threads_hashed(key.hash(), || key)
    }

    /// The same, of the key with this hash, for who has worked that out already. (What is handed on to be compared is in memory from
    /// the start: a key that is made only then is not, and its hash is not worked out once more for each use.)
    #[inline]
    pub(crate) fn wake_threads_hashed(&self, hash: u32, key: impl FnOnce() -> Key) -> usize {
        let slot = self.slot(hash);
        if slot.is_occupied() && slot.may_hold(hash) && self.state.is_current() {
            self.wake_threads_at(slot, key())
        } else {
            0
        }
    }

    #[inline(never)]
    fn wake_threads_at(&self, slot: &Slot, key: Key) -> usize {
        settling(|due| wake_those::<B, _>(slot, |other| other == key, due))
    }

    /// Notifies the tasks that wait for a key, in all banks (K2), and notes their wakers. The caller has put fence B, or a `SeqCst`
    /// change of the condition, before it.
    #[inline]
    pub(crate) fn wake_tasks(&self, key: Key, due: &mut Wakes<B>) -> usize {
        self.wake_tasks_hashed(key.hash(), || key, due)
    }

    /// The same, of the key with this hash, as above.
    #[inline(always)]
    pub(crate) fn wake_tasks_hashed(&self, hash: u32, key: impl Fn() -> Key, due: &mut Wakes<B>) -> usize {
        let mut count = 0;
        for slot in self.state.task_slots_of(key().row()).filter(|slot| slot.may_hold(hash)) {
            count += wake_tasks_at(slot, key(), due);
        }
        count
    }

    /// Wakes the one that has waited longest on `location` by [`wait_if`](Self::wait_if): a thread, or if there is none a task
    /// in a form that can be woken one by one, such as [`atomic::wait_async`](crate::atomic::wait_async). Those that wait on it
    /// in another form are all woken too. Returns how many of the key's waiting elements this call notified.
    ///
    /// Fenced like [`wake_all`](Self::wake_all); costs time in proportion to the slot's chain. It wakes more only if
    /// another thread changes the same chain at the same time, and never nobody when somebody waits.
    pub fn wake_one(&self, location: impl Location) -> usize {
        let key = location.key();
        fence_before_peek();
        settling(|due| self.wake_one_noting(key, due))
    }

    /// Wakes one of a key, and notes what is due to tasks. The caller has put fence B before it, or knows who is there.
    pub(super) fn wake_one_noting(&self, key: Key, due: &mut Wakes<B>) -> usize {
        let mut found = OneOf::default();
        self.choose_one_thread(key, &mut found);
        if self.is_alert() {
            self.choose_one_task(key, &mut found, due);
        }
        found.count
    }

    fn choose_one_thread(&self, key: Key, found: &mut OneOf) {
        let slot = self.slot(key.hash());
        if slot.is_occupied() && slot.may_hold(key.hash()) && self.state.is_current() {
            settling(|due| wake_one_of::<B, _>(slot, key, found, due));
        }
    }

    fn choose_one_task(&self, key: Key, found: &mut OneOf, due: &mut Wakes<B>) {
        for slot in self.state.task_slots_of(key.row()).filter(|slot| slot.may_hold(key.hash())) {
            wake_one_of::<B, _>(slot, key, found, due);
        }
    }

    /// Wakes a thread and a task, each the one that has waited longest in a form that can be woken one by one: for a lock that
    /// whoever is there first takes. A task that is woken only when no thread waits might never be. The caller has put fence B before
    /// it.
    #[cfg(feature = "mutex")]
    pub(crate) fn wake_one_of_each(&self, key: Key) {
        self.wake_one_thread(key);
        self.wake_one_task(key);
    }

    /// Wakes the threads that wait for `key` in a form that can be woken one by one; but if some of them are awake, has those that sleep
    /// wait for `name` from now on, a key of the same slot. No waker runs. Fenced like [`wake_all`](Self::wake_all).
    #[cfg(feature = "mutex")]
    pub(crate) fn wake_or_rename(&self, key: Key, name: Key) -> Renamed {
        fence_before_peek();
        debug_assert_eq!(key.hash(), name.hash(), "an element stays on its chain");
        let slot = self.slot(key.hash());
        if slot.is_occupied() && slot.may_hold(key.hash()) && self.state.is_current() {
            settling(|due| wake_or_rename::<B>(slot, key, name, due))
        } else {
            Renamed::default()
        }
    }

    /// Wakes the tasks that wait for a key; returns how many it notified. The caller has put fence B before it.
    #[cfg(feature = "mutex")]
    pub(crate) fn wake_all_tasks(&self, key: Key) -> usize {
        if self.is_alert() { settling(|due| self.wake_tasks(key, due)) } else { 0 }
    }

    /// Wakes the thread that has waited longest in a form that can be woken one by one; returns how many it notified. No waker runs.
    /// Who has put no fence B before it may overlook one that has just come.
    #[cfg(feature = "mutex")]
    pub(crate) fn wake_one_thread(&self, key: Key) -> usize {
        let mut found = OneOf::default();
        self.choose_one_thread(key, &mut found);
        found.count
    }

    /// The same for tasks.
    #[cfg(feature = "mutex")]
    pub(crate) fn wake_one_task(&self, key: Key) {
        if self.is_alert() {
            self.choose_one_task(key, &mut OneOf::default(), &mut Wakes::default());
        }
    }
}

/// Notifies the tasks of a slot that wait for a key, and notes their wakers.
#[inline(never)]
fn wake_tasks_at<B: Backend>(slot: &TaskSlot, key: Key, due: &mut Wakes<B>) -> usize {
    wake_those::<B, _>(slot, |other| other == key, due)
}

/// Waits until `condition` holds or `limit` is reached. In each round `publish_and_wait` publishes the caller, asks the
/// condition once more, and waits if it does not hold; it returns whether it did, and whether the caller was notified.
#[inline]
pub(super) fn wait_in_rounds<C: FnMut() -> bool>(
    limit: &Limit<'_>,
    mut condition: C,
    mut publish_and_wait: impl FnMut(&mut C) -> (bool, bool),
) -> Result<(), Stopped> {
    let mut woken = false;
    loop {
        if condition() {
            return Ok(());
        }
        if woken {
            counters::count(Event::FutileWake);
        }
        if let Err(stopped) = limit.check() {
            // It may have come true in time, since we checked.
            return if condition() { Ok(()) } else { Err(stopped) };
        }
        let (held, notified) = publish_and_wait(&mut condition);
        if held {
            return Ok(());
        }
        woken = notified;
    }
}

/// For the platform's own backend alone, so that it can be inferred.
impl Default for WaitTable {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Backend> fmt::Debug for WaitTable<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.bank.slots().iter().filter(|slot| slot.is_occupied()).count();
        let tasks = self.state.tasks().all().flatten().filter(|slot| slot.is_occupied()).count();
        f.debug_struct("WaitTable")
            .field("backend", &B::NAME)
            .field("slots", &self.slots())
            .field("occupied", &(threads + tasks))
            .field("alerts", &self.alerts())
            .field("task_slots", &self.slots_for_tasks())
            .finish()
    }
}
