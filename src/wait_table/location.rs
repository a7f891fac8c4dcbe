//! What can be waited on by name.

use super::{Key, WaitTable};
#[cfg(layby_coherence)]
use crate::sync::atomic as simulated;
#[cfg(layby_model)]
use crate::sync::checker::sync::atomic as modelled;
use crate::sys::Backend;
use core::{
    ops::Deref,
    pin::Pin,
    ptr::{self, NonNull},
    sync::atomic as standard,
};
use std::{rc::Rc, sync::Arc};

/// What can be waited on by name: whoever waits on a location and whoever wakes it must mean the same [`Key`].
///
/// An atomic is a location, whatever it is reached through: references, boxes and counted pointers stand for what they
/// point to, since two of them that point to one thing have different addresses themselves.
///
/// | location | key |
/// |---|---|
/// | an atomic of the standard library, a [`Cancel`](super::Cancel), a [`WaitTable`] | its own address |
/// | `&T`, `&mut T`, `Box<T>`, `Rc<T>`, `Arc<T>`, `Pin<P>` | that of the location pointed to |
/// | `*const T`, `*mut T`, `NonNull<T>`, for any `T` | the address in it |
/// | [`Key`] | itself |
/// | a type of one's own | its own address, unless it says otherwise |
///
/// ```
/// use layby::Location;
/// use std::sync::{Arc, atomic::AtomicU32};
///
/// let here = Arc::new(AtomicU32::new(0));
/// let there = Arc::clone(&here);
/// assert_eq!((&here).key(), there.key());
/// assert_eq!((&*here).key(), Arc::as_ptr(&there).key());
/// ```
///
/// # Types of one's own
///
/// ```
/// use layby::{Location, location_wake_all, wait_until};
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
///
/// #[derive(Default)]
/// struct Queue {
///     length: AtomicUsize,
/// }
///
/// impl Location for Queue {}
///
/// impl Queue {
///     fn push(&self) {
///         self.length.fetch_add(1, Ordering::Release);
///         location_wake_all(self);
///     }
/// }
///
/// let queue = Arc::new(Queue::default());
/// std::thread::scope(|s| {
///     s.spawn(|| wait_until(&queue, || queue.length.load(Ordering::Acquire) > 0));
///     queue.push();
/// });
/// ```
///
/// A handle of which there are several for one thing passes on the thing's key:
///
/// ```
/// # use layby::{Key, Location};
/// # use std::sync::{Arc, atomic::AtomicUsize};
/// #[derive(Clone)]
/// struct Sender(Arc<AtomicUsize>);
///
/// impl Location for Sender {
///     fn key(&self) -> Key {
///         self.0.key()
///     }
/// }
/// # let sender = Sender(Arc::default());
/// # assert_eq!(sender.clone().key(), sender.key());
/// ```
///
/// # What is not a location
///
/// Nothing is one by having an address. The guard of a lock is elsewhere than the lock, and other threads have other guards:
/// whoever waited on one would wait forever.
///
/// ```compile_fail,E0277
/// let door = std::sync::Mutex::new(false);
/// let guard = door.lock().unwrap();
/// layby::wait_until(&guard, || *guard);
/// ```
///
/// Nor is a struct that does not say so:
///
/// ```compile_fail,E0277
/// struct Queue(u32);
/// let queue = Queue(0);
/// layby::wait_until(&queue, || queue.0 > 0);
/// ```
///
/// [`Key::address`] makes a key of anything that has a size:
///
/// ```
/// struct Queue(u32);
/// let queue = Queue(1);
/// layby::wait_until(layby::Key::address(&queue), || queue.0 > 0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a location that can be waited on",
    label = "neither an atomic, nor a pointer to a location",
    note = "if it is a type of your own that stays where it is, write `impl layby::Location for {Self} {{}}`",
    note = "if it is a guard or another handle `x`, wait on what it stands for: `&*x`, or one of its atomics",
    note = "to wait on the address of `x` itself, write `layby::Key::address(&x)`"
)]
pub trait Location {
    /// The key that waiters and wakers of this location share: its own address, if not overridden.
    ///
    /// It has to be the same at every call, for as long as anybody waits: if it is not, wake-ups miss those who wait.
    ///
    /// # Panics
    /// If not overridden, and `self` has no size: see [`Key::address`].
    #[inline]
    #[track_caller]
    fn key(&self) -> Key {
        Key::address(self)
    }
}

// Not in key.rs, which knows no locations.
impl Key {
    /// The key of a ticket at a location, hashed by the paper's TWAHash: address + ticket * 17.
    ///
    /// Consecutive tickets of one location march through all slots of the table before they repeat, and never share a
    /// cache line with their neighbours.
    ///
    /// It does not matter through which of several pointers the location is named:
    ///
    /// ```
    /// use layby::Key;
    /// use std::sync::{Arc, atomic::AtomicU64};
    ///
    /// let serving = Arc::new(AtomicU64::new(0));
    /// let elsewhere = Arc::clone(&serving);
    /// assert_eq!(Key::ticket(&serving, 7), Key::ticket(&elsewhere, 7));
    /// assert_eq!(Key::ticket(&serving, 7), Key::ticket_at(Arc::as_ptr(&serving), 7));
    /// ```
    ///
    /// Of a key that has a ticket already, the location counts.
    ///
    /// # Panics
    /// If `location` has no size, like [`address`](Self::address).
    #[inline]
    #[track_caller]
    pub fn ticket(location: impl Location, ticket: u64) -> Self {
        Self::ticket_at(ptr::without_provenance::<()>(location.key().location()), ticket)
    }
}

impl Location for Key {
    #[inline]
    fn key(&self) -> Key {
        *self
    }
}

/// A table is as good a name as any for what is waited for in it.
impl<B: Backend> Location for WaitTable<B> {}

macro_rules! atomics {
    ($world:ident: $($width:literal: $($atomic:ident),+;)+) => {
        $($(
            #[cfg(target_has_atomic = $width)]
            impl Location for $world::$atomic {}
        )+)+

        impl<T> Location for $world::AtomicPtr<T> {}
    };
}

macro_rules! every_atomic_of {
    ($world:ident) => {
        atomics! { $world:
            "8": AtomicBool, AtomicU8, AtomicI8;
            "16": AtomicU16, AtomicI16;
            "32": AtomicU32, AtomicI32;
            "64": AtomicU64, AtomicI64;
            "ptr": AtomicUsize, AtomicIsize;
        }
    };
}

every_atomic_of!(standard);
#[cfg(layby_model)]
every_atomic_of!(modelled);
#[cfg(layby_coherence)]
atomics! { simulated: "32": AtomicU32; "64": AtomicU64; "ptr": AtomicUsize; }

/// Pointers that stand for the location they point to.
macro_rules! through {
    ($($pointer:ty),+) => { $(
        impl<T: Location + ?Sized> Location for $pointer {
            #[inline]
            fn key(&self) -> Key {
                (**self).key()
            }
        }
    )+ };
}

through!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

impl<P: Deref<Target: Location>> Location for Pin<P> {
    #[inline]
    fn key(&self) -> Key {
        (**self).key()
    }
}

/// Addresses. What was there may be gone, or be of no size: who takes a raw pointer means the address.
macro_rules! addresses {
    ($($pointer:ty),+) => { $(
        impl<T: ?Sized> Location for $pointer {
            #[inline]
            fn key(&self) -> Key {
                Key::address_at(*self)
            }
        }
    )+ };
}

addresses!(*const T, *mut T);

/// The address in it, like a raw pointer's.
impl<T: ?Sized> Location for NonNull<T> {
    #[inline]
    fn key(&self) -> Key {
        Key::address_at(self.as_ptr())
    }
}
