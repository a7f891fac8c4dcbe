//! What a graph is supposed to do, as simply as it can be said: who has had which entry, and who has gone.
//!
//! It is told when a call begins, what its closure sees, and what the call returns. What had been done when a call began counts
//! for it; what is done meanwhile may.

use super::program::Section;
use layby::pipeline::Reason;
use std::collections::BTreeMap;

/// What stages that have their entries to themselves make of them.
pub(crate) fn step(value: u64, stage: usize) -> u64 {
    value.wrapping_mul(31).wrapping_add(stage as u64 + 1)
}

pub(crate) fn name_of(stage: usize) -> String {
    format!("stage {stage}")
}

struct Stage {
    is_sole: bool,
    /// None of them: it comes after the producers.
    before: Vec<usize>,
    /// How many entries it has worked on; those that it passes on at this moment are among them.
    worked: u64,
    /// How many it had passed on when its last call returned.
    passed_on: u64,
    has_finished: bool,
    /// Which entry its closure sees next.
    sees: u64,
}

struct Fill {
    value: u64,
    /// Whether the call that filled it has returned.
    is_published: bool,
}

/// What had been done when a call began.
#[derive(Clone, Copy, Default)]
pub(crate) struct Start {
    is_closed: bool,
    /// There was room, or there were entries, below this number.
    until: u64,
    /// Of a stage: there will be no more.
    is_final: bool,
}

pub(crate) struct Reference {
    capacity: u64,
    producers: usize,
    /// Those that have gone, or are about to.
    gone: usize,
    stages: Vec<Stage>,
    /// Nobody comes after these.
    last: Vec<usize>,
    filled: BTreeMap<u64, Fill>,
    /// Of all calls that have published, or may have drawn numbers.
    asked_for: u64,
    has_expired: bool,
    /// Why it may have been closed.
    reasons: Vec<Reason>,
    /// Somebody has closed it for sure.
    is_closed: bool,
    /// The reason that everybody hears.
    heard: Option<Reason>,
}

/// How a call ended that came without a closure being called to its end.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// No room, or no entry; whether the call was to wait until the deadlines pass.
    GaveUp {
        is_timed: bool,
    },
    Closed(Reason),
}

type Judgement = Result<(), String>;

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Judgement {
    if holds { Ok(()) } else { Err(why()) }
}

impl Reference {
    pub(crate) fn new(capacity: usize, producers: usize, sections: &[Section]) -> Self {
        let mut stages: Vec<Stage> = vec![];
        let mut last: Vec<usize> = vec![];
        for section in sections {
            let (start, first) = (last.clone(), stages.len());
            let mut add = |is_sole, before| {
                stages.push(Stage { is_sole, before, worked: 0, passed_on: 0, has_finished: false, sees: 0 });
            };
            add(*section == Section::Stage, start.clone());
            last = vec![first];
            match section {
                Section::Stage | Section::Reader => {}
                Section::TwoReaders => {
                    add(false, start);
                    last.push(first + 1);
                }
                Section::ReaderAfterReader => {
                    add(false, [start, vec![first]].concat());
                    last = vec![first + 1];
                }
            }
        }
        Self {
            capacity: capacity as u64,
            producers,
            gone: 0,
            stages,
            last,
            filled: BTreeMap::new(),
            asked_for: 0,
            has_expired: false,
            reasons: vec![],
            is_closed: false,
            heard: None,
        }
    }

    pub(crate) fn expires(&mut self) {
        self.has_expired = true;
    }

    /// Somebody is about to close it.
    pub(crate) fn closes(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }

    /// Somebody has closed it.
    pub(crate) fn has_closed(&mut self) {
        self.is_closed = true;
    }

    pub(crate) fn is_cut_short(&self) -> bool {
        !self.reasons.is_empty()
    }

    /// A producer is about to go.
    pub(crate) fn goes(&mut self) {
        self.gone += 1;
    }

    /// Up to which number all entries have been published for sure.
    fn published(&self) -> u64 {
        (0..).find(|number| !self.filled.get(number).is_some_and(|fill| fill.is_published)).expect("there is an end")
    }

    pub(crate) fn begins_to_publish(&mut self, n: u64) -> Start {
        self.asked_for += n;
        let freed = self.last.iter().map(|last| self.stages[*last].passed_on).min().expect("some stage is the last");
        Start { is_closed: self.is_closed, until: freed + self.capacity, is_final: false }
    }

    /// A producer fills an entry.
    pub(crate) fn fills(&mut self, start: Start, sequence: u64, value: u64) -> Judgement {
        ensure(!start.is_closed, || format!("{sequence} is filled though the graph was closed"))?;
        let before = self.filled.insert(sequence, Fill { value, is_published: false });
        ensure(before.is_none(), || format!("{sequence} is filled twice"))?;
        let is_free = |last: &usize| self.stages[*last].worked + self.capacity > sequence;
        ensure(self.last.iter().all(is_free), || format!("{sequence} is filled while its entry is in use"))
    }

    /// A call has published the entries with these numbers.
    pub(crate) fn has_published(&mut self, sequences: &[u64], n: u64) -> Judgement {
        ensure(sequences.len() as u64 == n, || format!("{n} were to be published, {sequences:?} were filled"))?;
        let fill = |sequence: &u64| self.filled.get_mut(sequence).expect("it was filled").is_published = true;
        sequences.iter().for_each(fill);
        Ok(())
    }

    /// A call has published nothing.
    pub(crate) fn was_refused(&mut self, start: Start, n: u64, refusal: Refusal) -> Judgement {
        match refusal {
            Refusal::GaveUp { is_timed } => {
                self.may_give_up(start, is_timed)?;
                let asked_for = self.asked_for;
                self.asked_for -= n;
                ensure(asked_for > start.until, || format!("no room for {asked_for}, though {} fit", start.until))
            }
            Refusal::Closed(reason) => self.hears(reason),
        }
    }

    fn may_give_up(&self, start: Start, is_timed: bool) -> Judgement {
        ensure(!start.is_closed, || "a closed graph was taken for one that makes wait".into())?;
        ensure(!is_timed || self.has_expired, || "it gave up too early".into())
    }

    fn hears(&mut self, reason: Reason) -> Judgement {
        let heard = self.heard.get_or_insert(reason.clone());
        ensure(*heard == reason, || format!("two reasons: {heard}, {reason}"))?;
        ensure(self.reasons.contains(&reason), || format!("nobody closed it, but: {reason}"))
    }

    pub(crate) fn begins_to_consume(&mut self, stage: usize) -> Start {
        let before = &self.stages[stage].before;
        let passed_on = before.iter().map(|before| self.stages[*before].passed_on).min();
        let is_final = if before.is_empty() {
            false // That the last producer has gone is known when it has; here it may be about to.
        } else {
            before.iter().all(|before| self.stages[*before].has_finished)
        };
        let until = passed_on.unwrap_or_else(|| self.published());
        let stage = &mut self.stages[stage];
        stage.sees = stage.worked;
        Start { is_closed: self.is_closed, until, is_final }
    }

    /// What a stage must see in an entry.
    fn expected(&self, stage: usize, sequence: u64) -> Option<u64> {
        let made = self.filled.get(&sequence)?.value;
        let changes = (0..stage).filter(|earlier| self.stages[*earlier].is_sole);
        Some(changes.fold(made, step))
    }

    /// A stage's closure looks at an entry.
    pub(crate) fn sees(&mut self, stage: usize, start: Start, sequence: u64, value: u64) -> Judgement {
        ensure(!start.is_closed, || format!("{stage} sees {sequence} though the graph was closed"))?;
        let expected = self.expected(stage, sequence);
        ensure(expected == Some(value), || format!("{stage} sees {value} in {sequence}, not {expected:?}"))?;
        let (next, before) = (self.stages[stage].sees, &self.stages[stage].before);
        ensure(next == sequence, || format!("{stage} sees {sequence} after {next}"))?;
        let is_done = |before: &usize| self.stages[*before].worked > sequence;
        ensure(before.iter().all(is_done), || format!("{stage} sees {sequence} before those before it are done"))?;
        self.stages[stage].sees += 1;
        Ok(())
    }

    /// A stage is about to pass on the next `n` entries that it has seen.
    pub(crate) fn works(&mut self, stage: usize, n: u64) -> Judgement {
        let stage = &mut self.stages[stage];
        stage.worked += n;
        ensure(stage.worked <= stage.sees, || "more were passed on than seen".into())
    }

    /// A stage's call has returned, with entries or without.
    pub(crate) fn has_passed_on(&mut self, stage: usize, n: u64, most: u64) -> Judgement {
        let stage = &mut self.stages[stage];
        let passed_on = stage.worked - stage.passed_on;
        stage.passed_on = stage.worked;
        ensure(passed_on == n && n <= most, || format!("{n} of {most} were passed on, and {passed_on} were worked on"))
    }

    pub(crate) fn got_nothing(&mut self, stage: usize, start: Start, refusal: Refusal) -> Judgement {
        match refusal {
            Refusal::GaveUp { is_timed } => {
                self.may_give_up(start, is_timed)?;
                let position = self.stages[stage].passed_on;
                let must_go_on = start.until > position || start.is_final;
                ensure(!must_go_on, || format!("{stage} found nothing at {position}, though {} are ready", start.until))
            }
            Refusal::Closed(reason) => self.hears(reason),
        }
    }

    pub(crate) fn has_finished(&mut self, stage: usize, start: Start) -> Judgement {
        ensure(!start.is_closed, || format!("{stage} has finished a graph that was closed"))?;
        let (position, filled) = (self.stages[stage].passed_on, self.filled.len() as u64);
        self.stages[stage].has_finished = true;
        ensure(self.gone == self.producers, || format!("{stage} has finished before the producers have gone"))?;
        let has_all = self.is_cut_short() || position == filled;
        ensure(has_all, || format!("{stage} has finished at {position} of {filled}"))
    }

    /// Everybody has returned.
    pub(crate) fn ends(&self) -> Judgement {
        let all = self.filled.len() as u64;
        let has_all = |stage: &Stage| stage.has_finished && stage.passed_on == all;
        let is_complete = self.stages.iter().all(has_all) && self.published() == all;
        ensure(self.is_cut_short() || is_complete, || format!("not all of {all} entries went through all stages"))
    }
}
