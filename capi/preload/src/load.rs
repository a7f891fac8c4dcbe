//! What is done when the library is loaded.

use crate::{c_library, line, report, threads};
use std::sync::Once;

/// Constructors of other libraries may come first, so that whatever rests on this calls it.
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        c_library::look_up();
        // SAFETY: the handlers are there for as long as the library is, which is not unloaded; what they do is said there.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
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

// Registered early, so that of all handlers this runs last before the fork, and first in the child: others' may use semaphores.

extern "C" fn before_fork() {
    threads::lock();
}

extern "C" fn in_parent() {
    threads::unlock();
}

extern "C" fn in_child() {
    line::begin_process();
    threads::begin_process();
    threads::unlock();
}
