//! A counting semaphore: [`Semaphore`], first come, first served, with timeouts, many permits at a time, and guards.
//!
//! | you want | take | give back |
//! |---|---|---|
//! | a permit for as long as a scope lasts | [`acquire`](Semaphore::acquire) and its [forms](Semaphore#method.acquire): `try_`, `_many`, `_owned`, `_timeout`, `_deadline` | by dropping the [`Permit`] |
//! | the same in a task | [`acquire_async`](Semaphore::acquire_async) and its forms: `_many`, `_owned` | likewise |
//! | permits that one thread takes and another posts: signals, tokens | [`take`](Semaphore::take), likewise | [`post`](Semaphore::post), [`post_many`](Semaphore::post_many) |
//! | permits for a scope, until it is closed: a shutdown that tells all who wait | [`Pool`] | by dropping the [`Permit`] |
//! | a bucket that does not overflow | [`take`](Semaphore::take) | [`post_up_to`](Semaphore::post_up_to) |
//! | a limit that changes | [`reduce`](Semaphore::reduce) | [`post_many`](Semaphore::post_many) |
//! | all that is there | [`drain`](Semaphore::drain) | |
//!
//! Threads and tasks stand in one line, and are admitted in the order in which they came.
//!
//! To protect data take a lock; to tell many threads that something has happened take an
//! [`EventCount`](crate::eventcount) or [`wait_until`](crate::wait_until).
//!
//! It is the semaphore of the paper's listing 5. Those of listings 1 to 4 are in [`crate::paper`].

#![forbid(unsafe_code)]

mod acquire;
mod permit;
mod pool;
mod semaphore;
mod tasks;

pub use permit::{OwnedPermit, Permit};
pub use pool::{AcquirePoolAsync, AcquiringFromPool, Pool};
pub use semaphore::Semaphore;
pub use tasks::{AcquireAsync, AcquireOwnedAsync, Acquiring, AcquiringOwned, TakeAsync, Taking};
