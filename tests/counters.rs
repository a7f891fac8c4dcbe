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

    /// Stages without work sleep once, and are not disturbed: neither by each other nor by a poll.
    #[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
    #[test]
    fn an_idle_pipeline_does_nothing() {
        use layby::pipeline::{Graph, Progress};

        let _alone = alone();
        let _watchdog = watchdog();
        let mut graph = Graph::new(8, || 0);
        let (first, [left, right]) = (graph.stage("first"), graph.readers(["left", "right"]));
        let mut last = graph.stage("last");
        let mut producer = graph.single_producer();
        thread::scope(|s| {
            s.spawn(|| first.run(|_| ()).unwrap());
            for reader in [left, right] {
                s.spawn(move || reader.run(|_| ()).unwrap());
            }
            let is_idle = || {
                let report = layby::waiters();
                report.len() == 3 && report.iter().all(|waiter| waiter.activity() == Activity::Asleep)
            };
            for _ in 0..3 {
                eventually(is_idle);
                let idle = counted_in(|| {
                    (0..1000).for_each(|_| thread::yield_now());
                    assert_eq!(last.try_consume(1, |_| unreachable!()), Ok(Progress::Idle));
                });
                assert_eq!(idle, Counters::default());
                // The entry goes through all of them, and they sleep again.
                let busy = counted_in(|| {
                    producer.publish(|entry| *entry += 1).unwrap();
                    assert_eq!(last.consume(1, |_| ()), Ok(Progress::Worked(1)));
                    eventually(is_idle);
                });
                assert!(busy.wakes >= 3, "{busy:?}");
            }
            drop(producer);
            while last.consume(1, |_| unreachable!()) != Ok(Progress::Finished) {}
        });
    }

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
            all_asleep(Own::TABLE, WAITERS);
            for post in 1..=WAITERS {
                let counted = counted_in(|| {
                    semaphore.post();
                    gone.reaches(post);
                    all_asleep(Own::TABLE, WAITERS - post);
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
                    count.wait_at_least(value).expect("nobody closes it");
                    gone.add();
                });
            }
            all_asleep(Own::TABLE, WAITERS as usize);
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
    /// Whether waiters spin, in programs that pin their threads.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[allow(unsafe_code, reason = "sched_setaffinity")]
    mod pinned {
        use super::*;
        use crate::common::process;
        use std::{env, process::Stdio, time::Duration};

        const WHO: &str = "LAYBY_TEST_PINNED";

        /// The CPUs that this thread may use.
        fn allowed() -> Vec<usize> {
            // SAFETY: an all-zero set is a valid empty one, the size is its own, and 0 is the calling thread.
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set), 0);
                (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
            }
        }

        /// Pins the thread with this number; 0 is the calling one, and the process's number the main one.
        fn pin(thread: u32, cpu: usize) {
            // SAFETY: as above, and the thread is of this process.
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(cpu, &mut set);
                assert_eq!(libc::sched_setaffinity(thread.cast_signed(), size_of_val(&set), &raw const set), 0);
            }
        }

        /// Whether a thread that may use these CPUs lets others run before it sleeps, which it does if it spins. It does not
        /// each time: a busy machine keeps it from spinning, and so does failing.
        fn spins(cpu: Option<usize>) -> bool {
            let table = leaked(1);
            let wait = || {
                let yields = snapshot().yields;
                let _ = table.wait_until_timeout(Key::address(&0), Duration::from_millis(1), || false);
                snapshot().yields > yields
            };
            let thread = thread::spawn(move || {
                cpu.inspect(|&cpu| pin(0, cpu));
                (0..300).any(|_| wait())
            });
            thread.join().unwrap()
        }

        /// Runs `check` in a process where nobody has waited yet.
        fn in_a_new_process(test: &str, check: impl FnOnce(&[usize])) {
            let cpus = allowed();
            if env::var_os(WHO).is_some() {
                return check(&cpus);
            }
            let _watchdog = watchdog();
            let test = format!("counted::pinned::{test}");
            let status = process::running(&test, WHO, "a new process").stdout(Stdio::null()).status().unwrap();
            assert!(status.success());
        }

        #[test]
        fn one_thread_that_waits_first() {
            in_a_new_process("one_thread_that_waits_first", |cpus| {
                assert_eq!(spins(Some(cpus[0])), cpus.len() > 1);
                assert_eq!(spins(None), cpus.len() > 1);
            });
        }

        #[test]
        fn the_main_thread() {
            in_a_new_process("the_main_thread", |cpus| {
                pin(std::process::id(), cpus[0]);
                assert_eq!(spins(None), cpus.len() > 1);
            });
        }

        #[test]
        fn every_thread() {
            in_a_new_process("every_thread", |cpus| {
                pin(std::process::id(), cpus[0]);
                assert!(!spins(Some(cpus[0])), "all that have waited are on one CPU");
                if let Some(&another) = cpus.get(1) {
                    assert!(spins(Some(another)));
                    assert!(spins(Some(cpus[0])));
                }
            });
        }
    }

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
    let table = layby::WaitTable::with_slots(1);
    table.wait_if(&table, || table.wake_all(&table) == 1);
    const { assert!(!layby::counters::ENABLED) };
    assert_eq!(layby::counters::snapshot(), layby::counters::Counters::default());
}
