//! This crate's own types.
