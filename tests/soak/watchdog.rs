//! Who is where, and what to say when nobody gets any further.
//!
//! Counts the ticks of its own sleep and not the clock: the whole process may be stopped for a while.

#![allow(unsafe_code, reason = "places are kept as raw pointers, to be changed atomically")]

use crate::{
    common::{divisor, number_from_environment},
    tables,
};
use std::{
    io::{self, Write},
    panic::Location,
    process,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// What a thread of a round shows to others.
pub(crate) struct Post {
    /// Where it is about to block.
    pub(crate) place: AtomicPtr<Location<'static>>,
    pub(crate) operations: AtomicUsize,
    /// Its system-wide number, for signals; 0: none are to be sent.
    pub(crate) thread: AtomicUsize,
    pub(crate) is_taken: AtomicBool,
}

impl Post {
    const fn new() -> Self {
        Self {
            place: AtomicPtr::new(std::ptr::null_mut()),
            operations: AtomicUsize::new(0),
            thread: AtomicUsize::new(0),
            is_taken: AtomicBool::new(false),
        }
    }

    fn place(&self) -> Option<&'static Location<'static>> {
        // SAFETY: null, or made of a `&'static Location`.
        unsafe { self.place.load(Ordering::Relaxed).as_ref() }
    }
}

/// One for each thread that a round can have.
pub(crate) static POSTS: [Post; 64] = [const { Post::new() }; 64];

static SEED: AtomicUsize = AtomicUsize::new(0);
static ROUND: AtomicUsize = AtomicUsize::new(0);
/// Rounds that have begun: the same one may be played over and over.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

const TICK: Duration = Duration::from_millis(100);
/// How many ticks a round may take, unless the environment says otherwise. The longest takes a second, on a machine with
/// nothing else to do.
const PATIENCE: usize = 900;

/// Prints the seed and the round when anything fails, and ends the process: other threads may wait for the one that failed.
pub(crate) fn start(seed: usize) {
    SEED.store(seed, Ordering::Relaxed);
    std::panic::set_hook(Box::new(|panic| give_up(&format!("{panic}"))));
    let patience = number_from_environment("LAYBY_SOAK_PATIENCE").unwrap_or(PATIENCE * divisor());
    thread::spawn(move || {
        let (mut begun, mut ticks) = (0, 0);
        loop {
            thread::sleep(TICK);
            let now = BEGUN.load(Ordering::Relaxed);
            ticks = if now == begun { ticks + 1 } else { 0 };
            begun = now;
            if ticks > patience {
                give_up("nobody gets any further");
            }
        }
    });
}

pub(crate) fn begin_round(round: usize) {
    ROUND.store(round, Ordering::Relaxed);
    BEGUN.fetch_add(1, Ordering::Relaxed);
}

fn give_up(why: &str) -> ! {
    let (seed, round) = (SEED.load(Ordering::Relaxed), ROUND.load(Ordering::Relaxed));
    // Not by the macros, whose output the test runner keeps back until the test has ended.
    let mut out = io::stderr().lock();
    let mut say = |line: String| drop(writeln!(out, "{line}"));
    say(format!("{why}\nin round {round} of seed {seed}; again: ci/soak.sh 1 {seed} {round}"));
    for (number, post) in POSTS.iter().enumerate().filter(|(_, post)| post.is_taken.load(Ordering::Relaxed)) {
        let operations = post.operations.load(Ordering::Relaxed);
        match post.place() {
            Some(place) => say(format!("worker {number}: at {place}, after {operations} operations")),
            None => say(format!("worker {number}: not blocked, after {operations} operations")),
        }
    }
    tables::report().into_iter().for_each(&mut say);
    process::abort();
}
