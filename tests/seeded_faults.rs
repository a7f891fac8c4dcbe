//! Faults on purpose, one for each kind that the sanitizers are there to find. `ci/sanitize.sh seeded` builds each by
//! `--cfg layby_seeded_fault="…"` and requires the report: a set-up that cannot fail proves nothing.

#![cfg(any(
    layby_seeded_fault = "race",
    layby_seeded_fault = "use_after_free",
    layby_seeded_fault = "use_after_return"
))]
#![allow(unsafe_code)]

use std::{hint::black_box, thread};

/// An address that goes to another thread, as a waiter's does.
#[derive(Clone, Copy)]
struct Sent(*mut u32);

// SAFETY: it is not; that is the fault.
unsafe impl Send for Sent {}

impl Sent {
    fn bump(self) {
        // SAFETY: none, as above: the memory may be another thread's, or gone.
        unsafe { *black_box(self.0) += 1 }
    }
}

#[test]
#[cfg(layby_seeded_fault = "race")]
fn two_threads_write_without_an_order() {
    use std::sync::atomic::{AtomicU32, Ordering};

    let mut word = 0;
    let shared = Sent(&raw mut word);
    let turn = AtomicU32::new(0);
    // One after the other, since the sanitizer may miss what happens at the very same moment; and nobody ends before
    // both have had their turn, or the locks around a thread's end and another's start would put them in order.
    // Relaxed, so that this does not.
    let wait_for = |number| {
        while turn.load(Ordering::Relaxed) != number {
            thread::yield_now();
        }
    };
    let bump = |number, shared: Sent| {
        wait_for(number);
        shared.bump();
        turn.store(number + 1, Ordering::Relaxed);
        wait_for(2);
    };
    thread::scope(|scope| {
        for number in 0..2 {
            let bump = &bump;
            scope.spawn(move || bump(number, shared));
        }
    });
    assert!(word > 0);
}

#[test]
#[cfg(layby_seeded_fault = "use_after_free")]
fn a_thread_writes_to_freed_memory() {
    let freed = Sent(Box::into_raw(Box::new(0)));
    // SAFETY: the box was leaked above, and is freed once.
    drop(unsafe { Box::from_raw(freed.0) });
    thread::spawn(move || freed.bump()).join().unwrap();
}

/// What a notifier would do that touches an element after it has set its gate.
#[test]
#[cfg(layby_seeded_fault = "use_after_return")]
fn a_thread_writes_to_a_frame_that_was_left() {
    #[inline(never)]
    fn left_frame() -> Sent {
        let mut word = black_box(0);
        Sent(black_box(&raw mut word))
    }
    let gone = left_frame();
    thread::spawn(move || gone.bump()).join().unwrap();
}
