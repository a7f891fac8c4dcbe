//! The barging mutex: one word, and waiters in the wait table.
//!
//! # State
//!
//! | bit | name | meaning |
//! |---|---|---|
//! | 0 | `LOCKED` | somebody holds the lock |
//! | 1 | `WAITERS` | locked: somebody may be asleep, and the release must wake one. Free: the thread that released does so |
//! | 2 | `STARVING` | one waiter has waited too long: the lock is for it alone |
//!
//! | transition | by |
//! |---|---|
//! | 0 → `LOCKED` | `acquire`, nobody waits |
//! | + `LOCKED`, - `WAITERS` | a newcomer that barges, while neither `LOCKED` nor `STARVING` is set |
//! | + `WAITERS` | a waiter, published, about to sleep while it cannot have the lock |
//! | + `LOCKED`, + `WAITERS` | a waiter that finds the lock free for it; others may be asleep |
//! | + `STARVING` | a waiter that has waited too long; from then on it is *the* starving one |
//! | - `STARVING` | the starving one, when it gets the lock or gives up |
//! | - `LOCKED` | `release`; then, if anything else was set, wakes the starving one and the one that has slept longest |
//!
//! The last is a subtraction, the others are compare-and-swaps. A newcomer that takes a lock free with `WAITERS` clears
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
//! - **B1.** If a waiter sleeps, then `WAITERS` or `STARVING` is set on a lock that is held, or a waiter is in charge:
//!   awake, or about to be woken by a release, and going to take the lock, or to sleep, which sets `WAITERS` again.
//! - **B2.** If `STARVING` is set and `LOCKED` is not, the starving one is awake, or about to be woken by the last
//!   release.
//!
//! A release of a lock with `WAITERS` wakes a waiter that sleeps; or, if it finds none on the chain, those who are about
//! to sleep have yet to read the word after publishing, by the argument of [`crate::wait_table`]. Either way
//! somebody is in charge (B1). A waiter that wakes up by its deadline was not woken by a release, so it was never in charge.
//!
//! # Who may be overtaken, and for how long
//!
//! Newcomers barge: they may take a free lock before a waiter that has just been woken. A waiter that comes back to
//! find the lock taken, [`PATIENCE`] or more after it began to wait, becomes the starving one, and the next release is
//! for it: nobody overtakes it. There is one at a time. Another waiter that loses its patience meanwhile sleeps again,
//! behind those that sleep already, and asks for the mark when it is next woken; each time it finds the mark taken, a waiter
//! that had waited too long has been served. So the bound is firm for the starving one; for the others it is [`PATIENCE`] and
//! the turns of those that starve before them. Waiters are woken in the order in which they went to sleep.
//!
//! # Release never touches a dead mutex
//!
//! The subtraction is the last access. The next holder may free the mutex at once; what follows uses the address as a
//! name only. That is why the releasing thread does not clear `WAITERS`.

#![forbid(unsafe_code)]

use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicU32, Ordering},
    const_outside_models, hint, now, thread,
};
use crate::wait_table::{Global, Home, Key, WaitOutcome};
use core::{fmt, marker::PhantomData, ptr};
use std::time::{Duration, Instant};

const LOCKED: u32 = 1;
const WAITERS: u32 = 1 << 1;
const STARVING: u32 = 1 << 2;

/// For how long a waiter lets itself be overtaken. Arbitrary.
const PATIENCE: Duration = if IN_A_MODEL { Duration::ZERO } else { Duration::from_millis(1) };

/// How often a thread tries to lock before it sleeps: after the first attempt it pauses, after the others it lets other
/// threads run. See docs/measurements.md, "Attempts of the mutex".
const SPIN_ATTEMPTS: u32 = if IN_A_MODEL { 1 } else { 10 };

/// The word of [`Mutex`](super::Mutex): barging, 4 bytes.
///
/// Through lock_api's traits it is a mutex of its own. The methods here are the same without the guards.
pub struct RawMutex<H: Home = Global> {
    state: AtomicU32,
    home: PhantomData<fn() -> H>,
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
            self.acquire_contended(Deadline::NEVER);
        }
    }

    /// Locks, or gives up at `deadline`: `false` if it passed, and this call did not lock the mutex.
    #[inline]
    pub fn acquire_deadline(&self, deadline: Instant) -> bool {
        self.acquire_uncontended() || self.acquire_contended(Deadline::at(deadline))
    }

    /// Like [`acquire_deadline`](Self::acquire_deadline), but waits for at most `timeout`. One too long for the clock means
    /// forever.
    #[inline]
    pub fn acquire_timeout(&self, timeout: Duration) -> bool {
        self.acquire_uncontended() || self.acquire_contended(Deadline::after(timeout))
    }

    /// Locks if that is possible at once.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        self.acquire_uncontended() || Waiter::newcomer(self).try_acquire()
    }

    /// Whether somebody holds the lock, at this moment.
    pub fn is_acquired(&self) -> bool {
        self.state.load(Ordering::Relaxed) & LOCKED != 0
    }

    /// Unlocks. Must be called by the thread that holds the lock, or on its behalf.
    #[inline]
    pub fn release(&self) {
        // Ordering: release; matches the acquire of the next holder. The old value is compared and not used, so that x86
        // needs no more than a decrement and its flags.
        if self.state.fetch_sub(LOCKED, Ordering::Release) != LOCKED {
            // From here on `self` may be gone.
            Self::wake(ptr::from_ref(self));
        }
    }

    #[inline]
    fn acquire_uncontended(&self) -> bool {
        // Ordering: acquire; matches the release of the last holder.
        self.state.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn acquire_contended(&self, deadline: Deadline) -> bool {
        let mut waiter = Waiter::newcomer(self);
        waiter.spin_to_acquire() || waiter.wait(deadline)
    }

    /// Wakes the thread that may take the lock next. The mutex may be gone, so its state cannot be read: both keys are woken.
    #[cold]
    fn wake(this: *const Self) {
        H::table().wake_all(Self::starving_key(this));
        H::table().wake_one(this);
    }

    /// Replaces the state by what `next` makes of it, and returns the state before; changes nothing if that is `None`.
    fn update(&self, order: Ordering, next: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            match self.state.compare_exchange_weak(state, next(state)?, order, Ordering::Relaxed) {
                Ok(_) => return Some(state),
                Err(now) => state = now,
            }
        }
    }

    /// What the starving one waits on. The others wait on the address itself, whose slot in a model is that of ticket 0.
    fn starving_key(this: *const Self) -> Key {
        Key::ticket_at(this, 1)
    }
}

/// A thread that wants the lock.
struct Waiter<'a, H: Home> {
    mutex: &'a RawMutex<H>,
    /// Whether this is the starving one.
    starving: bool,
    /// What it leaves in the state when it takes the lock: `WAITERS` once it has waited, for it may be in charge (B1).
    waiters_bit: u32,
}

impl<'a, H: Home> Waiter<'a, H> {
    fn newcomer(mutex: &'a RawMutex<H>) -> Self {
        Self { mutex, starving: false, waiters_bit: 0 }
    }

    fn wait(&mut self, deadline: Deadline) -> bool {
        let since = now();
        self.waiters_bit = WAITERS;
        loop {
            let outcome = H::table().wait_if_at(self.key(), deadline, SpinFirst::No, || self.may_sleep());
            if self.spin_to_acquire() {
                return true;
            }
            if outcome == WaitOutcome::TimedOut {
                return self.acquire_or_leave();
            }
            if !self.starving && now().duration_since(since) >= PATIENCE {
                self.starve();
            }
        }
    }

    fn key(&self) -> Key {
        if self.starving { RawMutex::starving_key(self.mutex) } else { self.mutex.into() }
    }

    fn is_free(&self, state: u32) -> bool {
        state & LOCKED == 0 && (self.starving || state & STARVING == 0)
    }

    /// The state without this waiter's mark.
    fn unmarked(&self, state: u32) -> u32 {
        if self.starving { state & !STARVING } else { state }
    }

    /// The state after this waiter has taken the lock; `None` if it cannot.
    fn taken(&self, state: u32) -> Option<u32> {
        self.is_free(state).then(|| (self.unmarked(state) & !WAITERS) | LOCKED | self.waiters_bit)
    }

    /// Takes the lock if it is free for this waiter.
    fn try_acquire(&self) -> bool {
        // Ordering: acquire; matches the release of the last holder.
        self.mutex.update(Ordering::Acquire, |state| self.taken(state)).is_some()
    }

    /// Tries a few times to take the lock.
    fn spin_to_acquire(&self) -> bool {
        for attempt in 0..SPIN_ATTEMPTS {
            if self.try_acquire() {
                return true;
            }
            if attempt == 0 {
                hint::spin_loop();
            } else {
                counters::count(Event::Yield);
                thread::yield_now();
            }
        }
        false
    }

    /// At the deadline: takes the lock if it is free after all, or else leaves no trace.
    fn acquire_or_leave(&self) -> bool {
        let next = |state| self.taken(state).or(Some(self.unmarked(state)));
        // Ordering: acquire, if it locks; matches the release of the last holder.
        let before = self.mutex.update(Ordering::Acquire, next);
        before.is_some_and(|state| self.is_free(state))
    }

    /// Becomes the starving one, if there is none.
    fn starve(&mut self) {
        // Ordering: relaxed; it says nothing about what the lock protects.
        let marked = self.mutex.update(Ordering::Relaxed, |state| {
            (state & LOCKED != 0 && state & STARVING == 0).then_some(state | STARVING)
        });
        self.starving = marked.is_some();
    }

    /// Whether to sleep, now that this waiter is published: not if the lock is free for it. If so, `WAITERS` is set.
    fn may_sleep(&self) -> bool {
        // Ordering: relaxed; fence A of the wait table orders it after the publication.
        let announced = self.mutex.update(Ordering::Relaxed, |state| (!self.is_free(state)).then_some(state | WAITERS));
        announced.is_some()
    }
}

impl<H: Home> Default for RawMutex<H> {
    fn default() -> Self {
        Self::new_in()
    }
}

impl<H: Home> fmt::Debug for RawMutex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawMutex").field("locked", &self.is_acquired()).finish_non_exhaustive()
    }
}
