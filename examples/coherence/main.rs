//! The counts of the coherence model, as CSV: what `cargo run --release -p layby-bench --bin coherence` draws.
//!
//! ```text
//! coherence rounds SOCKETS LINE_BYTES SEED CPUS...    every contender on machines with so many CPUs
//! coherence tables CPUS SEED                          tables of all sizes
//! ```
//!
//! That command builds it, for it is nothing without `--cfg layby_coherence`.

#[cfg(layby_coherence)]
mod contenders;
#[cfg(layby_coherence)]
mod peers;
#[cfg(layby_coherence)]
mod rounds;
#[cfg(layby_coherence)]
mod tables;
#[cfg(layby_coherence)]
mod turnstile;

#[cfg(layby_coherence)]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = arguments.iter().skip(1).map(|number| number.parse().expect("a number")).collect();
    match (arguments.first().map(String::as_str), &numbers[..]) {
        (Some("rounds"), &[sockets, line_bytes, seed, ref cpus @ ..]) => count_rounds(sockets, line_bytes, seed, cpus),
        (Some("tables"), &[cpus, seed]) => count_collisions(cpus, seed),
        _ => panic!("see the head of examples/coherence/main.rs"),
    }
}

/// One line for each contender and number of CPUs; all counts are those of one hand-over.
#[cfg(layby_coherence)]
fn count_rounds(sockets: u64, line_bytes: u64, seed: u64, cpus: &[u64]) {
    println!("contender,ours,cpus,hits,misses,moved,crossed,invalidations,longest_queue,sleeps,wakes,latency");
    for &cpus in cpus {
        for contender in &contenders::CONTENDERS {
            let mut rounds = rounds::Rounds { seed, ..rounds::Rounds::new(cpus as usize) };
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

/// One line for each size of the table.
#[cfg(layby_coherence)]
fn count_collisions(cpus: u64, seed: u64) {
    println!("slots,cpus,waiting,expected_spurious,spurious,moved,footprint_lines");
    let crowd = tables::Crowd { turnstiles: cpus as usize / 8, threads_each: 8, seed };
    for size in tables::all_sizes(&crowd) {
        let tables::Collisions { slots, waiting, spurious, moved, footprint } = size;
        println!("{slots},{cpus},{waiting},{:.4},{spurious:.4},{moved:.3},{footprint}", size.expected());
    }
}

#[cfg(not(layby_coherence))]
fn main() {
    eprintln!("this needs --cfg layby_coherence: cargo run --release -p layby-bench --bin coherence");
    std::process::exit(2);
}
