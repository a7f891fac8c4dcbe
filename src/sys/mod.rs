//! How one thread sleeps and another wakes it.
//!
//! A [`Backend`] is a mechanism, not an operating system; the one table from operating system to mechanism is
//! [`Native`], below. Adding a backend is one file here and one row there.
//!
//! | backend | mechanism | wake without allocation and lock |
//! |---|---|---|
//! | `Futex` | Linux's private futexes | yes |
//! | `WaitOnAddress` | Windows 8 and later | yes |
//! | [`Park`], with the feature `park` | `parking_lot_core`, every other platform | only while nobody sleeps: a wake takes a bucket's lock |
//! | [`Spin`] | none: polls | yes |

#![allow(unsafe_code)]

pub use crate::sync::atomic::AtomicU32;
use std::time::Instant;

mod broadcast;
pub(crate) mod busyness;
pub(crate) mod clock;
pub(crate) mod cpus;
#[cfg(all(unix, not(layby_model)))]
mod errno;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
mod files;
pub(crate) mod fork;
mod head_count;
pub(crate) mod keepers;
mod nap;
pub(crate) mod only_thread;
pub(crate) mod polite_wait;
pub(crate) mod process_exit;
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
pub(crate) mod process_fence;
pub(crate) mod signal;
pub(crate) mod spinners;
pub(crate) mod stderr;
pub(crate) mod thread_id;

#[cfg(any(feature = "park", layby_model, layby_coherence))]
mod park;
mod spin;
#[doc(hidden)]
pub use broadcast::Broadcast;
#[cfg(any(feature = "park", layby_model, layby_coherence))]
pub use park::Park;
pub use spin::Spin;

#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
mod futex;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
mod timespec;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_model)))]
pub use futex::Futex;
#[cfg(all(windows, not(layby_model)))]
mod wait_on_address;
#[cfg(all(windows, not(layby_model)))]
pub use wait_on_address::WaitOnAddress;

/// The platform's own backend: [`Futex`] on Linux and Android.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_park, layby_model, layby_coherence))))]
pub type Native = Futex;
/// The platform's own backend: [`WaitOnAddress`] on Windows.
#[cfg(all(windows, not(any(layby_park, layby_model, layby_coherence))))]
pub type Native = WaitOnAddress;
/// The platform's own backend: [`Park`] on every platform without an address-based wait of its own, and in models.
/// `--cfg layby_park` makes it so everywhere, so that tests put it under the whole crate.
#[cfg(any(not(any(target_os = "linux", target_os = "android", windows)), layby_park, layby_model, layby_coherence))]
pub type Native = Park;

#[cfg(all(
    any(not(any(target_os = "linux", target_os = "android", windows)), layby_park),
    not(any(feature = "park", layby_model, layby_coherence))
))]
compile_error!("layby: this platform has no address-based wait of its own: enable the feature `park`");

/// How a thread sleeps on one word and another thread wakes it.
///
/// The contract, which the conformance suite (`tests/backends.rs`) puts to every backend:
///
/// - **No lost wake-up.** If `word` is changed from `expected` and then [`wake`](Backend::wake) is called with its
///   address, a [`wait`](Backend::wait) on it returns, whichever came first. If several threads wait on it, one of
///   them does.
/// - **No false sleep.** `wait` returns without sleeping if `word` is not `expected`.
/// - **Early is allowed.** `wait` may return at any time, for no reason; the caller looks at the word and the clock.
///   It never says why it returned, so it can never call an early return a timeout.
/// - **Deadlines end waits.** `wait` returns after the deadline has passed, possibly late.
/// - **The address is only a name.** `wake` does not read or write through its pointer. The word may be
///   gone, and something else may live there; a thread that sleeps on that wakes early, which is allowed.
///
/// A backend that returns early makes its users spin, and one that does not wake makes them hang; neither is undefined
/// behaviour.
///
/// # Safety
/// A waiting thread lends its element, often on its stack, to other threads until the word says otherwise. So:
///
/// - `wait` does not write to the word.
/// - No function unwinds.
/// - No function calls anything of this crate that waits: the thread's own element is in use.
pub unsafe trait Backend: Send + Sync + 'static {
    /// A short name for reports.
    const NAME: &'static str;

    /// Whether a waiter may stay awake for a while before it sleeps, and spin if it is next. If not, it yields once or twice, as
    /// long as that helps, and sleeps: for threads that need more than what they wait for before they can go on, such as an
    /// interpreter's lock, and would keep a CPU from those who have it.
    const SPINS: bool = true;

    /// Sleeps while `word` holds `expected`, until a wake-up or the deadline. May return early.
    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>);

    /// Wakes the thread that sleeps on the word at this address, if there is one.
    fn wake(word: *const AtomicU32);

    /// Wakes every thread that sleeps on the word at this address, at the cost of one call, if the backend can do that: with it
    /// a wake of many that wait on one address is one call instead of one for each.
    const WAKE_ALL: Option<fn(*const AtomicU32)> = None;
}
