//! A thousand threads wait: a post wakes the one whose turn it is, makes the next ready, and leaves all others asleep.
//!
//! Every thread has a place in line and counts its own sleeps. One that had to sleep again before its turn was near was
//! woken for nothing.

#![allow(unsafe_code, reason = "a backend of its own")]

use crate::common::{Queue, Tally, home, scaled, watchdog};
use layby::{
    sema::Semaphore,
    sys::{AtomicU32, Backend, Native},
};
use std::{cell::Cell, thread, time::Instant};

const CROWD: usize = 1000;

/// How many of those in line may have been made ready.
const NEAR: usize = 4;

static SLEEPS: [Tally; CROWD] = [const { Tally::new() }; CROWD];
static WAKES: Tally = Tally::new();
static ASLEEP_ONCE: Tally = Tally::new();

thread_local! {
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The platform's backend, with counts.
#[derive(Debug)]
struct Counting;

// SAFETY: the word is not written to; nothing unwinds, and nothing waits in a table.
unsafe impl Backend for Counting {
    const NAME: &'static str = "counting";

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) {
        let sleeps = &SLEEPS[PLACE.get().expect("only those in line sleep")];
        if sleeps.get() == 0 {
            ASLEEP_ONCE.add();
        }
        sleeps.add();
        Native::wait(word, expected, deadline);
    }

    fn wake(word: *const AtomicU32) {
        WAKES.add();
        Native::wake(word);
    }
}

home!(Crowded, Counting, 4096);

#[test]
fn a_post_wakes_one_of_a_thousand() {
    let _watchdog = watchdog();
    let threads = scaled(CROWD);
    let semaphore = Semaphore::<Crowded>::new_in(0);
    thread::scope(|s| {
        let mut queue = Queue::new(s, &semaphore);
        for place in 0..threads {
            queue.join(1, move |semaphore| {
                PLACE.set(Some(place));
                semaphore.take();
                true
            });
        }
        ASLEEP_ONCE.reaches(threads);

        let mut futile = 0;
        for granted in 0..threads {
            // Not yet near: the last post made the one before it ready. So it should have slept once.
            if let Some(far) = SLEEPS[..threads].get(granted + NEAR) {
                futile += far.get() - 1;
            }
            semaphore.post();
            assert_eq!(queue.next_admitted(), granted);
        }
        assert!(futile * 50 <= threads, "{futile} wake-ups for nothing in {threads} posts");
        // One for the thread whose turn it is, one for the thread that is made ready.
        let wakes = WAKES.get();
        assert!(wakes * 50 <= threads * (2 * 50 + 1), "{wakes} wake-ups for {threads} posts");
        println!("{threads} posts: {wakes} wake-ups, {futile} of them for nothing");
    });
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}
