//! The games that the threads of a round play: one for each primitive, each with its own books.

pub(crate) mod bell;
mod kinds;
mod locks;
mod order;
mod permits;
mod pipes;
mod shared;
mod tables;
mod tasks;
mod tokens;
mod turns;
mod words;

use crate::{plan::Plan, worker::Worker};
use layby::{
    mutex::{RawFairMutex, RawMutex},
    paper::{TicketSemaphore, TwaArraySemaphore, TwaChainSemaphore, TwaMonitorSemaphore},
    sys::Native,
    wait_table::Home,
};

/// Something that several threads do at once, over and over.
pub(crate) trait Game: Sync {
    /// Does it once. Ends if all others go on; in between, the thread may play games that come later.
    fn play(&self, worker: &mut Worker<'_>);

    /// Checks the books, when nobody plays any more.
    fn check(self: Box<Self>);
}

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Permits,
    Order,
    Ticket,
    TwaArray,
    TwaChain,
    TwaMonitor,
    Turns,
    Tokens,
    Lock,
    FairLock,
    FairOrder,
    SharedLock,
    Words,
    Table,
    OwnTable,
    Tasks,
    Bell,
    Pipes,
}

impl Kind {
    /// The more often, the more often it is named.
    pub(crate) const ALL: [Self; 22] = [
        Self::Permits,
        Self::Permits,
        Self::Permits,
        Self::Order,
        Self::Ticket,
        Self::TwaArray,
        Self::TwaChain,
        Self::TwaMonitor,
        Self::Turns,
        Self::Tokens,
        Self::Lock,
        Self::FairLock,
        Self::FairOrder,
        Self::SharedLock,
        Self::Words,
        Self::Table,
        Self::Table,
        Self::OwnTable,
        Self::Tasks,
        Self::Tasks,
        Self::Bell,
        Self::Pipes,
    ];

    /// Makes the game, in the table of `H`.
    pub(crate) fn game<H: Home>(self, plan: &Plan) -> Box<dyn Game> {
        let permits = plan.permits;
        match self {
            Self::Permits => Box::new(permits::Permits::<H>::new(permits)),
            Self::Order => Box::new(order::Order::<H>::new()),
            Self::Ticket => Box::new(kinds::Kinds::<TicketSemaphore>::new(permits)),
            Self::TwaArray => Box::new(kinds::Kinds::<TwaArraySemaphore<1, Native>>::new(permits)),
            Self::TwaChain => Box::new(kinds::Kinds::<TwaChainSemaphore>::new(permits)),
            Self::TwaMonitor => Box::new(kinds::Kinds::<TwaMonitorSemaphore>::new(permits)),
            Self::Turns => Box::new(turns::Turns::<H>::new()),
            Self::Tokens => Box::new(tokens::Tokens::<H>::new(permits as usize)),
            Self::Lock => Box::new(locks::Locks::<RawMutex<H>>::new(permits as usize)),
            Self::FairLock => Box::new(locks::Locks::<RawFairMutex<H>>::new(permits as usize)),
            Self::FairOrder => Box::new(order::FairOrder::<H>::new()),
            Self::SharedLock => Box::new(shared::SharedLock::<H>::new()),
            Self::Words => Box::new(words::Words::new()),
            Self::Table => Box::new(tables::Lingering::<H>::new()),
            Self::OwnTable => Box::new(tables::Own::new(plan.slots)),
            Self::Tasks => Box::new(tasks::Tasks::new(permits as usize, plan.slots)),
            Self::Bell => Box::new(bell::Bell::new(plan)),
            Self::Pipes => Box::new(pipes::Pipes::new(plan)),
        }
    }
}
