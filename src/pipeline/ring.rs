//! The ring, and who may touch an entry: the only unsafe code of the module.
//!
//! Sequence number `n` lives in entry `n % capacity`. Each *place* of a graph, the producers' and every stage's, has a lane: a count
//! of the entries it is done with.
//!
//! - **R1.** Who has claimed `n` to fill it touches it alone: from when the counts of all last places have exceeded `n -
//!   capacity` until the producers' count exceeds `n`.
//! - **R2.** A stage touches `n` from when the counts of all places before it exceed `n` until its own does: alone if it is
//!   [`Sole`], as one of several who only read if it is [`Among`].
//! - **R3.** A count is written by one thread at a time, and grows over what its place has been given and is done with. A stage
//!   is one value, which is not shared. Several producers are the exception: they mark what they are done with, and whoever looks at their
//!   count raises it, from `c` to `e`, if it is `c` and those who claimed what is below `e` are done with it (`draws.rs`, D1 to D3).
//!
//! And of the wiring:
//!
//! - **G1.** The places before a sole stage are the frontier: every place made so far is one of them, or before one of them. The stage
//!   is then the whole frontier itself. So it comes after all before it, and all that come later come after it.
//! - **G2.** The places before a reader are those that were the frontier when its section began, and perhaps readers of its
//!   section. So all who may touch an entry at the same time as a reader are readers of its section.
//! - **G3.** The last places are the frontier when the wiring ended.
//!
//! With R1 to R3 and G1 to G3 an entry that somebody may write is touched by nobody else. An advance releases and whoever sees the
//! count acquires, so the one who touched it before is done with it for all to see.
//!
//! What is safe to call here is so however it is called: it takes closures, names, and numbers of entries, which it checks. The
//! lanes are advanced here only, and the places are made in `wiring.rs` only.

#![allow(unsafe_code)]

mod draws;
mod lane;
mod task;
mod wiring;

use super::Reason;
use crate::deadline::Deadline;
use crate::sync::cell::UnsafeCell;
use core::{fmt, iter, marker::PhantomData, mem};
use draws::Draws;
pub(super) use lane::{Ended, Lane, Reached};
use std::sync::Arc;
pub(super) use task::yield_now;
pub(super) use wiring::{SectionWiring, Wiring};

/// The entries.
pub(super) struct Ring<T> {
    entries: Box<[UnsafeCell<T>]>,
}

// SAFETY: an entry is touched by one thread at a time, or read by several, and these only if `T` is `Sync`, which
// `SectionWiring::reader` asks for (R1 to R3). So sharing the ring sends entries between threads, and no more.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    fn capacity(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Where a sequence number lives.
    #[inline]
    fn index(&self, sequence: u64) -> usize {
        // The capacity is a power of two.
        sequence as usize & (self.entries.len() - 1)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Whether a stage has its entries to itself: [`Sole`], or shares them: [`Among`]. Sealed.
pub trait Access: sealed::Sealed + Sized {
    /// What its closures get: `&mut T` or `&T`.
    type Entry<'a, T: 'a>;

    /// # Safety
    /// Nobody else may have access to the entry for `'a`, or, for [`Among`], nobody who may change it.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "the trait is sealed")]
    unsafe fn entry<'a, T>(cell: &'a UnsafeCell<T>) -> Self::Entry<'a, T>;
}

/// One stage alone has the entry: it gets `&mut T`.
#[derive(Debug)]
pub enum Sole {}

/// One of several stages that have the entry at a time: they get `&T`.
#[derive(Debug)]
pub enum Among {}

impl sealed::Sealed for Sole {}
impl sealed::Sealed for Among {}

impl Access for Sole {
    type Entry<'a, T: 'a> = &'a mut T;

    #[inline]
    #[allow(private_interfaces, reason = "the trait is sealed")]
    unsafe fn entry<T>(cell: &UnsafeCell<T>) -> &mut T {
        // SAFETY: the caller's promise.
        cell.with_mut(|entry| unsafe { &mut *entry })
    }
}

impl Access for Among {
    type Entry<'a, T: 'a> = &'a T;

    #[inline]
    #[allow(private_interfaces, reason = "the trait is sealed")]
    unsafe fn entry<T>(cell: &UnsafeCell<T>) -> &T {
        // SAFETY: the caller's promise.
        cell.with(|entry| unsafe { &*entry })
    }
}

/// Consecutive entries, the oldest first: `&mut T`, or `&T` for a [`Reader`](super::Reader).
///
/// All of them are passed on when the closure that was given the batch returns, whether it has looked at them or not.
pub struct Batch<'a, T, A: Access = Sole> {
    ring: &'a Ring<T>,
    /// The sequence numbers that are left.
    next: u64,
    end: u64,
    access: PhantomData<A>,
}

impl<'a, T, A: Access> Batch<'a, T, A> {
    /// # Safety
    /// For `'a` the caller may touch the entries from `first` to before `end`, as `A` says, by R1 or R2.
    unsafe fn new(ring: &'a Ring<T>, first: u64, end: u64) -> Self {
        debug_assert!(first <= end && end - first <= ring.capacity());
        Self { ring, next: first, end, access: PhantomData }
    }

    /// The number of the next entry, counted from 0 since the graph was made.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.next
    }
}

impl<'a, T, A: Access> Iterator for Batch<'a, T, A> {
    type Item = A::Entry<'a, T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.end {
            return None;
        }
        let cell = &self.ring.entries[self.ring.index(self.next)];
        self.next += 1;
        // SAFETY: by the promise made to `new`; and each entry is given out once, since a batch is no longer than the ring.
        Some(unsafe { A::entry(cell) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next) as usize;
        (left, Some(left))
    }

    /// In at most two runs of neighbours, so that simple work is done on several at once: `for_each` and `sum` are made of it.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        let entries = &*self.ring.entries;
        let (mut first, mut left) = (self.ring.index(self.next), (self.end - self.next) as usize);
        let mut done = init;
        while left > 0 {
            let run = &entries[first..][..left.min(entries.len() - first)];
            for cell in run {
                // SAFETY: as in `next`.
                done = f(done, unsafe { A::entry(cell) });
            }
            (first, left) = (0, left - run.len());
        }
        done
    }
}

impl<T, A: Access> ExactSizeIterator for Batch<'_, T, A> {}
impl<T, A: Access> iter::FusedIterator for Batch<'_, T, A> {}

impl<T, A: Access> fmt::Debug for Batch<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("sequences", &(self.next..self.end)).finish_non_exhaustive()
    }
}

/// A stage's place in the graph.
pub(super) struct Place<T, A: Access> {
    ring: Arc<Ring<T>>,
    own: Arc<Lane>,
    before: Box<[Arc<Lane>]>,
    /// The count of `own`, which nobody else writes (R3).
    done: u64,
    /// At most what all of `before` have reached, which has been acquired.
    ready: u64,
    /// How many entries the last look found.
    found: u64,
    access: PhantomData<A>,
}

impl<T, A: Access> Place<T, A> {
    pub(super) fn lane(&self) -> &Lane {
        &self.own
    }

    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// How many entries are ready, as far as is known without looking.
    #[inline]
    pub(super) fn known_ready(&self) -> u64 {
        self.ready - self.done
    }

    /// Whether the last look found those before it busy, and little to do. Each look takes their cache lines away from them: so let
    /// more come together first. See docs/measurements.md, "Looks at a count that is written all the time".
    pub(super) fn is_close_behind(&self) -> bool {
        is_close_behind(self.found, self.ring.capacity())
    }

    /// Looks how far those before it are.
    #[inline]
    pub(super) fn look(&mut self) -> Reached {
        let reached = self.before.iter().map(|lane| lane.reached()).min().expect("some place is before every other");
        self.ready = reached.count();
        self.found = self.known_ready();
        reached
    }

    /// The places before it.
    pub(super) fn before(&self) -> &[Arc<Lane>] {
        &self.before
    }

    /// One of the places before it that is not far enough for the next entry, and how far it must be.
    pub(super) fn obstacle(&self) -> Option<(&Lane, u64)> {
        let wanted = self.done + 1;
        self.before.iter().find(|lane| lane.reached().is_below(wanted)).map(|lane| (&**lane, wanted))
    }

    /// Gives `work` up to `most` of the entries that are known to be ready, and passes them on. If `work` panics, the graph is
    /// closed.
    #[inline]
    pub(super) fn pass_on(&mut self, most: u64, work: impl FnOnce(Batch<'_, T, A>)) -> u64 {
        let end = self.done + most.min(self.known_ready());
        let unfinished = CloseOnDrop(&self.own);
        work(self.batch_until(end));
        mem::forget(unfinished);
        let passed_on = end - self.done;
        self.done = end;
        self.own.advance_to(end);
        passed_on
    }

    /// The entries that are ready, up to number `end`.
    ///
    /// # Panics
    /// If not so many are ready.
    #[inline]
    fn batch_until(&self, end: u64) -> Batch<'_, T, A> {
        assert!(end <= self.ready, "more entries than are ready");
        // SAFETY: R2. All before this place have reached `ready`, and the place's own count is `done`, which grows only when the batch is
        // gone: that takes a `&mut` to the place. By the wiring (G1, G2), a sole place has the entries alone, and a reader with other readers.
        unsafe { Batch::new(&self.ring, self.done, end) }
    }

    /// Holds up to `most` of the entries that are known to be ready.
    pub(super) fn hold(&mut self, most: u64) -> Entries<'_, T, A> {
        let end = self.done + most.min(self.known_ready());
        Entries { place: self, end, was_panicking: std::thread::panicking() }
    }

    /// Says that this place is done with all there will ever be.
    pub(super) fn finish(&mut self) {
        self.own.finish_at(self.done);
    }
}

/// Fewer than so many have come one by one, or slowly, and whoever waits for the next looks at once.
const BUSY: u64 = 8;

/// So much of the ring is enough to go on with; and before it is full, its writers wait.
const CLOSE: u64 = 8;

fn is_close_behind(found: u64, capacity: u64) -> bool {
    (BUSY..capacity / CLOSE).contains(&found)
}

/// Consecutive entries that a stage holds until it [passes them on](Self::pass_on). From [`Stage::next`](super::Stage::next) and
/// [`Stage::next_async`](super::Stage::next_async).
///
/// Dropping it gives the entries back: the stage gets them again, as they are by then. So work that failed can be done once more:
///
/// ```
/// use layby::pipeline::Graph;
///
/// # fn send(attempt: u32) -> Result<(), ()> { if attempt < 2 { Err(()) } else { Ok(()) } }
/// # let mut graph = Graph::new(64, || 0);
/// # let mut stage = graph.stage("send");
/// # let mut producer = graph.single_producer();
/// # producer.publish(|entry| *entry = 7).unwrap();
/// # drop(producer);
/// let mut attempts = 0;
/// while let Some(mut entries) = stage.next(16).unwrap() {
///     attempts += 1;
///     if send(attempts).is_ok() {
///         entries.pass_on();
///     }
/// }
/// assert_eq!((attempts, stage.position()), (2, 1));
/// ```
///
/// If the thread panics while it holds entries, the graph is closed.
#[must_use = "entries that are dropped are not passed on"]
pub struct Entries<'a, T, A: Access = Sole> {
    place: &'a mut Place<T, A>,
    end: u64,
    was_panicking: bool,
}

impl<T, A: Access> Entries<'_, T, A> {
    /// All of them, each time anew.
    pub fn iter(&mut self) -> Batch<'_, T, A> {
        self.place.batch_until(self.end)
    }

    /// How many: at least one.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    #[must_use]
    pub fn len(&self) -> usize {
        (self.end - self.place.done) as usize
    }

    /// Passes them on.
    pub fn pass_on(self) {
        let n = self.len();
        self.pass_on_first(n);
    }

    /// Passes on the first `n`. The stage gets the others again.
    ///
    /// # Panics
    /// If there are fewer.
    #[track_caller]
    pub fn pass_on_first(self, n: usize) {
        assert!(n <= self.len(), "{n} of {} entries", self.len());
        if n > 0 {
            self.place.done += n as u64;
            self.place.own.advance_to(self.place.done);
        }
    }
}

impl<T, A: Access> Drop for Entries<'_, T, A> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            self.place.own.close(Reason::Panicked);
        }
    }
}

impl<T, A: Access> fmt::Debug for Entries<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").field("sequences", &(self.place.done..self.end)).finish_non_exhaustive()
    }
}

/// Closes the graph if a closure panics, so that nobody waits for what will never come.
struct CloseOnDrop<'a>(&'a Lane);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close(Reason::Panicked);
    }
}

/// What producers have in common: the way to the entries that are free.
struct Outlet<T> {
    ring: Arc<Ring<T>>,
    own: Arc<Lane>,
    /// The last places: when all of them are done with an entry, it is free.
    last: Arc<[Arc<Lane>]>,
    /// There is room for all sequence numbers below it: at most what all of `last` have reached, which has been acquired, and
    /// the capacity.
    room: u64,
}

/// How long a call may wait: not at all, or until a deadline.
pub(super) type Patience = Option<Deadline>;

impl<T> Outlet<T> {
    /// Waits until there is room for all sequence numbers below `end`.
    ///
    /// # Panics
    /// If the count would become too large to be one.
    #[inline]
    fn wait_for_room(&mut self, end: u64, patience: Patience) -> Result<(), Ended> {
        if end <= self.room { Ok(()) } else { self.find_room(end, patience) }
    }

    #[cold]
    fn find_room(&mut self, end: u64, patience: Patience) -> Result<(), Ended> {
        assert!(end <= lane::MAX, "a pipeline would have published more than {} entries", lane::MAX);
        self.look();
        if end <= self.room {
            return Ok(());
        }
        let deadline = patience.ok_or(Ended::TimedOut)?;
        for last in &*self.last {
            last.wait_at_least(end - self.ring.capacity(), deadline)?;
        }
        self.look();
        Ok(())
    }

    /// One of the last places that holds up the sequence numbers below `end`, and how far it must be.
    fn obstacle(&self, end: u64) -> Option<(&Lane, u64)> {
        let wanted = end.saturating_sub(self.ring.capacity());
        self.last.iter().find(|lane| lane.reached().is_below(wanted)).map(|lane| (&**lane, wanted))
    }

    fn look(&mut self) {
        let freed = self.last.iter().map(|lane| lane.reached().count()).min().expect("some place is the last");
        self.room = freed + self.ring.capacity();
    }

    /// Has the entries from `first` to before `end` filled. If `fill` panics, the graph is closed.
    ///
    /// # Safety
    /// The caller has claimed these numbers, and has found room for them (R1).
    #[inline]
    unsafe fn fill(&self, first: u64, end: u64, fill: impl FnOnce(Batch<'_, T>)) {
        debug_assert!(end <= self.room);
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(&self.ring, first, end) };
        let unfinished = CloseOnDrop(&self.own);
        fill(batch);
        mem::forget(unfinished);
    }

    /// # Panics
    /// If a batch of `n` entries is more than there are.
    #[inline]
    #[track_caller]
    fn check(&self, n: u64) {
        if n > self.ring.capacity() {
            self.refuse(n);
        }
    }

    #[cold]
    #[track_caller]
    fn refuse(&self, n: u64) -> ! {
        panic!("a batch of {n} entries in a ring of {}", self.ring.capacity());
    }
}

/// The place of a producer that is the only one.
#[expect(missing_debug_implementations, reason = "nobody can name it")]
pub struct Single<T> {
    outlet: Outlet<T>,
    /// The count of the producers' lane, which nobody else writes (R3).
    next: u64,
}

/// A producer's place.
pub(super) trait Publish<T> {
    fn lane(&self) -> &Lane;

    /// Waits for room, has `n` entries filled, and publishes them. If `fill` panics, the graph is closed.
    ///
    /// # Panics
    /// If `n` is more than the ring has.
    #[track_caller]
    fn publish(&mut self, n: u64, patience: Patience, fill: impl FnOnce(Batch<'_, T>)) -> Result<(), Ended>;

    /// A lane that has no room for `n` entries, and how far it must be.
    fn obstacle(&self, n: u64) -> Option<(&Lane, u64)>;

    /// Says that this producer publishes no more.
    fn leave(&mut self);
}

impl<T> Publish<T> for Single<T> {
    fn lane(&self) -> &Lane {
        &self.outlet.own
    }

    #[inline]
    #[track_caller]
    fn publish(&mut self, n: u64, patience: Patience, fill: impl FnOnce(Batch<'_, T>)) -> Result<(), Ended> {
        self.outlet.check(n);
        let end = self.next + n;
        self.outlet.wait_for_room(end, patience)?;
        // SAFETY: nobody else claims numbers, and nobody has claimed these: `next` has not come to them. There is room.
        unsafe { self.outlet.fill(self.next, end, fill) };
        self.next = end;
        self.outlet.own.advance_to(end);
        Ok(())
    }

    fn obstacle(&self, n: u64) -> Option<(&Lane, u64)> {
        self.outlet.obstacle(self.next + n)
    }

    fn leave(&mut self) {
        self.outlet.own.finish_at(self.next);
    }
}

impl<T> Single<T> {
    /// Lets others publish, too.
    pub(super) fn into_one_of_several(self) -> OneOfSeveral<T> {
        let draws = Arc::new(Draws::new(self.next, self.outlet.ring.capacity()));
        self.outlet.own.set_draws(&draws);
        OneOfSeveral { outlet: self.outlet, draws }
    }
}

/// The place of one of several producers.
#[expect(missing_debug_implementations, reason = "nobody can name it")]
pub struct OneOfSeveral<T> {
    outlet: Outlet<T>,
    draws: Arc<Draws>,
}

impl<T> Publish<T> for OneOfSeveral<T> {
    fn lane(&self) -> &Lane {
        &self.outlet.own
    }

    #[inline]
    #[track_caller]
    fn publish(&mut self, n: u64, patience: Patience, fill: impl FnOnce(Batch<'_, T>)) -> Result<(), Ended> {
        self.outlet.check(n);
        let first = match patience {
            Some(deadline) if deadline.instant().is_none() => self.draw_and_wait(n)?,
            _ => self.draw_if_room(n, patience)?,
        };
        let end = first + n;
        // SAFETY: the numbers have been drawn, by nobody else, and there is room.
        unsafe { self.outlet.fill(first, end, fill) };
        self.outlet.own.measure(first, end);
        self.draws.mark(first, end);
        self.outlet.own.wake_if_wanted(end);
        Ok(())
    }

    fn obstacle(&self, n: u64) -> Option<(&Lane, u64)> {
        self.outlet.obstacle(self.draws.next() + n)
    }

    /// The last one finishes.
    fn leave(&mut self) {
        if self.draws.leave() {
            self.outlet.own.finish_at(self.outlet.own.reached().count());
        }
    }
}

impl<T> OneOfSeveral<T> {
    /// Draws `n` numbers and waits for room, before all who draw later.
    #[inline]
    fn draw_and_wait(&mut self, n: u64) -> Result<u64, Ended> {
        let first = self.draws.draw(n);
        self.outlet.wait_for_room(first + n, Some(Deadline::NEVER))?;
        Ok(first)
    }

    /// Draws `n` numbers when there is room for them: a number cannot be given back.
    fn draw_if_room(&mut self, n: u64, patience: Patience) -> Result<u64, Ended> {
        let mut first = self.draws.next();
        loop {
            self.outlet.wait_for_room(first + n, patience)?;
            match self.draws.draw_these(first, first + n) {
                Ok(()) => return Ok(first),
                Err(now) => first = now,
            }
        }
    }

    pub(super) fn another(&self) -> Self {
        self.draws.join();
        self.outlet.own.control.add_member();
        let Outlet { ring, own, last, room } = &self.outlet;
        let outlet = Outlet { ring: ring.clone(), own: own.clone(), last: last.clone(), room: *room };
        Self { outlet, draws: self.draws.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::is_close_behind;

    #[test]
    fn a_stage_waits_for_more_behind_busy_writers_only() {
        let close_behind =
            |capacity| (0..=capacity).filter(|found| is_close_behind(*found, capacity)).collect::<Vec<_>>();
        assert_eq!(close_behind(1024), (8..128).collect::<Vec<_>>());
        assert_eq!(close_behind(64), [0; 0], "a small ring would be full before it has looked");
    }
}
