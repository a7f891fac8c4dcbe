//! A thread of a round: its chance, and where it is.

use crate::{common::Random, games::Game, watchdog::Post};
use std::{panic::Location, sync::atomic::Ordering, thread, time::Duration};

pub(crate) struct Worker<'r> {
    pub(crate) random: Random,
    games: &'r [Box<dyn Game>],
    /// The first game that may be played now: while a thread holds something of one game, it plays only those behind it, so
    /// that no two threads ever wait for each other.
    first: usize,
    post: &'static Post,
}

impl<'r> Worker<'r> {
    pub(crate) fn new(random: Random, games: &'r [Box<dyn Game>], post: &'static Post) -> Self {
        Self { random, games, first: 0, post }
    }

    /// Plays some game that may be played now.
    pub(crate) fn step(&mut self) {
        let first = self.first;
        let Some(choice) = self.games.len().checked_sub(first).filter(|choice| *choice > 0) else { return };
        let game = first + self.random.below(choice);
        self.first = game + 1;
        self.games[game].play(self);
        self.first = first;
        self.post.operations.fetch_add(1, Ordering::Relaxed);
    }

    /// What a thread does while it holds something that others wait for.
    pub(crate) fn linger(&mut self) {
        match self.random.below(8) {
            0 => thread::yield_now(),
            1 => (0..self.random.below(300)).for_each(|_| std::hint::spin_loop()),
            2 if self.random.one_in(8) => thread::sleep(self.soon()),
            3 | 4 => self.step(),
            _ => {}
        }
    }

    /// Runs `call`, which may block; should it hang, the watchdog names this line.
    #[track_caller]
    pub(crate) fn at<R>(&self, call: impl FnOnce() -> R) -> R {
        let before = self.post.place.swap(std::ptr::from_ref(Location::caller()).cast_mut(), Ordering::Relaxed);
        let result = call();
        self.post.place.store(before, Ordering::Relaxed);
        result
    }

    /// A timeout so short that it often passes.
    pub(crate) fn soon(&mut self) -> Duration {
        Duration::from_micros(self.random.below(200) as u64)
    }
}
