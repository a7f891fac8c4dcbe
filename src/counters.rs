//! How often the crate's threads waited, woke and were woken: for tests, and for tuning. Counted only with the feature
//! `counters`; without it every count is 0, and nothing is left of it in the code.
//!
//! ```
//! use layby::counters;
//!
//! let semaphore = layby::sema::Semaphore::new(0);
//! let before = counters::snapshot();
//! semaphore.post();
//! semaphore.take();
//! let counted = counters::snapshot() - before;
//! assert_eq!(counted.waits, 0, "the permit was there");
//! println!("{counted:#?}");
//! ```
//!
//! The counts are those of the process. Each thread counts in a place that it shares with few others, so that counting
//! does not make threads wait for each other; to count allocates nothing and takes no lock.

use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicUsize};
use core::{ops::Sub, ptr};

/// Whether this build counts: the feature `counters`.
pub const ENABLED: bool = cfg!(feature = "counters");

/// Defines what is counted, once: the public counts, and the events that the crate reports.
macro_rules! counters {
    ($($(#[$meta:meta])+ $field:ident $event:ident,)+) => {
        /// What has been counted; see [`snapshot`]. The difference of two is what came between.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$meta])+ pub $field: u64,)+
        }

        #[derive(Clone, Copy)]
        pub(crate) enum Event {
            $($event,)+
        }

        const EVENTS: usize = [$(Event::$event),+].len();

        impl Counters {
            fn of(count: impl Fn(Event) -> u64) -> Self {
                Self { $($field: count(Event::$event),)+ }
            }
        }

        impl Sub for Counters {
            type Output = Self;

            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field.wrapping_sub(earlier.$field),)+ }
            }
        }
    };
}

counters! {
    /// Waits in the wait table: a thread published itself, found its condition still false, and waited. A call that is
    /// woken for nothing waits again, and counts again.
    waits Wait,
    /// Wake-ups: elements that were notified, their owners awake or asleep. Those left lingering by a wait that is over
    /// are among them.
    wakes Wake,
    /// Wake-ups after which the waiter found its condition false. Only in the forms that know the condition, which are
    /// the closure forms and the primitives except the mutex.
    futile_wakes FutileWake,
    /// Wake-ups by which a semaphore makes the waiter that is now near its turn ready; not futile, for that is what it waits for.
    staged_wakes StagedWake,
    /// Times that a thread stayed awake and got what it waited for before it slept.
    spins_succeeded SpinSucceeded,
    /// Times that a thread stayed awake for as long as it may, and then slept after all.
    spins_failed SpinFailed,
    /// Yields: times that a thread that stayed awake let others run.
    yields Yield,
    /// System calls to sleep. (On `Park`: calls of `parking_lot_core`, which may find that there is no need.)
    sleep_calls SleepCall,
    /// System calls to wake. (On `Park`: as above.)
    wake_calls WakeCall,
    /// Looks for abandoned tickets of a semaphore or fair mutex: places that were searched for a mark of them.
    marker_looks MarkerLook,
}

/// What has been counted since the process began, or 0 in a build that does not count. After a fork the child goes on
/// with its parent's counts.
///
/// Not all at one moment: what happens meanwhile may be counted in part. To compare, let the threads come to rest.
#[must_use]
pub fn snapshot() -> Counters {
    if !ENABLED {
        return Counters::default();
    }
    Counters::of(|event| {
        let counts = SHARDS.iter().map(|shard| shard.0[event as usize].load(Ordering::Relaxed));
        counts.fold(0, |sum, count| sum.wrapping_add(count as u64))
    })
}

/// Arbitrary: more than most machines have CPUs that are busy with this crate. A power of two.
const SHARD_COUNT: usize = 16;

/// Counts of some of the threads, on cache lines of their own.
#[repr(align(128))]
struct Shard([AtomicUsize; EVENTS]);

static SHARDS: [Shard; SHARD_COUNT] = [const { Shard([const { AtomicUsize::new(0) }; EVENTS]) }; SHARD_COUNT];

/// Counts an event.
#[inline(always)]
pub(crate) fn count(event: Event) {
    add(event, 1);
}

/// Counts `n` events.
#[inline(always)]
pub(crate) fn add(event: Event, n: usize) {
    if ENABLED {
        add_to_shard(event, n);
    }
}

#[cold]
fn add_to_shard(event: Event, n: usize) {
    // Ordering: relaxed; a count says nothing about anything else.
    SHARDS[shard_here()].0[event as usize].fetch_add(n, Ordering::Relaxed);
}

/// The calling thread's shard, by where its stack is; a thread with a large stack may have several.
///
/// Not by a thread-local: a wake counts, in a signal handler too, and in a library that was loaded by `dlopen` the first use
/// of a thread-local in a thread allocates.
fn shard_here() -> usize {
    let local = 0u8;
    let stack = ptr::from_ref(&local).addr() >> STACK_BITS;
    // Stacks are at regular distances. The multiplier is 2^32 divided by the golden ratio, which parts those best.
    ((stack as u32).wrapping_mul(0x9E37_79B9) >> (u32::BITS - SHARD_COUNT.ilog2())) as usize
}

/// Stacks are in different pieces of this size. Arbitrary: smaller than the stacks of most threads, and larger than what most
/// of them use.
const STACK_BITS: u32 = 16;
