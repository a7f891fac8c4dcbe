//! Something that is done once, by whoever comes first; the others wait until it is done.
//!
//! [`Once`] has the methods of std's: for a program that wants its waiters in reports ([`waiters`](crate::waiters())), in a
//! table of their own or with a limit. Where that does not matter, std's `Once` and `OnceLock` do just as well.
//!
//! # State
//!
//! | state | meaning | who may change it |
//! |---|---|---|
//! | `NEW` | nobody has begun | whoever comes first: `RUNNING` |
//! | `RUNNING` | a closure runs, and others may be asleep | the thread that runs it: `DONE` when it has returned, `POISONED` when it has unwound |
//! | `DONE` | a closure has returned | nobody |
//! | `POISONED` | a closure has unwound | whoever insists: `RUNNING` |
//!
//! `RUNNING` is entered by compare-and-swap, so one thread at a time runs a closure; it is left by a store of that thread, which
//! then wakes all who wait: each of them may go on, be it by a panic.
//!
//! ```text
//! who waits                            who runs
//! publish, fence A                     store DONE or POISONED
//! the state: RUNNING? sleep            fence B, wake all
//! ```
//!
//! That a waiter reads `RUNNING` and is not woken is impossible, by the argument of [`crate::wait_table`]. One that insists may
//! read `POISONED` and find it taken by another when it wants to begin; then `RUNNING` was entered after it had published, and
//! whoever leaves `RUNNING` finds it.

#![forbid(unsafe_code)]

use crate::error::Stopped;
use crate::sync::{
    atomic::{AtomicU32, Ordering},
    const_outside_models, in_destructor,
};
use crate::wait_table::{Global, Home, Invariant, Key, Limit, table_of};
use core::{fmt, marker::PhantomData};

const NEW: u32 = 0;
const RUNNING: u32 = 1;
const DONE: u32 = 2;
const POISONED: u32 = 3;

/// Something that is done once. 4 bytes.
///
/// As with std's, a closure that panics poisons it: later calls panic, and so do those who wait, until
/// [`call_once_force`](Self::call_once_force) has done it after all. A closure that calls or waits for its own `Once` waits forever.
///
/// ```
/// use layby::once::Once;
///
/// static LOGGING: Once = Once::new();
///
/// fn log(line: &str) {
///     LOGGING.call_once(|| println!("log opened"));
///     println!("{line}");
/// }
/// std::thread::scope(|s| {
///     s.spawn(|| log("one"));
///     s.spawn(|| log("two"));
/// });
/// assert!(LOGGING.is_completed());
/// ```
pub struct Once<H: Home = Global> {
    state: AtomicU32,
    home: Invariant<H>,
}

/// What [`Once::call_once_force`] tells its closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Whether an earlier closure has panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

/// What a caller finds that need not wait.
enum Found {
    Done,
    Poisoned,
    /// The state is `RUNNING` now, by this caller.
    Begun(OnceState),
}

impl Once {
    const_outside_models! {
        /// Nothing has been done.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<H: Home> Once<H> {
    const_outside_models! {
        /// Nothing has been done; whoever waits will do so in a table of its own.
        pub fn new_in() -> Self {
            Self { state: AtomicU32::new(NEW), home: PhantomData }
        }
    }

    /// Calls `f`, unless that has been done; returns when it has been done, by whomever. What it wrote can be seen then.
    ///
    /// # Panics
    /// If an earlier closure has panicked.
    #[inline]
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        if !self.is_completed() {
            self.call(false, |_| f());
        }
    }

    /// Like [`call_once`](Self::call_once), but tries again if an earlier closure has panicked.
    ///
    /// ```
    /// use layby::once::Once;
    ///
    /// let once = Once::new();
    /// std::thread::scope(|s| _ = s.spawn(|| once.call_once(|| panic!("the disk is full"))).join());
    /// once.call_once_force(|before| assert!(before.is_poisoned()));
    /// assert!(once.is_completed());
    /// ```
    #[inline]
    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        if !self.is_completed() {
            self.call(true, f);
        }
    }

    /// Whether a closure has returned. If so, what it wrote can be seen.
    #[inline]
    #[must_use]
    pub fn is_completed(&self) -> bool {
        // Ordering: acquire; matches the release of the thread that ran the closure.
        self.state.load(Ordering::Acquire) == DONE
    }

    /// Waits until a closure has returned, whether or not one has begun.
    ///
    /// # Panics
    /// If a closure has panicked, or does so meanwhile.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_within(Limit::NONE).expect("a wait without a limit ends when it is done");
    }

    /// Like [`wait`](Self::wait), but gives up when `limit` is reached.
    ///
    /// # Errors
    /// How the limit was reached, if no closure had returned then.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_within<'a>(&self, limit: impl Into<Limit<'a>>) -> Result<(), Stopped> {
        let returned = table_of::<H>().wait_for_within(self.key(), limit, || self.outcome())?;
        if returned { Ok(()) } else { poisoned() }
    }

    #[cold]
    #[track_caller]
    fn call(&self, insists: bool, f: impl FnOnce(&OnceState)) {
        match table_of::<H>().wait_for(self.key(), || self.begin(insists)) {
            Found::Done => {}
            Found::Poisoned => poisoned(),
            Found::Begun(before) => {
                let mut end = End { once: self, state: POISONED };
                f(&before);
                end.state = DONE;
            }
        }
    }

    /// Begins, if nobody has yet, or if a closure has unwound and the caller `insists`. `None` while one runs.
    fn begin(&self, insists: bool) -> Option<Found> {
        let begun = |poisoned| Found::Begun(OnceState { poisoned });
        match self.begin_from(NEW) {
            Ok(_) => Some(begun(false)),
            Err(DONE) => Some(Found::Done),
            Err(POISONED) if insists => self.begin_from(POISONED).is_ok().then(|| begun(true)),
            Err(POISONED) => Some(Found::Poisoned),
            Err(_) => None,
        }
    }

    fn begin_from(&self, state: u32) -> Result<u32, u32> {
        // Ordering: acquire, whatever it finds; matches the release of the thread that ran a closure.
        self.state.compare_exchange(state, RUNNING, Ordering::Acquire, Ordering::Acquire)
    }

    /// Whether the last closure has returned, or has unwound; `None` while one runs, or none has begun.
    fn outcome(&self) -> Option<bool> {
        // Ordering: as above.
        match self.state.load(Ordering::Acquire) {
            DONE => Some(true),
            POISONED => Some(false),
            _ => None,
        }
    }

    fn key(&self) -> Key {
        Key::of_primitive(self)
    }
}

#[cold]
#[track_caller]
fn poisoned() -> ! {
    panic!("layby: a closure of this Once has panicked; `call_once_force` tries again");
}

/// Ends a call when dropped, be it by a panic.
struct End<'a, H: Home> {
    once: &'a Once<H>,
    state: u32,
}

impl<H: Home> Drop for End<'_, H> {
    fn drop(&mut self) {
        in_destructor(|| {
            let key = self.once.key();
            // Ordering: release; matches the acquire of all who find out.
            self.once.state.store(self.state, Ordering::Release);
            table_of::<H>().wake_all(key);
        });
    }
}

/// For the default home alone, so that it can be inferred.
impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Home> fmt::Debug for Once<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("completed", &self.is_completed()).finish_non_exhaustive()
    }
}
