//! How the holder of a ticket waits for its turn: near and far.
//!
//! A waiter stays awake for a while: it spins if it is next in line, and otherwise lets others run between two polls. If
//! its turn has not come by then it sleeps, and is woken twice: when it is near, to stay awake once more while those before
//! it run, and when its ticket is granted. So post wakes the holder of the ticket that it grants, and the one that is near
//! from then on.
//!
//! In a queue so long that its waiters would mostly run for nothing ([`pace`]), all sleep at once until their turn has come, and
//! nobody is made ready: the thread that posts goes to the end of the queue and to sleep, and the one that it has woken runs in
//! its place. Only one waiter on each CPU stays awake, and yields, so that none goes idle ([`keepers`](crate::sys::keepers)).
//!
//! If being awake does not pay at all, because other programs want the CPUs ([`machine_is_busy`]) or because the queue is slow
//! ([`pace`]), a waiter sleeps at once and post makes nobody ready, so that each is woken once, when its ticket is
//! granted. Post and waiter may differ about that, for each asks when it comes. Then somebody is not made ready who could have
//! been, or is made ready and sleeps once more. With one CPU it never pays, and nobody asks.
//!
//! [`machine_is_busy`]: spin_policy::machine_is_busy
//!
//! What a far waiter polls while it is awake depends on the room:
//!
//! | a CPU for each who stands before it | polls | because |
//! |---|---|---|
//! | no | `grant`, whenever it is let run | it seldom is |
//! | yes | its own element, published at once | as many as there are CPUs would poll `grant` at the same time, and every post would have to invalidate all their copies of it |

use super::{
    abandoned::Abandoned,
    counts::Counts,
    granted::holders_of,
    levels::Span,
    pace::{self, Pace},
    word::{Distance, Word, before, key_of},
};
use crate::error::Stopped;
use crate::spin_policy::{self, SpinFirst};
use crate::sync::IN_A_MODEL;
use crate::sys::{Backend, cpus, keepers::Keeper};
use crate::wait_table::{Home, Invariant, Key, Limit, table_of};
use core::{cell::Cell, marker::PhantomData, mem, time::Duration};

/// How many waiters are near, and made ready: the paper's LongTermThreshold. See docs/measurements.md, "Near
/// and far".
pub(super) const NEAR: Distance = if IN_A_MODEL { 2 } else { 4 };

/// Waits until `tickets` are granted, or `limit` is reached and they still are not.
#[inline]
pub(super) fn wait<H: Home, const ALL: Word>(
    counts: &Counts,
    tickets: Span,
    limit: Option<&Limit<'_>>,
) -> Result<(), Stopped> {
    let on_unwind = Leave::<H, ALL>(counts, tickets, PhantomData);
    let ended = wait_for_turn::<H, ALL>(counts, tickets, limit);
    mem::forget(on_unwind);
    ended
}

/// A waiter that passes permits on calls the wakers of tasks, and these may unwind: it leaves the queue then, with all that it
/// was given.
struct Leave<'a, H: Home, const ALL: Word>(&'a Counts, Span, Invariant<H>);

impl<H: Home, const ALL: Word> Drop for Leave<'_, H, ALL> {
    #[inline]
    fn drop(&mut self) {
        Abandoned::<H, ALL>::of(self.0).settle(self.1);
    }
}

#[inline]
fn wait_for_turn<H: Home, const ALL: Word>(
    counts: &Counts,
    tickets: Span,
    limit: Option<&Limit<'_>>,
) -> Result<(), Stopped> {
    let cpus = cpus::count_with_this_thread();
    // With one CPU nobody else runs while this thread is awake.
    if cpus == 1 && spins::<H>() {
        // The first of the two is all that many a wait is made of: nothing of a limit is left in it.
        return match limit {
            None => sleep_until_granted::<H, ALL>(counts, tickets, &Limit::NONE),
            Some(limit) => sleep_until_granted_within::<H, ALL>(counts, tickets, limit),
        };
    }
    wait_awake_first::<H, ALL>(counts, tickets, cpus, limit.unwrap_or(&Limit::NONE))
}

#[inline(always)]
fn sleep_until_granted<H: Home, const ALL: Word>(
    counts: &Counts,
    tickets: Span,
    limit: &Limit<'_>,
) -> Result<(), Stopped> {
    let turn = Turn::<H, ALL>::of(counts, tickets);
    table_of::<H>().wait_until_at(turn.key(), limit, || turn.is_granted(), SpinFirst::No)
}

#[inline(never)]
fn sleep_until_granted_within<H: Home, const ALL: Word>(
    counts: &Counts,
    tickets: Span,
    limit: &Limit<'_>,
) -> Result<(), Stopped> {
    sleep_until_granted::<H, ALL>(counts, tickets, limit)
}

/// Waits for its turn where it may pay to stay awake for a while.
#[inline(never)]
fn wait_awake_first<H: Home, const ALL: Word>(
    counts: &Counts,
    tickets: Span,
    cpus: usize,
    limit: &Limit<'_>,
) -> Result<(), Stopped> {
    let place = Place::of(Turn::<H, ALL>::of(counts, tickets), cpus);
    let sleeps_at_once = spin_policy::machine_is_busy() || place.pace.is_slow_for_a_waiter();
    let is_over = || place.turn.is_granted() || limit.is_cancelled();
    let stay_awake = || {
        let ahead = place.turns_ahead();
        // The next in line polls a few times even on a busy machine: a holder that runs may be about to hand over.
        if ahead < 0 || (sleeps_at_once && ahead > 0) || place.pace.is_slow() {
            return place.turn.is_granted();
        }
        let in_vain = |awake| place.is_in_vain(awake, ahead);
        let ended = spin_policy::spin_in_queue_until(limit.deadline(), is_over, || place.may_spin(), in_vain);
        place.has_got_its_turn(ended)
    };
    let keep_awake = |keeper: Keeper| {
        let ahead = place.turns_ahead();
        let in_vain = |awake| !keeper.is_there() || place.is_in_vain(awake, ahead);
        place.has_got_its_turn(spin_policy::yield_in_queue_until(limit.deadline(), is_over, in_vain))
    };
    let sleep_until = |condition: &dyn Fn() -> bool, spin_first: SpinFirst| {
        table_of::<H>().wait_until_at(place.turn.key(), limit, condition, spin_first)
    };

    if !spins::<H>() {
        let is_granted = || place.turn.is_granted();
        let yielded = spin_policy::yield_until(|| is_granted() || limit.is_cancelled()) && is_granted();
        return if yielded { Ok(()) } else { sleep_until(&is_granted, SpinFirst::No) };
    }
    if place.is_in_a_long_queue {
        let keeper = if sleeps_at_once { None } else { Keeper::of_this_cpu() };
        let is_granted = || place.turn.is_granted();
        return if keeper.is_some_and(keep_awake) { Ok(()) } else { sleep_until(&is_granted, SpinFirst::No) };
    }
    // Awake, on `grant`.
    if place.starts_on_grant() && stay_awake() {
        return Ok(());
    }
    // Far: asleep; if there is a CPU for each before it, after a while awake on its element.
    let spin_first = if place.has_a_cpu_each() && !sleeps_at_once { SpinFirst::WhileQueued } else { SpinFirst::No };
    if !place.is_near() {
        sleep_until(&|| place.is_near(), spin_first)?;
    }
    // Near: awake once more, then asleep until its turn has come.
    if stay_awake() { Ok(()) } else { sleep_until(&|| place.turn.is_granted(), SpinFirst::No) }
}

/// Whether waiters stay awake for a while. Otherwise nobody is made ready either: it would be woken to sleep again.
pub(super) const fn spins<H: Home>() -> bool {
    <H::Backend as Backend>::SPINS
}

/// Whether waiters of this queue are made ready for their turn, if they stay awake at all. The queue may be gone.
pub(super) fn are_made_ready(queue: *const Counts) -> bool {
    cpus::count() > 1 && !spin_policy::machine_is_busy() && Pace::of(queue).is_quick_and_short()
}

/// What a waiter waits for.
struct Turn<'a, H: Home, const ALL: Word> {
    counts: &'a Counts,
    home: Invariant<H>,
    /// The value of `grant` for which it has looked for a marker before it.
    looked_at: Cell<Option<Word>>,
    tickets: Span,
}

impl<'a, H: Home, const ALL: Word> Turn<'a, H, ALL> {
    #[inline]
    fn of(counts: &'a Counts, tickets: Span) -> Self {
        Self { counts, home: PhantomData, looked_at: Cell::new(None), tickets }
    }

    /// What it waits on.
    #[inline]
    fn key(&self) -> Key {
        key_of(self.counts, self.tickets.last)
    }

    /// Also makes it so, if that is up to us: W in [`super::abandoned`]. Once for each value of `grant` is enough: who leaves
    /// a marker after that sees that value.
    #[inline]
    fn is_granted(&self) -> bool {
        let granted = self.counts.granted();
        if before(self.tickets.last, granted) {
            return true;
        }
        let abandoned = Abandoned::<H, ALL>::of(self.counts);
        if self.looked_at.get() == Some(granted) || !abandoned.may_be_granted() {
            return false;
        }
        self.looked_at.set(Some(granted));
        abandoned.pass_over_before(self.tickets) && self.counts.is_granted(self.tickets.last)
    }
}

/// Where a waiter stands in the queue.
struct Place<'a, H: Home, const ALL: Word> {
    turn: Turn<'a, H, ALL>,
    pace: &'static Pace,
    /// How many were ahead of it when it came.
    ahead: usize,
    cpus: usize,
    /// Whether the queue was too long to stay awake in.
    is_in_a_long_queue: bool,
}

impl<'a, H: Home, const ALL: Word> Place<'a, H, ALL> {
    fn of(turn: Turn<'a, H, ALL>, cpus: usize) -> Self {
        let pace = Pace::of(turn.counts);
        let mut place = Self { turn, pace, ahead: 0, cpus, is_in_a_long_queue: false };
        place.ahead = usize::try_from(place.turns_ahead()).unwrap_or(0);
        place.is_in_a_long_queue = pace.is_long_for_a_waiter(place.ahead, cpus);
        place
    }

    /// How many are ahead of it by now: tickets, or where a holder may take `ALL` of them, holders. Who has been granted some of
    /// its tickets counts those that it lacks.
    fn turns_ahead(&self) -> Distance {
        let ahead = self.turn.counts.tickets_ahead_of(self.turn.tickets.last);
        let own = self.turn.tickets.len().cast_signed() - 1;
        if ALL == 0 || ahead < own { ahead } else { holders_of::<ALL>((ahead - own).cast_unsigned()).cast_signed() }
    }

    fn is_near(&self) -> bool {
        self.turn.is_granted() || self.turns_ahead() < NEAR
    }

    /// Whether there is a CPU for each who stood before it when it came.
    fn has_a_cpu_each(&self) -> bool {
        self.ahead < self.cpus
    }

    /// Whether a wait that ended awake is over because it was granted.
    fn has_got_its_turn(&self, ended: bool) -> bool {
        let granted = ended && self.turn.is_granted();
        if granted {
            self.pace.note_quick_wait();
        }
        granted
    }

    /// Whether it polls `grant` before it publishes itself.
    fn starts_on_grant(&self) -> bool {
        !self.has_a_cpu_each() || self.is_near()
    }

    /// Whether there is no point in being awake any longer, of one that had `ahead` turns before it when it began.
    fn is_in_vain(&self, awake: Duration, ahead: Distance) -> bool {
        let is_slow = pace::is_slow(awake, ahead.saturating_sub(self.turns_ahead()));
        if is_slow {
            self.pace.note_slow_wait();
        }
        is_slow || self.pace.is_slow()
    }

    /// Whether it is next, and may spin instead of letting others run.
    fn may_spin(&self) -> bool {
        self.turns_ahead() <= 0
    }
}
