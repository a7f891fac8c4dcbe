//! A queue of threads whose order is known: each comes when the one before it has drawn its ticket.

#![allow(dead_code, reason = "each test binary uses its own part")]

use crate::common::eventually;
use layby::{sema::Semaphore, wait_table::Home};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
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
    /// Tickets of those who gave up.
    given_up: Arc<AtomicU64>,
}

impl<'scope, 'env, H: Home> Queue<'scope, 'env, H> {
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, semaphore: &'env Semaphore<H>) -> Self {
        let (admit, admitted) = mpsc::channel();
        assert_eq!(semaphore.waiters(), 0);
        Self { scope, semaphore, admit, admitted, joined: 0, drawn: 0, given_up: Arc::default() }
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
        let given_up = Arc::clone(&self.given_up);
        let thread = thread::Builder::new().stack_size(128 * 1024).spawn_scoped(self.scope, move || {
            let got = take(semaphore);
            if got {
                admit.send(number).unwrap();
            } else {
                given_up.fetch_add(n, Ordering::SeqCst);
            }
            got
        });
        let thread = thread.unwrap();
        // In this order: one who gives up between the two is missed for a moment, and never counted twice.
        let in_line_or_gone = || self.given_up.load(Ordering::SeqCst) + semaphore.waiters();
        eventually(|| in_line_or_gone() >= self.drawn || thread.is_finished());
        thread
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
