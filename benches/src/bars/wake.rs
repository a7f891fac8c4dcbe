//! Waking when nobody waits.

use super::measure::{Bound, Effort, Finding, against};
use crate::contender::Aligned;
use crate::workload::repeat_alone;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

pub fn unpark_all(n: u64) -> Duration {
    let word = Aligned(AtomicU64::new(0));
    repeat_alone(n, || {
        let key = std::ptr::from_ref(black_box(&word.0)).addr();
        // SAFETY: the key is the address of a word that is ours, and nobody parks on it.
        black_box(unsafe { parking_lot_core::unpark_all(key, parking_lot_core::DEFAULT_UNPARK_TOKEN) });
    })
}

/// event-listener's `notify` on an event that has been listened to before, as one in use has.
pub fn notify(n: u64) -> Duration {
    let event = Aligned(event_listener::Event::<()>::new());
    drop(event.0.listen());
    repeat_alone(n, || {
        black_box(black_box(&event.0).notify(usize::MAX));
    })
}

pub fn wake_all(n: u64) -> Duration {
    let word = Aligned(AtomicU64::new(0));
    repeat_alone(n, || {
        black_box(layby::location_wake_all(black_box(&word.0)));
    })
}

pub fn wake_all_seqcst(n: u64) -> Duration {
    let word = Aligned(AtomicU64::new(0));
    repeat_alone(n, || {
        black_box(layby::location_wake_all_seqcst(black_box(&word.0)));
    })
}

pub fn nobody_waiting(effort: Effort) -> Vec<Finding> {
    let effort = effort.in_short_slices();
    let against_both = |what: &str, ours: fn(u64) -> Duration, bound| {
        let mut ours = ours;
        against(
            what,
            &mut ours,
            &mut [
                ("parking_lot_core::unpark_all", bound, &mut unpark_all),
                ("event_listener notify", bound, &mut notify),
            ],
            effort,
        )
    };
    let mut findings = against_both("location_wake_all, nobody waiting", wake_all, Bound::AtMost(0.5));
    findings.extend(against_both("location_wake_all_seqcst, nobody waiting", wake_all_seqcst, Bound::AtMost(0.2)));
    findings
}
