//! Eventcounts, sequencers and wait points on the real backends. Proves nothing about orderings; see
//! `tests/loom/eventcount.rs`.

#![cfg(not(layby_model))]

mod common;

use common::{Shared, eventually, few, scaled, watchdog};
use layby::eventcount::{EventCount, Sequencer, WaitPoint};
use layby::sys::Backend;
use layby::wait_table::{Activity, Home};
use layby::{Closed, Key, WaitError, WaitOutcome, WaitTable};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

common::on_every_backend!(
    each_waiter_gets_a_value_that_it_waited_for,
    advances_by_more_than_the_table_has_slots,
    closing_lets_every_waiter_return_and_later_ones_too,
    a_timeout_tells_progress_from_none,
    sequencer_and_count_make_a_mutex,
    a_range_wakes_its_tickets_and_no_others,
    a_wait_point_loses_no_notification,
    notify_all_reaches_all_who_wait,
    a_wait_point_times_out_and_cancels,
);

/// Of two who wait the first is notified, and its attempt panics: the other gets what is there.
#[test]
#[cfg_attr(miri, ignore = "asks what threads do, which Miri does not know")]
fn an_attempt_that_panics_passes_its_notification_on() {
    let _watchdog = watchdog();
    let (items, added, panics) = (Mutex::new(vec![]), WaitPoint::new(), AtomicBool::new(false));
    let sleepers = |count| {
        let is_asleep = |waiter: &layby::wait_table::Waiter| {
            waiter.key().is_within(&added) && waiter.activity() == Activity::Asleep
        };
        eventually(|| layby::waiters().iter().filter(|waiter| is_asleep(waiter)).count() == count);
    };
    let panicking = || panics.load(Ordering::Relaxed).then(|| -> u32 { std::panic::resume_unwind(Box::new(())) });
    thread::scope(|s| {
        let first = s.spawn(|| added.wait_for(panicking));
        sleepers(1);
        let second = s.spawn(|| added.wait_for(|| items.lock().unwrap().pop()));
        sleepers(2);
        panics.store(true, Ordering::Relaxed);
        items.lock().unwrap().push(7);
        assert!(added.notify_one());
        assert!(first.join().is_err());
        assert_eq!(second.join().unwrap(), 7);
    });
}

#[test]
fn each_takes_eight_bytes() {
    let _watchdog = watchdog();
    assert_eq!(size_of::<EventCount>(), 8);
    assert_eq!(size_of::<Sequencer>(), 8);
    assert_eq!(size_of::<WaitPoint>(), 8);
}

#[test]
fn advancing_returns_the_new_count() {
    let _watchdog = watchdog();
    static COUNT: EventCount = EventCount::new();
    assert_eq!(COUNT.read(), 0);
    assert_eq!(COUNT.advance(), 1);
    assert_eq!(COUNT.advance_by(41), 42);
    assert_eq!(COUNT.advance_by(0), 42);
    assert_eq!(COUNT.read(), 42);
    assert_eq!(COUNT.wait_at_least(40), Ok(42));
}

/// A waiter for each of `values`, which reports its value and how its wait ended.
fn waiters<'s, H: Home>(
    scope: &'s thread::Scope<'s, '_>,
    count: &'s EventCount<H>,
    values: impl Iterator<Item = u64>,
) -> mpsc::Receiver<(u64, Result<u64, Closed>)> {
    let (sender, reports) = mpsc::channel();
    for value in values {
        let sender = sender.clone();
        scope.spawn(move || sender.send((value, count.wait_at_least(value))).unwrap());
    }
    reports
}

/// How many threads wait for a value of `count`.
fn in_line<H: Home>(count: &EventCount<H>) -> usize {
    let location = Key::address(count).location();
    H::TABLE.waiters().iter().filter(|waiter| waiter.key().location() == location).count()
}

fn each_waiter_gets_a_value_that_it_waited_for<H: Home>() {
    let last = scaled(100) as u64;
    let count = EventCount::<H>::new_in();
    thread::scope(|s| {
        let reports = waiters(s, &count, 1..=last);
        for now in 1..=last {
            assert_eq!(count.advance(), now);
            let (value, seen) = reports.recv().unwrap();
            let seen = seen.expect("it is open");
            assert!(value <= seen && seen <= now, "{value} was awaited, {seen} seen, at {now}");
        }
    });
}

#[test]
fn a_waiter_is_not_let_through_before_its_value() {
    let _watchdog = watchdog();
    let count = EventCount::new();
    let (early, late) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        let waiter = s.spawn(|| {
            assert_eq!(count.wait_at_least(10), Ok(10));
            assert!(late.load(Ordering::Relaxed), "let through early: {early:?}");
        });
        for _ in 0..9 {
            count.advance();
        }
        early.store(true, Ordering::Relaxed);
        assert_eq!(count.wait_at_least_timeout(10, Duration::from_millis(20)), Err(WaitError::TimedOut));
        assert!(!waiter.is_finished());
        late.store(true, Ordering::Relaxed);
        count.advance();
    });
}

fn advances_by_more_than_the_table_has_slots<H: Home>() {
    let slots = H::TABLE.slots() as u64;
    let count = EventCount::<H>::new_in();
    thread::scope(|s| {
        let reached = [1, 2, slots - 1, slots, slots + 1, 2 * slots, 3 * slots];
        let reports = waiters(s, &count, reached.into_iter());
        let beyond = waiters(s, &count, [3 * slots + 1].into_iter());
        count.advance_by(3 * slots);
        for _ in reached {
            let (value, seen) = reports.recv().unwrap();
            assert!(value <= seen.expect("it is open"));
        }
        assert!(beyond.try_recv().is_err(), "its value has not been reached");
        count.advance();
        assert_eq!(beyond.recv().unwrap(), (3 * slots + 1, Ok(3 * slots + 1)));
    });
}

fn closing_lets_every_waiter_return_and_later_ones_too<H: Home>() {
    let count = EventCount::<H>::new_in();
    count.advance_by(3);
    let late = few(20) as u64;
    thread::scope(|s| {
        let reports = waiters(s, &count, (4..4 + late).chain([EventCount::MAX, u64::MAX]));
        assert!(!count.is_closed());
        // In line, so that it is the close that lets them go.
        while in_line(&count) < few(20) + 2 {
            thread::yield_now();
        }
        count.close();
        for _ in 0..late + 2 {
            let (value, seen) = reports.recv().unwrap();
            assert!(seen == Err(Closed) && value > 3, "{value} {seen:?}");
        }
    });
    assert!(count.is_closed());
    assert_eq!(count.wait_at_least(2), Ok(3), "reached");
    assert_eq!(count.wait_at_least(100), Err(Closed));
    assert_eq!(count.wait_at_least_timeout(100, Duration::MAX), Err(WaitError::Closed));
    assert_eq!(count.advance(), 4, "a closed count can be advanced");
    assert_eq!(count.wait_at_least_deadline(100, Instant::now()), Err(WaitError::Closed));
    assert_eq!(format!("{count:?}"), "EventCount { count: 4, closed: true }");
}

fn a_timeout_tells_progress_from_none<H: Home>() {
    let count = EventCount::<H>::new_in();
    let deadline = Instant::now() + Duration::from_millis(5);
    assert_eq!(count.wait_at_least_deadline(1, deadline), Err(WaitError::TimedOut));
    assert!(Instant::now() >= deadline);
    assert_eq!(count.wait_at_least_timeout(1, Duration::ZERO), Err(WaitError::TimedOut));
    count.advance();
    assert_eq!(count.wait_at_least_timeout(1, Duration::ZERO), Ok(1));
    thread::scope(|s| {
        s.spawn(|| count.advance_by(5));
        assert_eq!(count.wait_at_least_timeout(3, Duration::MAX), Ok(6));
    });
}

/// Promise 9 (README).
#[test]
fn an_overflow_panics_and_changes_nothing() {
    let _watchdog = watchdog();
    let count = EventCount::new();
    let refuses = |n| catch_unwind(AssertUnwindSafe(|| count.advance_by(n))).is_err();
    assert!(refuses(u64::MAX));
    assert!(refuses(EventCount::MAX + 1));
    assert_eq!(count.read(), 0);
    // More than fits into the word, too.
    count.advance();
    assert!(refuses(u64::MAX));
    assert_eq!(count.read(), 1);
    assert_eq!(count.advance_by(EventCount::MAX - 2), EventCount::MAX - 1);
    assert!(refuses(2));
    assert_eq!(count.advance(), EventCount::MAX);
    assert!(refuses(1));
    assert!(refuses(1 << 40));
    assert_eq!(count.read(), EventCount::MAX);
    assert!(!count.is_closed());

    let tickets = Sequencer::new();
    assert_eq!(tickets.tickets(EventCount::MAX), 0);
    assert!(catch_unwind(AssertUnwindSafe(|| tickets.ticket())).is_err());
    assert_eq!(tickets.tickets_below(1, u64::MAX), None);
}

#[test]
fn tickets_are_given_out_once() {
    let _watchdog = watchdog();
    const THREADS: usize = 4;
    let each = scaled(1000) as u64;
    let tickets = Sequencer::new();
    let drawn = Mutex::new(vec![]);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                let mut mine = vec![];
                for n in 0..each {
                    let first = if n % 2 == 0 { tickets.ticket() } else { tickets.tickets(2) };
                    mine.extend(first..=first + n % 2);
                }
                assert!(mine.is_sorted(), "later tickets are greater");
                drawn.lock().unwrap().append(&mut mine);
            });
        }
    });
    let mut drawn = drawn.into_inner().unwrap();
    drawn.sort_unstable();
    assert!(drawn.iter().copied().eq(0..THREADS as u64 * each * 3 / 2));
    assert_eq!(tickets.peek(), drawn.len() as u64);
    let next = tickets.peek();
    assert_eq!(tickets.tickets_below(2, next + 1), None, "one of the two is not below the limit");
    assert_eq!((tickets.tickets_below(1, next + 1), tickets.peek()), (Some(next), next + 1));
}

fn sequencer_and_count_make_a_mutex<H: Home>() {
    const THREADS: u64 = 6;
    let rounds = scaled(500) as u64;
    let (tickets, served) = (Sequencer::new(), EventCount::<H>::new_in());
    let inside = Mutex::new(0_u64);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for _ in 0..rounds {
                    let mine = tickets.ticket();
                    assert_eq!(served.wait_at_least(mine), Ok(mine), "nobody goes before the one whose turn it is");
                    let mut entered = inside.try_lock().expect("one at a time");
                    assert_eq!(*entered, mine);
                    *entered += 1;
                    drop(entered);
                    served.advance();
                }
            });
        }
    });
    assert_eq!(served.read(), THREADS * rounds);
}

/// Promise 8 (README). A touch of the freed count is for Miri and a sanitizer to see; without them the test shows that nothing
/// hangs.
#[test]
#[allow(unsafe_code)]
fn a_waiter_may_free_the_count_at_once() {
    let _watchdog = watchdog();
    for _ in 0..scaled(1000) {
        let count = Shared::new(EventCount::new());
        let waiter = thread::spawn(move || {
            // SAFETY: freed by nobody but us, when the one advance has happened.
            unsafe {
                assert_eq!(count.get().wait_at_least(1), Ok(1));
                count.free();
            }
        });
        // SAFETY: alive until the advance has happened, after which it is not touched.
        unsafe { count.get() }.advance();
        waiter.join().unwrap();
    }
}

/// Runs `check` while threads wait on a table, each for a ticket from 1 to 10.
fn on_every_ticket<B: Backend>(slots: usize, check: impl FnOnce(&WaitTable<B>, &u64)) {
    const TICKETS: u64 = 10;
    let table = WaitTable::<B>::with_slots_in(slots);
    let (location, over, published) = (0_u64, AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|s| {
        for ticket in 1..=TICKETS {
            let (table, location, over, published) = (&table, &location, &over, &published);
            s.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    table.wait_if(Key::ticket_at(location, ticket), || {
                        published.fetch_add(1, Ordering::SeqCst);
                        !over.load(Ordering::SeqCst)
                    });
                }
            });
        }
        while published.load(Ordering::SeqCst) < TICKETS as usize {
            thread::yield_now();
        }
        check(&table, &location);
        over.store(true, Ordering::SeqCst);
        table.wake_tickets_seqcst(&location, 0..=u64::MAX);
    });
}

fn a_range_wakes_its_tickets_and_no_others<H: Home>() {
    // More tickets than slots: chosen one by one, strangers stay asleep.
    on_every_ticket::<H::Backend>(1, |table, location| {
        let stranger = 0_u64;
        assert_eq!(table.wake_tickets_seqcst(&stranger, 0..=u64::MAX), 0);
        assert_eq!(table.wake_tickets_seqcst(location, 11..=30), 0);
        assert_eq!(table.wake_tickets_seqcst(location, 4..=6), 3);
    });
    // More slots than tickets: one look at each ticket's slot, in which it is alone.
    on_every_ticket::<H::Backend>(64, |table, location| {
        assert_eq!(table.wake_tickets_seqcst(location, 11..=20), 0);
        assert_eq!(table.wake_tickets_seqcst(location, 4..=6), 3);
        #[allow(clippy::reversed_empty_ranges, reason = "an advance by nothing")]
        let nothing = 7..=6;
        assert_eq!(table.wake_tickets_seqcst(location, nothing), 0);
    });
}

/// Tokens that can be taken without a lock: what a wait point is put on top of.
struct Tokens<H: Home> {
    left: AtomicU64,
    arrived: WaitPoint<H>,
}

impl<H: Home> Tokens<H> {
    fn none() -> Self {
        Self { left: AtomicU64::new(0), arrived: WaitPoint::new_in() }
    }

    fn try_take(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn add(&self, n: u64) {
        self.left.fetch_add(n, Ordering::Relaxed);
    }
}

fn a_wait_point_loses_no_notification<H: Home>() {
    const TAKERS: u64 = few(8) as u64;
    let each = scaled(2000) as u64;
    let tokens = Tokens::<H>::none();
    thread::scope(|s| {
        for _ in 0..TAKERS {
            s.spawn(|| {
                for _ in 0..each {
                    tokens.arrived.wait_until(|| tokens.try_take());
                }
            });
        }
        for _ in 0..2 {
            s.spawn(|| {
                for _ in 0..TAKERS * each / 2 {
                    tokens.add(1);
                    tokens.arrived.notify_one();
                }
            });
        }
    });
    assert_eq!(tokens.left.into_inner(), 0);
}

fn notify_all_reaches_all_who_wait<H: Home>() {
    const WAITERS: usize = few(16);
    let (point, prepared, open) = (WaitPoint::<H>::new_in(), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|s| {
        for _ in 0..WAITERS {
            s.spawn(|| {
                let mut first = true;
                point.wait_until(|| {
                    if !first {
                        prepared.fetch_add(1, Ordering::Relaxed);
                    }
                    first = false;
                    open.load(Ordering::Relaxed)
                });
            });
        }
        while prepared.load(Ordering::Relaxed) < WAITERS {
            thread::yield_now();
        }
        open.store(true, Ordering::Relaxed);
        point.notify_all();
    });
    assert_eq!(format!("{point:?}"), "WaitPoint { waiters: 0, .. }");
}

#[test]
fn a_notification_between_prepare_and_commit_ends_the_commit() {
    let _watchdog = watchdog();
    let point = WaitPoint::new();
    let one = |point: &WaitPoint| assert!(!point.notify_one(), "it does not wait yet");
    let all = |point: &WaitPoint| assert_eq!(point.notify_all(), 0, "it does not wait yet");
    for notify in [one as fn(&WaitPoint), all] {
        let prepared = point.prepare();
        notify(&point);
        prepared.commit();

        let prepared = point.prepare();
        notify(&point);
        assert_eq!(prepared.commit_deadline(Instant::now()), WaitOutcome::Woken);
    }
}

/// Threads and tasks; a task that has been woken and not polled since is not woken again.
#[test]
fn a_notification_says_whom_it_woke() {
    let _watchdog = watchdog();
    common::homes::home!(Alone, layby::sys::Native, 8);
    let (point, open) = (WaitPoint::<Alone>::new_in(), AtomicBool::new(false));
    let is_open = || open.load(Ordering::Relaxed);
    assert_eq!((point.notify_one(), point.notify_all()), (false, 0), "nobody waits");
    let mut context = Context::from_waker(Waker::noop());
    let mut tasks = [pin!(point.wait_until_async(is_open)), pin!(point.wait_until_async(is_open))];
    assert!(tasks.iter_mut().all(|task| task.as_mut().poll(&mut context).is_pending()));
    assert_eq!([(); 3].map(|()| point.notify_one()), [true, true, false]);
    assert!(tasks.iter_mut().all(|task| task.as_mut().poll(&mut context).is_pending()));
    thread::scope(|s| {
        s.spawn(|| point.wait_until(is_open));
        eventually(|| Alone::TABLE.waiters().iter().count() == 3);
        open.store(true, Ordering::Relaxed);
        assert_eq!(point.notify_all(), 3);
    });
    assert!(tasks.iter_mut().all(|task| task.as_mut().poll(&mut context).is_ready()));
    assert_eq!((point.notify_one(), point.notify_all()), (false, 0), "all are gone");
}

/// It may take what it waits for.
#[test]
fn a_condition_that_held_is_not_asked_again() {
    let _watchdog = watchdog();
    let point = WaitPoint::new();
    for nth in 1..=4 {
        for deadline in [None, Some(Instant::now() + Duration::from_secs(3600))] {
            let mut calls = 0;
            let condition = || {
                calls += 1;
                point.notify_all();
                calls >= nth
            };
            match deadline {
                None => point.wait_until(condition),
                Some(deadline) => assert!(point.wait_until_deadline(deadline, condition)),
            }
            assert_eq!(calls, nth);
        }
    }
}

fn a_wait_point_times_out_and_cancels<H: Home>() {
    let point = WaitPoint::<H>::new_in();
    point.notify_one();
    point.prepare().cancel();
    drop(point.prepare());
    let deadline = Instant::now() + Duration::from_millis(5);
    while point.prepare().commit_deadline(deadline) == WaitOutcome::Woken {}
    assert!(Instant::now() >= deadline);
    assert!(!point.wait_until_deadline(deadline, || false));
    assert!(point.wait_until_deadline(deadline, || true));
    assert_eq!(format!("{point:?}"), "WaitPoint { waiters: 0, .. }");
}

/// Prepares and forgets as often as to fill the count of those who wait, if nobody does.
fn forget_many(point: &WaitPoint) {
    (0..(1 << 24) - 1).for_each(|_| std::mem::forget(point.prepare()));
}

#[cfg_attr(miri, ignore = "sixteen million are too many")]
#[test]
fn a_sleeper_is_found_among_many_forgotten() {
    let _watchdog = watchdog();
    let (point, open) = (WaitPoint::new(), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| point.wait_until(|| open.load(Ordering::Relaxed)));
        while !layby::waiters().iter().any(|waiter| waiter.key().is_within(&point)) {
            thread::yield_now();
        }
        forget_many(&point);
        open.store(true, Ordering::Relaxed);
        point.notify_all();
    });
}

#[cfg_attr(miri, ignore = "sixteen million are too many")]
#[test]
fn a_wait_after_many_were_forgotten() {
    let _watchdog = watchdog();
    let point = WaitPoint::new();
    forget_many(&point);
    // Its own count must not be taken for a notification.
    assert_eq!(point.prepare().commit_deadline(Instant::now()), WaitOutcome::TimedOut);
    let prepared = point.prepare();
    point.notify_one();
    assert_eq!(prepared.commit_deadline(Instant::now()), WaitOutcome::Woken);
    let open = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| point.wait_until(|| open.load(Ordering::Relaxed)));
        open.store(true, Ordering::Relaxed);
        point.notify_all();
    });
}
