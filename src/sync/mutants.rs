//! Mutants: the protocol broken in one place on purpose. `ci/model.sh` requires that a model or a test catches each.
//!
//! `--cfg layby_mutant="name"` builds one of them. `--cfg layby_mutants` builds all into one binary, which is the one that
//! the environment variable `LAYBY_MUTANT` names; so the script builds once and runs many. In any other build they are
//! constants, and cost nothing.

/// Whether this is the named mutant.
#[cfg(not(layby_mutants))]
macro_rules! mutant {
    ($name:literal) => {
        cfg!(layby_mutant = $name)
    };
}

#[cfg(layby_mutants)]
macro_rules! mutant {
    ($name:literal) => {
        $crate::sync::mutants::is_chosen($name)
    };
}
pub(crate) use mutant;

/// An ordering, which the named mutant weakens to `Relaxed`.
macro_rules! unless_mutant {
    ($name:literal, $order:ident) => {
        if $crate::sync::mutant!($name) {
            $crate::sync::atomic::Ordering::Relaxed
        } else {
            $crate::sync::atomic::Ordering::$order
        }
    };
}
pub(crate) use unless_mutant;

#[cfg(layby_mutants)]
pub(crate) fn is_chosen(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("LAYBY_MUTANT").unwrap_or_default()) == name
}
