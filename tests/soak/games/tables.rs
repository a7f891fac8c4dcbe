//! A lock made of a flag and the wait table, waited for in every form: also by conditions that panic or wait themselves.

use super::Game;
use crate::{common::Form, tables::assert_empty, worker::Worker};
use layby::{Key, Location, WaitTable, sys::Backend, wait_table::Home};
use std::{
    cell::Cell,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

#[derive(Default)]
struct Flag {
    locked: AtomicBool,
    /// The same once more, changed by the holder only.
    held: AtomicBool,
    /// A location on which nobody is woken on purpose.
    stranger: u8,
}

impl Location for Flag {}

impl Flag {
    fn is_free(&self) -> bool {
        !self.locked.load(Ordering::Relaxed)
    }

    fn try_lock(&self) -> bool {
        self.is_free() && !self.locked.swap(true, Ordering::Acquire)
    }

    /// Locks, waits and unlocks. `wait` waits once, in some form, with the condition given.
    fn play<B: Backend>(
        &self,
        worker: &mut Worker<'_>,
        table: &WaitTable<B>,
        wait: impl Fn(&mut Worker<'_>, Key, Duration, &dyn Fn() -> bool),
    ) {
        while !self.try_lock() {
            let soon = worker.soon();
            let evaluations = Cell::new(0);
            let turn = worker.random.below(3);
            let is_turn = || evaluations.replace(evaluations.get() + 1) == turn;
            match worker.random.below(8) {
                0 => {
                    let panics = || if is_turn() { resume_unwind(Box::new(())) } else { self.is_free() };
                    // Whether it came to that depends on the form.
                    let _ = catch_unwind(AssertUnwindSafe(|| wait(worker, self.key(), soon, &panics)));
                }
                1 => wait(worker, self.key(), soon, &|| {
                    if is_turn() {
                        let _ = table.wait_until_timeout(Key::address(&self.stranger), soon, || self.is_free());
                    }
                    self.is_free()
                }),
                2 => wait(worker, Key::address(&self.stranger), soon, &|| true),
                _ => wait(worker, self.key(), soon, &|| self.is_free()),
            }
        }
        assert!(!self.held.swap(true, Ordering::Relaxed), "two held the lock at once");
        worker.linger();
        self.held.store(false, Ordering::Relaxed);
        match worker.random.below(4) {
            0 => {
                self.locked.store(false, Ordering::SeqCst);
                table.wake_all_seqcst(self);
            }
            1 => {
                self.locked.store(false, Ordering::Release);
                table.wake_all(self);
            }
            _ => {
                self.locked.store(false, Ordering::Release);
                table.wake_one(self);
            }
        }
    }

    fn check(&self) {
        assert!(self.is_free() && !self.held.load(Ordering::Relaxed));
    }
}

/// On a table that is never dropped: all forms.
pub(crate) struct Lingering<H> {
    flag: Flag,
    home: PhantomData<fn() -> H>,
}

impl<H: Home> Lingering<H> {
    pub(crate) fn new() -> Self {
        Self { flag: Flag::default(), home: PhantomData }
    }
}

impl<H: Home> Game for Lingering<H> {
    fn play(&self, worker: &mut Worker<'_>) {
        self.flag.play(worker, H::TABLE, |worker, key, soon, holds| {
            if worker.random.one_in(32) {
                // Armed, and not waited: its element stays on the chain.
                drop(H::TABLE.arm(key));
            }
            // This one does not look at the condition, and nobody wakes the stranger.
            let may_wait_for_ever = key != Key::address(&self.flag.stranger);
            let form = match worker.random.choose(&Form::ALL) {
                Form::Location if !may_wait_for_ever => Form::LocationDeadline,
                form => form,
            };
            worker.at(|| form.wait(H::TABLE, key, soon, holds));
        });
    }

    fn check(self: Box<Self>) {
        self.flag.check();
    }
}

/// On a table that lives as long as the round: the forms that leave nothing behind.
pub(crate) struct Own {
    flag: Flag,
    table: WaitTable,
}

impl Own {
    pub(crate) fn new(slots: usize) -> Self {
        Self { flag: Flag::default(), table: WaitTable::with_slots(slots) }
    }
}

impl Game for Own {
    fn play(&self, worker: &mut Worker<'_>) {
        self.flag.play(worker, &self.table, |worker, key, soon, holds| {
            let form = worker.random.choose(&Form::STRICT);
            worker.at(|| form.wait_strictly(&self.table, key, soon, holds));
        });
    }

    fn check(self: Box<Self>) {
        self.flag.check();
        assert_empty(&self.table);
    }
}
