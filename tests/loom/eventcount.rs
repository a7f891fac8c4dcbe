//! Eventcounts and wait points.

use crate::explore::explore_run;
use layby::eventcount::{EventCount, Sequencer, WaitPoint};
use layby::{Closed, WaitError};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::time::Instant;

/// Runs `threads` side by side in every interleaving with few preemptions. Waits happen in spawned threads only: the
/// statics of an execution are gone before the main thread's thread-locals.
fn model<S: Send + Sync + 'static>(preemptions: usize, new: fn() -> S, threads: &'static [fn(&S)]) {
    explore_run(preemptions, move || {
        let shared = Arc::new(new());
        let spawned: Vec<_> = threads
            .iter()
            .map(|thread| {
                let shared = shared.clone();
                thread::spawn(move || thread(&shared))
            })
            .collect();
        spawned.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn advance_against_await() {
    model(
        3,
        EventCount::new,
        &[|count| assert_eq!(count.wait_at_least(1), Ok(1)), |count| assert_eq!(count.advance(), 1)],
    );
}

#[test]
fn two_advances_against_two_awaits() {
    model(
        2,
        EventCount::new,
        &[
            |count| assert_eq!(count.wait_at_least(2), Ok(2)),
            |count| {
                count.advance();
                assert!(count.wait_at_least(1).is_ok_and(|seen| seen >= 1));
            },
            |count| {
                count.advance();
            },
        ],
    );
}

/// An advance returns the value that it has reached itself.
#[test]
fn no_two_advances_return_the_same() {
    fn advance((count, sum): &(EventCount, AtomicU32)) {
        let reached = u32::try_from(count.advance()).unwrap();
        let others = sum.fetch_add(reached, Ordering::Relaxed);
        assert!(others == 0 || others + reached == 3, "{reached} and {others}");
    }
    model(3, || (EventCount::new(), AtomicU32::new(0)), &[advance, advance]);
}

/// Both values are reached at once, and both waiters are told.
#[test]
fn an_advance_by_two_against_two_awaits() {
    model(
        2,
        EventCount::new,
        &[
            |count| assert_eq!(count.wait_at_least(1), Ok(2)),
            |count| assert_eq!(count.wait_at_least(2), Ok(2)),
            |count| assert_eq!(count.advance_by(2), 2),
        ],
    );
}

/// By more than the model's four slots: the look at every slot.
#[test]
fn a_wide_advance_against_await() {
    model(
        3,
        EventCount::new,
        &[
            |count| assert_eq!(count.wait_at_least(3), Ok(6)),
            |count| {
                count.advance_by(6);
            },
        ],
    );
}

/// The picker of a wide advance holds a stranger's element while its own advance comes.
#[test]
fn a_wide_advance_hides_no_stranger() {
    model::<[EventCount; 2]>(
        2,
        || [EventCount::new(), EventCount::new()],
        &[
            |counts| assert_eq!(counts[0].wait_at_least(1), Ok(1)),
            |counts| counts[1].close(),
            |counts| {
                counts[0].advance();
            },
        ],
    );
}

#[test]
fn close_against_await() {
    model(
        3,
        EventCount::new,
        &[
            |count| assert_eq!(count.wait_at_least(1), Err(Closed)),
            |count| {
                count.close();
                assert_eq!(count.wait_at_least(9), Err(Closed));
            },
        ],
    );
}

#[test]
fn close_against_advance_and_await() {
    model(
        2,
        EventCount::new,
        &[
            |count| assert_eq!(count.wait_at_least(2), Err(Closed)),
            |count| {
                count.advance();
            },
            |count| count.close(),
        ],
    );
}

#[test]
fn advance_against_timed_await() {
    model(
        2,
        EventCount::new,
        &[
            |count| {
                let seen = count.wait_at_least_deadline(1, Instant::now());
                assert!(matches!(seen, Ok(1) | Err(WaitError::TimedOut)), "{seen:?}");
            },
            |count| {
                count.advance();
            },
            |_| layby::model::expire_deadlines(),
        ],
    );
}

type CountAndData = (EventCount, AtomicU32);

fn write_then(change: fn(&EventCount), (count, data): &CountAndData) {
    data.store(7, Ordering::Relaxed);
    change(count);
}

fn await_and_read((count, data): &CountAndData) {
    // However it ends: by the advance, or by the close.
    let _ = count.wait_at_least(1);
    assert_eq!(data.load(Ordering::Relaxed), 7);
}

/// What was written before an advance is seen by who sees the advance; loom's atomics are as weak as they may be.
#[test]
fn an_advance_publishes() {
    model(3, Default::default, &[await_and_read, |shared| write_then(|count| _ = count.advance(), shared)]);
}

/// The same for who sees the count closed.
#[test]
fn a_close_publishes() {
    model(3, Default::default, &[await_and_read, |shared| write_then(EventCount::close, shared)]);
}

/// What was written before a draw, in either form, is seen by who draws or peeks later in the count.
#[test]
fn a_draw_publishes() {
    fn write_and_draw((tickets, data): &(Sequencer, AtomicU32), draw: fn(&Sequencer)) {
        data.store(7, Ordering::Relaxed);
        draw(tickets);
    }
    fn look((tickets, data): &(Sequencer, AtomicU32), drawn: fn(&Sequencer) -> u64) {
        if drawn(tickets) == 1 {
            assert_eq!(data.load(Ordering::Relaxed), 7);
        }
    }
    for threads in [
        &[(|s| write_and_draw(s, |tickets| _ = tickets.tickets_below(1, 9))) as fn(&(Sequencer, AtomicU32)), |s| {
            look(s, Sequencer::peek)
        }],
        &[|s| write_and_draw(s, |tickets| _ = tickets.tickets(1)), |s| look(s, Sequencer::ticket)],
    ] {
        model(3, || (Sequencer::new(), AtomicU32::new(0)), threads);
    }
}

struct Tokens {
    left: AtomicU32,
    arrived: WaitPoint,
}

impl Tokens {
    fn none() -> Self {
        Self { left: AtomicU32::new(0), arrived: WaitPoint::new() }
    }

    fn try_take(&self) -> bool {
        let mut left = self.left.load(Ordering::Relaxed);
        while left > 0 {
            match self.left.compare_exchange(left, left - 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => left = now,
            }
        }
        false
    }

    fn take(&self) {
        self.arrived.wait_until(|| self.try_take());
    }

    /// With a deadline that has passed when the model says so.
    fn take_in_time(&self) -> bool {
        self.arrived.wait_until_deadline(Instant::now(), || self.try_take())
    }

    fn give_all(&self, tokens: u32) {
        self.left.fetch_add(tokens, Ordering::Relaxed);
        self.arrived.notify_all();
    }

    fn give(&self) {
        self.left.fetch_add(1, Ordering::Relaxed);
        self.arrived.notify_one();
    }
}

#[test]
fn notify_one_against_wait() {
    model(3, Tokens::none, &[Tokens::take, Tokens::give]);
}

#[test]
fn two_notify_one_against_two_waits() {
    model(
        2,
        Tokens::none,
        &[Tokens::take, Tokens::take, |tokens| {
            tokens.give();
            tokens.give();
        }],
    );
}

#[test]
fn notify_all_against_two_waits() {
    model(2, Tokens::none, &[Tokens::take, Tokens::take, |tokens| tokens.give_all(2)]);
}

/// In a model three fill the count of those who wait.
const FULL: usize = 3;

/// Prepares and forgets, again and again.
fn forget(point: &WaitPoint, times: usize) {
    (0..times).for_each(|_| std::mem::forget(point.prepare()));
}

/// The waiter is counted, or finds the count full.
#[test]
fn a_full_count_hides_nobody() {
    fn all_but_one_forgotten() -> Tokens {
        let tokens = Tokens::none();
        forget(&tokens.arrived, FULL - 1);
        tokens
    }
    model(
        2,
        all_but_one_forgotten,
        &[Tokens::take, |tokens| {
            forget(&tokens.arrived, 1);
            tokens.give();
        }],
    );
}

/// The waiter is not counted, and those who are leave.
#[test]
fn a_full_count_stays_full() {
    explore_run(2, || {
        let tokens: &'static Tokens = Box::leak(Box::new(Tokens::none()));
        let counted = [(); FULL].map(|()| tokens.arrived.prepare());
        let waiter = thread::spawn(|| tokens.take());
        drop(counted);
        tokens.give();
        waiter.join().unwrap();
    });
}

/// Without an expiry it is a wait as any other.
#[test]
fn notify_one_against_timed_wait() {
    model(3, Tokens::none, &[|tokens| assert!(tokens.take_in_time(), "a timeout without an expiry"), Tokens::give]);
}

/// The token is there when the deadline passes: it counts, and not the timeout.
#[test]
fn a_token_at_the_deadline() {
    model(
        3,
        Tokens::none,
        &[
            |tokens| {
                if !tokens.take_in_time() {
                    assert_eq!(tokens.left.load(Ordering::Relaxed), 0, "timed out beside a token");
                }
            },
            |tokens| {
                tokens.left.fetch_add(1, Ordering::Relaxed);
                layby::model::expire_deadlines();
            },
        ],
    );
}

/// A notification that has let one waiter go must not keep a later one from another: both return. The second waiter
/// says when it is prepared; if it is late, all are notified.
#[test]
fn a_waiter_that_may_go_takes_no_wake_up_along() {
    explore_run(2, || {
        let point: &'static WaitPoint = Box::leak(Box::new(WaitPoint::new()));
        let (prepared, over) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let first = point.prepare();
        let first = thread::spawn(move || first.commit());
        let second = {
            let (prepared, over) = (prepared.clone(), over.clone());
            thread::spawn(move || {
                let second = point.prepare();
                prepared.store(1, Ordering::Relaxed);
                if over.load(Ordering::Relaxed) == 0 {
                    second.commit();
                }
            })
        };
        point.notify_one();
        if prepared.load(Ordering::Relaxed) == 1 {
            point.notify_one();
        } else {
            over.store(1, Ordering::Relaxed);
            point.notify_all();
        }
        first.join().unwrap();
        second.join().unwrap();
    });
}
