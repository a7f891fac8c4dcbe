//! What the coherence simulator runs: the crate and its peers, passing a turnstile on up to 512 virtual CPUs.
//!
//! The simulator itself is `layby::coherence`, in `sim/`. It exists only under `--cfg layby_coherence`, and without that
//! flag this library is empty.

#![cfg(layby_coherence)]

pub mod chains;
pub mod contenders;
pub mod peers;
pub mod rounds;
pub mod tables;
pub mod turnstile;
