//! The wait table's forms, one by one: who is woken, by what, and what the calls return.

#![cfg(not(layby_model))]

#[path = "../common/mod.rs"]
mod common;

mod any;
mod crowd;
mod location;
mod nesting;
mod stress;
mod system_calls;
mod time;
mod waiters;

use common::{Form, Rally, Tally, counting_backend, few, leaked, leaked_on, scaled, watchdog};
use layby::{
    Armed, Key, WaitOutcome, WaitTable, arm, location_wait, location_wait_deadline, location_wake_all,
    location_wake_all_seqcst,
    sys::Native,
    wait_table::{Slots, global},
    wait_until, wait_until_deadline, wait_until_timeout,
};
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

#[test]
fn every_form_waits_and_is_woken() {
    let _watchdog = watchdog();
    for slots in [1, 2, 4096] {
        Rally::run(leaked(slots), scaled(100));
    }
}

#[test]
fn every_form_works_on_the_global_table() {
    let _watchdog = watchdog();
    assert_eq!(global().slots(), WaitTable::DEFAULT_SLOTS);
    Rally::run(global(), scaled(100));
}

#[test]
fn every_form_works_on_a_table_in_a_static() {
    static SLOTS: Slots<8> = Slots::new();
    static TABLE: WaitTable = WaitTable::from_slots(&SLOTS);
    let _watchdog = watchdog();
    assert_eq!(TABLE.slots(), 8);
    Rally::run(&TABLE, scaled(100));
}

/// Until a fork.
#[test]
fn two_tables_over_one_static_are_one() {
    static SLOTS: Slots<1> = Slots::new();
    let (one, other) = (WaitTable::<Native>::from_slots(&SLOTS), WaitTable::<Native>::from_slots(&SLOTS));
    one.wait_if(&one, || {
        assert_eq!(other.wake_all(&one), 1);
        true
    });
}

/// The functions at the crate's root; that they wait and wake is what `Rally` tests of the table behind them.
#[test]
fn the_root_functions_are_those_of_the_global_table() {
    let _watchdog = watchdog();
    let turn = AtomicUsize::new(0);
    let advance = |from: usize| {
        turn.compare_exchange(from, from + 1, Ordering::SeqCst, Ordering::SeqCst).unwrap();
        if from.is_multiple_of(2) {
            location_wake_all(&turn)
        } else {
            location_wake_all_seqcst(&turn)
        };
    };
    let is = |value: usize| turn.load(Ordering::Relaxed) == value;
    let far = Instant::now() + Duration::from_secs(3600);
    thread::scope(|s| {
        s.spawn(|| {
            wait_until(&turn, || is(1));
            advance(1);
            assert!(wait_until_deadline(&turn, far, || is(3)));
            advance(3);
            assert!(wait_until_timeout(&turn, Duration::MAX, || is(5)));
            advance(5);
        });
        advance(0);
        while !is(2) {
            location_wait(&turn);
        }
        advance(2);
        while !is(4) {
            assert_eq!(location_wait_deadline(&turn, far), WaitOutcome::Woken);
        }
        advance(4);
        loop {
            let armed: Armed = arm(&turn);
            if is(6) {
                break;
            }
            armed.wait();
        }
    });
}

#[test]
fn closure_forms_evaluate_the_condition_after_publishing() {
    let table = WaitTable::with_slots(1);
    // `wake_all` returns how many were published when the condition was evaluated.
    let seen = AtomicUsize::new(0);
    table.wait_until(&seen, || {
        seen.store(table.wake_all(&seen), Ordering::Relaxed);
        seen.load(Ordering::Relaxed) == 1
    });
    table.wait_if(&seen, || {
        assert_eq!(table.wake_all(&seen), 1);
        false
    });
    assert_eq!(table.wake_all(&seen), 0, "an element stayed behind");
}

#[test]
fn wait_until_returns_only_when_the_condition_holds() {
    let _watchdog = watchdog();
    let table = WaitTable::with_slots(1);
    let (evaluations, open, other_key) = (Tally::new(), AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            table.wait_until(&open, || {
                evaluations.add();
                open.load(Ordering::Relaxed)
            });
            assert!(open.load(Ordering::Relaxed));
        });
        // Futile wake-ups: of its own key, and of another one in the same slot.
        for round in 1..scaled(100) {
            evaluations.reaches(2 * round);
            while table.wake_all(&open) + table.wake_all(&other_key) == 0 {}
        }
        open.store(true, Ordering::Relaxed);
        table.wake_all(&open);
    });
}

/// It may take what it waits for. Each of the calls in a wait is the one that says so.
#[test]
fn a_condition_that_held_is_not_asked_again() {
    type Condition<'a> = &'a mut dyn FnMut() -> bool;
    let _watchdog = watchdog();
    let table = WaitTable::with_slots(1);
    let (past, far) = (Instant::now(), Instant::now() + Duration::from_secs(3600));
    let until = |holds: Condition<'_>| {
        table.wait_until(&table, holds);
        true
    };
    let until_deadline = |holds: Condition<'_>| table.wait_until_deadline(&table, far, holds);
    let until_timeout = |holds: Condition<'_>| table.wait_until_timeout(&table, Duration::MAX, holds);
    let forms: [&dyn Fn(Condition<'_>) -> bool; 3] = [&until, &until_deadline, &until_timeout];
    let late = |holds: Condition<'_>| table.wait_until_deadline(&table, past, holds);
    let in_time = forms.iter().flat_map(|form| (1..=4).map(move |nth| (*form, nth)));
    // A deadline that has passed leaves two calls.
    for (form, nth) in in_time.chain([(&late as _, 1), (&late as _, 2)]) {
        let mut calls = 0;
        let held = form(&mut || {
            calls += 1;
            // Published or not, it does not sleep.
            table.wake_all(&table);
            calls >= nth
        });
        assert_eq!((held, calls), (true, nth));
    }
}

#[test]
fn location_wait_first_publishes_and_then_waits() {
    let _watchdog = watchdog();
    let table = leaked(1);
    table.location_wait(table);
    assert_eq!(table.wake_all(table), 1);
    // Notified: the second call returns at once, and the third publishes again.
    table.location_wait(table);
    table.location_wait(table);
    assert_eq!(table.wake_all(table), 1);
}

#[test]
fn a_wake_up_between_arm_and_wait_ends_the_wait() {
    let _watchdog = watchdog();
    let table = leaked(1);
    let armed = table.arm(table);
    assert_eq!(table.wake_all(table), 1);
    armed.wait();
    // Armed again after a notification that nobody waited for: published again.
    drop(table.arm(table));
    assert_eq!(table.wake_all(table), 1);
    let armed = table.arm(table);
    assert_eq!(table.wake_all(table), 1);
    assert_eq!(armed.wait_deadline(Instant::now()), WaitOutcome::Woken);
}

#[test]
fn arming_twice_for_one_key_publishes_once() {
    let table = leaked(1);
    let (first, second) = (table.arm(table), table.arm(table));
    assert_eq!(table.wake_all(table), 1);
    first.wait();
    second.wait();
}

#[test]
fn wake_all_counts_the_elements_it_notified() {
    counting_backend!(Counted);
    let _watchdog = watchdog();
    let waiters = scaled(20);
    let table = leaked_on::<Counted>(1);
    let (key, neighbour) = (Key::ticket(table, 1), Key::ticket(table, 2));
    assert_eq!(table.wake_all(key), 0);
    thread::scope(|s| {
        for waiter in 0..waiters {
            s.spawn(move || table.wait_if(if waiter % 2 == 0 { key } else { neighbour }, || true));
        }
        Counted::waits().reaches(waiters);
        assert_eq!(table.wake_all(key), waiters.div_ceil(2), "the neighbours are not among them");
        assert_eq!(table.wake_all_seqcst(neighbour), waiters / 2);
    });
    assert_eq!(table.wake_all_seqcst(key) + table.wake_all(neighbour) + table.wake_one(key), 0);
    drop(table.arm(key));
    assert_eq!(table.wake_all_seqcst(neighbour), 0);
    assert_eq!(table.wake_all_seqcst(key), 1, "a lingering element counts");
}

/// Promise 11 (README): a table of one's own ends even the spurious wake-ups.
#[test]
fn tables_do_not_wake_each_others_waiters() {
    counting_backend!(Isolated);
    let _watchdog = watchdog();
    let (ours, theirs): (WaitTable<Isolated>, WaitTable<Isolated>) =
        (WaitTable::with_slots_in(1), WaitTable::with_slots_in(1));
    let returned = Tally::new();
    thread::scope(|s| {
        s.spawn(|| {
            ours.wait_if(&ours, || true);
            returned.add();
        });
        Isolated::waits().reaches(1);
        assert_eq!(theirs.wake_all(&ours) + theirs.wake_all_seqcst(&ours) + theirs.wake_one(&ours), 0);
        assert_eq!(location_wake_all(&ours), 0);
        assert_eq!(returned.get(), 0);
        assert_eq!(ours.wake_all(&ours), 1);
    });
    assert_eq!(returned.get(), 1);
}

/// A fence-free notifier may only follow a SeqCst change; then no wake-up is lost.
#[test]
fn wake_all_seqcst_suffices_after_a_seqcst_change() {
    let _watchdog = watchdog();
    let table = WaitTable::with_slots(1);
    let ball = AtomicUsize::new(0);
    let rounds = scaled(20_000);
    let play = |side: usize| {
        for ours in (side..2 * rounds).step_by(2) {
            table.wait_until(&ball, || ball.load(Ordering::Relaxed) == ours);
            ball.fetch_add(1, Ordering::SeqCst);
            table.wake_all_seqcst(&ball);
        }
    };
    thread::scope(|s| {
        s.spawn(|| play(1));
        play(0);
    });
    assert_eq!(ball.into_inner(), 2 * rounds);
}

#[test]
fn wake_one_wakes_the_oldest_wait_if_and_every_other_form() {
    counting_backend!(Mixed);
    let _watchdog = watchdog();
    let table = leaked_on::<Mixed>(1);
    let (key, neighbour) = (Key::ticket(table, 1), Key::ticket(table, 2));
    let open = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| table.wait_if(neighbour, || true));
        Mixed::waits().reaches(1);
        s.spawn(|| table.wait_if(key, || true));
        Mixed::waits().reaches(2);
        s.spawn(|| table.wait_until(key, || open.load(Ordering::Relaxed)));
        Mixed::waits().reaches(3);
        s.spawn(|| table.wait_if(key, || true));
        Mixed::waits().reaches(4);
        open.store(true, Ordering::Relaxed);
        assert_eq!(table.wake_one(key), 2, "the oldest wait_if and the wait_until");
        assert_eq!(table.wake_one(key), 1, "the other wait_if");
        assert_eq!(table.wake_one(key), 0);
        assert_eq!(table.wake_all(neighbour), 1, "the neighbour was left alone");
    });
}

/// Nobody waits behind what lingers, however old it is.
#[test]
fn wake_one_does_not_choose_a_lingering_element() {
    counting_backend!(Lingering);
    let _watchdog = watchdog();
    let table = leaked_on::<Lingering>(1);
    drop(table.arm(table));
    thread::scope(|s| {
        s.spawn(|| table.wait_if(table, || true));
        Lingering::waits().reaches(1);
        assert_eq!(table.wake_one(table), 2, "what lingers, and the one who waits");
    });
}

/// A wake-up is handed on only by a `wait_if` that did not wait.
#[test]
fn wake_one_wakes_no_more() {
    counting_backend!(Frugal);
    let _watchdog = watchdog();
    let table: WaitTable<Frugal> = WaitTable::with_slots_in(1);
    thread::scope(|s| {
        let [first, _second, _third] = [1, 2, 3].map(|nth| {
            let waiter = s.spawn(|| table.wait_if(&table, || true));
            Frugal::waits().reaches(nth);
            waiter
        });
        table.wait_if(&table, || false);
        assert_eq!(table.wake_one(&table), 1);
        first.join().unwrap();
        // Published at the second look.
        let looks = Tally::new();
        table.wait_until(&table, || {
            looks.add();
            looks.get() == 2 && table.wake_one(&table) == 2
        });
        assert_eq!(table.wake_all(&table), 1, "the third one still waits");
    });
}

#[test]
fn a_key_outlives_what_it_names() {
    let key = {
        let gone = Box::new(0_u8);
        Key::address(&*gone)
    };
    assert_eq!(location_wake_all(key), 0);
    assert_eq!(Key::address_at(std::ptr::null::<u8>()), Key::address_at(std::ptr::null::<u64>()));
}

/// Dropping a table whose waiters have left, by wake-up or by timeout, leaves nobody dangling: the next one may get
/// the same memory.
#[test]
fn a_table_can_be_dropped_after_its_waits() {
    let _watchdog = watchdog();
    for round in 0..scaled(200) {
        let table = WaitTable::with_slots(1);
        let open = AtomicBool::new(false);
        thread::scope(|s| {
            for form in Form::STRICT {
                let (table, open) = (&table, &open);
                s.spawn(move || {
                    let timeout = Duration::from_micros(10 * round as u64 % 100);
                    form.wait_strictly(table, Key::address(open), timeout, || open.load(Ordering::Relaxed));
                });
            }
            open.store(true, Ordering::Relaxed);
            table.wake_all(&open);
        });
        assert!(format!("{table:?}").contains("occupied: 0"), "{table:?} still holds elements");
    }
}

#[test]
fn sizes_that_are_no_power_of_two_panic() {
    for slots in [0, 3, 6, 4095] {
        std::panic::catch_unwind(|| WaitTable::with_slots(slots)).expect_err("the size must be refused");
    }
    // Miri's are fewer.
    assert!(cfg!(miri) || WaitTable::default().slots() == 4096);
}

#[test]
fn debug_says_what_there_is() {
    let table = leaked(4);
    let debug = || format!("{table:?}");
    assert!(debug().contains("slots: 4") && debug().contains("occupied: 0"), "{table:?}");
    let armed = table.arm(Key::ticket(table, 7));
    assert!(debug().contains("occupied: 1"), "{table:?}");
    assert!(format!("{armed:?}").contains("ticket 7"), "{armed:?}");
    assert!(format!("{:?}", Slots::<16>::new()).contains("16"));
    assert_eq!(format!("{:?}", Key::address_at(std::ptr::without_provenance::<u8>(0x10))), "Key(0x10)");
    assert_eq!(format!("{:?}", WaitOutcome::TimedOut), "TimedOut");
    table.wake_all(Key::ticket(table, 7));
    armed.wait();
}

/// One slot, and a sleeper of each of several keys: a wake of one key is a wake of its own waiters, who alone are counted.
#[test]
fn a_wake_disturbs_nobody_of_another_key() {
    counting_backend!(Undisturbed);
    const KEYS: u64 = few(40) as u64;
    let _watchdog = watchdog();
    let table = &leaked_on::<Undisturbed>(1);
    let open = &AtomicBool::new(false);
    thread::scope(|s| {
        for nth in 0..KEYS {
            s.spawn(move || table.wait_until(Key::ticket(table, nth), || open.load(Ordering::SeqCst)));
        }
        Undisturbed::waits().reaches(KEYS as usize);
        for round in 0..3 {
            assert_eq!(table.wake_all(table), 0, "round {round}: nobody waits on this");
            assert_eq!(table.wake_one(Key::ticket(table, KEYS)), 0);
            assert_eq!(table.wake_tickets_seqcst(*table, KEYS..=KEYS + 1), 0);
        }
        assert_eq!(Undisturbed::wakes().get(), 0, "somebody was disturbed");
        open.store(true, Ordering::SeqCst);
        for nth in 0..KEYS {
            assert_eq!(table.wake_all(Key::ticket(table, nth)), 1);
        }
    });
}

/// A primitive's waiters are its own: a wait or a wake of a user's at the same address does not reach them.
#[test]
fn the_keys_of_primitives_cannot_be_made() {
    let _watchdog = watchdog();
    let (semaphore, table) = (&layby::sema::Semaphore::new(0), global());
    thread::scope(|s| {
        let taker = s.spawn(|| semaphore.take());
        let waiter = loop {
            if let Some(waiter) = table.waiters().iter().find(|waiter| waiter.key().is_within(semaphore)) {
                break *waiter;
            }
        };
        assert_eq!(table.wake_all(waiter.key()), 0);
        assert_eq!(table.wake_one(Key::ticket_at(semaphore, 0)), 0);
        assert!(!taker.is_finished());
        semaphore.post();
    });
}
