//! Who waits: for a program that hangs, and for its watchdog.
//!
//! A report goes through the slots one by one. It takes a slot's chain as a picker does (see `pop_stack`), copies what
//! the elements say, and puts all of them back.
//!
//! # Why as a picker
//!
//! Elements live on their owners' stacks. The wrong way is to follow the links while the chain hangs on the slot:
//!
//! ```text
//! report                              notifier                       waiter
//! top is e
//!                                     detach, set e's gate
//!                                                                    return: e's frame is gone
//! read e
//! ```
//!
//! In hand, e is alive by invariant I2. To detach and push back would lose the wake-up of a notifier that peeks meanwhile;
//! a picker is seen by its flag, and does that notifier's work when it puts back (I5). So a report loses nothing; if it meets
//! a notifier it wakes some waiters early, as any picker does.
//!
//! # Why in batches
//!
//! While a chain is in hand its waiters are woken by nobody but the picker. The wrong way is to let the visitor have its
//! turn there:
//!
//! ```text
//! report                              notifier                       waiter, which reads the pipe that is written to
//!                                                                    publish e, sleep
//! e is in hand
//!                                     make e's condition true
//!                                     slot is PICKED: leave FLUSH
//! visitor: writes to the pipe, which is full
//! (forever)                                                          (forever: only the report could wake it)
//! ```
//!
//! It does not take a pipe: a visitor may itself wait for what the waiter would do next. So what is in hand is
//! copied to the stack, as much as there is room for, and put back before the visitor sees it; the next round goes on where
//! this one ended. It ends after as many rounds as the first one found necessary, however many waiters come meanwhile.
//!
//! # Where the next round goes on
//!
//! Other reports are made meanwhile: by another thread, a signal handler, the visitor. The wrong way is to mark those that
//! have been copied by the number of the report:
//!
//! ```text
//! report 1                            report 2                       20 elements
//! copies 16                                                          16 marked 1
//!                                     copies 16, then 4              20 marked 2
//! none is marked 1: copies 16                                        16 are there twice, and 4 are missing
//! ```
//!
//! Elements are numbered instead, for all reports alike. A chain is ordered: newcomers come on top, and whatever leaves or
//! is put back, the others keep their order. So the first report that has a newcomer in its hands gives it a number higher
//! than all below it, and the element keeps it for as long as it is published; numbers fall from the top of a chain to its
//! ground. A round copies those with the lowest numbers above the highest that the report has copied.
//!
//! An element that is waited on from the first round to the last is then copied once, whatever others do:
//!
//! - Not twice: its number stays, and when it has been copied the report is past it.
//! - At least once: what gets a number later is above it, so the elements that the report must pass before it only become
//!   fewer. There are enough rounds for them, as the first round counted, and a round stops only when it is full. Elements
//!   that only linger have their places too, so that it does not matter when their owners begin to wait.
//!
//! A report gives newcomers numbers above those that it has copied, too: perhaps all below them have left, and they are the
//! same threads, woken for nothing. The rounds that remain are theirs.
//!
//! # In a signal handler
//!
//! The interrupted thread may itself be a picker that will not go on before the handler returns. So a report tries a
//! slot that another picker holds a limited number of times, and then says that it was busy. It allocates nothing and
//! takes no lock; the put-back may have to wake, which on [`Park`](crate::sys::Park) takes one.

use super::{
    Key, WaitTable,
    element::Element,
    global,
    linked::{Label, Linked, settling},
    names,
    pop_stack::{Pick, Picked, Slot},
    task::{Doing, TaskElement},
};
use crate::sync::{IN_A_MODEL, hint, thread};
use crate::sys::{Backend, fork::Birth, signal, stderr::Stderr, thread_id};
use core::{fmt, ops::Deref, panic::Location, time::Duration};

/// How many waiters are copied at a time. Arbitrary: less than 2 KiB, for the stack of a signal handler.
const BATCH: usize = 16;

/// How often a report tries a slot that another picker holds, and after how many attempts it lets others run between.
/// Arbitrary.
const ATTEMPTS: u32 = if IN_A_MODEL { 1 } else { 200 };
const ATTEMPTS_WITHOUT_YIELD: u32 = 100;

/// What a waiter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// It spins, or checks its condition.
    Awake,
    /// It sleeps, or is on its way to or from sleep.
    Asleep,
    /// A task: its future has returned `Pending`, and nobody has woken it since. (Or it is being polled all the same.)
    Parked,
    /// A task: it has been woken, and has not been polled since, or is being polled. It may hold what it waited for: see [`Waiter::woken`].
    Woken,
}

/// A thread or task that waits, as it was at some moment of a report.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    slot: usize,
    key: Key,
    activity: Activity,
    waited: Option<Duration>,
    woken: Option<Duration>,
    owner: Owner,
    location: Option<&'static Location<'static>>,
    name: Option<thread_id::Name>,
    waits_for: Option<thread_id::Name>,
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Its number, or 0.
    Thread(usize),
    Task,
}

impl Owner {
    fn thread(self) -> usize {
        match self {
            Self::Thread(thread) => thread,
            Self::Task => 0,
        }
    }
}

impl Waiter {
    /// Whether it is a task.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.owner == Owner::Task
    }

    /// The slot of the table, or of the table's bank for tasks.
    #[must_use]
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// What it waits on, as a key of a user's: what waits for a primitive of this crate cannot be woken by it.
    /// [`Key::is_within`] tells whether that is a given semaphore, or a part of a given object.
    pub fn key(&self) -> Key {
        self.key.as_made_by_user()
    }

    /// What it does.
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.activity
    }

    /// How long ago it first slept in this wait, or its future first returned `Pending`, to a few milliseconds; `None` if it has not
    /// yet, or if the platform has no clock. Of a task that waits for more than 49 days only the rest.
    #[must_use]
    pub fn waited(&self) -> Option<Duration> {
        self.waited
    }

    /// How long ago a task was woken that has not been polled since, to a few milliseconds; `None` if there is none, as of a
    /// thread, or if the platform has no clock.
    ///
    /// What a semaphore grants to a task is the task's, whether it is polled or not. If whoever should poll it waits for another
    /// task that waits for the same semaphore, nothing goes on; this is what tells:
    ///
    /// ```
    /// use layby::{WaitTable, wait_table::Activity};
    /// use std::{future::Future, pin::pin, task::{Context, Waker}};
    ///
    /// let table: WaitTable = WaitTable::with_slots(64);
    /// let mut forgotten = pin!(table.wait_until_async(&table, || false));
    /// assert!(forgotten.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    /// table.wake_all(&table);
    /// let report = table.waiters();
    /// assert_eq!(report[0].activity(), Activity::Woken);
    /// println!("{report}"); // slot 17: task woken, not polled for 5ms, on 0x7ffd12345678, at src/main.rs:6:29
    /// ```
    #[must_use]
    pub fn woken(&self) -> Option<Duration> {
        self.woken
    }

    /// Where in the program the future of a task was made: the call of `wait_until_async` or of a primitive's function that
    /// returns one. `None` for a thread.
    #[must_use]
    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.location
    }

    /// The thread's number: as the kernel and debuggers show it on Linux, Android and Windows, `pthread_self` on other
    /// Unixes, `None` elsewhere, and for a task.
    #[must_use]
    pub fn thread_id(&self) -> Option<u64> {
        Some(self.owner.thread() as u64).filter(|&thread| thread != 0)
    }

    /// The thread's name, as the kernel knows it: at most 15 bytes on Linux and Android, 32 on Windows. `None` elsewhere,
    /// and if the thread has ended since.
    pub fn thread_name(&self) -> Option<&str> {
        self.name.as_ref().map(thread_id::Name::as_str)
    }

    /// The name of what it waits for, if that has one: a stage of a [pipeline](crate::pipeline), or the producers, which are called
    /// "producer". At most 32 bytes of it; `None` if more than 256 stages are there at a time, or if the pipeline has gone since.
    ///
    /// ```
    /// use layby::pipeline::Graph;
    ///
    /// let mut graph = Graph::new(64, || 0);
    /// let (parse, persist) = (graph.stage("parse"), graph.stage("persist"));
    /// let producer = graph.single_producer();
    /// std::thread::scope(|s| {
    ///     s.spawn(|| parse.run(|_| ()));
    ///     s.spawn(|| persist.run(|_| ()));
    ///     // The first waits for the producer, the second for the first.
    ///     let is_waited_for = |name| layby::waiters().iter().any(|waiter| waiter.waits_for() == Some(name));
    ///     while !["producer", "parse"].into_iter().all(is_waited_for) {
    ///         std::thread::yield_now();
    ///     }
    ///     drop(producer);
    /// });
    /// ```
    pub fn waits_for(&self) -> Option<&str> {
        self.waits_for.as_ref().map(thread_id::Name::as_str)
    }
}

/// One line, such as `slot 17: thread "worker-3" (4711) asleep for 12.345s on 0x55e0f2a8c018, ticket 12`, with `, for "persist"` if
/// that has [a name](Waiter::waits_for), or `slot 17: task woken, not polled for 5.002s, on 0x55e0f2a8c018, ticket 12, at src/main.rs:7:5`.
impl fmt::Display for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {}: {}", self.slot, if self.is_task() { "task" } else { "thread " })?;
        if let Some(name) = self.thread_name() {
            write!(f, "{name:?} ")?;
        }
        match self.thread_id() {
            Some(id) => write!(f, "({id})")?,
            None if self.is_task() => {}
            None => f.write_str("(unknown)")?,
        }
        f.write_str(match self.activity {
            Activity::Awake => " awake",
            Activity::Asleep => " asleep",
            Activity::Parked => " parked",
            Activity::Woken => " woken, not polled",
        })?;
        match (self.activity, self.waited, self.woken) {
            (Activity::Woken, _, Some(woken)) => write!(f, " for {woken:?},")?,
            (Activity::Woken, _, None) => f.write_str(" since,")?,
            (Activity::Awake, Some(waited), _) => write!(f, ", first slept {waited:?} ago,")?,
            (_, Some(waited), _) => write!(f, " for {waited:?}")?,
            (_, None, _) => {}
        }
        write!(f, " on {}", self.key)?;
        if let Some(name) = self.waits_for() {
            write!(f, ", for {name:?}")?;
        }
        self.location.map_or(Ok(()), |location| write!(f, ", at {location}"))
    }
}

/// Who waits in a table, longest first; see [`WaitTable::waiters`]. A slice of [`Waiter`]s.
#[derive(Clone, Debug)]
pub struct Waiters {
    list: Vec<Waiter>,
    busy: usize,
}

impl Waiters {
    /// How many slots could not be visited, or not to the end, because others were changing them all the time.
    #[must_use]
    pub fn busy_slots(&self) -> usize {
        self.busy
    }
}

impl Deref for Waiters {
    type Target = [Waiter];

    fn deref(&self) -> &[Waiter] {
        &self.list
    }
}

impl<'a> IntoIterator for &'a Waiters {
    type Item = &'a Waiter;
    type IntoIter = core::slice::Iter<'a, Waiter>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

/// A line for each waiter, and one that sums up.
impl fmt::Display for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for waiter in self {
            writeln!(f, "{waiter}")?;
        }
        sum_up(f, self.len(), self.busy)
    }
}

fn sum_up(out: &mut dyn fmt::Write, waiters: usize, busy: usize) -> fmt::Result {
    writeln!(out, "layby: {waiters} waiting, {busy} slots busy")
}

/// What an element said while it was in hand.
#[derive(Clone, Copy)]
struct Sighting {
    key: Key,
    activity: Activity,
    waited: Option<Duration>,
    woken: Option<Duration>,
    owner: Owner,
    location: Option<&'static Location<'static>>,
}

impl Sighting {
    fn in_slot(self, slot: usize) -> Waiter {
        let Self { key, activity, waited, woken, owner, location } = self;
        let name = if owner == Owner::Task { None } else { thread_id::name_of(owner.thread()) };
        let waits_for = names::name_of(key);
        Waiter { slot, key, activity, waited, woken, owner, location, name, waits_for }
    }
}

/// An element that tells reports of its owner. All of it is for a thread that has the element in hand.
trait Reported: Linked {
    /// Its number among those of its chain, by the first report that met it.
    fn number(&self) -> Option<usize>;

    fn set_number(&self, number: usize);

    /// `None` if it only lingers.
    fn sight(&self, label: Label) -> Option<Sighting>;
}

impl Reported for Element {
    fn number(&self) -> Option<usize> {
        self.trace.number()
    }

    fn set_number(&self, number: usize) {
        self.trace.set_number(number);
    }

    fn sight(&self, label: Label) -> Option<Sighting> {
        let trace = &self.trace;
        // The gate first: who sleeps has stamped the time.
        let activity = if self.is_asleep() { Activity::Asleep } else { Activity::Awake };
        let (waited, owner) = (trace.since().age(), Owner::Thread(trace.thread()));
        trace.is_attended().then_some(Sighting { key: label.key, activity, waited, woken: None, owner, location: None })
    }
}

impl Reported for TaskElement {
    fn number(&self) -> Option<usize> {
        self.number()
    }

    fn set_number(&self, number: usize) {
        self.set_number(number);
    }

    fn sight(&self, label: Label) -> Option<Sighting> {
        let (activity, woken) = match self.doing() {
            Doing::Awake => (Activity::Awake, None),
            Doing::Parked => (Activity::Parked, None),
            Doing::Called(then) => (Activity::Woken, then.age()),
        };
        let (waited, location) = (self.since().age(), Some(self.location()));
        Some(Sighting { key: label.key, activity, waited, woken, owner: Owner::Task, location })
    }
}

impl<B: Backend> WaitTable<B> {
    /// Who waits in this table, on what, and since when: for a program that hangs.
    ///
    /// Not all at one moment: a slot at a time. A thread that waits undisturbed while its slot is visited is there once,
    /// however many others come and go, and whatever other reports are made at the same time; one that waits for any of several
    /// locations is there once for each, and counted as often. A thread that is woken
    /// meanwhile, even for nothing, may be missing, or be there twice if it waits again. Elements that a thread has left
    /// behind, in the forms that may do so, are not waiters and not shown. It loses nobody's wake-up; like any concurrent
    /// call it may wake a thread early.
    ///
    /// A task that has been woken and [not been polled since](Waiter::woken) is shown, unless it was woken with a crowd: more
    /// than eight waiters of one slot, of one key as a rule; or at the moment when another thread chose among the same
    /// slot's waiters.
    ///
    /// ```
    /// use layby::sema::Semaphore;
    ///
    /// let (semaphore, other) = (Semaphore::new(0), Semaphore::new(0));
    /// std::thread::scope(|s| {
    ///     s.spawn(|| semaphore.take());
    ///     s.spawn(|| other.take());
    ///     // Who waits for this one?
    ///     while !layby::waiters().iter().any(|waiter| waiter.key().is_within(&semaphore)) {}
    ///     semaphore.post();
    ///     other.post();
    /// });
    /// ```
    #[must_use]
    pub fn waiters(&self) -> Waiters {
        let mut list = Vec::new();
        let busy = self.for_each_waiter(|waiter| list.push(*waiter));
        list.sort_by_key(|waiter| core::cmp::Reverse(waiter.waited));
        Waiters { list, busy }
    }

    /// Shows `visit` who waits in this table, slot by slot and the oldest of a slot first; returns how many slots could
    /// not be visited, or not to the end, because others were changing them all the time. As [`waiters`](Self::waiters),
    /// and allocates nothing, takes no lock, never waits, and leaves `errno` as it was: it may be called in a signal handler,
    /// if what `visit` does may be, except on a table of [`Park`](crate::sys::Park), and of one where tasks wait: if another
    /// thread wakes in a slot at the moment when it is visited, the report may have to call the wakers of tasks there.
    pub fn for_each_waiter(&self, mut visit: impl FnMut(&Waiter)) -> usize {
        let born = Birth::now();
        let mut show = |index, sighting: Sighting| visit(&sighting.in_slot(index));
        let busy =
            self.occupied_slots().filter(|(index, slot)| !sight::<B, _>(slot, born, |found| show(*index, found)));
        let busy = busy.count();
        let busy_with_tasks =
            self.task_slots().filter(|(index, slot)| !sight::<B, _>(slot, born, |found| show(*index, found)));
        busy + busy_with_tasks.count()
    }

    /// Writes who waits in this table, a line for each. As [`for_each_waiter`](Self::for_each_waiter), it allocates
    /// nothing.
    ///
    /// # Errors
    /// Those of `out`; then the rest is missing.
    pub fn dump_waiters(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let (mut count, mut result) = (0, Ok(()));
        let busy = self.for_each_waiter(|waiter| {
            count += 1;
            result = result.and_then(|()| writeln!(out, "{waiter}"));
        });
        result.and_then(|()| sum_up(out, count, busy))
    }
}

fn pause_and_try_again(attempt: u32) -> bool {
    if attempt < ATTEMPTS_WITHOUT_YIELD {
        hint::spin_loop()
    } else {
        thread::yield_now()
    }
    true
}

/// Shows every waiter of a slot to `see`, not in hand any more; `false` if the slot was busy. The report was `born` in some process: in a
/// child, if `see` forks, the rest is its parent's, and is left out.
fn sight<B: Backend, E: Reported>(slot: &Slot<E>, born: Birth, mut see: impl FnMut(Sighting)) -> bool {
    let mut seen = 0;
    let mut rounds_left = None;
    while born.is_of_this_process() {
        let mut batch = [None; BATCH];
        let picked = match slot.pick_patiently(ATTEMPTS, pause_and_try_again) {
            Pick::Got(picked) => picked,
            Pick::Empty => return true,
            Pick::Busy => return false,
        };
        let left = copy(&picked, &mut seen, &mut batch);
        settling(|due| picked.put_back::<B>(due));
        batch.into_iter().flatten().for_each(&mut see);
        let rounds = rounds_left.unwrap_or_else(|| left.div_ceil(BATCH));
        if left == 0 || rounds == 0 {
            return true;
        }
        rounds_left = Some(rounds - 1);
    }
    true
}

/// Copies what the oldest elements in hand say whose number is higher than `seen`, which becomes the highest of theirs;
/// returns for how many there was no room.
fn copy<E: Reported>(picked: &Picked<'_, E>, seen: &mut usize, batch: &mut [Option<Sighting>]) -> usize {
    let seen_before = *seen;
    let mut highest = seen_before;
    let (mut newcomers, mut unseen) = (0, 0);
    picked.for_each(|element, _| match Reported::number(element) {
        None => newcomers += 1,
        Some(number) => {
            unseen += usize::from(number > seen_before);
            highest = highest.max(number);
        }
    });
    unseen += newcomers;
    // From the top down. With 32 bits the numbers of a slot wrap, and a report may be wrong, if reports meet 4 billion
    // newcomers there and it is never empty between.
    let mut next = highest.wrapping_add(newcomers);
    let mut place = unseen;
    picked.for_each(|element, label| {
        let number = Reported::number(element).unwrap_or_else(|| {
            let number = next;
            next = next.wrapping_sub(1);
            Reported::set_number(element, number);
            number
        });
        if number <= seen_before {
            return;
        }
        // So many of them are older.
        place -= 1;
        if let Some(room) = batch.get_mut(place) {
            *room = element.sight(label);
            *seen = number.max(*seen);
        }
    });
    unseen.saturating_sub(batch.len())
}

/// Who waits in [the global table](global()): for a semaphore, mutex or eventcount that has no table of its own, or on an
/// address. See [`WaitTable::waiters`].
#[must_use]
pub fn waiters() -> Waiters {
    global().waiters()
}

/// Writes to standard error who waits in [the global table](global()), a line for each. May be called from a debugger and
/// from a signal handler (except where the platform's backend is [`Park`](crate::sys::Park)): it allocates nothing, takes no
/// lock, and leaves `errno` as it was.
///
/// ```text
/// (gdb) call (void)layby_dump_waiters_v0_1()
/// slot 3272: thread "worker-3" (4711) asleep for 12.345s on 0x55e0f2a8c018, ticket 12
/// layby: 1 waiting, 0 slots busy
/// ```
pub fn dump_waiters() {
    // `Stderr` never fails.
    let _ = global().dump_waiters(&mut Stderr::new());
}

/// From now on, [`dump_waiters`] whenever the process gets `signal`, such as `SIGUSR1`.
///
/// ```no_run
/// const SIGUSR1: i32 = 10; // on most of Linux; see the crate libc
/// layby::dump_waiters_on_signal(SIGUSR1).unwrap();
/// ```
///
/// # Errors
/// - [`InvalidInput`](std::io::ErrorKind::InvalidInput) for SIGSEGV, SIGBUS, SIGILL and SIGFPE, which report faults: the
///   instruction would fault again when the report is made. SIGKILL and SIGSTOP cannot be handled.
/// - [`AlreadyExists`](std::io::ErrorKind::AlreadyExists) if the signal has a handler. A program that installs one of its own
///   calls [`dump_waiters`] in it.
/// - Those of `sigaction`.
/// - [`Unsupported`](std::io::ErrorKind::Unsupported) on platforms other than Linux and Android.
pub fn dump_waiters_on_signal(signal: i32) -> std::io::Result<()> {
    struct Dump;

    impl signal::SignalSafe for Dump {
        fn report() {
            dump_waiters();
        }
    }

    signal::on_signal::<Dump>(signal)
}

#[cfg(all(test, not(layby_model)))]
mod tests {
    use super::super::{limit::Limit, publication::with_published, trace::Stamp};
    use super::*;
    use crate::sys::Native;

    /// As in a handler that has interrupted a picker of its own thread.
    #[test]
    fn a_report_does_not_wait_for_a_picker() {
        let table = WaitTable::<Native>::with_slots(1);
        let label = Label { key: Key::address(&table), selectable: false };
        let slot = table.enter(label.key);
        with_published(&table, label, Stamp::NONE, &Limit::NONE, |_| {
            let Pick::Got(picked) = slot.try_pick() else { unreachable!("nobody else is here") };
            assert!(
                !sight::<Native, _>(slot, Birth::now(), |_| unreachable!("it is in our hands")),
                "it could not be visited"
            );
            settling(|due| picked.put_back::<Native>(due));
            assert!(sight::<Native, _>(slot, Birth::now(), |_| {}));
        });
    }
}
