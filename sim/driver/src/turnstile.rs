//! Something that lets one thread in at a time, and every primitive of the crate that can do so.

use layby::eventcount::{EventCount, Sequencer};
use layby::mutex::RawFairMutex;
use layby::paper::RawSemaphore;
use layby::wait_table::{Global, Home};

/// Something that lets one thread in at a time.
pub trait Turnstile: Send + Sync {
    const NAME: &'static str;

    fn new() -> Self;

    /// Waits for its turn, runs `inside`, and hands over.
    fn pass(&self, inside: impl FnOnce());
}

/// Every semaphore of the crate, with one permit.
impl<S: RawSemaphore> Turnstile for S {
    const NAME: &'static str = S::NAME;

    fn new() -> Self {
        S::with_permits(1)
    }

    fn pass(&self, inside: impl FnOnce()) {
        self.take();
        inside();
        self.post();
    }
}

pub struct Fair(RawFairMutex);

impl Turnstile for Fair {
    const NAME: &'static str = "fair-mutex";

    fn new() -> Self {
        Self(RawFairMutex::new())
    }

    #[allow(unsafe_code)]
    fn pass(&self, inside: impl FnOnce()) {
        let ticket = self.0.acquire();
        inside();
        // SAFETY: its own ticket.
        unsafe { self.0.release(ticket) };
    }
}

/// Reed and Kanodia's mutual exclusion: draw a ticket, await its turn, advance. Its waiters wait in the table of `H`.
pub struct Events<H: Home = Global> {
    pub order: Sequencer,
    pub turn: EventCount<H>,
}

impl<H: Home> Turnstile for Events<H> {
    const NAME: &'static str = "eventcount";

    fn new() -> Self {
        Self { order: Sequencer::new(), turn: EventCount::new_in() }
    }

    fn pass(&self, inside: impl FnOnce()) {
        self.turn.wait_at_least(self.order.ticket()).expect("nobody closes it");
        inside();
        self.turn.advance();
    }
}
