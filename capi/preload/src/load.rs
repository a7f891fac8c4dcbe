//! What is done when the library is loaded.

use crate::{c_library, line, report, sleep::Sleep, threads};
use core::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};
use layby::wait_table::Home;
use std::sync::Once;

/// Whether [`prepare`] has begun.
static IS_PREPARING: AtomicBool = AtomicBool::new(false);

/// Constructors of other libraries may come first, so that whatever rests on this calls it.
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        IS_PREPARING.store(true, Ordering::Relaxed);
        c_library::look_up();
        // The crate's own handler comes before all others too: it registers it before anybody publishes itself.
        Sleep::TABLE.wait_if(&IS_PREPARING, || false);
        // SAFETY: the handler is there for as long as the library is, which is not unloaded; what it does is said there.
        unsafe { c_library::__register_atfork.get()(None, None, Some(in_child), ptr::null_mut()) };
        threads::prepare();
        report::prepare();
    });
}

extern "C" fn at_load() {
    prepare();
}

// SAFETY: the section is an array of such functions.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

/// What others' `pthread_atfork` calls: ours comes first. So in the child it runs first, for theirs may use semaphores; before the fork it
/// would run last, but has nothing to do: a lock that it took there would be held while theirs wait for threads that need it.
///
/// # Safety
/// As for the C library's: functions that may be called for as long as the library `of` is there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __register_atfork(
    before: c_library::Handler,
    in_parent: c_library::Handler,
    in_child: c_library::Handler,
    of: *mut c_void,
) -> c_int {
    if !IS_PREPARING.swap(true, Ordering::Relaxed) {
        prepare();
    }
    // SAFETY: by the caller's promise.
    unsafe { c_library::__register_atfork.get()(before, in_parent, in_child, of) }
}

unsafe extern "C" fn in_child() {
    line::begin_process();
    threads::begin_process();
}
