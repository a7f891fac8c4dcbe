//! The benchmarks of layby.
//!
//! | command | what it does |
//! |---|---|
//! | `cargo semabench` | the paper's benchmark with every peer: figure, tables, raw record |
//! | `cargo run --release -p layby-bench --bin bars` | what the crate must reach, as ratios, with a verdict for each |
//! | `cargo run --release -p layby-bench --bin coherence` | what the caches of 2 to 512 virtual CPUs do: figure, tables, CSV |
//! | `cargo run --release -p layby-bench --bin record` | all three for the record, on a quiet machine, and BENCHMARKS.md from them |
//! | `cargo run --release -p layby-bench --bin held` | mutexes that are held for a while: throughput, CPU time, longest wait |
//! | `cargo run --release -p layby-bench --bin pipelines` | pipelines of every shape and peer, in absolute figures; latency; idle |
//! | `cargo bench -p layby-bench` | criterion benches of the single operations |
//! | `cargo run --release -p layby-bench --bin benchmarks-md` | makes BENCHMARKS.md from the records in `benches/record/` |

pub mod bars;
pub mod beside;
pub mod broadcast;
pub mod chart;
pub mod coherence;
pub mod conclusions;
pub mod contender;
pub mod crowd;
pub mod held;
pub mod herd;
pub mod losses;
pub mod machine;
pub mod os;
pub mod pipeline;
pub mod quiet;
pub mod semabench;
pub mod shapes;
pub mod table;
pub mod workload;
