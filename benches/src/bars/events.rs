//! EventCounts: one advance before a thousand waiters.

use super::measure::{Bound, Effort, Finding, ratios};
use crate::crowd::{Broadcast, Crowd, Targeted};

/// Advances of one round; each is one waiter fewer.
const ADVANCES: u64 = 20;
const WAITERS: u64 = 1000;

pub fn targeted_wake(effort: Effort) -> Vec<Finding> {
    let rounds = effort.of_trials().rounds.min((WAITERS / ADVANCES) as usize - 1);
    let (ours, theirs) = (Crowd::<Targeted>::gather(WAITERS), Crowd::<Broadcast>::gather(WAITERS));
    let (mut woken, mut times) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..rounds {
        let one = ours.advance(ADVANCES);
        let all = theirs.advance(ADVANCES);
        woken.push(one.sleeps_of_others as f64 / ADVANCES as f64);
        times[0].push(one.time.as_secs_f64());
        times[1].push(all.time.as_secs_f64());
    }
    vec![
        Finding::new("EventCount, 1,000 values awaited: others woken", "an advance", Bound::AtMost(0.02), woken),
        Finding::new(
            "EventCount, 1,000 values awaited: speed",
            "condvar broadcast",
            Bound::AtLeast(20.0),
            ratios(&times[1], &times[0]),
        ),
    ]
}
