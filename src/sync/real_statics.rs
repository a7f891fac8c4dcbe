//! Statics and constants where atomics can be built in a `const`: everywhere but in a model checker.

/// Makes a function `const` outside the models, whose atomics cannot be built in a `const`.
macro_rules! const_outside_models {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis const fn $($rest)* };
}
pub(crate) use const_outside_models;

/// A function that returns the one instance of a static: a true `static` here, one for each execution in a model.
macro_rules! world_static {
    ($(#[$meta:meta])* $vis:vis fn $name:ident() -> &'static $ty:ty { const { $init:expr } model { $model:expr } }) => {
        $(#[$meta])*
        #[inline(always)]
        $vis fn $name() -> &'static $ty {
            static INSTANCE: $ty = $init;
            &INSTANCE
        }
    };
}
pub(crate) use world_static;
