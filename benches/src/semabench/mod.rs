//! The paper's benchmark: T threads take a shared semaphore, step a shared random number generator, post, and step a
//! private one.

pub mod arguments;
pub mod figure;
pub mod hold;
pub mod progress;
pub mod record;
pub mod report;
pub mod trial;
