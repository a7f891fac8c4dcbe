//! Mutexes on the wait table, and a condition variable for both: [lock_api]'s types over words of our own.
//!
//! | type | who is next | word | for |
//! |---|---|---|---|
//! | [`Mutex`] | any thread that comes while it is free; once one has waited for 1 ms, that one | 4 bytes | throughput |
//! | [`FairMutex`] | first come, first served | 16 bytes | order |
//!
//! Guards, mapped guards, guards that own an [`Arc`](std::sync::Arc), and locks in a `static` come with lock_api.
//! Guards may be sent to, and unlocked by, another thread. There is no poisoning.
//!
//! The keys of a lock are its address, so nothing else should wait on the address of a lock.
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
//! The protocols are with the words: [`RawMutex`] and [`RawFairMutex`].

mod barging;
mod fair;

// A model's atomics cannot be built in a constant, and lock_api's traits ask for one; models lock the words themselves.
#[cfg(not(layby_model))]
mod condvar;
#[cfg(not(layby_model))]
mod guards;

pub use barging::RawMutex;
pub use fair::{RawFairMutex, Ticket};

#[cfg(not(layby_model))]
pub use {
    condvar::{Condvar, FairCondvar, RawCondvar},
    guards::{
        ArcFairMutexGuard, ArcMutexGuard, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard, Mutex,
        MutexGuard,
    },
};
