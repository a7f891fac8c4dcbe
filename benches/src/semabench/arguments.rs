//! What people can ask of semabench.

use super::hold::Hold;
use super::trial::Pinning;
use crate::beside::Habit;
use crate::contender::registry::{CONTENDERS, Class, Contender, Waits};
use crate::os;
use clap::Parser;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// semabench: the benchmark of "Semaphores Augmented with a Waiting Array" (Dice & Kogan), with every peer in it.
///
/// T threads share one semaphore of one permit. Each takes it, makes one step of a shared mt19937, posts it, makes one
/// step of an mt19937 of its own, and begins again, for as long as the measurement lasts. The figure shows how many
/// rounds all threads together make in a second, against T; the median of several runs. Higher is better.
///
/// There are two classes, which are not compared with each other. FIFO contenders serve whoever came first; barging ones let
/// a late arrival overtake those who sleep, which saves the time to wake them, and lets them starve: see the fairness and
/// the longest wait beside the throughput.
///
/// Without arguments it takes about two minutes. Stop it at any time with Ctrl-C: what was measured so far is kept.
#[derive(Parser, Clone, Debug)]
#[command(name = "semabench", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// Numbers of threads [default: 1,2,4,… to 64, or to twice the CPUs if that is more]
    #[arg(short, long, value_delimiter = ',', value_name = "T,…", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Vec<u32>,

    /// How long each run is measured [default: what makes the whole take about two minutes]
    #[arg(short, long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub seconds: Option<f64>,

    /// Runs of each contender with each number of threads, of which the median counts [default: 3]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Only these contenders; `fifo`, `barging`, `ours` and `peers` stand for all of that kind [default: all]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    pub contenders: Vec<String>,

    /// Where the figure, the tables and the raw record go; what is there from before is overwritten
    #[arg(short, long, value_name = "DIRECTORY", default_value = "target/semabench")]
    pub output: PathBuf,

    /// Where threads may run
    #[arg(long, value_enum, default_value_t)]
    pub pinning: Pinning,

    /// Programs that take the CPUs meanwhile, started and ended by this one: 0 is an idle machine; 0,2 measures both
    #[arg(long, value_delimiter = ',', value_name = "N,…", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub beside: Vec<u32>,

    /// What those programs do
    #[arg(long, value_enum, default_value_t)]
    pub strangers: Habit,

    /// Permits of the semaphore; with more than 1, mutexes do not take part
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub permits: u32,

    /// How long a permit is held: 10us computing, asleep:100us asleep; 0us is one step of a generator, as in the paper
    #[arg(long, value_name = "TIME", default_value = "0us")]
    pub hold: Hold,

    /// A first look: one short run of each, about 20 seconds in all
    #[arg(long, conflicts_with_all = ["full", "seconds", "runs"])]
    pub quick: bool,

    /// As in the paper: 11 runs of each; half an hour or more
    #[arg(long, conflicts_with_all = ["seconds", "runs"])]
    pub full: bool,

    /// For a record that is kept: refuse, and write nothing, unless the machine is quiet before, during and after
    #[arg(long)]
    pub record: bool,

    /// Show the contenders and exit
    #[arg(long)]
    pub list: bool,
}

const EXAMPLES: &str = "\
Examples:
  cargo semabench                                  everything, in about two minutes
  cargo semabench --quick                          a first look: 20 seconds
  cargo semabench --quick -c layby,tokio           two contenders: 20 seconds too, with longer runs
  cargo semabench --full --output DIRECTORY        11 runs, as in the paper
  cargo semabench -c layby,tokio -t 1,8,64 -s 1    two of them, three numbers of threads
  cargo semabench --quick --beside 0,2             idle, and beside two programs that never sleep
  cargo semabench -c layby,tokio --permits 4 --hold asleep:100us -t 16
                                                   a pool whose holders wait for something
  cargo semabench --list                           who takes part

The output directory then holds semabench.svg (the figure), semabench.md (tables), semabench.csv (medians), \
runs.csv (every run) and semabench.json (the raw record); with `cargo run --release -p layby-bench --features png \
--bin semabench`, which takes minutes longer to build, also semabench.png.";

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=3600.0).contains(&seconds) => Ok(seconds),
        Ok(_) => Err("must be between 0.01 and 3600 seconds".to_string()),
        Err(_) => Err("must be a number of seconds, such as 0.5".to_string()),
    }
}

/// What will be run.
pub struct Plan {
    pub contenders: Vec<&'static Contender>,
    pub threads: Vec<usize>,
    pub runs: usize,
    pub interval: Duration,
    pub pinning: Pinning,
    /// How many programs run beside it.
    pub beside: Vec<usize>,
    pub strangers: Habit,
    pub permits: u32,
    pub hold: Hold,
}

/// What a run costs beside its interval and its warm-up: starting and joining threads.
const OVERHEAD: Duration = Duration::from_millis(12);
const TWO_MINUTES: Duration = Duration::from_secs(115);
const TWENTY_SECONDS: Duration = Duration::from_secs(20);

impl Plan {
    pub fn of(arguments: &Arguments) -> Result<Self, String> {
        let mut contenders = choose(&arguments.contenders)?;
        contenders.retain(|contender| contender.counts || arguments.permits == 1);
        if contenders.is_empty() {
            return Err("nothing to run: a mutex has one permit".to_string());
        }
        let mut threads: Vec<usize> = arguments.threads.iter().map(|&threads| threads as usize).collect();
        if threads.is_empty() {
            let most = 64.max((2 * os::cpus()).next_power_of_two());
            threads = std::iter::successors(Some(1), |t| Some(2 * t)).take_while(|&t| t <= most).collect();
        }
        threads.sort_unstable();
        threads.dedup();
        let runs = match (arguments.quick, arguments.full) {
            (true, _) => 1,
            (_, true) => 11,
            _ => arguments.runs.unwrap_or(3) as usize,
        };
        let mut beside: Vec<usize> = arguments.beside.iter().map(|&number| number as usize).collect();
        beside.sort_unstable();
        beside.dedup();
        let &Arguments { pinning, strangers, permits, hold, .. } = arguments;
        let interval = Duration::ZERO;
        let mut plan = Self { contenders, threads, runs, interval, pinning, beside, strangers, permits, hold };
        let budget = if arguments.quick { TWENTY_SECONDS } else { TWO_MINUTES };
        plan.interval = match (arguments.seconds, arguments.full) {
            (Some(seconds), _) => Duration::from_secs_f64(seconds),
            (None, true) => Duration::from_secs(1),
            (None, false) => plan.interval_for(budget),
        };
        if plan.trials() == 0 {
            return Err("nothing to run: spinning contenders take part only up to the number of CPUs".to_string());
        }
        Ok(plan)
    }

    /// The interval that makes all trials together take that long.
    fn interval_for(&self, budget: Duration) -> Duration {
        let each = budget.div_f64(self.trials().max(1) as f64);
        // The warm-up is a tenth of the interval.
        each.saturating_sub(OVERHEAD).div_f64(1.1).clamp(Duration::from_millis(20), Duration::from_secs(10))
    }

    /// Whether this contender is measured with so many threads.
    pub fn includes(&self, contender: &Contender, threads: usize) -> bool {
        contender.waits == Waits::Sleeping || threads <= os::cpus()
    }

    /// All contenders with all numbers of threads.
    pub fn cells(&self) -> impl Iterator<Item = (usize, &'static Contender)> {
        let all = self.threads.iter().flat_map(|&t| self.contenders.iter().map(move |&contender| (t, contender)));
        all.filter(|&(threads, contender)| self.includes(contender, threads))
    }

    pub fn trials(&self) -> usize {
        self.cells().count() * self.runs * self.beside.len()
    }
}

fn choose(names: &[String]) -> Result<Vec<&'static Contender>, String> {
    let is_called = |contender: &Contender, name: &str| match name {
        "fifo" => contender.class == Class::Fifo,
        "barging" => contender.class == Class::Barging,
        "ours" => contender.ours,
        "peers" => !contender.ours,
        _ => contender.name == name,
    };
    for name in names {
        if !CONTENDERS.iter().any(|contender| is_called(contender, name)) {
            let alike = CONTENDERS.iter().map(|contender| contender.name).filter(|other| other.contains(name.as_str()));
            let alike = alike.collect::<Vec<_>>().join(", ");
            let hint = if alike.is_empty() {
                "--list shows who takes part".to_string()
            } else {
                format!("is it one of {alike}?")
            };
            return Err(format!("no contender is called '{name}'; {hint}"));
        }
    }
    let chosen = |contender: &&Contender| names.is_empty() || names.iter().any(|name| is_called(contender, name));
    Ok(CONTENDERS.iter().filter(chosen).collect())
}

/// The contenders and the groups, for `--list`.
pub fn list() -> String {
    let mut text = format!("{:20} {:8} {:9} what it is\n", "name", "class", "waits by");
    for contender in CONTENDERS {
        let waits = match contender.waits {
            Waits::Sleeping => "sleeping",
            Waits::Spinning => "spinning",
        };
        let (name, class) = (contender.name, contender.class.title());
        writeln!(text, "{name:20} {class:8} {waits:9} {}", contender.about).expect("to a string");
    }
    text.push_str("\nGroups: fifo, barging (of that class), ours (layby's), peers (all others).\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> Result<Plan, String> {
        let arguments = Arguments::try_parse_from(line.split(' ')).map_err(|error| error.to_string())?;
        Plan::of(&arguments)
    }

    #[test]
    fn defaults_take_two_minutes() {
        let plan = plan("semabench").unwrap();
        let total = (plan.interval.mul_f64(1.1) + OVERHEAD) * plan.trials() as u32;
        assert!((100..=130).contains(&total.as_secs()), "{total:?}");
    }

    #[test]
    fn bad_arguments_are_told() {
        for (line, complaint) in [
            ("semabench -c nobody", "no contender is called 'nobody'"),
            ("semabench -c mutex", "is it one of"),
            ("semabench -t 0", "0 is not in 1..=4096"),
            ("semabench -s soon", "must be a number of seconds"),
            ("semabench -s 0", "must be between"),
            ("semabench --quick --full", "cannot be used with"),
            ("semabench -c spin-ticket -t 4096", "nothing to run"),
            ("semabench -c layby-mutex --permits 2", "a mutex has one permit"),
            ("semabench --hold 10", "is not a time such as"),
            ("semabench --beside 2000", "2000 is not in 0..=1024"),
        ] {
            let error = plan(line).err().unwrap_or_else(|| panic!("{line} was taken"));
            assert!(error.contains(complaint), "{line}: {error}");
        }
    }

    #[test]
    fn mutexes_take_no_part_in_a_pool() {
        let pool = plan("semabench --permits 4 --hold asleep:100us --beside 2,0,2").unwrap();
        assert!(pool.contenders.iter().all(|contender| contender.counts));
        assert_eq!((pool.permits, pool.beside), (4, vec![0, 2]));
    }

    #[test]
    fn kinds_and_names_choose() {
        let fifo = plan("semabench -c fifo").unwrap();
        assert!(fifo.contenders.iter().all(|contender| contender.class == Class::Fifo));
        let one = plan("semabench -c layby").unwrap();
        assert_eq!(one.contenders.iter().map(|contender| contender.name).collect::<Vec<_>>(), ["layby"]);
        let two = plan("semabench -c tokio,glibc -t 4,1,4").unwrap();
        assert_eq!((two.contenders.len(), two.threads), (2, vec![1, 4]));
    }
}
