//! Mutexes on the wait table, and a condition variable for both: [lock_api](https://docs.rs/lock_api/0.5)'s types over words of our own.
//!
//! | type | who is next | word | for |
//! |---|---|---|---|
//! | [`Mutex`] | any thread that comes while it is free; once the first of the waiters has waited for 1 ms, that one | 4 bytes | throughput |
//! | [`FairMutex`] | first come, first served | 16 bytes | order |
//!
//! Guards, mapped guards, guards that own an [`Arc`](std::sync::Arc), and locks in a `static` come with lock_api.
//! There is no poisoning. Guards may be sent to, and unlocked by, another thread; so rustc does not complain about one that is
//! held across an `.await`, as it does about the guards of std (clippy's `await_holding_lock` does).
//!
//! ```
//! use layby::mutex::{Condvar, Mutex};
//!
//! static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! static NOT_EMPTY: Condvar = Condvar::new();
//!
//! let consumer = std::thread::spawn(|| {
//!     let mut queue = QUEUE.lock();
//!     NOT_EMPTY.wait_while(&mut queue, |queue| queue.is_empty());
//!     queue.pop()
//! });
//! QUEUE.lock().push(7);
//! NOT_EMPTY.notify_one();
//! assert_eq!(consumer.join().unwrap(), Some(7));
//! ```
//!
//! Tasks lock by [`LockAsync`], and wait by [`CondvarAsync`].
//!
//! The protocols are with the words: [`RawMutex`] and [`RawFairMutex`].

mod barging;
mod fair;
#[cfg_attr(not(layby_model), allow(unreachable_pub, reason = "for models, which have no lock_api"))]
mod relay;
mod tasks;

// A model's atomics cannot be built in a constant, and lock_api's traits ask for one; models lock the words themselves.
#[cfg(not(layby_model))]
mod condvar;
#[cfg(not(layby_model))]
mod futures;
#[cfg(not(layby_model))]
mod guards;

pub use barging::RawMutex;
pub use fair::{RawFairMutex, Ticket};
#[cfg(layby_model)]
pub use relay::Relay;
pub use tasks::{AcquireAsync, AcquireFairAsync, Acquiring, AcquiringFair};

/// The crate whose types these are, in the version that they are of.
#[cfg(not(layby_model))]
pub use lock_api;
#[cfg(not(layby_model))]
pub use {
    condvar::{Condvar, CondvarWake, FairCondvar, RawCondvar},
    futures::{CondvarAsync, LockAsync, OwnedMutexGuard},
    guards::{
        ArcFairMutexGuard, ArcMutexGuard, FairMutex, FairMutexGuard, FairMutexIn, LockWithin, MappedFairMutexGuard,
        MappedMutexGuard, Mutex, MutexGuard, MutexIn,
    },
};
