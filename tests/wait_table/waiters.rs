//! Reports on who waits on what. Their effect on wake-ups is also modelled, in `tests/loom/waiters.rs`.

use crate::common::{Form, Rally, Tally, counting_backend, eventually, leaked, scaled, watchdog};
use layby::{
    Key, Location, WaitTable,
    mutex::Mutex,
    sema::Semaphore,
    wait_table::{Activity, Waiter, global},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

/// Whether the platform tells the names of threads, and has a clock.
const FULL_REPORTS: bool = cfg!(any(target_os = "linux", target_os = "android", windows)) && !cfg!(miri);

fn named<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    name: impl Into<String>,
    life: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    thread::Builder::new().name(name.into()).spawn_scoped(scope, life).unwrap()
}

/// A door that opens once, and a table to wait at it.
struct Door {
    table: &'static WaitTable,
    open: AtomicBool,
}

impl Location for Door {}

impl Door {
    fn new(slots: usize) -> Self {
        Self { table: leaked(slots), open: AtomicBool::new(false) }
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    fn pass(&self, location: impl Location) {
        self.table.wait_until(location, || self.is_open());
    }

    fn open(&self) {
        self.open.store(true, Ordering::Relaxed);
        self.table.wake_everybody();
    }

    /// Returns when `count` threads are asleep, and who they are.
    fn asleep(&self, count: usize) -> Vec<Waiter> {
        loop {
            let report = self.table.waiters();
            if report.len() == count && report.iter().all(|waiter| waiter.activity() == Activity::Asleep) {
                return report.to_vec();
            }
            thread::yield_now();
        }
    }
}

#[test]
fn nobody_waits() {
    let table = WaitTable::with_slots(8);
    let report = table.waiters();
    assert!(report.is_empty());
    assert_eq!(report.busy_slots(), 0);
    assert_eq!(report.to_string(), "layby: 0 waiting, 0 slots busy\n");
}

#[test]
fn names_keys_slots_and_times() {
    let _watchdog = watchdog();
    let door = Door::new(16);
    let numbers = thread::scope(|s| {
        named(s, "address", || door.pass(&door));
        named(s, "ticket", || door.pass(Key::ticket(&door, 7)));
        let report = door.asleep(2);
        let of = |key: Key| *report.iter().find(|waiter| waiter.key() == key).expect("a waiter of this key");
        let (address, ticket) = (of(Key::address(&door)), of(Key::ticket(&door, 7)));
        assert_eq!((ticket.key().location(), ticket.key().ticket_number()), (address.key().location(), Some(7)));
        assert_eq!(address.key().ticket_number(), None);
        assert_eq!(ticket.slot(), (address.slot() + 7 * 17) % 16, "17 slots for each ticket");
        if FULL_REPORTS {
            assert_eq!((address.thread_name(), ticket.thread_name()), (Some("address"), Some("ticket")));
            assert!(address.waited().is_some() && address.thread_id().is_some());
            let line = ticket.to_string();
            for part in ["thread \"ticket\" (", ") asleep for ", ", ticket 7"] {
                assert!(line.contains(part), "{line}");
            }
        }
        door.open();
        [address, ticket].map(|waiter| waiter.thread_id())
    });
    assert!(!FULL_REPORTS || numbers[0] != numbers[1]);
    assert!(door.table.waiters().is_empty());
}

/// A waiter that has not slept yet is awake, and has not waited.
#[test]
fn a_waiter_that_looks_at_its_condition_is_awake() {
    let _watchdog = watchdog();
    let table = leaked(1);
    let (looks, go_on) = (Tally::new(), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            table.wait_if(&go_on, || {
                looks.add();
                eventually(|| go_on.load(Ordering::Relaxed));
                false
            })
        });
        looks.reaches(1);
        let report = table.waiters();
        assert_eq!(report.len(), 1);
        assert_eq!((report[0].activity(), report[0].waited()), (Activity::Awake, None));
        go_on.store(true, Ordering::Relaxed);
    });
}

/// A wake-up for nothing does not make a wait a new one.
#[test]
fn the_time_is_that_of_the_whole_wait() {
    const LONG: Duration = Duration::from_millis(50);
    let _watchdog = watchdog();
    let door = Door::new(1);
    thread::scope(|s| {
        let start = Instant::now();
        s.spawn(|| door.pass(&door));
        if FULL_REPORTS {
            let waited = || door.asleep(1)[0].waited().expect("the platform has a clock");
            eventually(|| waited() >= LONG);
            assert_eq!(door.table.wake_all(&door), 1);
            let after = waited();
            // A tick of the coarsest clock there is, that of Windows.
            assert!((LONG..start.elapsed() + Duration::from_millis(20)).contains(&after), "{after:?}");
        }
        door.open();
    });
}

/// An element that was left behind is used again: that is a new wait.
#[test]
fn the_time_is_not_that_of_an_earlier_wait() {
    const LONG: Duration = Duration::from_millis(500);
    let _watchdog = watchdog();
    let door = Door::new(1);
    thread::scope(|s| {
        let (send, second_wait) = mpsc::channel();
        let door = &door;
        s.spawn(move || {
            door.table.location_wait(door);
            let soon = Instant::now() + LONG;
            while door.table.location_wait_deadline(door, soon) == layby::WaitOutcome::Woken {}
            send.send(Instant::now()).unwrap();
            while !door.is_open() {
                door.table.location_wait(door);
            }
        });
        let start = second_wait.recv().unwrap();
        let waited = door.asleep(1)[0].waited();
        // A tick of the coarsest clock there is, that of Windows.
        let most = start.elapsed() + Duration::from_millis(20);
        assert!(waited.is_none_or(|waited| waited <= most), "{waited:?}, but at most {most:?}");
        door.open();
    });
}

/// The forms that may leave an element behind: it is not reported unless its owner waits.
#[test]
fn a_lingering_element_is_no_waiter() {
    let _watchdog = watchdog();
    let door = Door::new(1);
    let (go_on, may_go_on) = mpsc::channel();
    let (left, has_left) = mpsc::channel();
    thread::scope(|s| {
        let door = &door;
        let guest = s.spawn(move || {
            // Only publishes.
            door.table.location_wait(door);
            left.send("published").unwrap();
            may_go_on.recv().unwrap();
            // Times out asleep; whether it slept may be a matter of luck, that it left is not.
            let soon = Instant::now() + Duration::from_millis(1);
            while door.table.location_wait_deadline(door, soon) == layby::WaitOutcome::Woken {}
            left.send("timed out").unwrap();
            may_go_on.recv().unwrap();
            while !door.is_open() {
                door.table.location_wait(door);
            }
        });
        for _ in 0..2 {
            let how = has_left.recv().unwrap();
            assert!(format!("{:?}", door.table).contains("occupied: 1"), "{how}: the element should linger");
            assert_eq!(door.table.waiters().len(), 0, "{how}");
            go_on.send(()).unwrap();
        }
        door.asleep(1);
        door.open();
        guest.join().unwrap();
    });
}

/// Every form of waiting is reported.
#[test]
fn in_every_form() {
    let _watchdog = watchdog();
    const FOREVER: Duration = Duration::from_secs(1 << 30);
    for form in Form::ALL {
        let door = Door::new(1);
        thread::scope(|s| {
            let door = &door;
            let guest = named(s, "guest", move || {
                while !door.is_open() {
                    form.wait(door.table, Key::address(door), FOREVER, || door.is_open());
                }
            });
            let waiter = door.asleep(1)[0];
            assert_eq!(waiter.key(), Key::address(door), "{form:?}");
            assert_eq!(waiter.thread_name(), FULL_REPORTS.then_some("guest"), "{form:?}");
            door.open();
            guest.join().unwrap();
        });
    }
}

/// More than are copied at a time, all in one slot: each is there once.
#[test]
fn many_in_one_slot() {
    const MANY: usize = 100;
    let _watchdog = watchdog();
    let door = Door::new(1);
    thread::scope(|s| {
        for number in 0..MANY {
            let door = &door;
            named(s, format!("guest-{number}"), move || door.pass(Key::ticket(door, number as u64)));
        }
        let report = door.asleep(MANY);
        let tickets: BTreeSet<_> = report.iter().map(|waiter| waiter.key().ticket_number().unwrap()).collect();
        assert!(tickets.into_iter().eq(0..MANY as u64), "each of them, and once");
        if FULL_REPORTS {
            let is_right = |waiter: &Waiter| {
                waiter.thread_name() == Some(&format!("guest-{}", waiter.key().ticket_number().unwrap()))
            };
            assert!(report.iter().all(is_right));
            assert!(report.is_sorted_by_key(|waiter| std::cmp::Reverse(waiter.waited())), "longest first");
        }
        let mut text = String::new();
        door.table.dump_waiters(&mut text).unwrap();
        assert_eq!(text.lines().count(), MANY + 1, "{text}");
        assert!(text.ends_with("layby: 100 waiting, 0 slots busy\n"), "{text}");
        door.open();
    });
}

/// How often each ticket is in a report. During its first visit, `meanwhile` is called.
fn tickets_in_report(table: &WaitTable, meanwhile: impl FnOnce()) -> BTreeMap<u64, usize> {
    let mut times = BTreeMap::new();
    let mut meanwhile = Some(meanwhile);
    let busy = table.for_each_waiter(|waiter| {
        *times.entry(waiter.key().ticket_number().unwrap()).or_default() += 1;
        if let Some(meanwhile) = meanwhile.take() {
            meanwhile();
        }
    });
    assert_eq!(busy, 0);
    times
}

fn once_each(tickets: impl IntoIterator<Item = u64>) -> BTreeMap<u64, usize> {
    tickets.into_iter().map(|ticket| (ticket, 1)).collect()
}

/// More than are copied at a time, and another report between the first of them and the rest: each is in both, once.
#[test]
fn a_report_within_a_report() {
    const MANY: u64 = 20;
    let _watchdog = watchdog();
    let door = Door::new(1);
    thread::scope(|s| {
        for number in 0..MANY {
            let door = &door;
            s.spawn(move || door.pass(Key::ticket(door, number)));
        }
        door.asleep(MANY as usize);
        let mut inner = BTreeMap::new();
        let outer = tickets_in_report(door.table, || inner = tickets_in_report(door.table, || {}));
        door.open();
        assert_eq!((outer, inner), (once_each(0..MANY), once_each(0..MANY)));
    });
}

/// Between the first visit and the rest half of them leave and come back with other tickets, and other reports are
/// made: who stays is there once. They wait by their threads' own elements, which are published again.
#[test]
fn who_stays_is_reported_once() {
    const MANY: u64 = 60;
    let _watchdog = watchdog();
    let (table, admitted) = (leaked(1), AtomicU64::new(0));
    let wait = |ticket: u64| {
        while admitted.load(Ordering::SeqCst) <= ticket {
            table.location_wait(Key::ticket(&admitted, ticket));
        }
    };
    let admit = |tickets: u64| {
        admitted.store(tickets, Ordering::SeqCst);
        // More tickets than slots: nobody else is disturbed.
        table.wake_tickets_seqcst(&admitted, 0..=tickets - 1);
    };
    let wait_for = |tickets: std::ops::Range<u64>| {
        let all: BTreeSet<_> = tickets.collect();
        let ticket_of = |waiter: &Waiter| waiter.key().ticket_number().unwrap();
        eventually(|| table.waiters().iter().map(ticket_of).collect::<BTreeSet<_>>() == all);
    };
    thread::scope(|s| {
        for number in 0..MANY {
            s.spawn(move || {
                wait(number);
                wait(number + MANY);
            });
        }
        wait_for(0..MANY);
        let mut report = tickets_in_report(table, || {
            admit(MANY / 2);
            wait_for(MANY / 2..MANY + MANY / 2);
        });
        admit(2 * MANY);
        report.retain(|ticket, _| (MANY / 2..MANY).contains(ticket));
        assert_eq!(report, once_each(MANY / 2..MANY));
    });
}

/// All are woken for nothing between the first visit and the rest: none of those who are back passes for reported.
/// There are as many visits as there were threads.
#[test]
fn who_is_back_is_not_taken_for_reported() {
    const MANY: usize = 32;
    let _watchdog = watchdog();
    let (table, looks, open) = (leaked(1), Tally::new(), AtomicBool::new(false));
    let look = || {
        looks.add();
        open.load(Ordering::Relaxed)
    };
    thread::scope(|s| {
        for _ in 0..MANY {
            s.spawn(|| table.wait_until(&open, look));
        }
        // Each looks before it is published, and after.
        looks.reaches(2 * MANY);
        let visits = Tally::new();
        table.for_each_waiter(|_| {
            if visits.get() == 0 {
                table.wake_all(&open);
                looks.reaches(4 * MANY);
            }
            visits.add();
        });
        open.store(true, Ordering::Relaxed);
        table.wake_all(&open);
        assert_eq!(visits.get(), MANY);
    });
}

/// A report ends, though there is a new waiter for each one that it shows.
#[test]
fn waiters_may_come_faster_than_they_are_shown() {
    const MORE_THAN_A_BATCH: usize = 17;
    counting_backend!(Growing);
    let _watchdog = watchdog();
    let table: WaitTable<Growing> = WaitTable::with_slots_in(1);
    let open = AtomicBool::new(false);
    thread::scope(|s| {
        let wait = || table.wait_until(&open, || open.load(Ordering::Relaxed));
        for waiters in 1..=MORE_THAN_A_BATCH {
            s.spawn(wait);
            Growing::waits().reaches(waiters);
        }
        let mut visits = 0;
        table.for_each_waiter(|_| {
            visits += 1;
            if visits < 10 * MORE_THAN_A_BATCH {
                s.spawn(wait);
                Growing::waits().reaches(MORE_THAN_A_BATCH + visits);
            }
        });
        open.store(true, Ordering::Relaxed);
        table.wake_all(&open);
        assert!((MORE_THAN_A_BATCH..10 * MORE_THAN_A_BATCH).contains(&visits), "{visits} visits");
    });
}

/// From a primitive to the threads that wait for it.
#[test]
fn who_waits_for_a_semaphore_or_a_mutex() {
    let _watchdog = watchdog();
    let (semaphore, other, mutex) = (Semaphore::new(0), Semaphore::new(0), Mutex::new([0; 100]));
    let wait_for = |object: &dyn Fn(Key) -> bool, count| {
        eventually(|| {
            let report = layby::waiters();
            report.iter().filter(|waiter| object(waiter.key())).count() == count
        });
    };
    thread::scope(|s| {
        let guard = mutex.lock();
        for _ in 0..3 {
            s.spawn(|| semaphore.take());
        }
        s.spawn(|| drop(mutex.lock()));
        wait_for(&|key| key.is_within(&semaphore), 3);
        wait_for(&|key| key.is_within(&mutex), 1);
        wait_for(&|key| key.is_within(&other), 0);
        semaphore.post_many(3);
        drop(guard);
    });
}

/// Reports do not disturb: waits in every form, and semaphores, on one slot, while two threads report all the time.
#[test]
fn nothing_is_lost_while_reports_are_made() {
    let _watchdog = watchdog();
    let table = leaked(1);
    let (done, reports, seen) = (AtomicBool::new(false), Tally::new(), Tally::new());
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    table.for_each_waiter(|_| seen.add());
                    reports.add();
                }
            });
        }
        reports.reaches(2);
        let rallies = [(); 2].map(|()| s.spawn(|| Rally::run(table, scaled(500))));
        rallies.into_iter().for_each(|rally| rally.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert!(seen.get() > 0, "the reports saw nobody");
    assert_eq!(table.wake_all(table), 0, "nothing is left");
}

/// A visitor may wake, wait, and make reports itself: even wait for what the thread that it is shown does next.
#[test]
fn a_visitor_may_wait() {
    let _watchdog = watchdog();
    let table = leaked(1);
    let (first, second) = (AtomicBool::new(false), AtomicBool::new(false));
    let set = |flag: &AtomicBool| {
        flag.store(true, Ordering::Relaxed);
        table.wake_all(flag);
    };
    thread::scope(|s| {
        s.spawn(|| {
            table.wait_until(&first, || first.load(Ordering::Relaxed));
            set(&second);
        });
        eventually(|| table.waiters().len() == 1);
        let visits = Tally::new();
        table.for_each_waiter(|waiter| {
            visits.add();
            assert_eq!(waiter.key(), Key::address(&first));
            assert_eq!(table.waiters().len(), 1);
            set(&first);
            table.wait_until(&second, || second.load(Ordering::Relaxed));
        });
        assert_eq!(visits.get(), 1);
    });
}

#[test]
fn a_visitor_may_panic() {
    let _watchdog = watchdog();
    let door = Door::new(1);
    thread::scope(|s| {
        s.spawn(|| door.pass(&door));
        door.asleep(1);
        let visit = || door.table.for_each_waiter(|_| panic!("a visitor"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(visit)).is_err());
        door.asleep(1);
        door.open();
    });
}

/// An error of the writer ends the report, and nothing else.
#[test]
fn a_writer_may_fail() {
    struct Full;
    impl std::fmt::Write for Full {
        fn write_str(&mut self, _: &str) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    assert!(global().dump_waiters(&mut Full).is_err());
}

/// What comes after an error is missing, even if the writer would take it.
#[test]
fn a_writer_may_fail_once() {
    struct FailsAtFirst(usize);
    impl std::fmt::Write for FailsAtFirst {
        fn write_str(&mut self, _: &str) -> std::fmt::Result {
            self.0 += 1;
            if self.0 == 1 { Err(std::fmt::Error) } else { Ok(()) }
        }
    }
    let table = leaked(1);
    let mut writer = FailsAtFirst(0);
    // Two waiters: the one inside the other.
    table.wait_if(Key::ticket(table, 1), || {
        table.wait_if(Key::ticket(table, 2), || {
            assert!(table.dump_waiters(&mut writer).is_err());
            false
        });
        false
    });
    assert_eq!(writer.0, 1, "writes after the error");
}

/// Reports to standard error, by signal and by the debugger's function, of a process that hangs. Miri has neither signals nor processes.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_park, miri))))]
#[allow(unsafe_code, reason = "kill, and the function by its C name")]
mod on_demand {
    use super::*;
    use std::{
        env,
        io::{BufRead, BufReader},
        process::{Child, Stdio},
    };

    const HOW: &str = "LAYBY_TEST_REPORT";

    unsafe extern "C" {
        safe fn layby_dump_waiters_v0_1();
    }

    /// Runs the named test in a process of its own, where `how` is in the environment.
    fn process(test: &str, how: &str) -> Child {
        let mut process = crate::common::process::running(test, HOW, how);
        process.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    /// A process that hangs: its `victim` waits forever. Calls `then` when it sleeps.
    fn hang(then: impl FnOnce()) -> ! {
        static NEVER: Semaphore = Semaphore::new(0);
        thread::Builder::new().name("victim".into()).spawn(|| NEVER.take()).unwrap();
        eventually(|| layby::waiters().first().is_some_and(|waiter| waiter.activity() == Activity::Asleep));
        then();
        loop {
            thread::park();
        }
    }

    /// The victim is in the report that comes on `child`'s standard error. When the line `ready` comes, `ask` is called.
    fn reports_the_victim(mut child: Child, ask: impl Fn(libc::pid_t)) {
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut victims = 0;
        for line in lines.by_ref() {
            match line.as_str() {
                "ready" => ask(libc::pid_t::try_from(child.id()).unwrap()),
                "layby: 1 waiting, 0 slots busy" => break,
                line if line.contains("thread \"victim\" (") && line.contains(", ticket 0") => victims += 1,
                line => panic!("not expected: {line}"),
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(victims, 1);
    }

    #[test]
    fn by_signal() {
        if env::var_os(HOW).is_some() {
            layby::dump_waiters_on_signal(libc::SIGUSR1).unwrap();
            hang(|| eprintln!("ready"));
        }
        let _watchdog = watchdog();
        reports_the_victim(process("waiters::on_demand::by_signal", "signal"), |pid| {
            // SAFETY: the process is ours and has not been waited for.
            assert_eq!(unsafe { libc::kill(pid, libc::SIGUSR1) }, 0);
        });
    }

    #[test]
    fn by_a_debugger() {
        if env::var_os(HOW).is_some() {
            hang(|| layby_dump_waiters_v0_1());
        }
        let _watchdog = watchdog();
        reports_the_victim(process("waiters::on_demand::by_a_debugger", "debugger"), |_| {});
    }

    /// Neither the error of its last system call, which one of the report's own may overwrite, nor an interrupted call.
    #[test]
    fn the_interrupted_code_notices_nothing() {
        if env::var_os(HOW).is_some() {
            layby::dump_waiters_on_signal(libc::SIGUSR1).unwrap();
            // SAFETY: an all-zero sigaction is a valid place to write one to; this process does not use its standard error.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                assert_eq!(libc::sigaction(libc::SIGUSR1, std::ptr::null(), &raw mut action), 0);
                assert_ne!(action.sa_flags & libc::SA_RESTART, 0);
                libc::close(libc::STDERR_FILENO);
            }
            // In one's own handler, or called by a debugger, it must be the same.
            let by_signal = || {
                // SAFETY: its handler has been installed.
                unsafe { libc::raise(libc::SIGUSR1) };
            };
            for report in [by_signal, layby::dump_waiters, || layby_dump_waiters_v0_1()] {
                // SAFETY: there is no such signal, so that the call does nothing but fail.
                assert_eq!(unsafe { libc::kill(0, -1) }, -1);
                report();
                assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EINVAL));
            }
            return;
        }
        let _watchdog = watchdog();
        let mut child = process("waiters::on_demand::the_interrupted_code_notices_nothing", "signal");
        assert!(child.wait().unwrap().success());
    }

    /// A thread that is to be cancelled is not, while it waits; though a handler makes a report there.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_report_is_no_cancellation_point() {
        use std::{os::unix::thread::JoinHandleExt, sync::atomic::AtomicUsize};

        unsafe extern "C" {
            fn pthread_setcancelstate(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
        }
        const DISABLE: libc::c_int = 1;

        static REPORTS: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn report(_: libc::c_int) {
            layby::dump_waiters();
            REPORTS.fetch_add(1, Ordering::Relaxed);
        }

        static PERMITS: Semaphore = Semaphore::new(0);
        if env::var_os(HOW).is_some() {
            let victim = thread::spawn(|| {
                PERMITS.take();
                // The end of a thread has cancellation points.
                // SAFETY: a null place for the old state is allowed.
                assert_eq!(unsafe { pthread_setcancelstate(DISABLE, std::ptr::null_mut()) }, 0);
            });
            eventually(|| layby::waiters().first().is_some_and(|waiter| waiter.activity() == Activity::Asleep));
            // SAFETY: an all-zero sigaction is a valid one; the handler does what a handler may; the thread has not been joined.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = report as *const () as usize;
                assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
                assert_eq!(libc::pthread_cancel(victim.as_pthread_t()), 0);
                assert_eq!(libc::pthread_kill(victim.as_pthread_t(), libc::SIGUSR1), 0);
            }
            eventually(|| REPORTS.load(Ordering::Relaxed) == 1);
            PERMITS.post();
            victim.join().unwrap();
            return;
        }
        let _watchdog = watchdog();
        let mut child = process("waiters::on_demand::a_report_is_no_cancellation_point", "signal");
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn faults_still_end_the_process() {
        let of_faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
        for signal in of_faults.into_iter().chain([libc::SIGKILL, libc::SIGSTOP]) {
            let error = layby::dump_waiters_on_signal(signal).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("SIG"), "it says why: {error}");
        }
    }

    #[test]
    fn another_handler_is_left_alone() {
        extern "C" fn another(_: libc::c_int) {}

        // SAFETY: an all-zero sigaction is a valid one, and the handler does nothing. No other test uses this signal.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = another as *const () as usize;
            assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()), 0);
        }
        let refused = layby::dump_waiters_on_signal(libc::SIGUSR2).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::AlreadyExists);
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_DFL) };
        for _ in 0..2 {
            layby::dump_waiters_on_signal(libc::SIGUSR2).expect("the second time it is our own");
        }
    }

    #[test]
    fn a_signal_that_does_not_exist() {
        assert!(layby::dump_waiters_on_signal(-1).is_err());
    }
}
