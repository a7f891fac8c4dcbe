//! What is compared.

use crate::peers::{FutexSemaphore, McsLock, TicketLock};
use crate::rounds::{Outcome, Rounds, pass_again_and_again};
use crate::turnstile::{Events, Fair, Turnstile};
use layby::paper::{TicketSemaphore, TwaArraySemaphore, TwaChainSemaphore, TwaMonitorSemaphore};
use layby::sema::Semaphore;

pub struct Contender {
    pub name: &'static str,
    /// Whether it is the crate's own code.
    pub ours: bool,
    pub run: fn(&Rounds) -> Outcome,
}

const fn ours<X: Turnstile>() -> Contender {
    Contender { name: X::NAME, ours: true, run: pass_again_and_again::<X> }
}

const fn peer<X: Turnstile>() -> Contender {
    Contender { name: X::NAME, ours: false, run: pass_again_and_again::<X> }
}

pub const CONTENDERS: [Contender; 10] = [
    ours::<Semaphore>(),
    ours::<TicketSemaphore>(),
    ours::<TwaArraySemaphore>(),
    ours::<TwaChainSemaphore>(),
    ours::<TwaMonitorSemaphore>(),
    ours::<Fair>(),
    ours::<Events>(),
    peer::<TicketLock>(),
    peer::<McsLock>(),
    peer::<FutexSemaphore>(),
];
