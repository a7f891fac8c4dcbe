//! A counting semaphore: [`Semaphore`], first come, first served, with timeouts, many permits at a time, and guards.
//!
//! It is the semaphore of the paper's listing 5. Those of listings 1 to 4 are in [`crate::paper`].

#![forbid(unsafe_code)]

mod permit;
mod semaphore;

pub use permit::{OwnedPermit, Permit};
pub use semaphore::Semaphore;
