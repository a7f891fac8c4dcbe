//! The barging mutex: one word, and waiters in the wait table.
//!
//! # State
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0 | `LOCKED` | somebody holds the lock |
//! | 1 | `WAITERS` | locked: somebody may be asleep, and the release must wake one. Free: the thread that released does so |
//! | 2 | `NAPPING` | the first of the waiters sleeps for a moment and comes back by itself: nobody need be woken |
//! | 3 | `STARVING` | the first of the waiters has waited too long: the lock is for it alone, and the release must wake it |
//! | 4 | `HANDED` | free: the lock is for a thread that has been woken. Locked: the holder is about to hand it over so |
//! | 5 to 11 | `BIRTH` | with one of the last three: the process in which it was set, or the lower bits of its number |
//! | 12 to 31 | `DUE` | with `NAPPING`: the millisecond from which on the lock is for the first of the waiters alone |
//!
//! At most one of `WAITERS`, `NAPPING` and `STARVING` is set: they say who sees to those that sleep. `HANDED` is never beside the
//! last two.
//!
//! | transition | by |
//! |---|---|
//! | 0 → `LOCKED` | `acquire`, nobody waits |
//! | + `LOCKED`, - `WAITERS` | a newcomer that barges, while the lock is neither taken nor kept for the first of the waiters |
//! | + `WAITERS` | a waiter, published, about to sleep while it cannot have the lock, if there is no first one yet |
//! | + `LOCKED`, + `WAITERS` | a waiter that finds the lock free for it; others may be asleep. Without `WAITERS`, if another is the first |
//! | - `WAITERS`, - `HANDED`, + `NAPPING`, `DUE` | a waiter that was woken and was overtaken, if there is no first one: now it is |
//! | - `NAPPING`, + `STARVING` | the first one, back from its nap, if the lock is taken |
//! | - `NAPPING`, - `STARVING` | the first one, when it gets the lock (+ `WAITERS`), or gives up (+ `WAITERS` too) |
//! | - `LOCKED` | `release`; then, if `STARVING` was set, wakes the first one, or if `WAITERS` was, the one that has slept longest |
//! | + `HANDED` | `release_fair`, still holding the lock, if `WAITERS` is set; then it wakes a thread |
//! | - `LOCKED`, - `NAPPING`, + `STARVING` | `release_fair`, if there is a first one; then wakes it |
//! | - `LOCKED`, - `WAITERS` | `release_fair`, if it woke a thread and `HANDED` is still set; otherwise only - `LOCKED`, - `HANDED` |
//! | + `LOCKED`, + `WAITERS`, - `HANDED` | a thread that was woken, and finds the lock handed over |
//!
//! `release` is a subtraction, the others are compare-and-swaps. A newcomer that takes a lock free with `WAITERS` clears
//! it: the thread that left it so wakes a waiter, which is now in charge. Until that waiter is there the lock can change
//! hands as if nobody waited, without a system call.
//!
//! # Why no wake-up is lost
//!
//! The wrong interleaving, if a waiter that was woken took the lock without setting `WAITERS`:
//!
//! ```text
//! first waiter                   second waiter                  holder
//! + WAITERS, sleep               WAITERS is set, sleep
//!                                                               - LOCKED; wake the first
//! + LOCKED, - WAITERS
//! release: nobody waits          (sleeps forever)
//! ```
//!
//! - **B1.** If a waiter sleeps, then the lock is held with `WAITERS` or `STARVING`; or a waiter is in charge: awake, or about to
//!   be woken by a release, or napping; and going to take the lock, which sets `WAITERS`, or to sleep or give up, which sets it
//!   too unless another is the first.
//! - **B2.** If `STARVING` is set and `LOCKED` is not, the first one is awake, or about to be woken by the last release.
//! - **B3.** While `NAPPING` or `STARVING` is set, there is one first waiter, and it is in charge. Nobody else clears the bit, though
//!   a fair release turns the one into the other.
//!
//! A release of a lock with `WAITERS` wakes a waiter that sleeps; or, if it finds none on the chain, those who are about
//! to sleep have yet to read the word after publishing, by the argument of [`crate::wait_table`]. Either way
//! somebody is in charge (B1). One that reads `NAPPING` or `STARVING` after publishing sleeps without a change to the word: the
//! first one will take the lock with `WAITERS`, or leave it so, and by the same argument the release after that finds the one that
//! slept. A waiter that wakes up by its limit was not woken by a release, so it is not in charge, unless it is the first.
//!
//! # Who may be overtaken, and for how long
//!
//! Newcomers barge: they may take a free lock before a waiter that has just been woken. To wake one for each release, only to
//! see it overtaken, costs the holder a system call and the waiter two switches, so a waiter that was woken and overtaken becomes
//! the *first* one, and naps: nobody is woken meanwhile, and it looks for the lock only now and then. It naps until it has waited
//! for [`PATIENCE`] in all, and for [`SHORTEST_NAP`] at least; when it is back it gets the next release, and at its own release
//! the waiter after it is woken.
//!
//! So a waiter waits for [`PATIENCE`], and for each that waits already when it comes, a nap of [`SHORTEST_NAP`] and a hold of the
//! lock; besides the time that the operating system takes to run it. That may be long when other threads have the CPUs, perhaps
//! the very ones that overtake: so the word says from which millisecond on they must not, and they go to sleep instead.
//!
//! Waiters are woken in the order in which they went to sleep. One that is woken while another is the first sleeps again, but on
//! a chain of its own, before those that have never been woken.
//!
//! # Fair unlock
//!
//! A fair release keeps the lock from all who come after it, if a thread waits. If there is a first one that is simple: it
//! starves from now on. With `WAITERS` alone nobody is designated, and somebody must be: a lock that is kept for a waiter that
//! has given up is kept forever. To keep the lock, wake, and take that back if nobody was found, is wrong:
//!
//! ```text
//! releases fairly                            a waiter
//! - LOCKED, + HANDED
//! wake one: found nobody
//!                                            woken by another: + LOCKED, - HANDED; unlocks, and frees the mutex
//! - HANDED, of what is no mutex any more
//! ```
//!
//! So the thread is woken first, while the lock is held, and the word decides in the last access what has become of it:
//!
//! - **H1.** Only the holder sets `HANDED`, before it wakes a thread. Whoever has been woken and can neither take the lock
//!   nor find another first clears it: by becoming the first, or by leaving.
//! - **H2.** A lock is left free with `HANDED` only if it was set all the while, and the wake has notified a thread. By H1 that
//!   thread has not looked at the word since, so it will, and take the lock, unless another that was woken has.
//!
//! A thread that is woken early, and finds the lock held, becomes the first as it always does, and then the release makes it starve.
//! If the wake found no thread, or `HANDED` is gone and there is no first one, it is a plain release. So the lock is
//! handed to nobody if the only one who waits is just being woken by somebody else, such as a report; that thread comes as a woken one.
//! Tasks are woken beside the thread, and a lock is not handed to them, for the reason below.
//!
//! # Tasks
//!
//! A task waits as a thread does, and is woken beside one: of those in line a release wakes the thread and the task that have waited
//! longest, for a woken task runs who knows when. One that comes back to find the lock taken waits on in line, and is never the
//! first one: it cannot nap. So how often it is overtaken has no bound. A future that is dropped may have been in charge; it gives
//! the lock to the next if it is free for it, and otherwise leaves `WAITERS` to the holder.
//!
//! Why does it not set `STARVING` at once, as a first one does after its nap? The words would allow it: the next release would
//! wake it, nobody else could take the lock, and to drop the future gives the mark back. But then a lock that nobody holds is kept
//! for a task until somebody polls it, and that may be the very thread that is kept out:
//!
//! ```text
//! an executor's only thread                                      another thread
//! task a: woken, overtaken: + STARVING
//!                                                                - LOCKED; wake task a: it is to be polled
//! task b: acquire, without a future: sleeps
//! (forever: it would poll task a next)
//! ```
//!
//! As it is, task b overtakes. So a task may lock without a future where there is no `.await` before it unlocks, beside tasks that
//! do have one; and a future that is kept and not polled keeps no thread from the lock, and no newcomer. (It does keep back tasks
//! that went to sleep behind it, if no thread waits: it is in charge, B1. They go on when it is polled or dropped.) A bound is worth
//! less than that here: who needs one has the fair mutex, with what comes with it.
//!
//! # After a fork
//!
//! A child has its parent's words, and none of those who wait for them. Whom the lock is kept for will not come:
//!
//! ```text
//! parent                                     child
//! holds the lock; another starves, and sleeps
//! fork
//!                                            - LOCKED; wakes the first one: there is none
//!                                            acquire: the lock is kept for it, forever
//! ```
//!
//! So a mark says in which process it was set, and in any other it counts for nothing ([`own`]). Those who sleep in the child have
//! changed the word before, and the mark is gone. A child whose mark has the same number has 128 forks between itself and its parent.
//!
//! # Release never touches a dead mutex
//!
//! The subtraction is the last access. The next holder may free the mutex at once; what follows uses the address as a
//! name only. That is why the releasing thread does not clear `WAITERS`.

use crate::counters::{self, Event};
use crate::error::Stopped;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicU32, Ordering},
    const_outside_models, fence_before_peek, hint, now, thread,
};
use crate::wait_table::{Global, Home, Invariant, Key, Limit, generation, table_of};
use core::{fmt, marker::PhantomData, mem, ptr};
use std::time::{Duration, Instant};

const LOCKED: u32 = 1;
const WAITERS: u32 = 1 << 1;
const NAPPING: u32 = 1 << 2;
const STARVING: u32 = 1 << 3;
const HANDED: u32 = 1 << 4;
const BIRTH_SHIFT: u32 = 5;
const BIRTH: u32 = 0x7f << BIRTH_SHIFT;
const DUE_SHIFT: u32 = 12;

/// All that the first of the waiters has written, but for `BIRTH`.
const FIRST: u32 = !(LOCKED | WAITERS | HANDED | BIRTH);

/// For how long a waiter lets itself be overtaken, if nobody waits before it. Arbitrary.
const PATIENCE: Duration = Duration::from_millis(1);

/// How long the first of the waiters naps however long it has waited. See docs/measurements.md, "A mutex held for a while".
const SHORTEST_NAP: Duration = Duration::from_micros(200);

/// When the first of the waiters looks for the lock for the first time during its nap; then after twice that, and so on. A lock that is
/// free meanwhile, and that nobody else comes for, is idle until the next look: for as long as the nap has lasted, and this much more. As above.
const LOOK_AFTER: Duration = Duration::from_micros(100);

/// The same where locks are held for long: each look is a wake-up by the clock, and mostly finds the lock taken. As above.
const LOOK_AFTER_IF_SLOW: Duration = Duration::from_micros(200);

/// How many milliseconds after the beginning of its nap a waiter that has not been back is overtaken no more: time enough for one
/// that runs when its nap is over.
const DUE_AFTER: u32 = 2;

/// How often a thread tries to lock before it sleeps: after the first attempt it pauses, after the others it lets other
/// threads run. See docs/measurements.md, "Attempts of the mutex".
const SPIN_ATTEMPTS: u32 = if IN_A_MODEL { 1 } else { 6 };

/// The same for a thread that so many attempts have not helped of late: the lock is held for long. As above.
const FEW_ATTEMPTS: u32 = 2;

/// How often it yields each time: an attempt takes the cache lines of the lock away from the thread that has it. As above.
const YIELDS_PER_ATTEMPT: u32 = 2;

/// The word of [`Mutex`](super::Mutex): barging, 4 bytes.
///
/// Through lock_api's traits it is a mutex of its own. The methods here are the same without the guards.
pub struct RawMutex<H: Home = Global> {
    state: AtomicU32,
    home: Invariant<H>,
}

impl RawMutex {
    const_outside_models! {
        /// An unlocked mutex.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<H: Home> RawMutex<H> {
    const_outside_models! {
        /// An unlocked mutex whose waiters wait in a table of their own.
        pub fn new_in() -> Self {
            Self { state: AtomicU32::new(0), home: PhantomData }
        }
    }

    /// Locks; waits for as long as it takes.
    #[inline]
    pub fn acquire(&self) {
        if !self.acquire_uncontended() {
            let ended = self.acquire_contended(&Limit::NONE);
            debug_assert_eq!(ended, Ok(()), "without a limit it ends when it has the lock");
        }
    }

    /// Locks, or gives up at `deadline`: `false` if it passed, and this call did not lock the mutex.
    #[inline]
    #[must_use = "says whether the mutex is locked now"]
    pub fn acquire_deadline(&self, deadline: Instant) -> bool {
        self.acquire_within(deadline).is_ok()
    }

    /// Like [`acquire_deadline`](Self::acquire_deadline), but waits for at most `timeout`. One too long for the clock means
    /// forever.
    #[inline]
    #[must_use = "says whether the mutex is locked now"]
    pub fn acquire_timeout(&self, timeout: Duration) -> bool {
        self.acquire_within(timeout).is_ok()
    }

    /// Locks, or gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached; this call did not lock the mutex then.
    #[inline]
    pub fn acquire_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<(), Stopped> {
        if self.acquire_uncontended() { Ok(()) } else { self.acquire_contended(&limit.into()) }
    }

    /// Locks if that is possible at once.
    #[inline]
    #[must_use = "says whether the mutex is locked now"]
    pub fn try_acquire(&self) -> bool {
        self.acquire_uncontended() || Waiter::newcomer(self).try_acquire()
    }

    /// Whether somebody holds the lock, at this moment.
    #[must_use]
    pub fn is_acquired(&self) -> bool {
        self.state.load(Ordering::Relaxed) & LOCKED != 0
    }

    /// Unlocks.
    ///
    /// # Safety
    /// The caller holds the lock, or has it from the one who does.
    #[inline]
    #[allow(unsafe_code, reason = "a contract, and nothing unsafe inside")]
    pub unsafe fn release(&self) {
        let this = ptr::from_ref(self);
        // Ordering: release; matches the acquire of the next holder.
        let before = self.state.fetch_sub(LOCKED, Ordering::Release);
        if before != LOCKED {
            // `self` may be gone, and then even to pass it on is wrong.
            Self::wake(this, before);
        }
    }

    /// Unlocks; if a thread waits, the lock is for it, or for another that waits, and not for who comes now.
    ///
    /// # Safety
    /// As [`release`](Self::release).
    #[inline]
    #[allow(unsafe_code, reason = "a contract, and nothing unsafe inside")]
    pub unsafe fn release_fair(&self) {
        // Ordering: release; matches the acquire of the next holder.
        if self.state.compare_exchange(LOCKED, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.release_to_those_who_wait();
        }
    }

    #[cold]
    fn release_to_those_who_wait(&self) {
        let this = ptr::from_ref(self);
        let is_expected = self.call_a_thread();
        // Ordering: as above.
        let released = self.update(Ordering::Release, |state| Some(released_fairly(state, is_expected)));
        if let Some((_, after)) = released {
            // `self` may be gone.
            Self::wake(this, after);
        }
        if is_expected {
            table_of::<H>().wake_one_task(Key::of_primitive(this));
        }
    }

    /// By the holder, if there is no first one: wakes a thread, for which the lock is to be. `false` if it found none. Without a
    /// fence: whom it does not see is woken by the release.
    fn call_a_thread(&self) -> bool {
        // Ordering: relaxed; the lock is still held.
        let is_called_for =
            self.update(Ordering::Relaxed, |state| (state & WAITERS != 0).then_some(state | HANDED | birth()));
        let keys = [Self::key_of_returned(self), Key::of_primitive(self)];
        is_called_for.is_some() && keys.into_iter().any(|key| table_of::<H>().wake_one_thread(key) != 0)
    }

    #[inline]
    fn acquire_uncontended(&self) -> bool {
        // Ordering: acquire; matches the release of the last holder.
        self.state.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn acquire_contended(&self, limit: &Limit<'_>) -> Result<(), Stopped> {
        let mut waiter = Waiter::newcomer(self);
        if waiter.spin_to_acquire() { Ok(()) } else { waiter.wait(limit) }
    }

    /// Wakes whoever may take the lock next, going by the state before the release, or after a fair one: the mutex may be gone.
    #[cold]
    fn wake(this: *const Self, state: u32) {
        let table = table_of::<H>();
        if state & STARVING != 0 {
            table.wake_all(Self::key_of_first(this));
        } else if state & WAITERS != 0 {
            fence_before_peek();
            // No task waits for the first: the waker of a stranger in its slot might unwind, and nobody be woken.
            if table.wake_one_thread(Self::key_of_returned(this)) == 0 {
                table.wake_one_of_each(Key::of_primitive(this));
            }
        }
    }

    /// Replaces the state by what `next` makes of it, and returns both; changes nothing if that is `None`. Without marks of a parent.
    fn update(&self, order: Ordering, next: impl Fn(u32) -> Option<u32>) -> Option<(u32, u32)> {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let next = next(own(state))?;
            match self.state.compare_exchange_weak(state, next, order, Ordering::Relaxed) {
                Ok(_) => return Some((own(state), next)),
                Err(now) => state = now,
            }
        }
    }

    /// What the first of the waiters waits on. Those that have not been woken yet wait on the address itself, whose slot in a
    /// model is that of ticket 0.
    fn key_of_first(this: *const Self) -> Key {
        Key::ticket_of_primitive(this, 1)
    }

    /// What those wait on that have been woken, and were not the first.
    fn key_of_returned(this: *const Self) -> Key {
        Key::ticket_of_primitive(this, 2)
    }
}

/// Where a waiter stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has not slept yet, or sleeps for the first time.
    InLine,
    /// It was woken, and another was the first.
    Returned,
    /// `NAPPING` is its own, or it has been, and `STARVING` is.
    First { starving: bool },
}

/// A thread or a task that wants the lock.
pub(super) struct Waiter<'a, H: Home> {
    mutex: &'a RawMutex<H>,
    place: Place,
    /// Whether it is a thread that has been woken, for which the lock may be `HANDED`.
    was_woken: bool,
    /// What it leaves in the state when it takes the lock: `WAITERS` once it has waited, for it may be in charge (B1).
    waiters_bit: u32,
}

impl<'a, H: Home> Waiter<'a, H> {
    pub(super) fn newcomer(mutex: &'a RawMutex<H>) -> Self {
        Self { mutex, place: Place::InLine, was_woken: false, waiters_bit: 0 }
    }

    fn wait(&mut self, limit: &Limit<'_>) -> Result<(), Stopped> {
        let since = now();
        self.begin_to_wait();
        loop {
            let woken = self.sleep(limit, || self.may_sleep());
            self.was_woken |= woken.is_ok();
            if self.spin_to_acquire() {
                return Ok(());
            }
            if let Err(stopped) = woken {
                return if self.acquire_or_leave() { Ok(()) } else { Err(stopped) };
            }
            if self.acquire_or_be_first() {
                return Ok(());
            }
            if self.place == (Place::First { starving: false })
                && (self.nap_or_acquire(since, limit) || self.acquire_or_starve() || self.spin_starving(limit))
            {
                return Ok(());
            }
        }
    }

    /// If this waiter may sleep, it sleeps. Who has been woken for nothing wakes another, whose waker may unwind: then it leaves.
    fn sleep(&self, limit: &Limit<'_>, may_sleep: impl FnOnce() -> bool) -> Result<(), Stopped> {
        let on_unwind = LeaveOnDrop(self);
        let woken = table_of::<H>().wait_if_at(self.key(), limit, SpinFirst::No, may_sleep);
        mem::forget(on_unwind);
        woken
    }

    pub(super) fn key(&self) -> Key {
        match self.place {
            Place::InLine => Key::of_primitive(self.mutex),
            Place::Returned => RawMutex::key_of_returned(self.mutex),
            Place::First { .. } => RawMutex::key_of_first(self.mutex),
        }
    }

    fn is_first(&self) -> bool {
        matches!(self.place, Place::First { .. })
    }

    fn is_free(&self, state: u32) -> bool {
        let is_for_another = state & HANDED != 0 && !self.was_woken;
        state & LOCKED == 0 && !is_for_another && (self.is_first() || !is_kept_for_the_first(state))
    }

    /// The state without this waiter's mark.
    fn unmarked(&self, state: u32) -> u32 {
        if self.is_first() { state & !(FIRST | BIRTH) } else { state }
    }

    /// The state after this waiter has taken the lock; `None` if it cannot.
    fn taken(&self, state: u32) -> Option<u32> {
        let rest = self.unmarked(state);
        let rest = if rest & FIRST == 0 { self.waiters_bit } else { rest };
        self.is_free(state).then_some(rest | LOCKED)
    }

    /// Says that it waits from now on.
    pub(super) fn begin_to_wait(&mut self) {
        self.waiters_bit = WAITERS;
    }

    /// Takes the lock if it is free for this waiter.
    pub(super) fn try_acquire(&self) -> bool {
        // Ordering: acquire; matches the release of the last holder.
        self.mutex.update(Ordering::Acquire, |state| self.taken(state)).is_some()
    }

    /// Takes the lock if it is free for this waiter, or else changes the state: `Err` of the state before.
    fn acquire_or(&self, otherwise: impl Fn(u32) -> u32) -> Result<(), u32> {
        let next = |state| self.taken(state).or_else(|| Some(otherwise(state)));
        // Ordering: acquire, if it locks; matches the release of the last holder.
        match self.mutex.update(Ordering::Acquire, next) {
            Some((before, after)) if (before ^ after) & LOCKED == 0 => Err(before),
            _ => Ok(()),
        }
    }

    /// Tries a few times to take the lock.
    fn spin_to_acquire(&self) -> bool {
        let attempts = spin_policy::attempts(FEW_ATTEMPTS, SPIN_ATTEMPTS);
        for attempt in 0..attempts {
            if self.try_acquire() {
                // What succeeds at once says nothing about those that would have followed.
                if attempt > 0 {
                    spin_policy::note_attempts(true);
                }
                return true;
            }
            if attempt == 0 {
                hint::spin_loop();
            } else {
                for _ in 0..YIELDS_PER_ATTEMPT {
                    counters::count(Event::Yield);
                    thread::yield_now();
                }
            }
        }
        if attempts == SPIN_ATTEMPTS {
            spin_policy::note_attempts(false);
        }
        false
    }

    /// For a waiter that was woken and overtaken: takes the lock after all, or becomes the first, if there is none.
    fn acquire_or_be_first(&mut self) -> bool {
        if self.is_first() {
            return false;
        }
        let first = |state| (state & LOCKED) | NAPPING | birth() | due_after(DUE_AFTER);
        let marked = |state| if state & FIRST == 0 { first(state) } else { state };
        let Err(before) = self.acquire_or(marked) else { return true };
        self.place = if before & FIRST == 0 { Place::First { starving: false } } else { Place::Returned };
        false
    }

    /// Sleeps for a while, and nobody need wake it; looks for the lock now and then.
    fn nap_or_acquire(&self, since: Instant, limit: &Limit<'_>) -> bool {
        let until = (since + PATIENCE).max(now() + SHORTEST_NAP);
        let mut look_after = if spin_policy::locks_are_slow() { LOOK_AFTER_IF_SLOW } else { LOOK_AFTER };
        loop {
            let left = until.saturating_duration_since(now());
            // In a model no time passes.
            if IN_A_MODEL || left.is_zero() || limit.check().is_err() {
                return false;
            }
            let _ = self.sleep(&limit.or(look_after.min(left)), || true);
            if self.try_acquire() {
                return true;
            }
            look_after *= 2;
        }
    }

    /// For the first one: takes the lock, or has the next release wake it.
    fn acquire_or_starve(&mut self) -> bool {
        let acquired = self.acquire_or(|state| self.unmarked(state) | STARVING | birth()).is_ok();
        self.place = Place::First { starving: true };
        acquired
    }

    /// The lock is this waiter's next: if it is soon free, the hand-over is quick.
    fn spin_starving(&self, limit: &Limit<'_>) -> bool {
        spin_policy::spin_for_kept_lock(limit.deadline(), || self.try_acquire())
    }

    /// At its limit: takes the lock if it is free after all, or else leaves no trace. Who is first leaves others without one who is
    /// in charge.
    fn acquire_or_leave(&self) -> bool {
        self.acquire_or(|state| if self.is_first() { self.unmarked(state) | WAITERS } else { state }).is_ok()
    }

    /// A waiter that may have been in charge will not come back: leaves no trace, and somebody else in charge (B1, H1).
    pub(super) fn leave(&self) {
        let announced = |state: u32| if state & FIRST == 0 { (state & LOCKED) | WAITERS } else { state };
        let is_left_to_the_holder = || {
            // Ordering: relaxed; it says nothing about what the lock protects.
            self.mutex.update(Ordering::Relaxed, |state| (state & LOCKED != 0).then(|| announced(state))).is_some()
        };
        // It may have been woken, whether it knows or not.
        if (Self { was_woken: true, ..*self }).acquire_or_leave() {
            self.give_back();
        } else if !is_left_to_the_holder() {
            RawMutex::wake(self.mutex, WAITERS);
        }
    }

    /// Unlocks what this waiter has just locked.
    pub(super) fn give_back(&self) {
        // SAFETY: it is ours.
        #[allow(unsafe_code, reason = "the lock that has just been taken")]
        unsafe {
            self.mutex.release();
        }
    }

    /// Whether to sleep, now that this waiter is published: not if the lock is free for it. If so, `WAITERS` is set, or there is
    /// a first one, which may be this.
    pub(super) fn may_sleep(&self) -> bool {
        let announced = |state| if state & FIRST == 0 { state | WAITERS } else { state };
        // Ordering: relaxed; fence A of the wait table orders it after the publication.
        let may = self.mutex.update(Ordering::Relaxed, |state| (!self.is_free(state)).then(|| announced(state)));
        may.is_some()
    }
}

/// A waiter that will not come back.
struct LeaveOnDrop<'a, 'm, H: Home>(&'a Waiter<'m, H>);

impl<H: Home> Drop for LeaveOnDrop<'_, '_, H> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// The state after a fair release. `is_expected`: a thread has been woken for this.
fn released_fairly(state: u32, is_expected: bool) -> u32 {
    let free = state & !LOCKED;
    if free & FIRST != 0 {
        STARVING | birth()
    } else if free & HANDED != 0 && is_expected {
        // Without `WAITERS`: who takes the lock sets it, and is in charge until then (B1).
        HANDED | birth()
    } else {
        free & WAITERS
    }
}

/// The state without marks of a parent, whose waiters are not here.
fn own(state: u32) -> u32 {
    let is_marked = state & (FIRST | HANDED) != 0;
    if is_marked && state & BIRTH != birth() { state & (LOCKED | WAITERS) } else { state }
}

/// `BIRTH`, of this process.
fn birth() -> u32 {
    (generation() << BIRTH_SHIFT) & BIRTH
}

/// Whether the first of the waiters must not be overtaken any more.
fn is_kept_for_the_first(state: u32) -> bool {
    state & STARVING != 0 || (state & NAPPING != 0 && is_due(state))
}

/// `DUE`, so many milliseconds from now.
fn due_after(millis: u32) -> u32 {
    (spin_policy::millis() as u32).wrapping_add(millis) << DUE_SHIFT
}

/// Whether it is past `DUE`, or more than eight minutes before it: the clock has gone round.
fn is_due(state: u32) -> bool {
    let late = due_after(0).wrapping_sub(state & (u32::MAX << DUE_SHIFT));
    late.cast_signed() >= 0
}

/// For the default home alone, so that it can be inferred.
impl Default for RawMutex {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Home> fmt::Debug for RawMutex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawMutex").field("locked", &self.is_acquired()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::*;

    /// The holder has called a thread, for which the lock is to be, and that thread unwinds (H1).
    #[test]
    fn who_is_called_and_leaves_is_handed_nothing() {
        let mutex = RawMutex::new();
        mutex.acquire();
        mutex.state.fetch_or(WAITERS | HANDED | birth(), Ordering::Relaxed);
        Waiter { was_woken: true, ..Waiter::newcomer(&mutex) }.leave();
        assert_eq!(mutex.state.load(Ordering::Relaxed), LOCKED | WAITERS);
    }
}
