//! What the crate does to the caches of machines with up to 512 CPUs, counted.
//!
//! Run by `ci/coherence.sh`, with `RUSTFLAGS="--cfg layby_coherence" cargo test --release -p layby-sim`. Blind to: weak memory
//! order, caches of limited size, what the kernel does, and time. `sim/README.md` says what the simulator is and is not.

#![cfg(layby_coherence)]

use layby::coherence::{self, Costs, Counts, Machine, Tally};
use layby::eventcount::EventCount;
use layby::paper::{TicketSemaphore, TwaChainSemaphore};
use layby::sema::Semaphore;
use layby::sys::Native;
use layby::wait_table::{Home, Slots, WaitTable};
use layby_sim::chains::{self, Systolic, Walked};
use layby_sim::contenders::CONTENDERS;
use layby_sim::peers::{McsLock, TicketLock};
use layby_sim::rounds::{OnAPage, Outcome, Rounds, pass_again_and_again};
use layby_sim::tables::{self, Crowd, Slots4096, Table};
use layby_sim::turnstile::{Events, Turnstile};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Each thread stays inside so long that all waiters have polled before it hands over: nothing is left to chance.
fn in_quiet<X: Turnstile>(cpus: usize) -> Outcome {
    let inside = 1_000 + 40 * cpus as u64;
    pass_again_and_again::<X>(&Rounds { inside, jitter: 0, ..Rounds::new(cpus) })
}

/// Longer than any thread stays awake.
const ALL_SLEEP: u64 = 3_000_000;

#[track_caller]
fn assert_each(outcome: &Outcome, tally: Tally, moved: u64, invalidations: u64, what: &str) {
    let each = |count: u64| count * outcome.handovers;
    assert_eq!((tally.moved, tally.invalidations), (each(moved), each(invalidations)), "{what}: {outcome:?}");
}

/// A ticket lock, its words on two lines. Drawing a ticket fetches one line from the last thread that drew one: 1 moved, 1
/// invalidated. Handing over invalidates the T - 1 copies of the waiters, which fetch the line again: T - 1 and T - 1.
#[test]
fn a_ticket_lock_moves_and_invalidates_as_many_lines_as_it_has_threads() {
    for cpus in [2, 3, 8, 32, 128] {
        let outcome = in_quiet::<TicketLock>(cpus);
        assert_each(&outcome, outcome.counts.total(), cpus as u64, cpus as u64, "ticket lock");
    }
}

/// MCS, with its two words on one line. For each hand-over:
///
/// | | moved | invalidated |
/// |---|---|---|
/// | preparing the node: the thread that unlocked it last has a copy | | 1 |
/// | swapping the tail | 1 | 1 |
/// | writing to the node before, on which its owner spins; the owner reads it again | 2 | 1 |
/// | unlocking: its owner and the one behind have copies; the owner reads it again | 2 | 2 |
#[test]
fn mcs_moves_and_invalidates_five_lines_whatever_the_number_of_threads() {
    for cpus in [3, 8, 32, 128] {
        let outcome = in_quiet::<McsLock>(cpus);
        assert_each(&outcome, outcome.counts.total(), 5, 5, "MCS");
    }
}

/// The crate's Ticket-Semaphore, both words on one line. Posting fetches it and invalidates the T - 1 copies of the waiters,
/// which read it again: T moved, T - 1 invalidated. Drawing the next ticket invalidates T - 1 copies once more, and the T - 2
/// waiters read it again. Counting spinners: the thread that leaves and the one that comes fetch the count, 2 and 2.
#[test]
fn a_ticket_semaphore_costs_twice_as_many_because_its_two_words_share_a_line() {
    for cpus in [3, 8, 32, 128] {
        let outcome = in_quiet::<TicketSemaphore>(cpus);
        let threads = cpus as u64;
        assert_each(&outcome, outcome.own, 2 * (threads - 1), 2 * (threads - 1), "the semaphore's line");
        assert_each(&outcome, outcome.counts.total(), 2 * threads, 2 * threads, "Ticket-Semaphore");
    }
}

/// Threads that sleep between any two hand-overs: nobody finds what it waits for by polling.
fn all_asleep<X: Turnstile>(cpus: usize) -> Outcome {
    // A thread that spun for nothing tries again at every 64th wait: the counts begin when all have tried, and end before
    // they try again. By then every line of the table has been used.
    let threads = cpus as u64;
    let waits = 64 * 2_500_u64.div_ceil(64 * threads) + 2;
    let outcome = pass_again_and_again::<X>(&Rounds {
        inside: ALL_SLEEP,
        jitter: 0,
        warm_up: waits * threads,
        counted: 60 * threads,
        ..Rounds::new(cpus)
    });
    assert_eq!((outcome.counts.sleeps, outcome.counts.wakes), (outcome.handovers, outcome.handovers));
    outcome
}

/// A sequencer and an eventcount on one line, over the wait table, all asleep. For each hand-over:
///
/// | | moved | invalidated |
/// |---|---|---|
/// | advancing: the last to draw a ticket has the line, and it was the last to advance | 1 | 1 |
/// | publishing: linking the element, of which the last notifier has a copy; the slot, of which another has | 1 | 2 |
/// | the peek at the slot, and detaching its chain | 1 | 1 |
/// | following the link, and setting the gate | 1 | 1 |
/// | the owner reads its gate | 1 | |
#[test]
fn a_table_whose_waiters_sleep_costs_five_lines_whatever_the_number_of_threads() {
    for cpus in [3, 8, 32, 128] {
        let outcome = all_asleep::<Events>(cpus);
        assert_each(&outcome, outcome.counts.total(), 5, 5, "the wait table");
    }
}

/// Listing 3, all asleep. Two more: the word that a thread parks on is not in its element.
///
/// | | moved | invalidated |
/// |---|---|---|
/// | posting: the last to draw a ticket has the line, and it was the last to post | 1 | 1 |
/// | the SWAP that pushes | 1 | 1 |
/// | the SWAP that detaches | 1 | 1 |
/// | reading who it is, and opening the gate | 1 | 1 |
/// | unparking | 1 | 1 |
/// | the owner takes the flag away | 1 | 1 |
/// | it reads its gate, and clears the element, of which its poker has a copy | 1 | 1 |
#[test]
fn listing_3_with_its_waiters_asleep_costs_seven_lines_whatever_the_number_of_threads() {
    for cpus in [3, 8, 32, 128] {
        let outcome = all_asleep::<TwaChainSemaphore>(cpus);
        assert_each(&outcome, outcome.counts.total(), 7, 7, "listing 3");
    }
}

/// A SWAP never fails, so that those who come at once move as many lines as those who come alone; a notifier of listing 3 makes
/// one system call, and the oldest waits for all others to be woken before it, one after the other.
#[test]
fn a_swap_is_cheap_for_those_who_come_and_dear_for_the_last_to_be_woken() {
    for waiters in [8, 32, 128] {
        let (systolic, walked) = (chains::cost::<Systolic>(waiters), chains::cost::<Walked>(waiters));
        println!("{waiters}: {systolic:?} {walked:?}");
        assert!(2.0 * systolic.moved_by_arrival <= walked.moved_by_arrival || waiters < 32);
        assert_eq!([systolic.oldest.calls, walked.oldest.calls, walked.all.calls], [1, 1, waiters as u64]);
        let Costs { wake, wake_latency, .. } = Machine::new(1).costs;
        let one_after_the_other = waiters as u64 * (wake + wake_latency);
        assert!(systolic.oldest.last >= one_after_the_other && walked.all.last < one_after_the_other);
        assert!(walked.oldest.last < wake + wake_latency + 300 * waiters as u64, "past the others, who sleep on");
    }
}

/// The paper's claim. Primitives whose waiters all spin on one word: at least T / 4 copies invalidated for each hand-over.
/// All others: at most 1.2 times as many with 512 CPUs as with 8.
#[test]
fn from_8_to_512_cpus_ticket_grows_with_the_threads_and_twa_does_not() {
    for contender in &CONTENDERS {
        let outcomes = [8, 64, 512].map(|cpus| (cpus, (contender.run)(&Rounds::new(cpus))));
        let moved = outcomes.map(|(_, outcome)| outcome.moved());
        let counted = outcomes.map(|(cpus, outcome)| (cpus, outcome.invalidations()));
        println!("{:16} ours: {}, invalidations {counted:?}, lines moved {moved:?}", contender.name, contender.ours);
        let [(_, few), _, (_, many)] = counted;
        match contender.name {
            "ticket" | "ticket-lock" => {
                for (cpus, invalidations) in counted {
                    assert!(invalidations >= cpus as f64 / 4.0, "{}: {counted:?}", contender.name);
                }
                assert!(many / few >= 512.0 / 8.0 / 4.0, "{}: {counted:?}", contender.name);
            }
            // It lets late arrivals overtake, and all threads use its one line.
            "futex-semaphore" => {}
            _ => assert!(many <= 1.2 * few, "{}: {counted:?}", contender.name),
        }
    }
}

/// Two runs with one seed are the same, event for event.
#[test]
fn the_seed_determines_everything() {
    let run = |seed| pass_again_and_again::<Semaphore>(&Rounds { seed, ..Rounds::new(16) });
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Threads that each wait for a value of their own.
fn wait_for_values<H: Home>(count: &EventCount<H>, first: u64, waiters: u64) -> Vec<Box<dyn FnOnce() + Send + '_>> {
    (first..first + waiters)
        .map(|value| {
            Box::new(move || assert!(count.wait_at_least(value).is_ok_and(|seen| seen >= value)))
                as Box<dyn FnOnce() + Send>
        })
        .collect()
}

/// TWAHash: the holders of adjacent tickets never touch the same line of the table.
#[test]
fn adjacent_tickets_never_share_a_line_of_the_table() {
    const WAITERS: usize = 256;
    for start in [0, 1_000, u64::from(u32::MAX) - 100] {
        let count: OnAPage<EventCount<Slots4096>> = OnAPage(EventCount::new_in());
        count.0.advance_by(start);
        let lines = Mutex::new(Vec::new());
        let mut threads = wait_for_values(&count.0, start + 1, WAITERS as u64);
        threads.push(Box::new(|| {
            coherence::work(ALL_SLEEP);
            let visitors = coherence::visitors_of(Slots4096::addresses());
            *lines.lock().unwrap() = visitors;
            count.0.advance_by(WAITERS as u64);
        }));
        coherence::run(&Machine::new(WAITERS + 1), 1, threads);
        let lines = lines.into_inner().unwrap();
        let used: usize = lines.iter().map(Vec::len).sum();
        assert_eq!(used, WAITERS, "each has used one line");
        for line in lines {
            assert!(line.windows(2).all(|pair| pair[1] - pair[0] > 1), "adjacent tickets on one line: {line:?}");
        }
    }
}

/// A table of 16 slots.
struct Small;

impl Home for Small {
    type Backend = Native;

    const TABLE: &'static WaitTable<Native> = {
        static SLOTS: Slots<16> = Slots::new();
        static TABLE: WaitTable<Native> = WaitTable::from_slots(&SLOTS);
        &TABLE
    };
}

/// W threads wait for the values 1 to W in a table of N slots, so that those who wait for v + kN share a slot. An advance
/// wakes the one that it is for, and sets one gate. What the strangers cost is a walk: a line moved for each of them at most,
/// and another when its link is written.
#[test]
fn collisions_wake_nobody_and_cost_a_walk() {
    const WAITERS: u64 = 64;
    const SLOTS: u64 = 16;
    let count: OnAPage<EventCount<Small>> = OnAPage(EventCount::new_in());
    let measured = Mutex::new(Vec::new());
    let mut threads = wait_for_values(&count.0, 1, WAITERS);
    threads.push(Box::new(|| {
        for _ in 0..WAITERS {
            coherence::work(ALL_SLEEP);
            coherence::restart_counts();
            count.0.advance();
            let counts = coherence::own_counts();
            measured.lock().unwrap().push(counts);
        }
    }));
    coherence::run(&Machine::new(threads.len()), 1, threads);
    let in_the_slot = |value: u64| (WAITERS - value) / SLOTS + 1;
    for (value, counts) in (1..).zip(measured.into_inner().unwrap()) {
        assert_eq!(counts.wakes, 1, "woken by the advance to {value}");
        // The count's own line, and the slot's; and once the table's word of alerts, which nobody writes.
        let most = in_the_slot(value) + 2 + u64::from(value == 1);
        assert!(counts.total().moved <= most, "the advance to {value}, at most {most}: {counts:?}");
    }
}

/// With many queues at random addresses, each waiter is in the woken slot with a probability of 1 / slots. None of them is
/// woken for nothing, however small the table; how long the walk is decides its size: see `sim/README.md`.
#[test]
fn unrelated_waiters_do_not_wake_each_other() {
    let sizes: Vec<_> =
        (1..=3).flat_map(|seed| tables::all_sizes(&Crowd { turnstiles: 32, threads_each: 8, seed })).collect();
    for size in &sizes {
        println!("{}: {} woken for nothing, {} lines moved", size.slots, size.spurious, size.moved);
        // Two who choose among the waiters of one slot at a time wake all of them.
        assert!(size.spurious <= 0.01, "{size:?}");
        assert!(size.footprint <= size.slots / 8, "a slot is 8 bytes");
    }
}

/// How many threads one advance of each of two counts wakes in total, when one is always `ahead` of the other.
fn wakes_in_unison<A: Home, B: Home>(ahead: u64) -> u64 {
    const ROUNDS: u64 = 50;
    /// The counts are 240 bytes apart.
    #[repr(C)]
    struct Two<A: Home, B: Home> {
        a: EventCount<A>,
        _between: [u64; 29],
        b: EventCount<B>,
    }
    let two: OnAPage<Two<A, B>> = OnAPage(Two { a: EventCount::new_in(), _between: [0; 29], b: EventCount::new_in() });
    let Two { a, b, .. } = &two.0;
    assert_eq!(std::ptr::from_ref(b).addr() - std::ptr::from_ref(a).addr(), 240);
    b.advance_by(ahead);
    let threads: Vec<Box<dyn FnOnce() + Send + '_>> = vec![
        Box::new(|| (1..=ROUNDS).for_each(|round| assert!(a.wait_at_least(round).is_ok_and(|seen| seen >= round)))),
        Box::new(|| {
            (1..=ROUNDS).for_each(|round| assert!(b.wait_at_least(ahead + round).is_ok_and(|seen| seen > ahead)))
        }),
        Box::new(|| {
            for _ in 0..ROUNDS {
                coherence::work(ALL_SLEEP);
                a.advance();
                coherence::work(ALL_SLEEP);
                b.advance();
            }
        }),
    ];
    let wakes = coherence::run(&Machine::new(3), 1, threads).wakes;
    assert_eq!(wakes % ROUNDS, 0, "every round is the same");
    wakes / ROUNDS
}

/// Two counts that move in unison, wherever their waiters meet: an advance wakes the one that it is for.
#[test]
fn two_that_move_in_unison_do_not_wake_each_other() {
    for ahead in 0..16 {
        assert_eq!(wakes_in_unison::<Small, Small>(ahead), 2, "{ahead} ahead");
    }
}

/// A sleeper costs nothing until it is woken, and then what a wake-up costs.
#[test]
fn sleepers_cost_nothing_and_a_wake_up_has_its_price() {
    let costs = Machine::new(1).costs;
    let count = OnAPage(EventCount::new());
    let (posted_at, woken_at) = (OnceLock::new(), OnceLock::new());
    let threads: Vec<Box<dyn FnOnce() + Send + '_>> = vec![
        Box::new(|| {
            count.0.wait_at_least(1).expect("nobody closes it");
            woken_at.set(coherence::cycles()).unwrap();
        }),
        Box::new(|| {
            coherence::work(ALL_SLEEP);
            coherence::restart_counts();
            coherence::work(1_000 * ALL_SLEEP);
            assert_eq!(coherence::counts(), Counts::default(), "no thread has done anything");
            posted_at.set(coherence::cycles()).unwrap();
            count.0.advance();
        }),
    ];
    let counts = coherence::run(&Machine::new(2), 1, threads);
    assert_eq!((counts.sleeps, counts.wakes), (0, 1), "counted since the restart");
    let took = woken_at.get().unwrap() - posted_at.get().unwrap();
    assert!((costs.wake + costs.wake_latency..2 * (costs.wake + costs.wake_latency)).contains(&took), "{took}");
}

/// The crate's timed waits use the virtual clock.
#[test]
fn a_timed_take_times_out_in_virtual_time() {
    let semaphore = OnAPage(Semaphore::new(0));
    let take = || {
        assert!(!semaphore.0.take_timeout(Duration::from_millis(1_000)));
        let second = 1_000_000 * Machine::new(1).costs.cycles_per_microsecond;
        assert!((second..second + second / 100).contains(&coherence::cycles()), "{}", coherence::cycles());
    };
    coherence::run(&Machine::new(2), 1, vec![Box::new(take)]);
}
