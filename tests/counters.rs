//! The counters, and what they say about wake-ups: one post wakes one, and a system call is only for a sleeper, which
//! is promise 3 (README). `ci/test.sh` runs this with the feature `counters`; without it only the last test is here.

#![cfg(not(layby_model))]

#[cfg(feature = "counters")]
mod common;

#[cfg(feature = "counters")]
mod counted {
    use super::common::{Tally, eventually, home, leaked, watchdog};
    use layby::{
        Key, WaitTable,
        counters::{Counters, ENABLED, snapshot},
        sema::Semaphore,
        sys::Native,
        wait_table::{Activity, Home},
    };
    use std::{
        sync::{Mutex, MutexGuard, PoisonError},
        thread,
    };

    const _: () = assert!(ENABLED);

    /// The counts are those of the process, so one test at a time.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is counted in `work`.
    fn counted_in(work: impl FnOnce()) -> Counters {
        let before = snapshot();
        work();
        snapshot() - before
    }

    /// Returns when `count` threads wait in the table, all of them asleep.
    fn all_asleep(table: &WaitTable, count: usize) {
        eventually(|| {
            let report = table.waiters();
            report.len() == count && report.iter().all(|waiter| waiter.activity() == Activity::Asleep)
        });
    }

    home!(
        /// A table for the waiters of one primitive: consecutive tickets have slots of their own, so nobody is woken by a
        /// collision.
        Own, Native, 1024
    );

    #[test]
    fn nothing_when_nobody_waits() {
        let _alone = alone();
        let table = leaked(1);
        let semaphore = Semaphore::new(1);
        let counted = counted_in(|| {
            table.wake_all(table);
            table.wake_one(table);
            table.wait_until(table, || true);
            semaphore.take();
            semaphore.post();
        });
        assert_eq!(counted, Counters::default());
    }

    /// No system call for a waiter that is notified before it sleeps.
    #[test]
    fn no_system_call_for_who_does_not_sleep() {
        let _alone = alone();
        let table = leaked(1);
        let counted = counted_in(|| {
            table.wait_if(table, || table.wake_all(table) == 1);
            table.location_wait(table);
            table.wake_all(table);
            table.location_wait(table);
        });
        assert_eq!((counted.waits, counted.wakes), (2, 2));
        assert_eq!((counted.sleep_calls, counted.wake_calls), (0, 0));
    }

    /// One system call wakes one sleeper; it is futile if the condition does not hold.
    #[test]
    fn one_system_call_for_each_sleeper() {
        let (_watchdog, _alone) = (watchdog(), alone());
        let table = leaked(1);
        let go = Tally::new();
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| table.wait_until(table, || go.get() > 0));
            }
            all_asleep(table, 3);
            let for_nothing = counted_in(|| {
                assert_eq!(table.wake_all(table), 3);
                all_asleep(table, 3);
            });
            assert_eq!((for_nothing.wakes, for_nothing.futile_wakes, for_nothing.wake_calls), (3, 3, 3));
            assert_eq!(for_nothing.waits, 3, "each waits again");
            let counted = counted_in(|| {
                go.add();
                // They wait in a form that a wake of one cannot choose from, so all are woken.
                assert_eq!(table.wake_one(table), 3);
            });
            assert_eq!((counted.wakes, counted.futile_wakes, counted.wake_calls), (3, 0, 3));
        });
    }

    /// Each post wakes the one whose ticket it grants, and at most one more to make it ready; nobody for nothing.
    #[test]
    fn one_post_one_wake_up() {
        const WAITERS: usize = 50;
        let (_watchdog, _alone) = (watchdog(), alone());
        let semaphore = Semaphore::<Own>::new_in(0);
        let gone = Tally::new();
        thread::scope(|s| {
            for _ in 0..WAITERS {
                s.spawn(|| {
                    semaphore.take();
                    gone.add();
                });
            }
            all_asleep(Own::table(), WAITERS);
            for post in 1..=WAITERS {
                let counted = counted_in(|| {
                    semaphore.post();
                    gone.reaches(post);
                    all_asleep(Own::table(), WAITERS - post);
                });
                assert_eq!(counted.wakes - counted.staged_wakes, 1, "{counted:?}");
                assert!(counted.staged_wakes <= 1, "{counted:?}");
                assert_eq!(counted.futile_wakes, 0, "{counted:?}");
                assert_eq!(counted.wake_calls, counted.wakes, "all slept: {counted:?}");
            }
        });
    }

    /// An advance wakes the one that awaits the value reached, of many that await others.
    #[cfg(target_has_atomic = "64")]
    #[test]
    fn one_advance_one_wake_up() {
        const WAITERS: u64 = 50;
        let (_watchdog, _alone) = (watchdog(), alone());
        let count = layby::eventcount::EventCount::<Own>::new_in();
        let gone = Tally::new();
        thread::scope(|s| {
            for value in 1..=WAITERS {
                let (count, gone) = (&count, &gone);
                s.spawn(move || {
                    count.wait_at_least(value);
                    gone.add();
                });
            }
            all_asleep(Own::table(), WAITERS as usize);
            for value in 1..=WAITERS {
                let counted = counted_in(|| {
                    count.advance();
                    gone.reaches(value as usize);
                });
                assert_eq!((counted.wakes, counted.futile_wakes, counted.wake_calls), (1, 0, 1));
            }
        });
    }

    /// A difference is field by field.
    #[test]
    fn differences() {
        let _alone = alone();
        let table = leaked(1);
        let before = snapshot();
        table.wait_if(Key::address(table), || table.wake_all(table) == 1);
        let after = snapshot();
        assert_eq!(after - after, Counters::default());
        assert_eq!((after - before).waits, after.waits - before.waits);
        assert_eq!((after - before).waits, 1);
    }
}

#[cfg(not(feature = "counters"))]
#[test]
fn nothing_is_counted_without_the_feature() {
    let table: layby::WaitTable = layby::WaitTable::with_slots(1);
    table.wait_if(&table, || table.wake_all(&table) == 1);
    const { assert!(!layby::counters::ENABLED) };
    assert_eq!(layby::counters::snapshot(), layby::counters::Counters::default());
}
