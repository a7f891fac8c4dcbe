//! Whether the machine is quiet enough for a record.
//!
//! Other programs on the same CPUs change every figure, and those of threads that hand over to each other by a factor
//! rather than by a few percent. So a record is made only if the machine was quiet before, during and after the run;
//! there is no way to record anyway.
//!
//! Two things are looked at. The load average says what went on in the last minute or so, but it lags: it is high for
//! some minutes after a run of our own, and low at the start of somebody else's. The CPU time of other programs, from
//! /proc/stat, says what goes on now, other guests of a virtual machine's host included.

use crate::os::{self, Others};
use crate::table::median;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The largest load average for each CPU. Above it, some CPU had something else to run half of the last minute.
pub const MOST_LOAD: f64 = 0.5;

/// The most that other programs may use of one CPU while nothing of ours runs. A quiet machine's daemons use a few
/// hundredths; a compiler or a test, even a single-threaded one that mostly waits, uses more than a tenth.
pub const MOST_AROUND: f64 = 0.1;

/// The most that other programs may use of all CPUs during the run. More than around it, for the kernel's accounts of
/// threads that switch a million times a second are off by up to three percent; and less than the five percent by
/// which two runs of the same thing differ would not be seen anyway.
pub const MOST_DURING: f64 = 0.05;

/// How long to wait for the load average to fall. It falls by a factor of e in a minute, so this is enough after our own
/// runs with 64 threads.
const PATIENCE: Duration = Duration::from_secs(6 * 60);

/// An odd number of samples, of which the median counts: a daemon that wakes up for a moment spoils nothing.
const SAMPLES: usize = 3;
const SAMPLE: Duration = Duration::from_secs(1);

/// What was seen while nothing of ours ran.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    pub cpus: usize,
    /// The one-minute load average.
    pub load: f64,
    /// How many CPUs other programs used.
    pub used_by_others: f64,
}

impl Sample {
    /// The median of some seconds.
    fn take() -> Self {
        let used = || {
            let others = Others::watch();
            std::thread::sleep(SAMPLE);
            others.cpus_used()
        };
        let used: Vec<_> = std::iter::repeat_with(used).take(SAMPLES).collect();
        Self { cpus: os::cpus(), load: os::load_average(), used_by_others: median(&used) }
    }
}

/// What a sample says of the machine.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    Quiet,
    /// Nothing runs now, but something did a little while ago, perhaps the run before this one: wait.
    Settling(String),
    Busy(String),
}

/// May a run begin?
pub fn before(sample: Sample) -> Verdict {
    let Sample { cpus, load, used_by_others } = sample;
    let most = MOST_LOAD * cpus as f64;
    if used_by_others > MOST_AROUND {
        let load = if load > most { format!("; the load average is {load:.2}") } else { String::new() };
        Verdict::Busy(format!("other programs use {used_by_others:.2} CPUs, and at most {MOST_AROUND} is quiet{load}"))
    } else if load > most {
        Verdict::Settling(format!("the load average is {load:.2}, and at most {most:.2} on {cpus} CPUs is quiet"))
    } else {
        Verdict::Quiet
    }
}

/// May the record be kept? `during` is how many CPUs other programs used on average. The load average is not asked: it
/// is that of the run itself.
pub fn after(sample: Sample, during: f64) -> Result<(), String> {
    let most = MOST_DURING * sample.cpus as f64;
    if during > most {
        return Err(format!("other programs used {during:.2} CPUs during the run, and at most {most:.2} is quiet"));
    }
    if sample.used_by_others > MOST_AROUND {
        let used = sample.used_by_others;
        return Err(format!("other programs use {used:.2} CPUs after the run, and at most {MOST_AROUND} is quiet"));
    }
    Ok(())
}

/// What a record says about it. CPUs are what other programs used: 0.05 is a twentieth of one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Quiet {
    pub cpus_before: f64,
    pub cpus_during: f64,
    pub cpus_after: f64,
    /// The one-minute load average at the end, most of it the run's own.
    pub load_after: f64,
}

/// What a program that refused to record ends with.
pub const REFUSED: u8 = 3;

/// Says why nothing is recorded.
pub fn refuse(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::from(REFUSED)
}

/// A run that is to be recorded.
pub struct Watch {
    before: Sample,
    others: Others,
}

impl Watch {
    /// Waits until the load average has fallen; an error if the machine is busy.
    pub fn begin() -> Result<Self, String> {
        let before = settle()?;
        Ok(Self { before, others: Others::watch() })
    }

    /// An error if it was busy meanwhile, or is now.
    pub fn end(self) -> Result<Quiet, String> {
        let during = self.others.cpus_used();
        let sample = Sample::take();
        after(sample, during).map_err(|why| format!("{why}: nothing is recorded"))?;
        Ok(Quiet {
            cpus_before: self.before.used_by_others,
            cpus_during: during,
            cpus_after: sample.used_by_others,
            load_after: sample.load,
        })
    }
}

/// Returns when the machine is quiet.
pub fn settle() -> Result<Sample, String> {
    if !cfg!(target_os = "linux") {
        return Err("whether the machine is quiet is known on Linux only: nothing is recorded".to_string());
    }
    let begun = Instant::now();
    let mut told = false;
    loop {
        let sample = Sample::take();
        match before(sample) {
            Verdict::Quiet => return Ok(sample),
            Verdict::Busy(why) => return Err(format!("the machine is busy: {why}: nothing is recorded")),
            Verdict::Settling(why) if begun.elapsed() > PATIENCE => {
                return Err(format!("the machine does not settle: {why}: nothing is recorded"));
            }
            Verdict::Settling(why) => {
                if !told {
                    eprintln!("nothing else runs now, but {why}: waiting for it to fall");
                }
                told = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cpus: usize, load: f64, used_by_others: f64) -> Sample {
        Sample { cpus, load, used_by_others }
    }

    #[test]
    fn an_idle_machine_is_quiet() {
        assert_eq!(before(sample(2, 0.0, 0.0)), Verdict::Quiet);
        assert_eq!(before(sample(2, 1.0, 0.1)), Verdict::Quiet);
        assert_eq!(before(sample(64, 20.0, 0.02)), Verdict::Quiet);
    }

    #[test]
    fn whoever_runs_now_is_in_the_way_whatever_the_load_average_says() {
        for load in [0.0, 1.0, 50.0] {
            assert!(matches!(before(sample(2, load, 0.11)), Verdict::Busy(_)), "{load}");
        }
        assert_eq!(
            before(sample(2, 0.3, 1.25)),
            Verdict::Busy("other programs use 1.25 CPUs, and at most 0.1 is quiet".to_string()),
        );
        // A tenth of one CPU, however many there are: on a large machine it may be the one that a thread needs.
        assert!(matches!(before(sample(64, 0.3, 1.0)), Verdict::Busy(_)));
    }

    #[test]
    fn a_load_of_the_past_is_waited_for() {
        assert_eq!(
            before(sample(2, 50.63, 0.01)),
            Verdict::Settling("the load average is 50.63, and at most 1.00 on 2 CPUs is quiet".to_string()),
        );
    }

    #[test]
    fn the_load_of_the_run_itself_does_not_count_after_it() {
        assert_eq!(after(sample(2, 40.0, 0.05), 0.06), Ok(()));
    }

    #[test]
    fn a_record_is_not_kept_if_others_ran_during_or_after() {
        assert!(after(sample(2, 40.0, 0.0), 0.11).unwrap_err().contains("used 0.11 CPUs during the run"));
        assert!(after(sample(2, 40.0, 0.9), 0.0).unwrap_err().contains("use 0.90 CPUs after the run"));
        // Five percent of all CPUs, since so does what the kernel's accounts are off by.
        assert_eq!(after(sample(64, 40.0, 0.0), 3.0), Ok(()));
    }

    #[test]
    fn others_are_seen_or_not_at_all() {
        let others = Others::watch();
        std::thread::sleep(Duration::from_millis(50));
        let used = others.cpus_used();
        assert!((0.0..=os::cpus() as f64).contains(&used), "{used}");
    }
}
