//! Semaphores.
#![forbid(unsafe_code)]
mod semaphore;
pub use semaphore::Semaphore;
