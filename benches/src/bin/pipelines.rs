//! Pipelines in absolute figures: entries a second of every shape and peer, by turns; latency at a fixed rate; CPU time when idle.
//!
//! `cargo run --release -p layby-bench --bin pipelines [chains|shapes|latency|idle [ROUNDS]]`

use layby::pipeline::WaitStrategy;
use layby_bench::pipeline::{Passing, layby_three, layby_two, peers_of_three, peers_of_two};
use layby_bench::shapes;
use layby_bench::table::{Table, quantile};
use std::time::Duration;

/// For how long each runs in a round. Arbitrary.
const SLICE: Duration = Duration::from_millis(60);

fn calibrate(pass: Passing) -> u64 {
    let mut n = 10_000;
    loop {
        let took = pass(n);
        if took >= SLICE / 3 {
            return (n as f64 * SLICE.as_secs_f64() / took.as_secs_f64()) as u64;
        }
        n *= 3;
    }
}

/// Million entries a second, ours first: median and middle half of the rounds, and ours to theirs as the median of the rounds' ratios.
fn throughput(title: &str, contenders: &[(&str, Passing)], rounds: usize) {
    let counts: Vec<_> = contenders.iter().map(|(_, pass)| calibrate(*pass)).collect();
    let mut rates = vec![vec![]; contenders.len()];
    for _ in 0..rounds {
        for (which, (_, pass)) in contenders.iter().enumerate() {
            rates[which].push(counts[which] as f64 / pass(counts[which]).as_secs_f64() / 1e6);
        }
    }
    let mut table = Table::new([title, "million/s", "middle half", "layby to it"]);
    for (which, (name, _)) in contenders.iter().enumerate() {
        let at = |part| quantile(&rates[which], part);
        let ratios: Vec<_> = rates[0].iter().zip(&rates[which]).map(|(ours, theirs)| ours / theirs).collect();
        let middle = format!("{:.1} .. {:.1}", at(0.25), at(0.75));
        table.row([name.to_string(), format!("{:.1}", at(0.5)), middle, format!("{:.2}", quantile(&ratios, 0.5))]);
    }
    println!("{table}");
}

fn with(ours: Passing, peers: &[(&'static str, Passing)]) -> Vec<(&'static str, Passing)> {
    [&[("layby", ours)], peers].concat()
}

fn chains(rounds: usize) {
    throughput("producer and one stage, batch 1", &with(layby_two::<1>, &peers_of_two::<1>()), rounds);
    throughput("producer and one stage, batch 16", &with(layby_two::<16>, &peers_of_two::<16>()), rounds);
    throughput("producer and two stages, batch 1", &with(layby_three::<1>, &peers_of_three::<1>()), rounds);
    throughput("producer and two stages, batch 16", &with(layby_three::<16>, &peers_of_three::<16>()), rounds);
}

fn shapes(rounds: usize) {
    let producers = with(shapes::layby_producers, &shapes::peers_of_producers());
    throughput("three producers and one stage", &producers, rounds);
    throughput("diamond of four stages", &with(shapes::layby_diamond, &shapes::peers_of_diamond()), rounds);
}

fn latency() {
    let mut table = Table::new(["an entry every", "who", "p50, ns", "p99", "p99.9"]);
    for every in [1, 10, 100].map(Duration::from_micros) {
        let n = (1_000_000.0 / every.as_micros() as f64) as u64;
        let mut row = |who: &str, seen: &shapes::Latencies| {
            let at = |part| seen.value_at_quantile(part).to_string();
            table.row([format!("{every:?}"), who.to_string(), at(0.5), at(0.99), at(0.999)]);
        };
        row("layby", &shapes::layby_latency(n, every, WaitStrategy::default()));
        row("layby, Spin", &shapes::layby_latency(n, every, WaitStrategy::Spin));
        row("layby, Sleep", &shapes::layby_latency(n, every, WaitStrategy::Sleep));
        row("disruptor (BusySpin)", &shapes::disruptor_latency(n, every));
        row("crossbeam-channel", &shapes::crossbeam_latency(n, every));
    }
    println!("{table}");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let rounds = arguments.next().map_or(11, |rounds| rounds.parse().expect("a number of rounds"));
    let wanted = |name: &str| what.is_empty() || what == name;
    if wanted("chains") {
        chains(rounds);
    }
    if wanted("shapes") {
        shapes(rounds);
    }
    if wanted("latency") {
        latency();
    }
    if wanted("idle") {
        println!("three stages, idle for ten seconds: {:?} of CPU time", shapes::idle(Duration::from_secs(10)));
    }
}
