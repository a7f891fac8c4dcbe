//! A thousand threads on one slot: every element collides with every other.

use crate::common::{Random, Tally, scaled, watchdog};
use layby::{Key, WaitOutcome, WaitTable};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

#[test]
fn a_thousand_threads_on_one_slot() {
    let _watchdog = watchdog();
    let threads = scaled(1000);
    let table = WaitTable::with_slots(1);
    let open = AtomicBool::new(false);
    let (arrived, timed_out, woken) = (Tally::new(), Tally::new(), Tally::new());
    // Each waits for a ticket of its own. A third have time, a third time out while others come, a third are wait_ifs.
    let wait = |nth: usize| {
        let key = Key::ticket(&table, nth as u64);
        let is_open = || open.load(Ordering::Relaxed);
        let mut random = Random::new(nth);
        arrived.add();
        let in_time = match nth % 3 {
            0 => {
                table.wait_until(key, is_open);
                true
            }
            1 => table.wait_until_timeout(key, Duration::from_micros(random.below(20_000) as u64), is_open),
            _ => {
                let deadline = Instant::now() + Duration::from_secs(3600);
                while !is_open() {
                    assert_eq!(table.wait_if_deadline(key, deadline, || !is_open()), WaitOutcome::Woken);
                }
                true
            }
        };
        if in_time { woken.add() } else { timed_out.add() }
    };
    thread::scope(|s| {
        for nth in 0..threads {
            let wait = &wait;
            thread::Builder::new().stack_size(64 * 1024).spawn_scoped(s, move || wait(nth)).unwrap();
        }
        // Wake-ups of one, of tickets that are waited for and of tickets that are not, while threads come and time out.
        let mut random = Random::new(threads);
        while arrived.get() < threads {
            table.wake_one(Key::ticket(&table, random.below(2 * threads) as u64));
        }
        open.store(true, Ordering::Relaxed);
        for nth in 0..threads {
            table.wake_all(Key::ticket(&table, nth as u64));
        }
    });
    assert_eq!(woken.get() + timed_out.get(), threads);
    assert!(woken.get() >= threads - threads.div_ceil(3), "only those with a timeout may time out");
    assert_eq!(table.wake_all(&table), 0, "somebody stayed behind");
}
