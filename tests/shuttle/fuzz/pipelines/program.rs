//! A graph and what is done to it, made of bytes: any bytes will do.
//!
//! | bytes | |
//! |---|---|
//! | 0 | the ring, the producers, how threads wait |
//! | 1 | how often the schedule lets a thread go on |
//! | 2 | how many calls there are |
//! | 3 | the sections, from the first to the last |
//! | 2 for each | which thread and in which way; what |
//! | the rest | the schedule, a byte a step; then each thread goes on for as long as it can |
//!
//! When a producer has made its calls it goes. A stage then runs until it has finished, unless it has left.

use super::{
    super::bench::{self, Bench, Schedule},
    reference::Reference,
    run::run_one,
};
use layby::pipeline::WaitStrategy;
use std::sync::Arc;

/// Stages that were added together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Stage,
    Reader,
    TwoReaders,
    /// The second comes after the first.
    ReaderAfterReader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// A producer publishes so many entries, a stage works on as many at most.
    Work {
        n: usize,
        patience: Patience,
    },
    /// A stage holds up to so many, and passes on all but one of them; a producer does nothing.
    Hold {
        n: usize,
    },
    /// Lets all deadlines pass.
    Expire,
    Close,
    /// It goes, without having finished.
    Leave,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Forever,
    UntilDeadline,
    None,
    /// As a task.
    Awaited,
    /// As a task that is polled once.
    Polled,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) capacity: usize,
    pub(crate) strategy: WaitStrategy,
    pub(crate) sections: Vec<Section>,
    /// With one, it is the only kind of producer that can be alone.
    pub(crate) producers: Vec<Vec<Call>>,
    pub(crate) stages: Vec<Vec<Call>>,
    /// Of one who is neither.
    pub(crate) bystander: Vec<Call>,
    schedule: Schedule,
}

const HEAD: usize = 4;
const MOST_CALLS: usize = 20;

impl Section {
    fn decode(bits: u8) -> Self {
        match bits % 4 {
            0 => Self::Stage,
            1 => Self::Reader,
            2 => Self::TwoReaders,
            _ => Self::ReaderAfterReader,
        }
    }

    pub(crate) fn stages(self) -> usize {
        match self {
            Self::Stage | Self::Reader => 1,
            Self::TwoReaders | Self::ReaderAfterReader => 2,
        }
    }
}

impl bench::Program for Program {
    type Reference = Reference;
    const HAS_RESCUER: bool = false;

    fn decode(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let sections: Vec<_> = (0..=byte(3) % 3).map(|nth| Section::decode((byte(3) / 3) >> (2 * nth))).collect();
        let stages: usize = sections.iter().map(|section| section.stages()).sum();
        let producers = 1 + byte(0) as usize / 3 % 3;
        let mut threads = vec![vec![]; producers + stages + 1];
        let calls = byte(2) as usize % (MOST_CALLS + 1);
        for at in (0..calls).map(|number| HEAD + 2 * number) {
            let (thread, way) = (byte(at) as usize % threads.len(), byte(at) / threads.len() as u8);
            threads[thread].push(Call::decode(way, byte(at + 1)));
        }
        let bystander = threads.pop().expect("the last one");
        let stages = threads.split_off(producers);
        let strategy = if byte(0) / 9 % 2 == 0 { WaitStrategy::Sleep } else { WaitStrategy::SpinThenSleep };
        let schedule = Schedule::decode(byte(1), bytes.get(HEAD + 2 * calls..));
        let capacity = 1 << (byte(0) % 3);
        Self { capacity, strategy, sections, producers: threads, stages, bystander, schedule }
    }

    fn without_call(bytes: &[u8], number: usize) -> Option<Vec<u8>> {
        bench::without_pair(bytes, HEAD, MOST_CALLS, number)
    }

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn reference(&self) -> Reference {
        Reference::new(self.capacity, self.producers.len(), &self.sections)
    }

    fn run(self, bench: &Arc<Bench<Self>>) {
        run_one(self, bench);
    }
}

impl Call {
    fn decode(way: u8, what: u8) -> Self {
        let n = 1 + usize::from(what / 64 % 3);
        let patience = match way % 8 {
            0..3 => Patience::Forever,
            3 => Patience::UntilDeadline,
            4 | 5 => Patience::None,
            6 => Patience::Awaited,
            _ => Patience::Polled,
        };
        // What ends a graph is seldom: there would be nothing left to see.
        match what % 64 {
            0 => Self::Close,
            1 | 2 => Self::Leave,
            3..8 => Self::Expire,
            8..16 => Self::Hold { n },
            _ => Self::Work { n, patience },
        }
    }
}
