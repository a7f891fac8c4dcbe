//! A queue of threads whose order is known: each comes when the one before it has drawn its ticket.

#![allow(dead_code, reason = "each test binary uses its own part")]

use crate::common::eventually;
use layby::{sema::Semaphore, wait_table::Home};
use std::{
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, Scope, ScopedJoinHandle},
};

pub(crate) struct Queue<'scope, 'env, H: Home> {
    scope: &'scope Scope<'scope, 'env>,
    semaphore: &'env Semaphore<H>,
    admit: Sender<usize>,
    admitted: Receiver<usize>,
    joined: usize,
}

impl<'scope, 'env, H: Home> Queue<'scope, 'env, H> {
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, semaphore: &'env Semaphore<H>) -> Self {
        let (admit, admitted) = mpsc::channel();
        Self { scope, semaphore, admit, admitted, joined: 0 }
    }

    /// A thread more, the next in line. `take` says whether it got its permits; then its number is an admission.
    ///
    /// Returns when it is in line, or, if it gives up by time, when it has been.
    pub(crate) fn join(
        &mut self,
        take: impl FnOnce(&Semaphore<H>) -> bool + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, bool> {
        let (semaphore, admit, number) = (self.semaphore, self.admit.clone(), self.joined);
        self.joined += 1;
        let before = semaphore.waiters();
        let thread = thread::Builder::new().stack_size(128 * 1024).spawn_scoped(self.scope, move || {
            let got = take(semaphore);
            if got {
                admit.send(number).unwrap();
            }
            got
        });
        let thread = thread.unwrap();
        eventually(|| semaphore.waiters() > before || thread.is_finished());
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
