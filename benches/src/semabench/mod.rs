//! The paper's benchmark: T threads take a shared semaphore, step a shared random number generator, post, and step a
//! private one.

pub mod trial;
