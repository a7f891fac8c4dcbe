//! A pair of fences of which one costs nothing, and the other pays for both.
//!
//! Fences A and B cost the same, but a thread that is about to sleep can better afford it than one that makes a condition true
//! millions of times a second. Worse, fence B waits until the store before it has got its cache line, and that is the very line
//! that the waiters look at. So for a condition that often comes true and is seldom slept for there is this pair:
//!
//! ```text
//! who will sleep                      who makes it true
//! announce it                         condition = true
//! heavy fence                         light fence
//! condition? no: wait, by the table   announced? no: done; yes: wake, by the table
//! ```
//!
//! That both read "no" is impossible. The light fence keeps the compiler from exchanging the two accesses. Only the processor can
//! then still have its store in the store buffer when it loads the announcement, and the heavy fence interrupts every CPU
//! that runs a thread of the process: what such a thread had stored is visible from then on, and what it loads later sees what
//! was stored before the heavy fence. So with the interrupt between the two accesses, the load sees the announcement; with both
//! before it, the sleeper sees the condition; with both after it, the load sees the announcement again. It is as if the light
//! fence were a `SeqCst` fence at the place of the interrupt.
//!
//! Where the operating system has no such call, and in models, both are `SeqCst` fences, and the argument is that of fences
//! A and B.
//!
//! It does not replace fences A and B: an announcement says only that the notifier has to go to the table.

use crate::sync::{
    atomic::{Ordering, fence},
    compiler_fence,
};
use crate::sys::process_fence;

/// Which form this process has. All who share an announcement share this value too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsymmetricFences {
    light_is_free: bool,
}

impl AsymmetricFences {
    /// Asks the operating system; the first time it may take milliseconds.
    pub(crate) fn of_this_process() -> Self {
        Self { light_is_free: process_fence::is_available() }
    }

    /// After the condition has been made true, before the announcement is loaded. Matches [`heavy`](Self::heavy).
    #[inline(always)]
    pub(crate) fn light(self) {
        if self.light_is_free {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// After the announcement, before the condition is loaded. Matches [`light`](Self::light).
    pub(crate) fn heavy(self) {
        if self.light_is_free {
            process_fence::process_fence();
        } else {
            fence(Ordering::SeqCst);
        }
    }
}
