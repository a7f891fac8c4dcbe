//! What the crate must reach, as ratios of pairs measured interleaved in one process.
//!
//! A new bar is a function that returns [`Finding`]s and a row of [`GROUPS`].

pub mod measure;
pub mod wake;

use measure::{Effort, Finding};

/// Bars that are measured together.
pub struct Group {
    pub name: &'static str,
    pub about: &'static str,
    /// Part of the time that a bar gets by default.
    pub weight: u32,
    pub measure: fn(Effort) -> Vec<Finding>,
}

pub const GROUPS: &[Group] = &[Group {
    name: "wake",
    about: "location_wake_all with nobody waiting, against unpark_all and notify",
    weight: 1,
    measure: wake::nobody_waiting,
}];
