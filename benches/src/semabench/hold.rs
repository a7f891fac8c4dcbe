//! For how long a permit is held, and how that time is spent.

use crate::os;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hint::black_box;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

/// What the holder of a permit does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Hold {
    /// One step of a random number generator, as in the paper.
    #[default]
    OneStep,
    /// As much work as one CPU does in this time; if the CPU is taken away meanwhile, it takes longer.
    Computing(Duration),
    /// It sleeps, as one does who waits for a disk or the network.
    Asleep(Duration),
}

impl Hold {
    /// Spends the time.
    #[inline]
    pub fn spend(self) {
        match self {
            Self::OneStep => {}
            Self::Computing(time) => compute((time.as_secs_f64() * steps_per_second()) as u64),
            Self::Asleep(time) => std::thread::sleep(time),
        }
    }

    /// Finds out beforehand what has to be measured once.
    pub fn prepare(self) {
        if let Self::Computing(_) = self {
            steps_per_second();
        }
    }
}

/// A chain of multiplications, each of which needs the one before it.
#[inline(never)]
fn compute(steps: u64) {
    let mut x = black_box(1_u64);
    for _ in 0..steps {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(x);
}

/// The fastest of some tries, in CPU time of the calling thread: others on the machine do not matter.
fn steps_per_second() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        const STEPS: u64 = 200_000;
        let rate = || {
            let start = os::thread_cpu_time();
            compute(STEPS);
            STEPS as f64 / (os::thread_cpu_time() - start).as_secs_f64()
        };
        std::iter::repeat_with(rate).take(20).fold(0.0, f64::max)
    })
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneStep => write!(f, "one step of a generator"),
            Self::Computing(time) => write!(f, "{time:?} of computing"),
            Self::Asleep(time) => write!(f, "{time:?} of sleep"),
        }
    }
}

impl FromStr for Hold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (asleep, time) = match text.strip_prefix("asleep:") {
            Some(time) => (true, time),
            None => (false, text),
        };
        let complaint = || format!("'{text}' is not a time such as 500ns, 10us, 1ms or asleep:100us");
        let digits = time.find(|c: char| !c.is_ascii_digit()).ok_or_else(complaint)?;
        let number: u64 = time[..digits].parse().map_err(|_| complaint())?;
        let time = match &time[digits..] {
            "ns" => Duration::from_nanos(number),
            "us" => Duration::from_micros(number),
            "ms" => Duration::from_millis(number),
            _ => return Err(complaint()),
        };
        if time > Duration::from_secs(1) {
            return Err("a permit is held for at most 1000ms".to_string());
        }
        Ok(match (asleep, time.is_zero()) {
            (_, true) => Self::OneStep,
            (true, false) => Self::Asleep(time),
            (false, false) => Self::Computing(time),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_meant() {
        assert_eq!("10us".parse(), Ok(Hold::Computing(Duration::from_micros(10))));
        assert_eq!("asleep:1ms".parse(), Ok(Hold::Asleep(Duration::from_millis(1))));
        assert_eq!("0us".parse(), Ok(Hold::OneStep));
        for bad in ["", "10", "us", "ten us", "asleep", "asleep:", "1.5us", "2s", "1001ms"] {
            assert!(bad.parse::<Hold>().is_err(), "{bad}");
        }
    }
}
