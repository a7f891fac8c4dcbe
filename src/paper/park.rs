//! Park and Unpark by identity, as listing 3 has them, on a backend that sleeps on words.
//!
//! A thread's identity is a word that is its own for as long as it lives: [`Thread`]. The word holds the flag of the paper's
//! park-unpark: an unpark that comes before the park makes it return at once.
//!
//! | word | the thread | `unpark` |
//! |---|---|---|
//! | `EMPTY` | runs | leaves the flag: no system call |
//! | `PARKED` | sleeps, or is about to | leaves the flag, and wakes it |
//! | `UNPARKED` | runs, and its next park returns at once | does nothing |
//!
//! # An unpark of a stale thread is harmless
//!
//! Listing 3 unparks a thread whose element is gone already, so the thread may be, too. Wrong, with the word in a
//! thread-local that goes with its thread:
//!
//! ```text
//! waiter                              notifier
//!                                     who = e.who; e.gate = 1
//! gate? open: return; the thread ends
//! its locals are another's memory     unpark(who): writes the flag there
//! ```
//!
//! So the words are **immortal**: made on the heap when a thread first waits, and never freed. A thread that ends leaves its
//! word to the next one that needs any. (Such memory, of one type forever, is how the paper's first author has built park and
//! unpark in HotSpot.) What a stale unpark can do is to leave a flag that nobody asked for: a park returns early, and its
//! caller looks at its gate again.
//!
//! The alternative is to sleep on the gate itself, which the listing names, and to use its address as a name only. It needs no
//! memory, but it is not park and unpark; and as a gate has two states, each poke would be a system call.
//!
//! # Ordering
//!
//! A thread that takes a flag away must see the gate that it was left for, or it would park again with nobody to unpark it:
//! the swap in `unpark` releases, the one in `park` acquires. That in `unpark` has to be a swap even where nobody sleeps: a
//! store over a flag that another has left would end that one's release sequence, and its gate could be missed.

use crate::deadline::Deadline;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicU32, Ordering},
    world_thread_local,
};
use crate::sys::{Backend, Native};
use core::cell::Cell;
use std::sync::Mutex;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const UNPARKED: u32 = 2;

/// A thread, by identity.
#[repr(align(128))]
pub(super) struct Thread {
    word: AtomicU32,
}

/// The words of threads that have ended. Only tried, never waited for: the child of a fork may find it locked by a thread
/// that it does not have. No world sees it, and a model does not use it.
static LEFT: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

world_thread_local! {
    static OWN: Own = Own(Cell::new(None));
}

/// The identity of a thread that has waited, until it ends.
struct Own(Cell<Option<&'static Thread>>);

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take()
            && !IN_A_MODEL
            && let Ok(mut left) = LEFT.try_lock()
        {
            left.push(thread);
        }
    }
}

impl Thread {
    /// The paper's Self: the calling thread. Allocates when a thread calls it for the first time. (In a destructor of a
    /// thread-local that runs after ours, each time, and for good.)
    pub(super) fn current() -> &'static Self {
        OWN.try_with(|own| {
            let thread = own.0.get().unwrap_or_else(Self::another);
            own.0.set(Some(thread));
            thread
        })
        .unwrap_or_else(|_| Self::another())
    }

    /// One that is no living thread's.
    #[cold]
    fn another() -> &'static Self {
        let left = if IN_A_MODEL { None } else { LEFT.try_lock().ok().and_then(|mut left| left.pop()) };
        left.unwrap_or_else(|| Box::leak(Box::new(Self { word: AtomicU32::new(EMPTY) })))
    }

    /// The paper's Park, of the calling thread: returns when there is a flag, and takes it away; may return early. It polls for
    /// a while before it sleeps, as everything does here.
    pub(super) fn park(&self) {
        spin_policy::spin_until(SpinFirst::Briefly, Deadline::NEVER, || self.word.load(Ordering::Relaxed) == UNPARKED);
        // Ordering: relaxed; it says that we sleep, and the swap below sees what others say.
        if self.word.compare_exchange(EMPTY, PARKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            Native::wait(&self.word, PARKED, None);
        }
        // Ordering: acquire; matches the release in `unpark`: the gate that the flag was left for is seen open.
        self.word.swap(EMPTY, Ordering::Acquire);
    }

    /// The paper's Unpark, of a thread that may have gone.
    pub(super) fn unpark(&self) {
        // Ordering: release; matches the acquire in `park`.
        if self.word.swap(UNPARKED, Ordering::Release) == PARKED {
            Native::wake(&raw const self.word);
        }
    }
}
