//! A queue of threads whose order is known: each comes when the one before it has drawn its ticket.

use crate::common::eventually;
use layby::{sema::Semaphore, wait_table::Home};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, Scope, ScopedJoinHandle},
};

pub(crate) struct Queue<'scope, 'env, H: Home> {
    scope: &'scope Scope<'scope, 'env>,
    semaphore: &'env Semaphore<H>,
    admit: Sender<usize>,
    admitted: Receiver<usize>,
    joined: usize,
    /// Tickets that those who joined have drawn or will draw, but for those that were granted in advance.
    drawn: u64,
    /// How many gave up.
    given_up: Arc<AtomicUsize>,
    /// How many have returned, with or without a permit.
    returned: Arc<AtomicUsize>,
}

impl<'scope, 'env, H: Home> Queue<'scope, 'env, H> {
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, semaphore: &'env Semaphore<H>) -> Self {
        let (admit, admitted) = mpsc::channel();
        assert_eq!(semaphore.waiters(), 0);
        Self {
            scope,
            semaphore,
            admit,
            admitted,
            joined: 0,
            drawn: 0,
            given_up: Arc::default(),
            returned: Arc::default(),
        }
    }

    /// A thread more, the next in line, that takes `n` permits. `take` says whether it got them; then its number is an
    /// admission.
    ///
    /// Returns when it is in line, or, if it gives up by time, when it has been; also while others give up. Nobody posts
    /// meanwhile.
    pub(crate) fn join(
        &mut self,
        n: u64,
        take: impl FnOnce(&Semaphore<H>) -> bool + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, bool> {
        let (semaphore, admit, number) = (self.semaphore, self.admit.clone(), self.joined);
        self.joined += 1;
        self.drawn += n - semaphore.available().min(n);
        let (given_up, returned) = (Arc::clone(&self.given_up), Arc::clone(&self.returned));
        let thread = thread::Builder::new().stack_size(128 * 1024).spawn_scoped(self.scope, move || {
            let got = take(semaphore);
            if got {
                admit.send(number).unwrap();
            } else {
                given_up.fetch_add(1, Ordering::SeqCst);
            }
            returned.fetch_add(1, Ordering::SeqCst);
            got
        });
        let thread = thread.unwrap();
        eventually(|| self.all_are_in_line_or_gone() || thread.is_finished());
        thread
    }

    fn all_are_in_line_or_gone(&self) -> bool {
        if self.given_up.load(Ordering::SeqCst) == 0 {
            return self.semaphore.waiters() >= self.drawn;
        }
        // The abandoned tickets of one who has returned may be in the hands of another who gives up, and count as
        // waiting again. So threads are counted, in this order: who returns between the two is missed for a moment, and
        // none counted twice.
        let returned = self.returned.load(Ordering::SeqCst);
        // By their tickets: one who was woken, and published itself again, may be reported twice.
        let mut in_line = BTreeSet::new();
        H::TABLE.for_each_waiter(|waiter| {
            if waiter.key().is_within(self.semaphore) {
                in_line.insert(waiter.key().ticket_number());
            }
        });
        returned + in_line.len() >= self.joined
    }

    /// Who was admitted next; waits for it.
    pub(crate) fn next_admitted(&self) -> usize {
        self.admitted.recv().unwrap()
    }

    /// Whether somebody was admitted whom nobody has asked for yet.
    pub(crate) fn is_anyone_admitted(&self) -> bool {
        self.admitted.try_recv().is_ok()
    }
}
