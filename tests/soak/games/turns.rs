//! Eventcount and sequencer: everybody in turn, in the order of the tickets.

use super::Game;
use crate::worker::Worker;
use layby::{
    Closed,
    eventcount::{EventCount, Sequencer},
    wait_table::Home,
};
use std::time::Instant;

pub(crate) struct Turns<H: Home> {
    tickets: Sequencer,
    served: EventCount<H>,
}

impl<H: Home> Turns<H> {
    pub(crate) fn new() -> Self {
        Self { tickets: Sequencer::new(), served: EventCount::new_in() }
    }

    fn wait_for_turn(&self, ticket: u64, worker: &mut Worker<'_>) -> u64 {
        if worker.random.one_in(2) {
            return worker.at(|| self.served.wait_at_least(ticket)).expect("it is open");
        }
        loop {
            let soon = worker.soon();
            let outcome = worker.at(|| self.served.wait_at_least_deadline(ticket, Instant::now() + soon));
            if let Ok(count) = outcome {
                return count;
            }
        }
    }
}

impl<H: Home> Game for Turns<H> {
    fn play(&self, worker: &mut Worker<'_>) {
        if worker.random.one_in(4) {
            let value = self.served.read() + worker.random.below(5) as u64;
            let soon = worker.soon();
            let outcome = worker.at(|| self.served.wait_at_least_timeout(value, soon));
            assert!(outcome.map_or(true, |count| count >= value), "woken before {value} was reached");
            return;
        }
        let n = 1 + worker.random.below(3) as u64;
        let first = if worker.random.one_in(8) {
            match self.tickets.tickets_below(n, self.served.read() + 5) {
                Some(first) => first,
                None => return,
            }
        } else {
            self.tickets.tickets(n)
        };
        assert_eq!(self.wait_for_turn(first, worker), first, "out of turn");
        worker.linger();
        let now = if n == 1 { self.served.advance() } else { self.served.advance_by(n) };
        assert_eq!(now, first + n, "two had their turn at once");
    }

    fn check(self: Box<Self>) {
        assert_eq!(self.served.read(), self.tickets.peek(), "not everybody had a turn");
        self.served.close();
        assert_eq!(self.served.wait_at_least(EventCount::MAX), Err(Closed));
    }
}
