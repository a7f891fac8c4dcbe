//! Which of several producers fills which entries, and how what they have filled is published in order.
//!
//! A producer draws numbers, fills their entries, and marks them as filled. Nobody waits for a turn: who is taken off its CPU
//! while it fills holds up what comes behind it in the ring, but not those who filled it, and when it is back it publishes for
//! all of them.
//!
//! Wrong, if a producer looked whether it is its turn before it marks its entries:
//!
//! ```text
//! who has drawn 5                     who has drawn 4
//! count = 5? no
//!                                     mark 4, count = 4? yes: count = 5
//!                                     5 marked? no
//! mark 5                              (nobody publishes it)
//! ```
//!
//! Right:
//!
//! ```text
//! who has drawn 5                     who has drawn 4
//! mark 5                              mark 4, count = 4? yes: count = 5
//! fence C                             fence D
//! count = 5? yes: count = 6           5 marked? yes: count = 6
//! ```
//!
//! - **D1.** The mark of `n` is the number behind those that were drawn with it, so it is above `n`; what is left there from earlier
//!   rounds of the ring is not.
//! - **D2.** The count goes from `c` to `e`, by a compare-and-swap, if marks lead from `c` to `e`. So of several who try one
//!   succeeds, and all entries below `e` have been filled. A mark is not overwritten before the count is above it: there was no room.
//! - **D3.** If the count is `c` and `c` is marked, somebody raises it: whoever has raised it to `c`, or whoever has marked `c`.
//!   Of fences C and D one comes first. Fence D is no instruction: the count is raised, and the mark looked at, by `SeqCst` operations
//!   (the argument of `sync::fence_before_peek_seqcst`, and the litmus test `mark_against_raise`). loom, which takes them for less, has
//!   the lane's light fence in its place.

#![forbid(unsafe_code)]

use super::lane::Lane;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// What several producers share. On a line of its own: all of them write it.
#[repr(align(128))]
pub(super) struct Draws {
    /// The next sequence number that nobody has claimed.
    next: AtomicU64,
    producers: AtomicUsize,
    /// For each entry of the ring (D1).
    marks: Box<[AtomicU64]>,
}

impl Draws {
    /// Of one producer, who has published all below `next`.
    pub(super) fn new(next: u64, capacity: u64) -> Self {
        let marks = (0..capacity).map(|_| AtomicU64::new(0)).collect();
        Self { next: AtomicU64::new(next), producers: AtomicUsize::new(1), marks }
    }

    /// One more producer.
    pub(super) fn join(&self) {
        // Ordering: relaxed; only the last one matters, and this is not it.
        self.producers.fetch_add(1, Ordering::Relaxed);
    }

    /// One producer less; whether it was the last.
    pub(super) fn leave(&self) -> bool {
        // Ordering: acquire and release; the last one sees what the others have published.
        self.producers.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn next(&self) -> u64 {
        // Ordering: relaxed, here and below; that the numbers are different is all.
        self.next.load(Ordering::Relaxed)
    }

    /// Draws `n` numbers; returns the first.
    pub(super) fn draw(&self, n: u64) -> u64 {
        self.next.fetch_add(n, Ordering::Relaxed)
    }

    /// Draws the numbers from `first` to before `end`.
    ///
    /// # Errors
    /// Which is the next number, if somebody has drawn `first`.
    pub(super) fn draw_these(&self, first: u64, end: u64) -> Result<(), u64> {
        self.next.compare_exchange(first, end, Ordering::Relaxed, Ordering::Relaxed).map(|_| ())
    }

    /// By who has drawn the numbers from `first` to before `end`, and has filled their entries: publishes them, or leaves that
    /// to whoever publishes what is before them.
    pub(super) fn publish(&self, first: u64, end: u64, lane: &Lane) {
        // Ordering: release; matches the acquire in `end_of_marked`: the entries.
        self.mark(first).store(end, Ordering::Release);
        // Fence C, between the mark and the look at the count (D3).
        fence(Ordering::SeqCst);
        let mut count = first;
        while lane.reached().count() == count {
            let end = self.end_of_marked(count);
            if end == count || !lane.advance_from(count, end) {
                return;
            }
            count = end;
        }
    }

    fn mark(&self, sequence: u64) -> &AtomicU64 {
        &self.marks[sequence as usize & (self.marks.len() - 1)]
    }

    /// Up to which number all entries from `count` on are marked.
    fn end_of_marked(&self, count: u64) -> u64 {
        let mut end = count;
        loop {
            // Ordering: acquire; matches the release in `publish`. SeqCst; see fence D.
            let next = self.mark(end).load(Ordering::SeqCst);
            if next <= end {
                return end;
            }
            end = next;
        }
    }
}
