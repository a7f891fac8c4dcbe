//! What ends the process in `tests/process_exit/main.rs`: a module of it, and a DLL.

#![cfg(windows)]
#![allow(unsafe_code, reason = "no_mangle")]

use layby::{
    WaitTable,
    sys::{AtomicU32, Backend, Native},
};
use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

static SLEEPING: AtomicBool = AtomicBool::new(false);
static NOTIFYING: AtomicBool = AtomicBool::new(false);

/// Sleeps as the platform does, and never comes back from a wake: a notifier that is killed in the middle of a chain.
struct NeverDoneWaking;

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for NeverDoneWaking {
    const NAME: &'static str = "never done waking";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        SLEEPING.store(true, Ordering::Release);
        Native::wait(word, expected, deadline);
    }

    fn wake(_word: *const AtomicU32) {
        NOTIFYING.store(true, Ordering::Release);
        loop {
            thread::park();
        }
    }
}

fn table() -> &'static WaitTable<NeverDoneWaking> {
    static TABLE: OnceLock<WaitTable<NeverDoneWaking>> = OnceLock::new();
    TABLE.get_or_init(|| WaitTable::with_slots_in(1))
}

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

/// Ends the process while the calling thread's element is in the hands of a notifier.
#[unsafe(no_mangle)]
pub extern "C" fn exit_in_a_notifiers_hands(code: i32) -> ! {
    table().location_wait(&SLEEPING); // publishes, and lingers
    // Younger, so it is notified first.
    thread::spawn(|| table().wait_until(&SLEEPING, || false));
    until(&SLEEPING);
    thread::spawn(|| table().wake_all(&SLEEPING));
    until(&NOTIFYING);
    std::process::exit(code)
}
