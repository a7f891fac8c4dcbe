//! Runs a program of the primitives.

use super::{
    bench::Bench,
    program::{Call, FAIR, Patience, Program},
    reference::{Outcome, RESCUER, Reference},
};
use layby::{
    Cancel, Key, Limit, Location, WaitOutcome, WaitTable,
    eventcount::EventCount,
    model,
    mutex::{RawFairMutex, RawMutex, Ticket},
    sema::Semaphore,
};
use shuttle::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use std::{sync::Arc, time::Instant};

/// What programs work with.
struct World {
    semaphores: [Semaphore; 2],
    fair: RawFairMutex,
    mutex: RawMutex,
    count: EventCount,
    /// Of one slot, so that all collide.
    table: WaitTable,
    flags: [AtomicUsize; 2],
    tokens: AtomicUsize,
    /// Nobody waits here for long.
    stranger: AtomicUsize,
    cancel: Cancel,
}

pub(crate) fn run_one(program: Program, bench: &Arc<Bench<Program>>) {
    let world: &'static World = Box::leak(Box::new(World {
        semaphores: program.permits.map(Semaphore::new),
        fair: RawFairMutex::new(),
        mutex: RawMutex::new(),
        count: EventCount::new(),
        table: WaitTable::with_slots(1),
        flags: [AtomicUsize::new(0), AtomicUsize::new(0)],
        tokens: AtomicUsize::new(0),
        stranger: AtomicUsize::new(0),
        cancel: Cancel::new(),
    }));
    let over = Arc::new(AtomicUsize::new(0));
    let rescuer = {
        let (bench, over) = (Arc::clone(bench), Arc::clone(&over));
        thread::spawn(move || rescue(&bench, world, &over))
    };
    let threads: Vec<_> = program
        .threads
        .into_iter()
        .enumerate()
        .map(|(number, calls)| {
            let bench = Arc::clone(bench);
            thread::spawn(move || Actor::new(number, world, &bench).play(calls))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    over.store(1, Ordering::SeqCst);
    rescuer.join().unwrap();
    let left = world.left();
    bench.judge(|reference| reference.ends(left));
}

/// Runs only while all others sleep: checks that they do so rightly, and gives them what they wait for.
fn rescue(bench: &Arc<Bench<Program>>, world: &'static World, over: &AtomicUsize) {
    let mut actor = Actor::new(RESCUER, world, bench);
    let gifts = [
        Call::Expire,
        Call::Post { line: 0, n: 3, form: 0 },
        Call::Post { line: 1, n: 3, form: 1 },
        Call::Advance { n: 3 },
        Call::SetFlag { flag: 0, form: 0 },
        Call::SetFlag { flag: 1, form: 1 },
        Call::PutToken,
    ];
    for gift in gifts.into_iter().cycle() {
        // Scheduled again when nobody else can go on.
        thread::yield_now();
        if over.load(Ordering::SeqCst) != 0 {
            return;
        }
        bench.judge(Reference::sleeps);
        bench.lock().tally.asleep += 1;
        bench.lock().is_rescuing = true;
        actor.perform(gift);
        bench.lock().is_rescuing = false;
    }
}

/// A thread of a program.
struct Actor<'a> {
    number: usize,
    world: &'static World,
    bench: &'a Bench<Program>,
    holds_lock: bool,
    fair_ticket: Option<Ticket>,
}

impl<'a> Actor<'a> {
    fn new(number: usize, world: &'static World, bench: &'a Bench<Program>) -> Self {
        Self { number, world, bench, holds_lock: false, fair_ticket: None }
    }

    fn play(mut self, calls: Vec<Call>) {
        for call in calls {
            // Everybody in one order, so that no two wait for each other.
            if matches!(call, Call::Lock { .. }) && self.fair_ticket.is_some() {
                self.perform(RELEASE_FAIR);
            }
            match call {
                // Who holds it already gives it back.
                Call::Lock { .. } if self.holds_lock => self.perform(Call::Unlock),
                Call::Take { line: FAIR, .. } if self.fair_ticket.is_some() => self.perform(RELEASE_FAIR),
                call => self.perform(call),
            }
        }
        if self.holds_lock {
            self.perform(Call::Unlock);
        }
        if self.fair_ticket.is_some() {
            self.perform(RELEASE_FAIR);
        }
    }

    fn perform(&mut self, call: Call) {
        {
            let mut bench = self.bench.lock();
            bench.tally.calls += 1;
            bench.reference.call(self.number, call);
        }
        let result = self.result_of(call);
        self.bench.judge(|reference| reference.returns(self.number, result));
        let gave_up = result == 0
            && matches!(call, Call::Take { patience, .. } | Call::Lock { patience } if patience.is_limited());
        self.bench.lock().tally.given_up += usize::from(gave_up);
    }

    fn result_of(&mut self, call: Call) -> u64 {
        let world = self.world;
        let World { semaphores, fair, mutex, count, .. } = world;
        let limit = |patience| world.limit(patience);
        match call {
            Call::Take { line: FAIR, patience, .. } => {
                self.fair_ticket = match patience {
                    Patience::Forever => Some(fair.acquire()),
                    Patience::UntilDeadline | Patience::UntilCancelled => fair.acquire_within(limit(patience)).ok(),
                    Patience::None => fair.try_acquire(),
                };
                u64::from(self.fair_ticket.is_some())
            }
            Call::Take { line, n, patience } => u64::from(match patience {
                Patience::Forever => {
                    semaphores[line].take_many(n);
                    true
                }
                Patience::UntilDeadline | Patience::UntilCancelled => {
                    semaphores[line].take_many_within(n, limit(patience)).is_ok()
                }
                Patience::None => semaphores[line].try_take_many(n),
            }),
            Call::Post { line: FAIR, .. } => {
                let ticket = self.fair_ticket.take().expect("only the holder releases");
                #[allow(unsafe_code)]
                // SAFETY: the one fair mutex's ticket.
                unsafe {
                    fair.release(ticket);
                }
                0
            }
            Call::Post { line, n, form } => {
                match (n, form % 2) {
                    (1, 0) => semaphores[line].post(),
                    (1, _) => semaphores[line].post_conservatively(),
                    _ => semaphores[line].post_many(n),
                }
                0
            }
            Call::Advance { n } => count.advance_by(n),
            Call::Await { value, patience: Patience::Forever } => count.wait_at_least(value).expect("it is open") + 1,
            Call::Await { value, patience } => {
                count.wait_at_least_within(value, limit(patience)).map_or(0, |seen| seen + 1)
            }
            Call::Lock { patience } => {
                self.holds_lock = match patience {
                    Patience::Forever => {
                        mutex.acquire();
                        true
                    }
                    Patience::UntilDeadline | Patience::UntilCancelled => mutex.acquire_within(limit(patience)).is_ok(),
                    Patience::None => mutex.try_acquire(),
                };
                u64::from(self.holds_lock)
            }
            Call::Unlock => {
                self.holds_lock = false;
                #[allow(unsafe_code)]
                // SAFETY: the program unlocks what it has locked.
                unsafe {
                    mutex.release();
                }
                0
            }
            Call::SetFlag { flag, form } => self.world.set_flag(flag, form),
            Call::WaitFlag { flag, form, patience } => self.world.wait_for_flag(flag, form, patience),
            Call::TakeToken { patience } => self.world.take_token(patience),
            Call::PutToken => {
                self.world.tokens.fetch_add(1, Ordering::SeqCst);
                self.world.table.wake_one(&self.world.tokens);
                0
            }
            Call::Disturb { form } => self.world.disturb(form),
            Call::Expire => {
                model::expire_deadlines();
                self.world.cancel.cancel();
                0
            }
        }
    }
}

const RELEASE_FAIR: Call = Call::Post { line: FAIR, n: 1, form: 0 };

impl World {
    fn limit(&self, patience: Patience) -> Limit<'_> {
        match patience {
            Patience::Forever | Patience::None => Limit::NONE,
            // The model does not look at its value.
            Patience::UntilDeadline => Limit::from(Instant::now()),
            Patience::UntilCancelled => Limit::from(&self.cancel),
        }
    }

    fn set_flag(&self, flag: usize, form: u8) -> u64 {
        let location = &self.flags[flag];
        location.store(1, Ordering::SeqCst);
        if form.is_multiple_of(2) {
            self.table.wake_all(location);
        } else {
            self.table.wake_all_seqcst(location);
        }
        0
    }

    fn wait_for_flag(&'static self, flag: usize, form: u8, patience: Patience) -> u64 {
        let (table, location) = (&self.table, &self.flags[flag]);
        let is_set = || location.load(Ordering::SeqCst) == 1;
        let (forever, deadline) = (patience == Patience::Forever, Instant::now());
        while !is_set() {
            if patience == Patience::UntilCancelled {
                // The thread's own element has no other limit than a deadline.
                return u64::from(table.wait_until_any_within(&[location.key()], self.limit(patience), is_set).is_ok());
            }
            match form % 4 {
                0 if forever => table.wait_until(location, is_set),
                0 => return u64::from(table.wait_until_deadline(location, deadline, is_set)),
                1 if forever => table.location_wait(location),
                1 if table.location_wait_deadline(location, deadline) == WaitOutcome::TimedOut => break,
                1 => {}
                2 => {
                    let armed = table.arm(location);
                    if is_set() {
                        break;
                    }
                    if forever {
                        armed.wait();
                    } else if armed.wait_deadline(deadline) == WaitOutcome::TimedOut {
                        break;
                    }
                }
                _ if forever => table.wait_if(location, || !is_set()),
                _ if table.wait_if_deadline(location, deadline, || !is_set()) == WaitOutcome::TimedOut => break,
                _ => {}
            }
        }
        u64::from(is_set())
    }

    fn take_token(&self, patience: Patience) -> u64 {
        let tokens = &self.tokens;
        let try_take = || tokens.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        let is_empty = || tokens.load(Ordering::SeqCst) == 0;
        while !try_take() {
            match patience {
                Patience::None => return 0,
                Patience::Forever => self.table.wait_if(tokens, is_empty),
                Patience::UntilDeadline | Patience::UntilCancelled => {
                    if self.table.wait_if_within(tokens, self.limit(patience), is_empty).is_err() {
                        return 0;
                    }
                }
            }
        }
        1
    }

    fn disturb(&'static self, form: u8) -> u64 {
        let stranger = Key::address(&self.stranger);
        match form % 4 {
            0 => self.table.wait_if(stranger, || false),
            1 => drop(self.table.wake_one(stranger)),
            // Not waited: the element stays on the chain.
            2 => drop(self.table.arm(&self.flags[0])),
            _ => drop(self.table.arm(stranger)),
        }
        0
    }

    /// What is left when all are done; leaves it so.
    fn left(&self) -> Outcome {
        let permits = [0, 1].map(|line| {
            let semaphore = &self.semaphores[line];
            let available = semaphore.available();
            assert_eq!(semaphore.waiters(), 0, "somebody is left in line");
            semaphore.post();
            assert!(semaphore.try_take_many(available + 1), "abandoned tickets were left in line");
            available
        });
        let fair = self.fair.try_acquire();
        assert_eq!(self.fair.waiters(), 0, "somebody is left in line");
        Outcome {
            permits: [permits[0], permits[1], u64::from(fair.is_some())],
            count: self.count.read(),
            locked: self.mutex.is_acquired(),
            tokens: self.tokens.load(Ordering::SeqCst) as u64,
        }
    }
}
