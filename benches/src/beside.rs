//! Programs that run beside a benchmark and take the CPUs from it: the machines that most programs run on are not idle.
//!
//! A stranger is this program, started once more with an argument of its own, which [`become_one_if_asked`] looks for. It ends
//! when its standard input does, and so however the benchmark ends: by its own doing, by Ctrl-C, by a panic or by SIGKILL.

use serde::{Deserialize, Serialize};
use std::hint::spin_loop;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What strangers do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum, Serialize, Deserialize)]
pub enum Habit {
    /// They never sleep.
    #[default]
    Computing,
    /// They compute for 5 ms, then sleep for 5 ms.
    Dozing,
}

const DOZE: Duration = Duration::from_millis(5);

const ARGUMENT: &str = "--be-a-stranger";

/// Programs that run until this is dropped.
pub struct Strangers(Vec<Child>);

impl Strangers {
    /// # Panics
    /// If this program cannot be started once more.
    pub fn start(number: usize, habit: Habit) -> Self {
        let program = std::env::current_exe().expect("a program knows where it is");
        let start = |_| {
            let mut command = Command::new(&program);
            command.args([ARGUMENT, if habit == Habit::Dozing { "dozing" } else { "computing" }]);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a program can start itself")
        };
        let strangers = Self((0..number).map(start).collect());
        if number > 0 {
            // They are on their way: a benchmark that began at once would have the CPUs for itself at first.
            std::thread::sleep(Duration::from_millis(20));
        }
        strangers
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        for stranger in &mut self.0 {
            // One that has ended already cannot be killed, and need not be.
            let _ = stranger.kill();
            let _ = stranger.wait();
        }
    }
}

/// To be called first in `main`: does not return if this program was started as a stranger.
pub fn become_one_if_asked() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT) {
        return;
    }
    let dozes = arguments.next().as_deref() == Some("dozing");
    std::thread::spawn(|| {
        // Nothing is ever written: it returns at the end of the input, or with an error.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    loop {
        let begun = Instant::now();
        while !dozes || begun.elapsed() < DOZE {
            // Longer than a look at the clock takes, which would make it a program of system calls on some machines.
            (0..1000).for_each(|_| spin_loop());
        }
        std::thread::sleep(DOZE);
    }
}
