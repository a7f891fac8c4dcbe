//! Statics and constructors, whose form depends on the world: a model checker's atomics cannot be built in a `const`.
//!
//! Outside the models both macros are what one would write by hand: a `static` in a `const fn`, and a `const fn`.
//!
//! # `world_static!`
//!
//! A function that returns a reference to the one instance of something. Between `const` and `model` there is a choice: the
//! first expression must be a constant and is used outside the models, the second is used in a model, where it may be
//! smaller and may allocate. The expression that is not used is not compiled.
//!
//! ```text
//! world_static! {
//!     /// The counters of all threads.
//!     pub(crate) fn counters() -> &'static [AtomicUsize; SHARDS] {
//!         const { [const { AtomicUsize::new(0) }; SHARDS] }
//!         model { core::array::from_fn(|_| AtomicUsize::new(0)) }
//!     }
//! }
//!
//! counters()[shard].fetch_add(1, Ordering::Relaxed);
//! ```
//!
//! In a model there is one instance for each execution. Its first user makes it, and it is never dropped: a thread-local's
//! destructor may be the last to use it, when the checker's own statics are already gone.
//!
//! A real static exists before any thread does, and loom holds us to that: it rejects an atomic that one thread creates and
//! another uses without a happens-before edge from the one to the other. Something that contains a checker's atomics must
//! therefore be used once before the model has a second thread, and `layby::model::begin` does that.
//!
//! # `const_outside_models!`
//!
//! A function that is a `const fn` outside the models and a plain `fn` in them. Write it without `const`:
//!
//! ```text
//! const_outside_models! {
//!     /// An empty slot.
//!     pub(crate) fn new() -> Self {
//!         Self { head: AtomicPtr::new(ptr::null_mut()) }
//!     }
//! }
//! ```

#[cfg(not(layby_model))]
macro_rules! world_static {
    ($(#[$meta:meta])* $vis:vis fn $name:ident() -> &'static $ty:ty { const { $init:expr } model { $model:expr } }) => {
        $(#[$meta])*
        #[inline(always)]
        $vis const fn $name() -> &'static $ty {
            static INSTANCE: $ty = $init;
            &INSTANCE
        }
    };
}

#[cfg(layby_model)]
macro_rules! world_static {
    ($(#[$meta:meta])* $vis:vis fn $name:ident() -> &'static $ty:ty { const { $init:expr } model { $model:expr } }) => {
        $(#[$meta])*
        $vis fn $name() -> &'static $ty {
            // The real thread's: a checker runs all threads of an execution on one.
            std::thread_local! {
                static INSTANCE: core::cell::Cell<(u64, Option<&'static $ty>)> = const { core::cell::Cell::new((0, None)) };
            }
            let execution = $crate::sync::model::execution();
            match INSTANCE.get() {
                (made_in, Some(instance)) if made_in == execution => instance,
                _ => {
                    let instance: &'static $ty = Box::leak(Box::new($model));
                    INSTANCE.set((execution, Some(instance)));
                    instance
                }
            }
        }
    };
}

pub(crate) use world_static;

#[cfg(not(layby_model))]
macro_rules! const_outside_models {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis const fn $($rest)* };
}

#[cfg(layby_model)]
macro_rules! const_outside_models {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis fn $($rest)* };
}

pub(crate) use const_outside_models;
