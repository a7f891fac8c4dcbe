//! The raw record: every run of every contender.

use super::hold::Hold;
use super::trial::Outcome;
use crate::beside::Habit;
use crate::contender::registry::{CONTENDERS, Class, Contender};
use crate::machine::Machine;
use crate::table::median;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub machine: Machine,
    pub interval_seconds: f64,
    #[serde(default)]
    pub section: Section,
    pub runs: Vec<Run>,
}

/// What was measured, the same in all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    pub permits: u32,
    pub hold: Hold,
    /// What the programs did that ran beside it.
    pub strangers: Habit,
}

impl Default for Section {
    fn default() -> Self {
        Self { permits: 1, hold: Hold::default(), strangers: Habit::default() }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub contender: String,
    pub class: Class,
    pub ours: bool,
    pub threads: usize,
    /// How many programs ran beside it.
    #[serde(default)]
    pub beside: usize,
    pub outcome: Outcome,
}

/// All runs of one contender with one number of threads.
pub struct Cell<'a>(Vec<&'a Outcome>);

impl Cell<'_> {
    pub fn runs(&self) -> usize {
        self.0.len()
    }

    pub fn median_of(&self, figure: impl Fn(&Outcome) -> f64) -> f64 {
        median(&self.0.iter().map(|outcome| figure(outcome)).collect::<Vec<_>>())
    }

    pub fn max_of(&self, figure: impl Fn(&Outcome) -> f64) -> f64 {
        self.0.iter().map(|outcome| figure(outcome)).fold(0.0, f64::max)
    }

    pub fn min_of(&self, figure: impl Fn(&Outcome) -> f64) -> f64 {
        self.0.iter().map(|outcome| figure(outcome)).fold(f64::INFINITY, f64::min)
    }

    pub fn throughput(&self) -> f64 {
        self.median_of(Outcome::per_second)
    }
}

impl Record {
    pub fn add(&mut self, contender: &Contender, threads: usize, beside: usize, outcome: Outcome) {
        let Contender { name, class, ours, .. } = *contender;
        self.runs.push(Run { contender: name.to_string(), class, ours, threads, beside, outcome });
    }

    /// The runs beside so many programs, as a record of their own. Tables and conclusions are made of one of these.
    pub fn beside(&self, number: usize) -> Self {
        let runs = self.runs.iter().filter(|run| run.beside == number).cloned().collect();
        Self { runs, machine: self.machine.clone(), ..*self }
    }

    /// How many programs ran beside it, each number once, in order.
    pub fn numbers_beside(&self) -> Vec<usize> {
        let mut numbers: Vec<_> = self.runs.iter().map(|run| run.beside).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Where the runs beside so many programs took place, in words.
    pub fn place(&self, beside: usize) -> String {
        let which = match self.section.strangers {
            Habit::Computing => "computing without end",
            Habit::Dozing => "computing for 5 ms in 10",
        };
        match beside {
            0 => "on an idle machine".to_string(),
            1 => format!("beside 1 program {which}"),
            _ => format!("beside {beside} programs {which}"),
        }
    }

    /// Permits and what their holders do, unless it is as in the paper.
    pub fn section_if_unusual(&self) -> Option<String> {
        let Section { permits, hold, .. } = self.section;
        let is_usual = Section { strangers: Habit::default(), ..self.section } == Section::default();
        let permits = if permits == 1 { "1 permit".to_string() } else { format!("{permits} permits") };
        (!is_usual).then(|| format!("{permits}, held for {hold}"))
    }

    pub fn cell(&self, contender: &str, threads: usize) -> Option<Cell<'_>> {
        let of_it = |run: &&Run| run.contender == contender && run.threads == threads;
        let outcomes: Vec<_> = self.runs.iter().filter(of_it).map(|run| &run.outcome).collect();
        (!outcomes.is_empty()).then_some(Cell(outcomes))
    }

    /// The numbers of threads that were measured, in order.
    pub fn threads(&self) -> Vec<usize> {
        let mut threads: Vec<_> = self.runs.iter().map(|run| run.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Who was measured in this class, in the registry's order, so that a contender looks the same in every figure.
    pub fn contenders(&self, class: Class) -> Vec<&str> {
        let mut names = Vec::new();
        for run in self.runs.iter().filter(|run| run.class == class) {
            if !names.contains(&run.contender.as_str()) {
                names.push(run.contender.as_str());
            }
        }
        let place = |name: &str| CONTENDERS.iter().position(|contender| contender.name == name);
        names.sort_by_key(|name| place(name).unwrap_or(usize::MAX));
        names
    }

    pub fn is_ours(&self, contender: &str) -> bool {
        self.runs.iter().any(|run| run.ours && run.contender == contender)
    }
}
