//! A soak: random mixes of all primitives on more threads than CPUs, round after round, with signals, forks, pinning and
//! priorities; after each round the books are checked. `ci/soak.sh MINUTES [SEED [ROUND]]` runs it for long.
//!
//! | variable | |
//! |---|---|
//! | `LAYBY_SOAK_SECONDS` | how long; then each round is logged. A few seconds by default, without a log |
//! | `LAYBY_SEED` | what the rounds are made of |
//! | `LAYBY_ROUND` | this round only, over and over |
//! | `LAYBY_SOAK_NO_FORKS` | no children |
//! | `LAYBY_SOAK_PATIENCE` | how many tenths of a second a round may take before it counts as hanging |
//!
//! A seed repeats what the threads do, not how they interleave: a failure that does not come again at once needs the round
//! to be repeated for a while. Blind to: orderings that the machine does not show, and anything that has not happened.

#![cfg(not(layby_model))]

#[path = "../common/mod.rs"]
mod common;

mod games;
mod plan;
mod resources;
mod round;
mod tables;
mod watchdog;
mod worker;

#[cfg(all(any(target_os = "linux", target_os = "android"), not(any(layby_park, layby_no_fork))))]
mod forks;
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(any(layby_park, layby_no_fork)))))]
mod no_forks;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod no_scheduling;
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(layby_park))))]
mod no_signals;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod scheduling;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(layby_park)))]
mod signals;

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(any(layby_park, layby_no_fork)))))]
use no_forks as forks;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use no_scheduling as scheduling;
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(layby_park))))]
use no_signals as signals;

use common::{number_from_environment, soak_duration};
use plan::Plan;
use resources::Resources;
use std::{
    io::{self, Write},
    sync::atomic::Ordering,
    time::Instant,
};

/// Rounds until everything has been allocated that is allocated once.
const WARM_UP: usize = 40;

#[test]
fn soak() {
    let seed = number_from_environment("LAYBY_SEED").unwrap_or(std::process::id() as usize);
    let chosen = number_from_environment("LAYBY_ROUND");
    let logs = std::env::var_os("LAYBY_SOAK_SECONDS").is_some();
    // Not by the macros, whose output the test runner would keep in memory.
    let log = |line: &str| {
        if logs {
            writeln!(io::stdout(), "{line}").expect("the log can be written");
        }
    };
    watchdog::start(seed);
    let start = Instant::now();
    let mut warm = None;
    let mut rounds = 0;
    while start.elapsed() < soak_duration() {
        rounds += 1;
        let plan = Plan::new(seed, chosen.unwrap_or(rounds));
        watchdog::begin_round(plan.round);
        log(&plan.to_string());
        plan.place.with_home(round::Run(&plan));
        if rounds >= WARM_UP {
            let now = warm.get_or_insert_with(Resources::now).assert_no_growth();
            if rounds.is_multiple_of(WARM_UP) {
                log(&format!("after {rounds} rounds: {now}"));
            }
        }
    }
    let operations: usize = watchdog::POSTS.iter().map(|post| post.operations.load(Ordering::Relaxed)).sum();
    let (bells, children) = (games::bell::rung(), forks::children());
    log(&format!("done: {rounds} rounds of seed {seed}, {operations} operations, {bells} bells, {children} children"));
    if let Some(warm) = warm {
        log(&format!("from {warm} to {}", Resources::now()));
    }
    assert!(operations > rounds, "nobody did anything");
}
