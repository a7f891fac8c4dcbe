//! Waiting on several locations at once.

use super::{
    Key, Limit, WaitTable,
    group::{Place, with_group},
    table::wait_in_rounds,
    trace::Stamp,
};
use crate::error::Stopped;
use crate::spin_policy::SpinFirst;
use crate::sys::Backend;
use std::time::{Duration, Instant};

impl<B: Backend> WaitTable<B> {
    /// Waits until `condition` holds, which may depend on several locations: a wake-up of any of them has it checked.
    ///
    /// As [`wait_until`](Self::wait_until) in all else: the calling thread alone evaluates the condition, it may panic and may
    /// itself wait, and when it has returned `true` it is not called again. Which location it was that changed is for the
    /// condition to find out.
    ///
    /// Costs an element for each location, on the stack for up to 16 of them, beyond that in one allocation each time it has to
    /// wait. A location that is named twice costs twice. [`wake_one`](Self::wake_one) does not choose a thread that waits
    /// so, but wakes it besides the one that it chooses.
    ///
    /// # Panics
    /// If there is no location: nobody could end the wait.
    ///
    /// ```
    /// use layby::{Location, WaitTable};
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let table: WaitTable = WaitTable::with_slots(64);
    /// let queues = [const { AtomicU32::new(0) }; 3];
    /// std::thread::scope(|s| {
    ///     let waiter = s.spawn(|| {
    ///         let mut ready = None;
    ///         table.wait_until_any(&queues.each_ref().map(|queue| queue.key()), || {
    ///             ready = queues.iter().position(|queue| queue.load(Ordering::Relaxed) != 0);
    ///             ready.is_some()
    ///         });
    ///         ready
    ///     });
    ///     queues[2].store(1, Ordering::Relaxed);
    ///     table.wake_all(&queues[2]);
    ///     assert_eq!(waiter.join().unwrap(), Some(2));
    /// });
    /// ```
    #[track_caller]
    pub fn wait_until_any(&self, locations: &[Key], condition: impl FnMut() -> bool) {
        assert!(
            !locations.is_empty(),
            "layby: a wait for any of several locations was given none, and would never end"
        );
        let ended = self.wait_until_any_within(locations, Limit::NONE, condition);
        debug_assert_eq!(ended, Ok(()), "a wait without a limit ends when its condition holds");
    }

    /// Like [`wait_until_any`](Self::wait_until_any), but gives up at `deadline`: `false` if it passed and the condition still
    /// did not hold. With no locations it only waits for the deadline.
    #[must_use = "says whether the condition held"]
    pub fn wait_until_any_deadline(
        &self,
        locations: &[Key],
        deadline: Instant,
        condition: impl FnMut() -> bool,
    ) -> bool {
        self.wait_until_any_within(locations, deadline, condition).is_ok()
    }

    /// Like [`wait_until_any`](Self::wait_until_any), but waits for at most `timeout`: `false` if it passed and the condition
    /// still did not hold. A timeout too long for the clock means forever. With no locations it only waits for that time.
    #[must_use = "says whether the condition held"]
    pub fn wait_until_any_timeout(
        &self,
        locations: &[Key],
        timeout: Duration,
        condition: impl FnMut() -> bool,
    ) -> bool {
        self.wait_until_any_within(locations, timeout, condition).is_ok()
    }

    /// Like [`wait_until_any`](Self::wait_until_any), but gives up when `limit` is reached: a deadline, a timeout, a
    /// [`Cancel`](super::Cancel), or several of them. With no locations it only waits for the limit.
    ///
    /// # Errors
    /// How the limit was reached, if the condition still did not hold then.
    pub fn wait_until_any_within<'a>(
        &self,
        locations: &[Key],
        limit: impl Into<Limit<'a>>,
        condition: impl FnMut() -> bool,
    ) -> Result<(), Stopped> {
        let limit = limit.into();
        let count = locations.len() + limit.cancels().count();
        let place = |nth: usize| match locations.get(nth) {
            Some(&key) => Place::on::<B>(self.enter(key), key),
            None => Place::of(limit.nth_cancel(nth - locations.len()).expect("one of those that were counted")),
        };
        let mut since = Stamp::NONE;
        wait_in_rounds(&limit, condition, |condition| {
            with_group::<B, _>(count, place, since, |group| {
                // The ratification, as of one location.
                let held = condition();
                if !held {
                    group.wait(&limit, SpinFirst::Briefly);
                    since = group.since();
                }
                held
            })
        })
    }
}
