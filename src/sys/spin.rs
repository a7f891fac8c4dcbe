//! No sleep at all: what waiting devolves to where nothing can sleep.

use super::{AtomicU32, Backend, Broadcast, polite_wait::Line, spinners};
use crate::sync::{atomic::Ordering, deadline_has_passed};
use std::time::Instant;

/// Looks at its own word again and again, with a PAUSE between; one thread a word, so the spinning is local. After a
/// microsecond or so it has the processor watch the word, if that can do it: UMWAIT, MWAITX, WFE or WFET.
///
/// It uses a CPU for as long as it waits. When there are at least as many spinners as CPUs it yields between polls, so
/// that the notifier gets its turn.
#[derive(Debug, Clone, Copy)]
pub struct Spin;

// SAFETY: the word is only read, and nothing unwinds.
unsafe impl Backend for Spin {
    const NAME: &'static str = "spin";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        spinners::spin_forever_until(Line::of(word), || {
            // Ordering: relaxed; the caller looks again with the order it needs.
            word.load(Ordering::Relaxed) != expected || deadline.is_some_and(deadline_has_passed)
        });
    }

    fn wake(_word: *const AtomicU32) {}
}

impl Broadcast for Spin {
    const SLEEPS: bool = false;

    fn wake_all(_word: *const AtomicU32) {}
}
