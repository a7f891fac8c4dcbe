//! What the caches of 2 to 512 virtual CPUs do. See `--help`.

use clap::Parser;
use layby_bench::chart;
use layby_bench::coherence::{self, Kind, PANELS, Sheet, Simulation};
use layby_bench::machine::Machine;
use std::path::PathBuf;
use std::process::ExitCode;

/// coherence: what hand-overs cost on machines larger than this one, counted instead of timed.
///
/// A simulation keeps a MESI state for every cache line of up to 512 virtual CPUs, runs the crate's own code on them, and
/// counts lines moved, copies invalidated and cycles of a simple cost model for each hand-over. sim/README.md says
/// what it is and what it is not. The result depends only on the arguments.
#[derive(Parser)]
#[command(name = "coherence")]
struct Arguments {
    /// Numbers of CPUs
    #[arg(short, long, value_delimiter = ',', value_name = "T,…", default_value = "2,4,8,16,32,64,128,256,512",
          value_parser = clap::value_parser!(u32).range(2..=512))]
    cpus: Vec<u32>,

    /// Sockets that the CPUs are spread over; a line from another socket costs three times as much
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    sockets: u32,

    /// Lines move in pairs, as some CPUs' prefetchers have it
    #[arg(long)]
    pairs: bool,

    /// What breaks ties, and varies how long a thread works outside
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Where the figure and the tables go; what is there from before is overwritten
    #[arg(short, long, value_name = "DIRECTORY", default_value = "target/coherence-figure")]
    output: PathBuf,
}

fn main() -> ExitCode {
    match draw(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            eprintln!("error: {complaint}");
            ExitCode::FAILURE
        }
    }
}

fn draw(arguments: &Arguments) -> Result<(), String> {
    let Arguments { cpus, sockets, pairs, seed, output } = arguments;
    let kind = Kind { sockets: *sockets as usize, line_bytes: if *pairs { 128 } else { 64 }, seed: *seed };
    std::fs::create_dir_all(output).map_err(|error| format!("cannot make {}: {error}", output.display()))?;
    let simulation = Simulation::build()?;
    let mut rounds = Sheet::default();
    for &cpus in cpus {
        eprintln!("{cpus} CPUs");
        rounds.append(simulation.rounds(kind, cpus as usize)?);
    }
    let mut tables = Sheet::default();
    for cpus in [64, 512] {
        eprintln!("tables of all sizes, {cpus} CPUs");
        tables.append(simulation.tables(cpus, *seed)?);
    }
    for (column, title) in PANELS {
        println!("{title}\n\n{}", rounds.table_of(column));
    }
    println!("tables of all sizes; counts for each hand-over\n\n{}", tables.table());
    let machine = Machine::here(String::new());
    let svg = coherence::chart(&rounds, kind, &machine.commit).svg();
    let mut files = vec![
        ("coherence.csv".to_string(), rounds.csv().into_bytes()),
        ("coherence-tables.csv".to_string(), tables.csv().into_bytes()),
    ];
    files.extend(chart::files("coherence", svg)?);
    for (name, content) in files {
        let path = output.join(name);
        std::fs::write(&path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}
