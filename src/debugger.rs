//! A name by which a debugger finds the report on waiters, in a program that never calls it.
//!
//! The version is in the name: a program may hold two versions of this crate, each with its own table, and two functions
//! of one name would not link.

#![allow(unsafe_code, reason = "an exported name")]

/// [`dump_waiters`](crate::dump_waiters): `call (void)layby_dump_waiters_v0_1()`.
// SAFETY: no other function has this name: it is ours, and another version of this crate uses another.
#[unsafe(export_name = "layby_dump_waiters_v0_1")]
extern "C" fn dump_waiters() {
    crate::dump_waiters();
}

/// Keeps the linker from leaving it out.
#[used]
static KEPT: extern "C" fn() = dump_waiters;

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_has_the_version_in_it() {
        let compatible = concat!("v", env!("CARGO_PKG_VERSION_MAJOR"), "_", env!("CARGO_PKG_VERSION_MINOR"));
        assert!(include_str!("debugger.rs").contains(&format!("\"layby_dump_waiters_{compatible}\"")));
    }
}
