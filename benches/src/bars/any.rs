//! Waiting on several locations, without sleeping: what it costs to be armed for each of them, and to leave.

use super::measure::{Bound, Effort, Finding, Side, interleave, ratios};
use crate::contender::Aligned;
use crate::workload::repeat_alone;
use layby::{Key, Location};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What a location may cost, in seconds.
const BAR: f64 = 80e-9;

/// How many locations: one, a take that can be cancelled, as many as are on the stack, and one more.
const COUNTS: [usize; 4] = [1, 2, 16, 17];

/// The condition holds when it is asked for the second time, with all elements published.
fn arm_and_leave(words: &[Aligned<AtomicU64>], n: u64) -> Duration {
    let keys: Vec<Key> = words.iter().map(|word| word.0.key()).collect();
    repeat_alone(n, || {
        let mut looks = 0;
        layby::wait_until_any(black_box(&keys), || {
            looks += 1;
            looks == 2
        });
    })
}

/// The same with listeners of event-listener.
fn listen_and_leave(events: &[Aligned<event_listener::Event>], n: u64) -> Duration {
    repeat_alone(n, || {
        let listeners: Vec<_> = black_box(events).iter().map(|event| event.0.listen()).collect();
        drop(black_box(listeners));
    })
}

pub fn of_several(effort: Effort) -> Vec<Finding> {
    COUNTS.into_iter().flat_map(|count| any_of(count, effort.in_short_slices())).collect()
}

fn any_of(count: usize, effort: Effort) -> Vec<Finding> {
    let words: Vec<_> = (0..count).map(|_| Aligned(AtomicU64::new(0))).collect();
    let events: Vec<_> = (0..count).map(|_| Aligned(event_listener::Event::new())).collect();
    let mut ours = |n| arm_and_leave(&words, n);
    let mut theirs = |n| listen_and_leave(&events, n);
    let sides: &mut [Side<'_>] = &mut [&mut ours, &mut theirs];
    let seconds = interleave(sides, effort);
    let what = format!("wait_until_any of {count}, not asleep");
    let allowed = vec![BAR * count as f64; seconds[0].len()];
    vec![
        Finding::new(&what, "80 ns a location", Bound::AtMost(1.0), ratios(&seconds[0], &allowed)),
        Finding::new(&what, "event_listener listen", Bound::Shown, ratios(&seconds[0], &seconds[1])),
    ]
}
