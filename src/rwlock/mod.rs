//! A reader-writer lock that serves in the order of arrival: [lock_api](https://docs.rs/lock_api/0.5)'s types over 16 bytes of our own.
//!
//! Many readers or one writer. Who comes first is served first: a writer waits for those who came before it and for nobody
//! else, and so does a reader. Readers that stand next to each other in line enter together. Nobody starves, and nobody is
//! overtaken.
//!
//! ```
//! use layby::rwlock::RwLock;
//!
//! static ROUTES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
//!
//! ROUTES.write().push("/health");
//! std::thread::scope(|s| {
//!     for _ in 0..2 {
//!         s.spawn(|| assert_eq!(ROUTES.read().len(), 1)); // side by side
//!     }
//! });
//! ```
//!
//! | | |
//! |---|---|
//! | [`read`](lock_api::RwLock::read), [`write`](lock_api::RwLock::write) | a guard; `try_…` at once or not at all, `try_…_for` and `try_…_until` with a time, [`read_within`](RwLockWithin::read_within) and [`write_within`](RwLockWithin::write_within) with any [`Limit`](crate::Limit) |
//! | [`read_arc`](lock_api::RwLock::read_arc), [`write_arc`](lock_api::RwLock::write_arc) | guards that own an [`Arc`](std::sync::Arc), and borrow nothing |
//! | [`read_async`](RwLockAsync::read_async), [`write_async`](RwLockAsync::write_async), and `…_arc_async` | from tasks, in the same line |
//! | [`RwLockWriteGuard::downgrade`](lock_api::RwLockWriteGuard::downgrade) | a writer that goes on as a reader; nobody writes in between |
//! | [`TryUpgrade::try_upgrade`] | a reader that goes on as a writer, if it is alone |
//!
//! There is no poisoning. Guards may be sent to, and unlocked by, another thread.
//!
//! # A thread that reads while it reads
//!
//! **It may wait for itself.** `read` gets in line, and if a writer has come meanwhile, behind that one:
//!
//! ```text
//! this thread                         a writer
//! read: inside
//!                                     write: waits for this thread
//! read: waits behind the writer       (forever)
//! ```
//!
//! The standard library's lock does the same, and so does every lock that does not let readers overtake writers. What helps:
//!
//! - Where the first guard is at hand, hand on a reference to it, or to the data. Who needs one that lasts longer shares the guard
//!   itself: `Arc::new(lock.read_arc())`, and a clone for each. It is unlocked with the last.
//! - Where it is not, [`try_read`](lock_api::RwLock::try_read) or [`try_read_for`](lock_api::RwLock::try_read_for), which fail
//!   instead.
//! - When it hangs, [`layby::waiters()`](crate::waiters()) shows who waits for the lock, and since when.
//!
//! # No upgradable guards
//!
//! parking_lot has guards that can be upgraded even when others wait. Here a writer in line has its place before whoever upgrades,
//! and waits for it to leave: both would wait forever. So there is only the form that does not wait,
//! [`try_upgrade`](TryUpgrade::try_upgrade). Otherwise drop the guard, `write`, and look again.
//!
//! # Forks, signals, freed memory
//!
//! - In the child of a fork the lock is as its parent's threads have left it: what they hold nobody gives back, and one of them
//!   that waits to write keeps readers out. Fork while you hold it, or do not use it in the child.
//! - Do not lock in a signal handler: the thread that it has interrupted may be the one to wait for. To unlock there is
//!   allowed, as a post is.
//! - An unlock uses the lock until it returns. Safe code cannot free it before; code that shares by raw pointers must not.
//!   (A [`FairMutex`](crate::mutex::FairMutex) may be freed by the one that locks it next.)
//!
//! The protocol is with the word: [`RawRwLock`].

mod raw;
mod tasks;

// A model's atomics cannot be built in a constant, and lock_api's traits ask for one; models lock the words themselves.
#[cfg(not(layby_model))]
mod futures;
#[cfg(not(layby_model))]
mod guards;

pub use raw::RawRwLock;
pub use tasks::AcquireAsync;

#[cfg(not(layby_model))]
pub use futures::RwLockAsync;
#[cfg(not(layby_model))]
pub use guards::{
    ArcRwLockReadGuard, ArcRwLockWriteGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockIn,
    RwLockReadGuard, RwLockWithin, RwLockWriteGuard, TryUpgrade,
};
/// The crate whose types these are, in the version that they are of.
#[cfg(not(layby_model))]
pub use lock_api;
