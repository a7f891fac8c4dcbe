//! What the primitives are supposed to do, as simply as it can be said: counters and queues, one step at a time.
//!
//! A call takes effect at some moment between its invocation and its return. When that is cannot be seen, so all that
//! may be the case is followed at once: a set of states. A return that fits none of them cannot be explained.

use super::program::{Call, FAIR, LINES, Patience, THREADS};
use std::collections::HashSet;

/// One thread more than programs have: the one that helps when all others sleep.
pub(crate) const RESCUER: usize = THREADS;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Called(Call),
    /// Of a take, when it is in the queue.
    InLine(Call),
    Returned(u64),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Line {
    permits: u64,
    /// Who waits, first come first.
    queue: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    lines: [Line; LINES],
    count: u64,
    locked: bool,
    flags: [bool; 2],
    tokens: u64,
    expired: bool,
    threads: [Phase; THREADS + 1],
}

impl State {
    /// The states after a step of one of the threads.
    fn successors(&self) -> Vec<Self> {
        (0..self.threads.len()).flat_map(|thread| self.steps_of(thread)).collect()
    }

    /// Whether nobody can go on: neither by a step, nor by a return.
    fn is_asleep(&self) -> bool {
        let returns = self.threads.iter().any(|phase| matches!(phase, Phase::Returned(_)));
        !returns && self.successors().is_empty()
    }

    fn steps_of(&self, thread: usize) -> Vec<Self> {
        let (call, in_line) = match &self.threads[thread] {
            Phase::Called(call) => (*call, false),
            Phase::InLine(call) => (*call, true),
            Phase::Idle | Phase::Returned(_) => return Vec::new(),
        };
        let mut steps = Vec::new();
        let mut step = |result: u64, change: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            next.threads[thread] = Phase::Returned(result);
            change(&mut next);
            steps.push(next);
        };
        let is_late = |patience: Patience| patience.is_limited() && self.expired;
        let unchanged = |_: &mut Self| {};
        match call {
            Call::Take { line, n, patience } => {
                let Line { permits, queue } = &self.lines[line];
                let before_us = queue.iter().position(|waiting| *waiting == thread).unwrap_or(queue.len());
                let can_take = before_us == 0 && *permits >= n;
                match (patience, in_line) {
                    (Patience::None, _) if can_take => step(1, &|next| next.lines[line].permits -= n),
                    (Patience::None, _) => step(0, &unchanged),
                    (_, false) => step(0, &|next| {
                        next.lines[line].queue.push(thread);
                        next.threads[thread] = Phase::InLine(call);
                    }),
                    (_, true) => {
                        let leave = |next: &mut Self| {
                            next.lines[line].queue.remove(before_us);
                        };
                        if can_take {
                            step(1, &|next| {
                                leave(next);
                                next.lines[line].permits -= n;
                            });
                        }
                        if is_late(patience) {
                            step(0, &leave);
                        }
                    }
                }
            }
            Call::Post { line, n, form } => {
                step(0, &|next| next.lines[line].permits += n);
                // Permits that fall to tickets of those who gave up are passed on one step later.
                if n > 1 && self.expired {
                    step(0, &|next| {
                        next.lines[line].permits += 1;
                        next.threads[thread] = Phase::Called(Call::Post { line, n: n - 1, form });
                    });
                }
            }
            Call::Advance { n } => step(self.count + n, &|next| next.count += n),
            Call::Await { value, patience } => {
                if self.count >= value {
                    step(self.count + 1, &unchanged);
                } else if is_late(patience) {
                    step(0, &unchanged);
                }
            }
            Call::Lock { patience } => {
                if !self.locked {
                    step(1, &|next| next.locked = true);
                }
                // A free lock may be reserved for one that waits.
                let others_wait = self
                    .threads
                    .iter()
                    .enumerate()
                    .any(|(other, phase)| other != thread && matches!(phase, Phase::Called(Call::Lock { .. })));
                if is_late(patience) || patience == Patience::None && (self.locked || others_wait) {
                    step(0, &unchanged);
                }
            }
            Call::Unlock => step(0, &|next| next.locked = false),
            Call::SetFlag { flag, .. } => step(0, &|next| next.flags[flag] = true),
            Call::WaitFlag { flag, patience, .. } => {
                if self.flags[flag] {
                    step(1, &unchanged);
                } else if is_late(patience) {
                    step(0, &unchanged);
                }
            }
            Call::TakeToken { patience } => {
                if self.tokens > 0 {
                    step(1, &|next| next.tokens -= 1);
                }
                if is_late(patience) || patience == Patience::None && self.tokens == 0 {
                    step(0, &unchanged);
                }
            }
            Call::PutToken => step(0, &|next| next.tokens += 1),
            Call::Disturb { .. } => step(0, &unchanged),
            Call::Expire => step(0, &|next| next.expired = true),
        }
        steps
    }
}

/// What is left when all threads are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) permits: [u64; LINES],
    pub(crate) count: u64,
    pub(crate) locked: bool,
    pub(crate) tokens: u64,
}

/// All that may be the case.
#[derive(Debug)]
pub(crate) struct Reference {
    states: HashSet<State>,
    calls: [Option<Call>; THREADS + 1],
}

impl Reference {
    pub(crate) fn new(permits: [u64; 2]) -> Self {
        let mut lines: [Line; LINES] = Default::default();
        lines[0].permits = permits[0];
        lines[1].permits = permits[1];
        lines[FAIR].permits = 1;
        let state = State {
            lines,
            count: 0,
            locked: false,
            flags: [false; 2],
            tokens: 0,
            expired: false,
            threads: [const { Phase::Idle }; THREADS + 1],
        };
        Self { states: HashSet::from([state]), calls: [None; THREADS + 1] }
    }

    pub(crate) fn call(&mut self, thread: usize, call: Call) {
        self.calls[thread] = Some(call);
        self.states = self
            .states
            .drain()
            .map(|mut state| {
                state.threads[thread] = Phase::Called(call);
                state
            })
            .collect();
        self.take_steps();
    }

    /// Adds everything that may have happened by now.
    fn take_steps(&mut self) {
        let mut new: Vec<_> = self.states.iter().cloned().collect();
        while let Some(state) = new.pop() {
            for next in state.successors() {
                if self.states.insert(next.clone()) {
                    new.push(next);
                }
            }
        }
    }

    /// A call has returned. Says if that cannot be.
    pub(crate) fn returns(&mut self, thread: usize, result: u64) -> Result<(), String> {
        let call = self.calls[thread].take().expect("a call returns once");
        self.states = self
            .states
            .drain()
            .filter(|state| state.threads[thread] == Phase::Returned(result))
            .map(|mut state| {
                state.threads[thread] = Phase::Idle;
                state
            })
            .collect();
        self.explained(|| format!("thread {thread}: {call:?} returned {result}, which cannot be"))
    }

    /// All threads sleep, or are done. Says if one of them ought to go on.
    pub(crate) fn sleeps(&mut self) -> Result<(), String> {
        let before = self.calls;
        self.states.retain(State::is_asleep);
        self.explained(|| format!("all sleep, though somebody could go on: {before:?}"))
    }

    /// All is over, and this is left. Says if that cannot be.
    pub(crate) fn ends(&mut self, outcome: Outcome) -> Result<(), String> {
        self.states.retain(|state| {
            outcome
                == Outcome {
                    permits: [0, 1, 2].map(|line| state.lines[line].permits),
                    count: state.count,
                    locked: state.locked,
                    tokens: state.tokens,
                }
        });
        self.explained(|| format!("{outcome:?} is left, which cannot be"))
    }

    fn explained(&self, otherwise: impl FnOnce() -> String) -> Result<(), String> {
        if self.states.is_empty() { Err(otherwise()) } else { Ok(()) }
    }
}
