//! A program, made of bytes: any bytes will do.
//!
//! | bytes | |
//! |---|---|
//! | 0 | permits of the two semaphores |
//! | 1 | how often the schedule lets a thread go on |
//! | 2 | how many operations there are |
//! | 2 for each | which thread and in which way; what |
//! | the rest | the schedule, a byte a step; then each thread goes on for as long as it can |

use super::{
    bench::{self, Bench, Schedule},
    reference::Reference,
    run::run_one,
};
use std::sync::Arc;

/// What a thread calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Take {
        line: usize,
        n: u64,
        patience: Patience,
    },
    Post {
        line: usize,
        n: u64,
        form: u8,
    },
    Advance {
        n: u64,
    },
    Await {
        value: u64,
        patience: Patience,
    },
    Lock {
        patience: Patience,
    },
    Unlock,
    WaitFlag {
        flag: usize,
        form: u8,
        patience: Patience,
    },
    SetFlag {
        flag: usize,
        form: u8,
    },
    TakeToken {
        patience: Patience,
    },
    PutToken,
    /// Publishes itself for a moment under a key that nobody else has.
    Disturb {
        form: u8,
    },
    /// Lets all deadlines pass, and cancels.
    Expire,
}

/// The line that is a fair mutex; those before it are semaphores.
pub(crate) const FAIR: usize = 2;
pub(crate) const LINES: usize = 3;
pub(crate) const THREADS: usize = 4;
const HEAD: usize = 3;
const MOST_CALLS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Patience {
    Forever,
    UntilDeadline,
    /// Ends when the deadlines pass, too, but by a cancellation.
    UntilCancelled,
    None,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) permits: [u64; 2],
    pub(crate) threads: [Vec<Call>; THREADS],
    schedule: Schedule,
}

impl bench::Program for Program {
    type Reference = Reference;
    const HAS_RESCUER: bool = true;

    fn decode(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let calls = byte(2) as usize % (MOST_CALLS + 1);
        let mut threads: [Vec<Call>; THREADS] = Default::default();
        for at in (0..calls).map(|number| HEAD + 2 * number) {
            threads[byte(at) as usize % THREADS].push(Call::decode(byte(at) / THREADS as u8, byte(at + 1)));
        }
        let schedule = Schedule::decode(byte(1), bytes.get(HEAD + 2 * calls..));
        Self { permits: [u64::from(byte(0) % 3), u64::from(byte(0) / 3 % 3)], threads, schedule }
    }

    fn without_call(bytes: &[u8], number: usize) -> Option<Vec<u8>> {
        bench::without_pair(bytes, HEAD, MOST_CALLS, number)
    }

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn reference(&self) -> Reference {
        Reference::new(self.permits)
    }

    fn run(self, bench: &Arc<Bench<Self>>) {
        run_one(self, bench);
    }
}

impl Call {
    fn decode(way: u8, what: u8) -> Self {
        let form = way / 4;
        let patience = match way % 4 {
            0 | 1 => Patience::Forever,
            2 if form % 4 == 3 => Patience::UntilCancelled,
            2 => Patience::UntilDeadline,
            _ => Patience::None,
        };
        let n = 1 + u64::from(what / 16 % 3);
        let line = usize::from(what / 64 % 2);
        match what % 16 {
            0..3 => Self::Take { line, n, patience },
            3 => Self::Take { line, n, patience: Patience::UntilDeadline },
            4..6 => Self::Post { line, n, form },
            6 => Self::Advance { n },
            7 => Self::Await { value: 2 * n, patience: patience.but_waits() },
            8 => Self::Lock { patience },
            9 => Self::Take { line: FAIR, n: 1, patience },
            10 => Self::SetFlag { flag: line, form },
            11 => Self::WaitFlag { flag: line, form, patience: patience.but_waits() },
            12 => Self::TakeToken { patience },
            13 => Self::PutToken,
            14 => Self::Disturb { form },
            _ => Self::Expire,
        }
    }
}

impl Patience {
    /// Whether it ends some day.
    pub(crate) fn is_limited(self) -> bool {
        matches!(self, Self::UntilDeadline | Self::UntilCancelled)
    }

    /// For calls that come without a form that does not wait.
    fn but_waits(self) -> Self {
        if self == Self::None { Self::UntilDeadline } else { self }
    }
}
