//! Which of several producers fills which entries, and how far all of them are.
//!
//! A producer draws numbers, fills their entries, and marks them as filled. That is all it writes. The count of what can be passed on is
//! raised by whoever looks at it, over all that is marked: producers that did it would take its cache line from each other, and from the
//! stage that looks, with every entry. And nobody waits for a turn: who is taken off its CPU while it fills holds up what comes behind it
//! in the ring, but not those who filled it.
//!
//! Who sleeps wants the count to be at least some number, and whoever marks asks for that: W1, in `lane.rs`. But a producer does not know
//! by its own numbers whether the count has come so far. Wrong, if it woke those who want an entry of its own:
//!
//! ```text
//! a reader, who has seen 4            another, who has seen 2         who has drawn 4
//! wanted = 5
//!                                     wanted = 3
//!                                     heavy fence
//! heavy fence                         count >= 3? yes: goes on
//! count >= 5? no: sleep                                               mark 4
//!                                                                     wanted is 3: not mine
//! (forever)
//! ```
//!
//! Right: it looks at the count itself if `wanted` is no more than the end of its entries, and wakes all if the count has come so far.
//!
//! - **D1.** The mark of `n` is the number behind those that were drawn with it, so it is above `n`; what is left there from earlier
//!   rounds of the ring is not.
//! - **D2.** The count goes from `c` to `e`, by a compare-and-swap, if marks lead from `c` to `e`. So of several who try one
//!   succeeds, and all entries below `e` have been filled. A mark is not overwritten before the count is above it: there was no room.
//! - **D3.** Nobody announces more than the number after the count that it has seen, whatever it waits for. So the entry that a
//!   sleeper lacks is one, `n`, all before it are marked, and the end of the numbers that were drawn with `n` is not below what was
//!   announced. If the sleeper does not see the mark of `n`, the light fence of who marks it comes after the sleeper's heavy fence:
//!   it sees what was announced, or less, and all marks that the sleeper has seen. So it raises the count above `n`, and wakes. Who marks
//!   an entry behind `n` finds a gap, and leaves it to that one.

#![forbid(unsafe_code)]

use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What several producers share.
pub(super) struct Draws {
    numbers: Numbers,
    count: Count,
    /// For each entry of the ring (D1).
    marks: Box<[AtomicU64]>,
}

/// On a line of its own: all producers write it.
#[repr(align(128))]
struct Numbers {
    /// The next sequence number that nobody has claimed.
    next: AtomicU64,
    producers: AtomicUsize,
}

/// On a line of its own: who looks writes it.
#[repr(align(128))]
struct Count(AtomicU64);

impl Draws {
    /// Of one producer, who has published all below `next`.
    pub(super) fn new(next: u64, capacity: u64) -> Self {
        let marks = (0..capacity).map(|_| AtomicU64::new(0)).collect();
        let numbers = Numbers { next: AtomicU64::new(next), producers: AtomicUsize::new(1) };
        Self { numbers, count: Count(AtomicU64::new(next)), marks }
    }

    /// One more producer.
    pub(super) fn join(&self) {
        // Ordering: relaxed; only the last one matters, and this is not it.
        self.numbers.producers.fetch_add(1, Ordering::Relaxed);
    }

    /// One producer less; whether it was the last.
    pub(super) fn leave(&self) -> bool {
        // Ordering: acquire and release; the last one sees what the others have marked.
        self.numbers.producers.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn next(&self) -> u64 {
        // Ordering: relaxed, here and below; that the numbers are different is all.
        self.numbers.next.load(Ordering::Relaxed)
    }

    /// Draws `n` numbers; returns the first.
    pub(super) fn draw(&self, n: u64) -> u64 {
        self.numbers.next.fetch_add(n, Ordering::Relaxed)
    }

    /// Draws the numbers from `first` to before `end`.
    ///
    /// # Errors
    /// Which is the next number, if somebody has drawn `first`.
    pub(super) fn draw_these(&self, first: u64, end: u64) -> Result<(), u64> {
        self.numbers.next.compare_exchange(first, end, Ordering::Relaxed, Ordering::Relaxed).map(|_| ())
    }

    /// By who has drawn the numbers from `first` to before `end`, and has filled their entries.
    #[inline]
    pub(super) fn mark(&self, first: u64, end: u64) {
        // Ordering: release; matches the acquire in `end_of_marked`: the entries.
        self.mark_of(first).store(end, Ordering::Release);
    }

    /// Raises the count over all that is marked, and returns it (D2); or what was [set last](Self::set_last).
    #[inline]
    pub(super) fn count_up(&self) -> u64 {
        loop {
            // Ordering: acquire; matches the release below, and in `set_last`: the entries that others have counted.
            let count = self.count.0.load(Ordering::Acquire);
            let end = self.end_of_marked(count);
            if end == count {
                return count;
            }
            // Ordering: release; matches the acquire above.
            let raised = self.count.0.compare_exchange(count, end, Ordering::Release, Ordering::Relaxed);
            if raised.is_ok() {
                return end;
            }
        }
    }

    /// By the last producer, when there are no more marks to come: from now on the count is `word`, which is above all of them.
    pub(super) fn set_last(&self, word: u64) {
        // Ordering: release; matches the acquire in `count_up`.
        self.count.0.store(word, Ordering::Release);
    }

    pub(super) fn mark_of(&self, sequence: u64) -> &AtomicU64 {
        &self.marks[sequence as usize & (self.marks.len() - 1)]
    }

    /// Up to which number all entries from `count` on are marked.
    #[inline]
    fn end_of_marked(&self, count: u64) -> u64 {
        let mut end = count;
        loop {
            // Ordering: acquire; matches the release in `mark`.
            let next = self.mark_of(end).load(Ordering::Acquire);
            if next <= end {
                return end;
            }
            end = next;
        }
    }
}
