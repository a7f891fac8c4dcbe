//! Tickets of one line, drawn, abandoned and granted by one thread: what the markers do, by the numbers.

use super::{
    MAX_DISTANCE, TicketQueue,
    abandoned::Abandoned,
    marker_banks,
    markers::Span,
    word::{Distance, Word},
};
use crate::sys::Native;
use crate::wait_table::{Global, Home, Slots, WaitTable};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct Own;

impl Home for Own {
    type Backend = Native;

    const TABLE: &'static WaitTable = {
        static SLOTS: Slots<1> = Slots::new();
        static TABLE: WaitTable = WaitTable::from_slots(&SLOTS);
        &TABLE
    };
}

/// Held by tests that leave markers, which are those of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn settle<H: Home>(queue: &TicketQueue<H>, ticket: Word) {
    Abandoned::<H, 0>::of(&queue.counts).settle(Span { first: ticket, last: ticket });
}

/// Each marker is an alert, so they can be counted: those of neighbours become one, in whatever order they leave, and none is
/// left when the queue is empty, nor when a post has passed over them.
#[test]
fn neighbours_share_a_marker() {
    let _alone = alone();
    for order in [[0, 1, 2], [2, 1, 0], [0, 2, 1]] {
        for granted in [false, true] {
            let queue = TicketQueue::<Own>::new(0);
            let tickets = [(); 4].map(|()| queue.counts.draw(1));
            for nth in order {
                settle(&queue, tickets[nth]);
            }
            assert_eq!((Own::TABLE.alerts(), queue.waited_for()), (1, 1), "{order:?}");
            if granted {
                queue.post();
            } else {
                settle(&queue, tickets[3]);
            }
            assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, 0), "{order:?}");
        }
    }
}

/// L5: a marker of tickets that are drawn is the queue's own, also for one who loaded `ticket` before they were.
#[test]
fn a_marker_of_tickets_that_are_drawn_is_not_dropped() {
    let _alone = alone();
    let queue = TicketQueue::<Own>::new(0);
    let tickets = [(); 2].map(|()| queue.counts.draw(1));
    settle(&queue, tickets[0]);
    Abandoned::<Own, 0>::of(&queue.counts).drop_left_markers(Span::of(tickets[0], 1));
    queue.post();
    assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, 0), "the permit is the second's");
}

#[test]
fn a_post_of_many_passes_over_those_who_are_not_neighbours_too() {
    let _alone = alone();
    let queue = TicketQueue::<Global>::new(0);
    let tickets = [(); 4].map(|()| queue.counts.draw(1));
    for nth in [0, 2] {
        settle(&queue, tickets[nth]);
    }
    queue.post_many(4);
    assert_eq!(queue.surplus(), 2);
}

/// A take of as many as can be gives up when twice as many have come; single posts follow, which are not checked.
#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
#[test]
fn single_posts_after_a_give_back_do_not_wrap() {
    let _alone = alone();
    let queue = TicketQueue::<Global>::new(0);
    let ticket = queue.counts.draw(MAX_DISTANCE);
    queue.post_many(MAX_DISTANCE);
    queue.post_many(MAX_DISTANCE);
    Abandoned::<Global, 0>::of(&queue.counts).settle(Span { first: ticket, last: ticket + (MAX_DISTANCE - 1) });
    queue.post();
    queue.post();
    assert_eq!(Word::try_from(queue.surplus()), Ok(2 * MAX_DISTANCE + 2));
}

/// Nobody is there to pass over what a conservative post has granted: the next one does, before its own permit goes past it.
#[test]
fn a_conservative_post_does_not_overrun_a_granted_marker() {
    let _alone = alone();
    let queue = TicketQueue::<Own>::new(0);
    let tickets = [(); 3].map(|()| queue.counts.draw(1));
    settle(&queue, tickets[0]);
    queue.post_conservatively();
    assert_eq!((Own::TABLE.alerts(), queue.waited_for()), (1, 1));
    queue.post_conservatively();
    assert_eq!((Own::TABLE.alerts(), queue.waited_for(), queue.surplus()), (0, 0, 0));
}

/// As above, if the next one is another kind of post.
#[test]
fn a_post_passes_over_what_a_conservative_one_has_granted() {
    let _alone = alone();
    for post in [TicketQueue::post, |queue: &TicketQueue<Own>| queue.post_many(1)] {
        let queue = TicketQueue::<Own>::new(0);
        let tickets = [(); 3].map(|()| queue.counts.draw(1));
        settle(&queue, tickets[0]);
        queue.post_conservatively();
        post(&queue);
        assert_eq!((Own::TABLE.alerts(), queue.waited_for(), queue.surplus()), (0, 0, 0));
    }
}

/// Whoever waits behind a marker that a conservative post has granted passes it over; if it is not granted, it stays.
#[test]
fn who_waits_passes_over_what_is_granted_before_him() {
    let _alone = alone();
    let queue = TicketQueue::<Own>::new(0);
    let tickets = [(); 2].map(|()| queue.counts.draw(1));
    settle(&queue, tickets[0]);
    let waiting = Span { first: tickets[1], last: tickets[1] };
    assert!(!queue.abandoned().pass_over_before(waiting));
    queue.post_conservatively();
    assert!(!queue.counts.is_granted(tickets[1]));
    assert!(queue.abandoned().pass_over_before(waiting));
    assert!(queue.counts.is_granted(tickets[1]));
    assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, 0));
}

/// A line of `n` tickets, half of which are given up in random order; then a post for each of the others. `between` is told
/// when which half begins and when the second ends.
fn storm<H: Home>(n: usize, mut between: impl FnMut()) {
    let queue = TicketQueue::<H>::new(0);
    let mut tickets: Vec<Word> = (0..n).map(|_| queue.counts.draw(1)).collect();
    // Marsaglia's xorshift; any order will do.
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for chosen in 0..n / 2 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        tickets.swap(chosen, chosen + random as usize % (n - chosen));
    }
    between();
    for &ticket in &tickets[..n / 2] {
        settle(&queue, ticket);
    }
    assert_eq!(Ok(queue.waited_for()), Word::try_from(n - n / 2));
    between();
    for _ in n / 2..n {
        queue.post();
    }
    between();
    // Those at the end of the line were given back; nobody took what was granted.
    assert_eq!((queue.waited_for(), queue.surplus()), (0, 0));
}

/// A storm leaves nothing behind that anybody would search, in whatever bank its markers were.
#[test]
fn a_storm_leaves_all_cells_and_hints_empty() {
    let _alone = alone();
    let storms = if cfg!(miri) { &[10][..] } else { &[10, 1000, 30_000] };
    for &n in storms {
        storm::<Own>(n, || ());
        assert_eq!(Own::TABLE.alerts(), 0);
        assert!(marker_banks::are_empty(), "after {n}");
    }
}

/// Looks and not time: half of the markers of a long line are in another bank than those of a short one, and that is all.
#[cfg(feature = "counters")]
#[test]
fn giving_up_costs_the_same_however_many_have_given_up() {
    let _alone = alone();
    let looks_of = |n: usize, lines: usize| {
        let (mut seen, mut marks) = (Vec::new(), [0; 2]);
        for _ in 0..lines {
            seen.clear();
            storm::<Own>(n, || seen.push(crate::counters::snapshot().marker_looks));
            for (sum, (from, to)) in marks.iter_mut().zip(seen.iter().zip(&seen[1..])) {
                *sum += to - from;
            }
        }
        marks.map(|looks| looks as f64 / (n / 2 * lines) as f64)
    };
    let (few, many) = (looks_of(1000, 20), looks_of(if cfg!(debug_assertions) { 200_000 } else { 1_000_000 }, 1));
    println!("looks for a cancellation and for a post: {few:.1?} in a line of 1000, {many:.1?} in one of many");
    for (few, many) in few.into_iter().zip(many) {
        assert!(many <= 2.0 * few, "{many:.1} looks in a long line, {few:.1} in a short one");
    }
}

/// Writers look whether there is room, and again when they have drawn their tickets, for two may have looked at a time. Who finds
/// none leaves nothing behind.
#[test]
fn a_line_of_too_many_writers_is_refused() {
    const ALL: Word = MAX_DISTANCE / 3;
    let _alone = alone();
    let queue = TicketQueue::<Own, ALL>::new(ALL);
    assert_eq!(queue.take(ALL), 0);
    let waiting = [(); 3].map(|()| queue.draw(ALL));
    let comes: fn(&TicketQueue<Own, ALL>) = |queue| _ = queue.take_within(ALL, &Duration::ZERO.into());
    let has_looked: fn(&TicketQueue<Own, ALL>) =
        |queue| queue.refuse_without_room(Span::of(queue.counts.draw_unchecked(ALL), ALL));
    for comes in [comes, has_looked] {
        let refused = std::panic::catch_unwind(|| comes(&queue));
        assert!(refused.unwrap_err().downcast::<String>().unwrap().contains("more than 3 wait"));
        assert_eq!(queue.surplus(), -3 * Distance::try_from(ALL).unwrap());
    }
    queue.give_back(ALL);
    for span in waiting {
        assert!(queue.counts.is_granted(span.last));
        queue.give_back(ALL);
    }
    assert_eq!((Own::TABLE.alerts(), queue.try_take(ALL).is_some()), (0, true));
}

/// Those that are refused cannot give their tickets back, for another stands behind them each time: the line must not grow until
/// it wraps, and a second one is inside.
#[test]
fn writers_that_are_refused_do_not_lengthen_the_line_without_end() {
    const ALL: Word = MAX_DISTANCE / 4;
    let _alone = alone();
    let queue = TicketQueue::<Own, ALL>::new(ALL);
    let settle = |tickets| Abandoned::<Own, ALL>::of(&queue.counts).settle(tickets);
    queue.take(ALL);
    let mut last = None;
    for nth in 0..100 {
        let draw = || queue.draw(ALL);
        let Ok(tickets) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(draw)) else { continue };
        assert!(!queue.counts.is_granted(tickets.last), "the {nth}th is inside, beside the first");
        last.replace(tickets).into_iter().for_each(settle);
    }
    last.into_iter().for_each(settle);
    queue.give_back(ALL);
    assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, ALL.cast_signed()), "as if nobody else had come");
}
