//! A pipeline over a ring: producers fill entries, and stages work on them one after the other, in place.
//!
//! Each stage has an eventcount of how many entries it has finished, and waits for that of the stage before it. Producers
//! draw the entries they will fill from a sequencer and wait for the last stage, which frees entries. Everybody waits
//! without spinning for long, which is what sets it apart from the disruptors.
//!
//! # Who may touch an entry
//!
//! ```text
//!   published ≥ first stage's count ≥ second's ≥ ... ≥ last's ≥ published - capacity
//! ```
//!
//! Sequence number `n` lives in entry `n % capacity`.
//!
//! - **R1.** The producer that drew `n` touches it, from when the last stage's count has exceeded `n - capacity` until it
//!   adds `n` to `published`.
//! - **R2.** A stage touches `n` from when the count before its own exceeds `n` until its own does.
//! - **R3.** Counts grow in order: a producer publishes `n` only when all before `n` are published, and a stage has
//!   one worker.
//!
//! So each entry has one owner at any time, and an advance, which releases, hands it to the next, who acquires it.

#![allow(dead_code, unreachable_pub, reason = "the example and the tests use different parts")]

use layby::eventcount::{EventCount, Sequencer};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

/// A ring of entries and the counts of who is where.
pub struct Pipeline<T> {
    entries: Box<[UnsafeCell<T>]>,
    drawn: Sequencer,
    /// `[0]`: published; the others: finished by each stage.
    counts: Box<[PaddedCount]>,
}

/// A stage's count, on a cache line of its own: producers and stages advance at the same time.
#[repr(align(128))]
struct PaddedCount {
    count: EventCount,
    /// Whether a thread runs the stage.
    taken: AtomicBool,
}

// SAFETY: an entry is touched by one thread at a time (R1 to R3), so sharing the pipeline sends entries between threads.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Pipeline<T> {}

/// Why an entry was not published.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The deadline passed before there was room.
    TimedOut,
    /// A stage has stopped.
    Closed,
}

impl<T: Default> Pipeline<T> {
    /// A pipeline of `stages` stages over a ring of `capacity` entries, which must be a power of two.
    pub fn new(capacity: usize, stages: usize) -> Self {
        assert!(capacity.is_power_of_two() && stages > 0);
        Self {
            entries: (0..capacity).map(|_| UnsafeCell::default()).collect(),
            drawn: Sequencer::new(),
            counts: (0..=stages)
                .map(|_| PaddedCount { count: EventCount::new(), taken: AtomicBool::new(false) })
                .collect(),
        }
    }
}

impl<T> Pipeline<T> {
    fn published(&self) -> &EventCount {
        &self.counts[0].count
    }

    fn freed(&self) -> &EventCount {
        &self.counts[self.counts.len() - 1].count
    }

    fn capacity(&self) -> u64 {
        self.entries.len() as u64
    }

    /// How much more room than it needs a producer waits for, once it has to wait, so that it does not have to again for
    /// each entry. It will come: all of it is room for entries that were drawn before, whose producers wait for less.
    fn slack(&self, n: u64) -> u64 {
        (self.capacity() / 4).min(self.capacity() - n)
    }

    /// Publishes `n` entries, each filled by `fill`; waits for room. Any number of threads may publish at a time.
    ///
    /// # Panics
    /// If `n` is more than the ring holds, or if `fill` panics: then the pipeline is closed.
    pub fn publish(&self, n: u64, fill: impl FnMut(&mut T)) -> Result<(), Refused> {
        assert!(n <= self.capacity());
        let first = self.drawn.tickets(n);
        let needed = (first + n).saturating_sub(self.capacity());
        let room = self.freed().read() >= needed || await_politely(self.freed(), needed + self.slack(n)) >= needed;
        self.fill(first, n, room, fill)
    }

    /// As [`publish`](Self::publish), until `deadline` at the latest.
    ///
    /// A ticket cannot be given back, so it is drawn only when there is room for it.
    pub fn publish_deadline(&self, n: u64, deadline: Instant, fill: impl FnMut(&mut T)) -> Result<(), Refused> {
        assert!(n <= self.capacity());
        loop {
            let needed = (self.drawn.peek() + n).saturating_sub(self.capacity());
            let freed = self.freed().wait_at_least_deadline(needed, deadline).ok_or(Refused::TimedOut)?;
            if freed < needed {
                return Err(Refused::Closed);
            }
            if let Some(first) = self.drawn.tickets_below(n, freed + self.capacity()) {
                return self.fill(first, n, true, fill);
            }
        }
    }

    /// Fills what has been drawn, and publishes it when all before it is published.
    fn fill(&self, first: u64, n: u64, room: bool, mut fill: impl FnMut(&mut T)) -> Result<(), Refused> {
        let unfinished = CloseOnDrop(self);
        if room {
            (first..first + n).for_each(|sequence| self.with_entry(sequence, &mut fill));
        }
        std::mem::forget(unfinished);
        if !room || self.published().wait_at_least(first) < first {
            return Err(Refused::Closed);
        }
        self.published().advance_by(n);
        Ok(())
    }

    /// No more will be published: the stages finish what is there, one after the other, and return. Call it when all
    /// producers have returned.
    pub fn finish(&self) {
        self.published().close();
    }

    /// Stops everything at once: producers and stages return, and what is in the ring stays there.
    pub fn close(&self) {
        self.counts.iter().for_each(|line| line.count.close());
    }

    /// Works on every entry as stage `stage`, counted from 0, until the pipeline has [finished](Self::finish) or closed;
    /// returns how many entries it worked on.
    ///
    /// `work` is called with batches of entries that are ready, at most `batch` at a time; the next stage, or the
    /// producers, can go on after each.
    ///
    /// # Panics
    /// If the stage has been run before; or if `work` panics: then the pipeline is closed.
    pub fn run_stage(&self, stage: usize, batch: u64, mut work: impl FnMut(&mut T)) -> u64 {
        let (before, PaddedCount { count: mine, taken }) = (&self.counts[stage].count, &self.counts[stage + 1]);
        assert!(!taken.swap(true, Ordering::Relaxed), "stage {stage} has one worker (R3)");
        let unfinished = CloseOnDrop(self);
        let mut done = 0;
        loop {
            let ready = await_politely(before, done + 1);
            if ready == done {
                // Closed, and nothing is left: so it is for the next stage.
                std::mem::forget(unfinished);
                mine.close();
                return done;
            }
            while done < ready {
                let n = batch.min(ready - done);
                (done..done + n).for_each(|sequence| self.with_entry(sequence, &mut work));
                done = mine.advance_by(n);
            }
        }
    }

    #[allow(unsafe_code)]
    fn with_entry(&self, sequence: u64, touch: &mut impl FnMut(&mut T)) {
        let index = sequence & (self.capacity() - 1);
        // SAFETY: the caller is the one owner of this sequence number's entry now (R1, R2).
        touch(unsafe { &mut *self.entries[index as usize].get() });
    }
}

/// Waits for `value`, after it has let others run once: with more threads than cores that is often all it takes for a
/// whole batch to be ready, and cheaper than to sleep and be woken for its first entry.
fn await_politely(count: &EventCount, value: u64) -> u64 {
    if count.read() < value {
        thread::yield_now();
    }
    count.wait_at_least(value)
}

/// Closes the pipeline if a closure panics in the middle, so that nobody waits for what will never come.
struct CloseOnDrop<'a, T>(&'a Pipeline<T>);

impl<T> Drop for CloseOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}
