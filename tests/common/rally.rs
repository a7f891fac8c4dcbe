//! A ball that goes to and fro between two threads, in every form of waiting.

use super::Form;
use layby::{Key, WaitTable, sys::Backend};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// A wake-up that is lost in either direction stops the rally.
pub(crate) struct Rally<B: Backend> {
    table: &'static WaitTable<B>,
    ball: AtomicUsize,
}

impl<B: Backend> Rally<B> {
    /// For threads that cannot be scoped.
    pub(crate) fn leaked(table: &'static WaitTable<B>) -> &'static Self {
        Box::leak(Box::new(Self { table, ball: AtomicUsize::new(0) }))
    }

    /// Plays one side, 0 or 1: waits for the ball in each form in turn, and sends it back, `rounds` times.
    pub(crate) fn play(&self, side: usize, rounds: usize) {
        let forms = Form::ALL.into_iter().cycle().take(rounds * Form::ALL.len());
        for (exchange, form) in forms.enumerate() {
            let ours = 2 * exchange + side;
            let holds = || self.ball.load(Ordering::Acquire) == ours;
            while !holds() {
                form.wait(self.table, Key::address(&self.ball), Duration::from_millis(1), holds);
            }
            self.ball.store(ours + 1, Ordering::Release);
            self.table.wake_all(&self.ball);
        }
    }

    /// Plays both sides, this thread against a new one; returns when both are done.
    pub(crate) fn run(table: &'static WaitTable<B>, rounds: usize) {
        let rally = Self::leaked(table);
        let partner = thread::spawn(move || rally.play(1, rounds));
        rally.play(0, rounds);
        partner.join().unwrap();
        assert_eq!(rally.ball.load(Ordering::Relaxed), 2 * rounds * Form::ALL.len());
    }
}
