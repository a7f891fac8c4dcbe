//! Tickets of one line, drawn, abandoned and granted by one thread: what the markers do, by the numbers.

use super::{
    MAX_DISTANCE, TicketQueue,
    abandoned::Abandoned,
    levels::{BITS, Piece, Span},
    marker_banks,
    markers::{Cell, Marked, Markers},
    word::{Distance, Word},
};
use crate::sync::atomic::Ordering;
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

/// Each cell in use is an alert, so they can be counted: neighbours share one, in whatever order they leave, and none is
/// left when the queue is empty, nor when a post has passed over them.
#[test]
fn neighbours_share_a_cell() {
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

/// A thread that has seen a cell's markers, and comes back when the cell has the same bits again, for others, changes nothing.
#[test]
fn a_cell_that_is_used_again_is_another() {
    let cell = Cell::new();
    let claim_and_fill = || {
        cell.try_claim().expect("the cell is free").fill(0, 0, 0, 1);
        cell.peek().expect("it has markers").0
    };
    let seen = claim_and_fill();
    assert!(cell.try_take(seen, 1));
    let seen_again = claim_and_fill();
    assert!(!cell.try_take(seen, 1) && !cell.try_mark(seen, 2));
    assert!(cell.try_take(seen_again, 1));
}

/// The wrong interleaving in `markers`, "A cell": a marker comes back while another one stays in the cell.
#[test]
fn a_marker_that_has_come_back_is_another() {
    let _alone = alone();
    let queue = TicketQueue::<Own>::new(0);
    let draw_and_abandon_the_first_of_two = || {
        let tickets = [(); 2].map(|()| queue.counts.draw(1));
        settle(&queue, tickets[0]);
        tickets
    };
    draw_and_abandon_the_first_of_two();
    let [abandoned, last] = draw_and_abandon_the_first_of_two();
    let mut asked = 0;
    let is_own = |_| {
        asked += 1;
        if asked == 1 {
            settle(&queue, last);
            assert_eq!(draw_and_abandon_the_first_of_two(), [abandoned, last]);
        }
        // As it was when both were given back.
        asked != 1
    };
    Markers::<Own, 0>::of(&raw const queue.counts).drop_among(Span::of(abandoned, 1), is_own);
    queue.post();
    queue.post();
    assert_eq!((asked, Own::TABLE.alerts(), queue.surplus()), (2, 0, 0), "both permits are those of who stayed");
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
    // In one block, and the first the last of its block.
    for start in [0, Word::from(BITS - 1)] {
        for posted in [1, 2] {
            let queue = queue_at(start);
            let tickets = [(); 4].map(|()| queue.counts.draw(1));
            settle(&queue, tickets[0]);
            queue.post_conservatively();
            if posted == 1 {
                queue.post()
            } else {
                queue.post_many(posted)
            }
            assert_eq!((Own::TABLE.alerts(), queue.waited_for()), (0, 2 - posted));
        }
    }
}

/// The same, if one marker stands for a block.
#[test]
fn a_post_passes_over_a_block_that_a_conservative_one_has_begun() {
    let _alone = alone();
    let block = Span::of(Word::from(BITS), Word::from(BITS));
    let queue = queue_at(block.first);
    assert_eq!(queue.counts.draw_unchecked(block.len() + 1), block.first);
    Abandoned::<Own, 0>::of(&queue.counts).settle(block);
    queue.post_conservatively();
    queue.post();
    assert!(queue.counts.is_granted(block.behind()));
    assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, 1));
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
fn a_storm_leaves_all_cells_empty() {
    let _alone = alone();
    let storms = if cfg!(miri) { &[10][..] } else { &[10, 1000, 30_000] };
    for &n in storms {
        storm::<Own>(n, || ());
        assert_eq!(Own::TABLE.alerts(), 0);
        assert!(marker_banks::are_empty(), "after {n}");
    }
}

/// Whoever fills a block has its tickets in hand, and leaves one marker for them all.
#[test]
fn long_runs_take_little_room() {
    let _alone = alone();
    const RUN: usize = if cfg!(miri) { 70 } else { 5_000 };
    let queue = TicketQueue::<Own>::new(0);
    let tickets: Vec<Word> = (0..=RUN).map(|_| queue.counts.draw(1)).collect();
    // All but the last, in another order than that of the line.
    let order = (0..RUN).map(|nth| tickets[nth * 3 % RUN]);
    for (nth, ticket) in order.enumerate() {
        settle(&queue, ticket);
        assert_eq!(queue.waited_for(), (RUN - nth) as Word);
    }
    assert!(Own::TABLE.alerts() <= 8, "{} cells", Own::TABLE.alerts());
    queue.post();
    assert_eq!((Own::TABLE.alerts(), queue.waited_for(), queue.surplus()), (0, 0, 0), "the permit is the last one's");
}

/// What stands for several tickets is looked for as long as there is any.
#[test]
fn a_long_run_leaves_nothing_above() {
    let _alone = alone();
    let queue = TicketQueue::<Own>::new(0);
    let tickets: Vec<Word> = (0..=100).map(|_| queue.counts.draw(1)).collect();
    tickets[..100].iter().for_each(|&ticket| settle(&queue, ticket));
    assert_ne!(marker_banks::above_singles().load(Ordering::Relaxed), 0);
    queue.post();
    assert_eq!(marker_banks::above_singles().load(Ordering::Relaxed), 0);
}

/// Tickets that were drawn together are marked in several cells, and of several levels; whoever they are granted to.
#[test]
fn who_holds_many_gives_up_in_pieces() {
    let _alone = alone();
    for (before, many) in [(0, 7), (5, 30), (5, 2_000), (31, 33), (40, 1 << 20)] {
        for posts in [1, 3, 40] {
            let queue = TicketQueue::<Own>::new(before);
            (0..before).for_each(|_| assert!(queue.try_take(1).is_some()));
            let first = queue.counts.draw(many);
            let behind = (0..posts).map(|_| queue.counts.draw(1)).last();
            Abandoned::<Own, 0>::of(&queue.counts).settle(Span::of(first, many));
            assert_eq!(queue.waited_for(), posts);
            (0..posts).for_each(|_| queue.post());
            assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, 0), "{before}, {many}, {posts}");
            assert!(behind.is_some_and(|behind| queue.counts.is_granted(behind)));
        }
    }
}

/// A queue that nobody waits in, the next ticket of which is this.
fn queue_at(ticket: Word) -> TicketQueue<Own> {
    let queue = TicketQueue::<Own>::new(ticket);
    queue.counts.ticket.store(ticket, Ordering::Relaxed);
    queue
}

/// Tickets wrap, before those that were drawn together, among them and behind them.
#[test]
fn who_holds_many_gives_up_where_tickets_wrap() {
    let _alone = alone();
    let most = Word::BITS - 4;
    for shift in [0, 5, 12, 20, 24, most - 4, most - 1, most] {
        let many: Word = 1 << shift;
        for start in [Word::MAX, Word::MAX - many / 2, Word::MAX - many, (15 << most) - 1] {
            let queue = queue_at(start);
            let tickets = Span::of(start.wrapping_add(1), many);
            assert_eq!([queue.counts.draw_unchecked(1), queue.counts.draw_unchecked(many)], [start, tickets.first]);
            let behind = queue.counts.draw_unchecked(1);
            Abandoned::<Own, 0>::of(&queue.counts).settle(tickets);
            assert_eq!(queue.waited_for(), 2);
            queue.post();
            queue.post();
            assert!(queue.counts.is_granted(behind), "2^{shift} from {:x} on", tickets.first);
            assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, 0), "2^{shift} from {:x} on", tickets.first);
        }
    }
}

/// As above, granted by one post.
#[test]
fn a_post_of_very_many_finds_what_was_given_up_where_tickets_wrap() {
    let _alone = alone();
    let most: Word = 1 << (Word::BITS - 4);
    for start in [most.wrapping_mul(15), Word::MAX - most / 2, 0] {
        let queue = queue_at(start);
        let first = queue.counts.draw_unchecked(most);
        queue.counts.draw_unchecked(1);
        Abandoned::<Own, 0>::of(&queue.counts).settle(Span::of(first, most));
        queue.post_many(most + 1);
        assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, Distance::try_from(most).unwrap()), "from {first:x} on");
    }
}

/// Writers' tickets are 2^40 apart, so that their blocks are a multiple of any bank's buckets apart, and yet do not all meet in one.
#[test]
fn those_who_are_far_from_each_other_need_no_large_bank() {
    let _alone = alone();
    const ALL: Word = (if Word::BITS == 64 { 1_u64 << 40 } else { 1 << 14 }) as Word + 1;
    let before = marker_banks::buckets();
    let queue = TicketQueue::<Own, ALL>::new(0);
    let settle = |tickets| Abandoned::<Own, ALL>::of(&queue.counts).settle(tickets);
    let writers: Vec<_> = (0..200).map(|_| Span::of(queue.counts.draw_unchecked(ALL), ALL)).collect();
    for &writer in writers[1..].iter().step_by(2) {
        settle(writer);
        assert!(marker_banks::buckets() <= before.max(1 << 14), "{} buckets", marker_banks::buckets());
    }
    let left = Word::try_from(-queue.surplus()).unwrap() - queue.waited_for();
    assert_eq!(left, 99 * ALL, "the last has given its tickets back");
    for _ in 0..100 {
        queue.post_many(ALL);
    }
    assert_eq!((Own::TABLE.alerts(), queue.waited_for()), (0, 0));
}

/// Who waits behind a run passes all of it over, once its first ticket is granted.
#[test]
fn who_waits_passes_over_a_long_run() {
    let _alone = alone();
    for run in [1, 31, 32, 33, 70, 1100] {
        let queue = TicketQueue::<Own>::new(0);
        let tickets: Vec<Word> = (0..=run).map(|_| queue.counts.draw(1)).collect();
        tickets[..run].iter().rev().for_each(|&ticket| settle(&queue, ticket));
        let waiting = Span::of(tickets[run], 1);
        assert!(!queue.abandoned().pass_over_before(waiting));
        queue.post_conservatively();
        assert!(queue.abandoned().pass_over_before(waiting));
        assert!(queue.counts.is_granted(tickets[run]));
        assert_eq!((Own::TABLE.alerts(), queue.surplus()), (0, 0), "{run}");
    }
}

/// A marker as another queue would have left it there, which does not join it with others.
fn leave_marker(queue: &TicketQueue<Own>, ticket: Word) {
    let piece = Piece::first_of(Span::of(ticket, 1), 0);
    assert!(matches!(Markers::<Own, 0>::of(&queue.counts).mark(piece, |_| false, || 0), Marked::Yes));
}

#[test]
fn a_block_is_joined_when_all_of_it_is_drawn() {
    let _alone = alone();
    let queue = TicketQueue::<Own>::new(0);
    let [all, half] = [Word::from(BITS), Word::from(BITS / 2)];
    (0..all).filter(|&ticket| ticket != 0).for_each(|ticket| leave_marker(&queue, ticket));
    queue.counts.draw(half);
    let mark = || queue.abandoned().mark(Piece::first_of(Span::of(0, 1), 0));
    assert!(matches!(mark(), Marked::Yes));
    queue.counts.draw(half);
    assert!(matches!(mark(), Marked::Full(block) if block == Span::of(0, all)));
    assert_eq!(Own::TABLE.alerts(), 0);
}

/// In a queue that was moved to where another has left markers, which are granted.
#[test]
fn who_gives_back_takes_what_is_not_granted() {
    let _alone = alone();
    let queue = TicketQueue::<Own>::new(2);
    [0, 1].iter().for_each(|&ticket| leave_marker(&queue, ticket));
    let tickets = [(); 5].map(|()| queue.counts.draw(1));
    tickets[2..].iter().for_each(|&ticket| settle(&queue, ticket));
    assert_eq!((queue.surplus(), Own::TABLE.alerts()), (0, 1), "those that were left are there");
    Markers::<Own, 0>::of(&queue.counts).drop_among(Span::of(0, 2), |_| false);
    assert_eq!(Own::TABLE.alerts(), 0);
}

/// As above, but it comes with tickets that have been granted since they were drawn, one of which is given up now; and what was left covers that.
#[test]
fn who_has_tickets_in_hand_drops_what_others_left_of_them() {
    let _alone = alone();
    super::abandoned::note_unattended();
    let queue = TicketQueue::<Own>::new(3);
    let block = Piece::first_of(Span::of(0, Word::from(BITS)), 0);
    assert!(matches!(Markers::<Own, 0>::of(&queue.counts).mark(block, |_| false, || 0), Marked::Yes));
    queue.counts.draw(Word::from(BITS) + 8);
    settle(&queue, 2);
    assert_eq!(queue.waited_for(), Word::from(BITS) + 4, "its permit has gone on, and no other");
    assert_eq!(Own::TABLE.alerts(), 0);
}

/// What queues at one address of different tables leave, one after the other, and queues of one table beside each other.
#[test]
fn queues_do_not_see_each_others_markers() {
    let _alone = alone();
    // So many that they meet in buckets.
    let many = if cfg!(miri) { 80 } else { 2_000 };
    let queues: Vec<_> = (0..many).map(|_| TicketQueue::<Own>::new(0)).collect();
    for queue in &queues {
        let tickets = [(); 3].map(|()| queue.counts.draw(1));
        settle(queue, tickets[1]);
    }
    for queue in &queues {
        assert_eq!(queue.waited_for(), 2);
        queue.post();
        assert_eq!(queue.surplus(), -2, "the marker is not the next one's");
    }
    let (queue, other) = (&queues[0], TicketQueue::<Global>::new(0));
    let marked = Markers::<Own, 0>::of(&queue.counts);
    assert!(marked.has(1) && !Markers::<Global, 0>::of(&queue.counts).has(1), "it is another table's");
    assert!(!Markers::<Own, 0>::of(&other.counts).has(1));
    queues.iter().for_each(TicketQueue::post);
    assert_eq!(Own::TABLE.alerts(), 0);
}

/// Looks and not time. The markers of a long line are in three banks, those of a short one in one: that is three times as many, and a few for
/// blocks that meet in a bucket.
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
        assert!(many <= 3.2 * few, "{many:.1} looks in a long line, {few:.1} in a short one");
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
