//! The simulator's counts, as CSV: what `cargo run --release -p layby-bench --bin coherence` draws.
//!
//! That command builds this program and sets `--cfg layby_coherence`, without which it can do nothing.

#[cfg(layby_coherence)]
use layby_sim::{
    chains::{self, Chain, Cost, Systolic, Wake, Walked},
    contenders::CONTENDERS,
    rounds::Rounds,
    tables::{self, Collisions, Crowd},
};

#[cfg(layby_coherence)]
const USAGE: &str = "usage:
layby-sim rounds SOCKETS LINE_BYTES SEED CPUS...    every contender on a machine of each number of CPUs
layby-sim tables CPUS SEED                          wait tables of every size
layby-sim chains WAITERS...                         one chain of so many waiters: listing 3's, and the wait table's";

#[cfg(layby_coherence)]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> = arguments.iter().skip(1).map(|number| number.parse().ok()).collect();
    match (arguments.first().map(String::as_str), numbers.as_deref()) {
        (Some("rounds"), Some(&[sockets, line_bytes, seed, ref cpus @ ..])) => {
            count_rounds(sockets, line_bytes, seed, cpus);
        }
        (Some("tables"), Some(&[cpus, seed])) => count_collisions(cpus, seed),
        (Some("chains"), Some(waiters)) => count_chains(waiters),
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

/// Prints a line for each contender and each number of CPUs. All counts are per hand-over.
#[cfg(layby_coherence)]
fn count_rounds(sockets: u64, line_bytes: u64, seed: u64, cpus: &[u64]) {
    println!("contender,ours,cpus,hits,misses,moved,crossed,invalidations,longest_queue,sleeps,wakes,latency");
    for &cpus in cpus {
        for contender in &CONTENDERS {
            let mut rounds = Rounds { seed, ..Rounds::new(cpus as usize) };
            rounds.machine.sockets = sockets as usize;
            rounds.machine.line_bytes = line_bytes as usize;
            let outcome = (contender.run)(&rounds);
            let (total, counts) = (outcome.counts.total(), outcome.counts);
            let [hits, misses, crossed, sleeps, wakes] =
                [total.hits, total.misses, total.crossed, counts.sleeps, counts.wakes].map(|count| outcome.each(count));
            let (moved, invalidations) = (outcome.moved(), outcome.invalidations());
            println!(
                "{},{},{cpus},{hits:.3},{misses:.3},{moved:.3},{crossed:.3},{invalidations:.3},{},{sleeps:.3},{wakes:.3},{:.0}",
                contender.name, contender.ours, counts.longest_queue, outcome.latency
            );
        }
    }
}

/// Prints a line for each kind of chain and each number of waiters.
#[cfg(layby_coherence)]
fn count_chains(waiters: &[u64]) {
    println!("chain,waiters,moved_by_arrival,woken,calls,notifier,last");
    for &waiters in waiters {
        print_chain::<Systolic>(waiters);
        print_chain::<Walked>(waiters);
    }
}

#[cfg(layby_coherence)]
fn print_chain<C: Chain>(waiters: u64) {
    let Cost { moved_by_arrival, oldest, all } = chains::cost::<C>(waiters as usize);
    for (woken, Wake { calls, notifier, last }) in [("the oldest", oldest), ("all", all)] {
        println!("{},{waiters},{moved_by_arrival:.2},{woken},{calls},{notifier},{last}", C::NAME);
    }
}

/// Prints a line for each size of the table.
#[cfg(layby_coherence)]
fn count_collisions(cpus: u64, seed: u64) {
    println!("slots,cpus,waiting,expected_spurious,spurious,moved,footprint_lines");
    let crowd = Crowd { turnstiles: cpus as usize / 8, threads_each: 8, seed };
    for size in tables::all_sizes(&crowd) {
        let Collisions { slots, waiting, spurious, moved, footprint } = size;
        println!("{slots},{cpus},{waiting},{:.4},{spurious:.4},{moved:.3},{footprint}", size.expected());
    }
}

#[cfg(not(layby_coherence))]
fn main() {
    eprintln!("this needs --cfg layby_coherence: cargo run --release -p layby-bench --bin coherence");
    std::process::exit(2);
}
