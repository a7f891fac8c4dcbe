//! The C library's own functions, which ours hide.

use core::{
    ffi::{CStr, c_int, c_uint, c_void},
    mem, ptr,
    sync::atomic::{AtomicPtr, Ordering},
};
use libc::{clockid_t, pthread_t, sem_t, timespec};

/// A function that is looked up by its name, behind this library in the order of the dynamic linker. Of several versions
/// that is the default one; on 64-bit targets they are all the same.
pub(crate) struct Hidden<F> {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
    signature: core::marker::PhantomData<F>,
}

impl<F: Copy> Hidden<F> {
    const fn named(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(ptr::null_mut()), signature: core::marker::PhantomData }
    }

    /// Looks it up, the first time.
    pub(crate) fn get(&self) -> F {
        // Ordering: relaxed; it is the same for everybody who looks.
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: a string that ends with 0.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            if found.is_null() {
                // SAFETY: always allowed. A C library that lacks a function cannot have had the caller linked to it.
                unsafe { libc::abort() };
            }
            self.found.store(found, Ordering::Relaxed);
        }
        // SAFETY: `F` is the signature of the function of that name, as declared below.
        unsafe { mem::transmute_copy(&found) }
    }
}

/// What is called at a fork.
pub(crate) type Handler = Option<unsafe extern "C" fn()>;

macro_rules! hidden {
    ($($function:ident: fn($($argument:ty),*);)*) => {
        $(
            #[allow(non_upper_case_globals, reason = "the function's name")]
            pub(crate) static $function: Hidden<unsafe extern "C-unwind" fn($($argument),*) -> c_int> =
                Hidden::named(match CStr::from_bytes_with_nul(concat!(stringify!($function), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                });
        )*

        /// Looks all of them up that there are, so that a signal handler does not have to.
        pub(crate) fn look_up() {
            $(
                // SAFETY: the name ends with 0.
                let found = unsafe { libc::dlsym(libc::RTLD_NEXT, $function.name.as_ptr()) };
                $function.found.store(found, Ordering::Relaxed);
            )*
        }
    };
}

hidden! {
    sem_init: fn(*mut sem_t, c_int, c_uint);
    sem_destroy: fn(*mut sem_t);
    sem_wait: fn(*mut sem_t);
    sem_trywait: fn(*mut sem_t);
    sem_timedwait: fn(*mut sem_t, *const timespec);
    sem_clockwait: fn(*mut sem_t, clockid_t, *const timespec);
    sem_post: fn(*mut sem_t);
    sem_getvalue: fn(*mut sem_t, *mut c_int);
    pthread_cancel: fn(pthread_t);
    __register_atfork: fn(Handler, Handler, Handler, *mut c_void);
}

// What may unwind, which the declarations of the crate `libc` do not say.
unsafe extern "C-unwind" {
    /// Unwinds if the calling thread is cancelled.
    pub(crate) fn pthread_testcancel();
    /// Unwinds if the calling thread is cancelled, and cancellation becomes asynchronous.
    pub(crate) fn pthread_setcanceltype(kind: c_int, before: *mut c_int) -> c_int;
}

pub(crate) const PTHREAD_CANCEL_DEFERRED: c_int = 0;
