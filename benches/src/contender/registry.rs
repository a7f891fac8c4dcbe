//! The list of contenders.

use super::async_ones::{AsyncLock, Asyncband, EventListener, Saa, Tokio};
#[cfg(target_os = "linux")]
use super::glibc::SemT;
use super::layby_own::{OnPark, OnSpin};
use super::locks::{ParkingLotCondvar, ParkingLotFair, ParkingLotMutex, Raw, StdCondvar, StdMutex};
use super::spinning::{SpinCount, SpinTicket};
#[cfg(target_os = "linux")]
use super::word_wait::Futex;
use super::word_wait::{AtomicWait, Counting, LaybyAtomic, Ticket};
use super::{Exclusion, Permits};
use crate::semabench::trial::{Outcome, Trial, run};
use layby::mutex::{RawFairMutex, RawMutex};
use layby::paper::{TicketSemaphore, TwaArraySemaphore, TwaChainSemaphore, TwaMonitorSemaphore};
use layby::sema::Semaphore;
use layby::sys::{Native, Park};
use serde::{Deserialize, Serialize};

/// In which order waiters are served. The two are not compared: a FIFO hand-over pays for a promise that barging does
/// not give.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Class {
    /// First come, first served.
    Fifo,
    /// Late arrivals may overtake.
    Barging,
}

impl Class {
    pub const ALL: [Self; 2] = [Self::Fifo, Self::Barging];

    pub fn title(self) -> &'static str {
        match self {
            Self::Fifo => "FIFO",
            Self::Barging => "barging",
        }
    }
}

/// How a waiter waits in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Waits {
    Sleeping,
    /// Never sleeps: left out with more threads than CPUs.
    Spinning,
}

/// Somebody who takes part in semabench.
pub struct Contender {
    pub name: &'static str,
    pub class: Class,
    pub waits: Waits,
    /// Ours, or a peer.
    pub ours: bool,
    /// FIFO among sleepers only: shown in the FIFO tables, outside the bar.
    pub overtaken: bool,
    /// Can have more than one permit: not a mutex.
    pub counts: bool,
    pub about: &'static str,
    pub run: fn(&Trial<'_>) -> Option<Outcome>,
    /// A short test that it excludes.
    #[cfg(test)]
    pub check: fn(),
}

/// A row of the list.
const fn row<E: Exclusion>(name: &'static str, class: Class, waits: Waits, about: &'static str) -> Contender {
    Contender {
        name,
        class,
        waits,
        ours: false,
        overtaken: false,
        counts: E::COUNTS,
        about,
        run: run::<E>,
        #[cfg(test)]
        check: super::tests::excludes::<E>,
    }
}

/// The contender of that name.
pub fn by_name(name: &str) -> &'static Contender {
    CONTENDERS.iter().find(|contender| contender.name == name).expect("a contender of that name")
}

impl Contender {
    const fn ours(mut self) -> Self {
        self.ours = true;
        self
    }

    const fn overtaken(mut self) -> Self {
        self.overtaken = true;
        self
    }
}

use Class::{Barging, Fifo};
use Waits::{Sleeping, Spinning};

/// Everybody, ours first.
pub const CONTENDERS: &[Contender] = &[
    row::<Permits<Semaphore>>("layby", Fifo, Sleeping, "layby::sema::Semaphore").ours(),
    row::<Permits<Semaphore<OnPark>>>("layby-park", Fifo, Sleeping, "the same on the backend Park").ours(),
    row::<Permits<Semaphore<OnSpin>>>("layby-spin", Fifo, Spinning, "the same on the backend Spin").ours(),
    row::<Permits<TwaArraySemaphore<1, Native>>>(
        "twa-array",
        Fifo,
        Sleeping,
        "TwaArraySemaphore (listing 2): the next in line spins, all others sleep",
    )
    .ours(),
    row::<Permits<TwaArraySemaphore<0, Native>>>(
        "twa-array-0",
        Fifo,
        Sleeping,
        "the same, LongTermThreshold 0, as the paper has it where nobody should spin",
    )
    .ours(),
    row::<Permits<TwaArraySemaphore<0, Park>>>(
        "twa-array-0-park",
        Fifo,
        Sleeping,
        "the same, LongTermThreshold 0, on the backend Park",
    )
    .ours(),
    row::<Permits<TwaArraySemaphore>>("twa-array-spin", Fifo, Spinning, "the same, all spin, as in the listing").ours(),
    row::<Permits<TwaChainSemaphore>>("twa-chain", Fifo, Sleeping, "TwaChainSemaphore (listing 3)").ours(),
    row::<Permits<TwaMonitorSemaphore>>("twa-monitor", Fifo, Sleeping, "TwaMonitorSemaphore (listing 4)").ours(),
    row::<Permits<TicketSemaphore>>("ticket", Fifo, Spinning, "TicketSemaphore (listing 1)").ours(),
    row::<Raw<RawFairMutex>>("layby-fair-mutex", Fifo, Sleeping, "layby::mutex::FairMutex").ours(),
    row::<Raw<RawMutex>>("layby-mutex", Barging, Sleeping, "layby::mutex::Mutex").ours(),
    row::<Permits<Counting<LaybyAtomic>>>("layby-atomic", Barging, Sleeping, "a count and layby::atomic").ours(),
    row::<Permits<Tokio>>("tokio", Fifo, Sleeping, "tokio::sync::Semaphore, blocking_acquire"),
    row::<Permits<Saa>>("saa", Fifo, Sleeping, "saa::Semaphore, acquire_sync"),
    row::<Permits<Asyncband>>("asyncband", Fifo, Sleeping, "asyncband::Semaphore, acquire().block_on()"),
    #[cfg(target_os = "linux")]
    row::<Permits<Ticket<Futex>>>("futex-ticket", Fifo, Sleeping, "tickets, all waiting on one futex"),
    row::<Permits<SpinTicket>>("spin-ticket", Fifo, Spinning, "the plain ticket lock as a semaphore"),
    row::<ParkingLotFair>("pl-fair", Fifo, Sleeping, "parking_lot::Mutex, unlock_fair (arrivals spin and overtake)")
        .overtaken(),
    #[cfg(target_os = "linux")]
    row::<Permits<SemT>>("glibc", Barging, Sleeping, "the C library's sem_wait and sem_post"),
    #[cfg(target_os = "linux")]
    row::<Permits<Counting<Futex>>>("futex", Barging, Sleeping, "a count and a raw futex"),
    row::<Permits<Counting<AtomicWait>>>("atomic-wait", Barging, Sleeping, "a count and the crate atomic-wait"),
    row::<StdMutex>("std-mutex", Barging, Sleeping, "std::sync::Mutex"),
    row::<Permits<StdCondvar>>("std-condvar", Barging, Sleeping, "a count, std's Mutex and Condvar"),
    row::<ParkingLotMutex>("pl-mutex", Barging, Sleeping, "parking_lot::Mutex"),
    row::<Permits<ParkingLotCondvar>>("pl-condvar", Barging, Sleeping, "a count, parking_lot's Mutex and Condvar"),
    row::<Permits<AsyncLock>>("async-lock", Barging, Sleeping, "async_lock::Semaphore, acquire_blocking"),
    row::<Permits<EventListener>>("event-listener", Barging, Sleeping, "a count and event_listener::Event"),
    row::<Permits<SpinCount>>("spin", Barging, Spinning, "a count, test-and-test-and-set"),
];
