//! Runs programs made of bytes under shuttle, each by its own schedule, with a reference beside it: whatever they are about.

use layby::model;
use shuttle::{
    Config, FailurePersistence, MaxSteps, Runner,
    scheduler::{self, Scheduler, Task, TaskId},
};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A program, made of bytes: any bytes will do.
pub(crate) trait Program: Clone + fmt::Debug + Send + 'static {
    /// What it is judged by.
    type Reference: Send;

    /// The task that is to run only when no other can go on, if there is one: the first that the main thread starts.
    const HAS_RESCUER: bool;

    fn decode(bytes: &[u8]) -> Self;

    /// The bytes without one of the calls, if there are that many.
    fn without_call(bytes: &[u8], number: usize) -> Option<Vec<u8>>;

    fn schedule(&self) -> &Schedule;

    fn reference(&self) -> Self::Reference;

    /// Runs it, in an execution that has begun.
    fn run(self, bench: &Arc<Bench<Self>>);
}

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Another thread may get its turn once in this number of steps.
    stays: u8,
    choices: Vec<u8>,
}

impl Schedule {
    pub(crate) fn decode(stays: u8, choices: Option<&[u8]>) -> Self {
        Self { stays: 1 << (stays % 5), choices: choices.unwrap_or_default().to_vec() }
    }
}

/// The bytes of a program without the two of call number `number`, if there is one. Byte 2 says how many there are, at most `most`, and
/// they come behind the `head`.
pub(crate) fn without_pair(bytes: &[u8], head: usize, most: usize, number: usize) -> Option<Vec<u8>> {
    let at = head + 2 * number;
    let calls = *bytes.get(2)? as usize % (most + 1);
    (number < calls && at + 2 <= bytes.len()).then(|| {
        let mut shorter = [&bytes[..at], &bytes[at + 2..]].concat();
        shorter[2] = calls as u8 - 1;
        shorter
    })
}

pub(crate) type Programs = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// What came of programs that did not fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) programs: usize,
    pub(crate) calls: usize,
    /// Calls that gave up.
    pub(crate) given_up: usize,
    /// Moments at which somebody slept and nobody could go on.
    pub(crate) asleep: usize,
    /// Programs that were ended in the middle.
    pub(crate) cut_short: usize,
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) bytes: Vec<u8>,
    pub(crate) why: String,
}

/// More steps than any program takes.
const STEPS: usize = 200_000;
const RESCUERS_TASK: usize = 1;

/// Runs all programs, or as many as it takes for one to fail.
pub(crate) fn run<P: Program>(programs: Programs) -> Result<Tally, Failure> {
    let program = P::decode(&[]);
    let bench = Arc::new(Bench(Mutex::new(OnTheBench {
        bytes: Vec::new(),
        reference: program.reference(),
        program,
        is_rescuing: false,
        failure: None,
        tally: Tally::default(),
    })));
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(STEPS);
    config.silence_warnings = true;
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    let scheduler = ByBytes { programs, bench: Arc::clone(&bench), choices: Vec::new(), stays: 1, at: 0 };
    let run = Runner::new(scheduler, config);
    let on_the_bench = Arc::clone(&bench);
    let run_one = move || {
        model::begin();
        let program = on_the_bench.lock().program.clone();
        program.run(&on_the_bench);
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| run.run(run_one)));
    let bench = bench.lock();
    let why = outcome.err().map(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or(panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
    });
    match bench.failure.clone().or(why) {
        Some(why) => Err(Failure { bytes: bench.bytes.clone(), why }),
        None => Ok(bench.tally.clone()),
    }
}

/// The program that is running, and what the reference makes of it.
pub(crate) struct OnTheBench<P: Program> {
    bytes: Vec<u8>,
    program: P,
    pub(crate) reference: P::Reference,
    pub(crate) is_rescuing: bool,
    failure: Option<String>,
    pub(crate) tally: Tally,
}

/// Real, not shuttle's: looking at it is no step of the program.
pub(crate) struct Bench<P: Program>(Mutex<OnTheBench<P>>);

impl<P: Program> Bench<P> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, OnTheBench<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A failure ends the program: the scheduler sees it.
    pub(crate) fn judge(&self, judgement: impl FnOnce(&mut P::Reference) -> Result<(), String>) {
        let mut bench = self.lock();
        if let Err(why) = judgement(&mut bench.reference) {
            bench.failure.get_or_insert(why);
        }
    }
}

/// Chooses the next thread by the next byte.
struct ByBytes<P: Program> {
    programs: Programs,
    bench: Arc<Bench<P>>,
    choices: Vec<u8>,
    stays: u8,
    at: usize,
}

impl<P: Program> Scheduler for ByBytes<P> {
    fn new_execution(&mut self) -> Option<scheduler::Schedule> {
        let mut bench = self.bench.lock();
        if bench.failure.is_some() {
            return None;
        }
        bench.bytes = self.programs.next()?;
        bench.program = P::decode(&bench.bytes);
        bench.reference = bench.program.reference();
        bench.is_rescuing = false;
        bench.tally.programs += 1;
        let schedule = bench.program.schedule();
        self.choices.clone_from(&schedule.choices);
        self.stays = schedule.stays;
        self.at = 0;
        Some(scheduler::Schedule::new(0))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        if self.bench.lock().failure.is_some() {
            return None;
        }
        // The rescuer comes when nobody else can go on; once it is in the middle of a call it is as the others.
        let rescuer = TaskId::from(RESCUERS_TASK);
        let is_rescuing = !P::HAS_RESCUER || self.bench.lock().is_rescuing;
        let others: Vec<_> = runnable.iter().map(|task| task.id()).filter(|id| is_rescuing || *id != rescuer).collect();
        if others.is_empty() {
            return Some(rescuer);
        }
        let choice = self.choices.get(self.at).copied();
        self.at += 1;
        let stays = choice.is_none_or(|choice| choice % self.stays != 0) && !is_yielding;
        if let Some(current) = current.filter(|current| stays && others.contains(current)) {
            return Some(current);
        }
        // At the end of the schedule everybody in turn.
        let next = current.map_or(0, |current| others.iter().position(|id| *id > current).unwrap_or(0));
        Some(others[choice.map_or(next, |choice| (choice / self.stays) as usize) % others.len()])
    }

    fn next_u64(&mut self) -> u64 {
        0
    }
}
