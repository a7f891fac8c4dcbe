//! How the holder of a ticket waits for its turn: near and far.
//!
//! A waiter stays awake for a while: it spins if it is next in line, and otherwise lets others run between two polls. If
//! its turn has not come by then it sleeps, and is woken twice: when it is near, to stay awake once more while those before
//! it run, and when its ticket is granted. So post wakes the holder of the ticket that it grants, and the one that is near
//! from then on.
//!
//! In a queue so long that its waiters would mostly run for nothing, those at its end sleep at once, and nobody spins: the
//! few that are near take turns on the CPUs.
//!
//! What a far waiter polls while it is awake depends on the room:
//!
//! | a CPU for each who stands before it | polls | because |
//! |---|---|---|
//! | no | `grant`, whenever it is let run | it seldom is |
//! | yes | its own element, published at once | as many as there are CPUs would poll `grant` at the same time, and every post would have to invalidate all their copies of it |

use super::{
    counts::Counts,
    word::{Distance, Word, key_of},
};
use crate::deadline::Deadline;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::IN_A_MODEL;
use crate::sys::cpus;
use crate::wait_table::Home;

/// How many waiters are near, and made ready: the paper's LongTermThreshold. See docs/measurements.md, "Near
/// and far".
pub(super) const NEAR: Distance = if IN_A_MODEL { 2 } else { 4 };

/// How many waiters for each CPU may stay awake: a waiter with more before it sleeps at once. See docs/measurements.md,
/// "Near and far".
const AWAKE_PER_CPU: usize = 16;

/// Waits until `ticket` is granted; `false` if the deadline came first.
#[cold]
pub(super) fn wait<H: Home>(counts: &Counts, ticket: Word, deadline: Deadline) -> bool {
    let place = Place::of(counts, ticket);
    let stay_awake = || spin_policy::spin_in_queue_until(deadline, || place.is_granted(), || place.may_spin());
    let sleep_until = |condition: &dyn Fn() -> bool, spin_first: SpinFirst| {
        H::table().wait_until_at(key_of(counts, ticket), deadline, condition, spin_first)
    };

    // Awake, on `grant`.
    if place.starts_on_grant() && stay_awake() {
        return true;
    }
    // Far: asleep; if there is a CPU for each before it, after a while awake on its element.
    let spin_first = if place.has_a_cpu_each() { SpinFirst::WhileQueued } else { SpinFirst::No };
    if !place.is_near() && !sleep_until(&|| place.is_near(), spin_first) {
        return false;
    }
    // Near: awake once more, then asleep until its turn has come.
    stay_awake() || sleep_until(&|| place.is_granted(), SpinFirst::No)
}

/// Where a waiter stands in the queue.
struct Place<'a> {
    counts: &'a Counts,
    ticket: Word,
    /// How many tickets were ahead of it when it came.
    ahead: usize,
    cpus: usize,
}

impl<'a> Place<'a> {
    fn of(counts: &'a Counts, ticket: Word) -> Self {
        let ahead = usize::try_from(counts.tickets_ahead_of(ticket)).unwrap_or(0);
        Self { counts, ticket, ahead, cpus: cpus::count() }
    }

    /// How many tickets are ahead of it by now.
    fn tickets_ahead(&self) -> Distance {
        self.counts.tickets_ahead_of(self.ticket)
    }

    fn is_granted(&self) -> bool {
        self.counts.is_granted(self.ticket)
    }

    fn is_near(&self) -> bool {
        self.is_granted() || self.tickets_ahead() < NEAR
    }

    /// Whether there is a CPU for each who stood before it when it came.
    fn has_a_cpu_each(&self) -> bool {
        self.ahead < self.cpus
    }

    /// Whether the queue was too long to stay awake in when it came.
    fn is_in_a_long_queue(&self) -> bool {
        self.ahead >= AWAKE_PER_CPU * self.cpus
    }

    /// Whether it polls `grant` before it publishes itself.
    fn starts_on_grant(&self) -> bool {
        !self.is_in_a_long_queue() && (!self.has_a_cpu_each() || self.is_near())
    }

    /// Whether it is next, and may spin instead of letting others run.
    fn may_spin(&self) -> bool {
        !self.is_in_a_long_queue() && self.tickets_ahead() <= 0
    }
}
