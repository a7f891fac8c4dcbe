//! How a task waits for a count.
//!
//! A thread announces itself, pays for the fences, and then has a chain to go to. A task stays on its chain from poll to poll, so it
//! goes there first, and announces itself from there:
//!
//! ```text
//! task, for 5                         writer
//! publish                             count = 5
//! fence A                             light fence
//! wanted = min(wanted, 5)             5 >= wanted? yes:
//! heavy fence                         wanted = NOBODY
//! count >= 5? no: Pending             fence B
//!                                     wake all sleepers of this lane
//! ```
//!
//! - **W4.** The writer that W1 sends to the table finds the task there: it has read what the task announced after fence A, and looks
//!   after fence B. So does a writer that resets `wanted` on another's account after the task has found it low enough: of fences A
//!   and B one comes first, and if that were B, the task would have seen the reset. A task that is woken too early is published
//!   anew, and announces itself anew.
//!
//! A poll that has to wait therefore makes a system call, where the heavy fence is one. It is the price of a sleep, and most often it is
//! saved: before it waits, a task lets others run once, if the strategy is to spin at all. On the executor's thread that is most
//! often the stage before it, or the one after it, which has something to do.

#![forbid(unsafe_code)]

use super::super::WaitStrategy;
use super::lane::{Ended, Lane, Reached};
use crate::wait_table::{AtHome, Global, Key, Moment, Purpose, Waiting};
use core::{
    future::{Future, poll_fn},
    panic::Location,
    task::Poll,
};

/// A count that a task waits for.
struct AtLeast<'a> {
    lane: &'a Lane,
    count: u64,
}

impl Purpose for AtLeast<'_> {
    type Output = Result<Reached, Ended>;

    fn attempt(&mut self, moment: Moment, _: Option<Key>) -> Option<Self::Output> {
        if moment == Moment::Published {
            self.lane.announce_and_fence(self.count);
        }
        self.lane.outcome(self.count)
    }
}

impl Lane {
    /// Waits in a task until the count is at least `count`, or final; then it may be less. Reports name `caller`.
    pub(crate) async fn wait_at_least_async(
        &self,
        count: u64,
        caller: &'static Location<'static>,
    ) -> Result<Reached, Ended> {
        loop {
            if let Some(outcome) = self.outcome(count) {
                return outcome;
            }
            match self.control.strategy {
                WaitStrategy::SpinThenSleep => yield_now().await,
                WaitStrategy::Sleep => (),
                WaitStrategy::Spin => {
                    yield_now().await;
                    continue;
                }
            }
            let waiting = Waiting::new(AtHome::<Global>::NEW, self.key(), false, AtLeast { lane: self, count });
            return waiting.made_at(caller).await;
        }
    }
}

/// Lets other tasks run.
pub(crate) fn yield_now() -> impl Future<Output = ()> {
    let mut has_yielded = false;
    poll_fn(move |context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}
