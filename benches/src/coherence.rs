//! The coherence simulator's counts: builds and runs the simulation, and reads what it prints.
//!
//! The simulation is the program of `sim/driver`, built with `--cfg layby_coherence` in a target directory of its own, so
//! that this package's peers are not built a second time.

use crate::chart::{Chart, Line, Panel, Scale};
use crate::table::{Table, short};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What one kind of machine is like.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub sockets: usize,
    pub line_bytes: usize,
    pub seed: u64,
}

/// The simulation, built.
pub struct Simulation(PathBuf);

impl Simulation {
    /// Builds it. Cargo says what it does on the error output.
    pub fn build() -> Result<Self, String> {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let target = std::path::absolute(target).map_err(|error| error.to_string())?.join("coherence");
        let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--release", "--package", "layby-sim", "--manifest-path"])
            .arg(root.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .env("RUSTFLAGS", "--cfg layby_coherence")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .status();
        match status {
            Ok(status) if status.success() => {
                let name = format!("release/layby-sim{}", std::env::consts::EXE_SUFFIX);
                Ok(Self(target.join(name)))
            }
            Ok(status) => Err(format!("the simulation was not built: cargo ended with {status}")),
            Err(error) => Err(format!("cannot start cargo: {error}")),
        }
    }

    fn run(&self, what: &str, numbers: &[usize]) -> Result<Sheet, String> {
        let numbers = numbers.iter().map(usize::to_string);
        let output = Command::new(&self.0).arg(what).args(numbers).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("cannot start {}: {error}", self.0.display()))?;
        if !output.status.success() {
            return Err(format!("the simulation ended with {}", output.status));
        }
        Sheet::parse(&String::from_utf8_lossy(&output.stdout))
    }

    /// Every contender on machines with so many CPUs; counts for each hand-over.
    pub fn rounds(&self, kind: Kind, cpus: usize) -> Result<Sheet, String> {
        self.run("rounds", &[kind.sockets, kind.line_bytes, kind.seed as usize, cpus])
    }

    /// Tables of all sizes with so many CPUs.
    pub fn tables(&self, cpus: usize, seed: u64) -> Result<Sheet, String> {
        self.run("tables", &[cpus, seed as usize])
    }
}

/// CSV without quotes.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
        let header = lines.next().ok_or("the simulation has said nothing")?;
        let rows: Vec<_> = lines.collect();
        match rows.iter().find(|row| row.len() != header.len()) {
            Some(row) => Err(format!("{row:?} does not fit {header:?}")),
            None => Ok(Self { header, rows }),
        }
    }

    /// Puts another sheet's rows below.
    pub fn append(&mut self, other: Self) {
        self.header = other.header;
        self.rows.extend(other.rows);
    }

    pub fn csv(&self) -> String {
        let lines = std::iter::once(&self.header).chain(&self.rows).map(|row| row.join(",") + "\n");
        lines.collect()
    }

    fn cell<'a>(&self, row: &'a [String], column: &str) -> &'a str {
        let index = self.header.iter().position(|name| name == column);
        &row[index.unwrap_or_else(|| panic!("no column {column}"))]
    }

    fn number(&self, row: &[String], column: &str) -> f64 {
        self.cell(row, column).parse().unwrap_or_else(|_| panic!("{column} is no number in {row:?}"))
    }

    /// The numbers of CPUs, in the order in which they come.
    fn cpus(&self) -> Vec<usize> {
        let mut cpus: Vec<_> = self.rows.iter().map(|row| self.number(row, "cpus") as usize).collect();
        cpus.dedup();
        cpus
    }

    fn contenders(&self) -> Vec<(&str, bool)> {
        let first = self.cpus().first().copied();
        let of_first = self.rows.iter().filter(|row| Some(self.number(row, "cpus") as usize) == first);
        of_first.map(|row| (self.cell(row, "contender"), self.cell(row, "ours") == "true")).collect()
    }

    fn points(&self, contender: &str, column: &str) -> Vec<(usize, f64)> {
        let of_it = self.rows.iter().filter(|row| self.cell(row, "contender") == contender);
        of_it.map(|row| (self.number(row, "cpus") as usize, self.number(row, column))).collect()
    }

    /// As it is, for the eye.
    pub fn table(&self) -> Table {
        let mut table = Table::new(self.header.iter().cloned());
        self.rows.iter().for_each(|row| table.row(row.iter().cloned()));
        table
    }

    /// A column: a row for each contender, a column for each number of CPUs.
    pub fn table_of(&self, column: &str) -> Table {
        let head = std::iter::once(column.to_string()).chain(self.cpus().into_iter().map(|cpus| format!("T={cpus}")));
        let mut table = Table::new(head);
        for (name, ours) in self.contenders() {
            let shown = if ours { format!("**{name}**") } else { name.to_string() };
            let figures = self.points(name, column).into_iter().map(|(_, value)| short(value));
            table.row(std::iter::once(shown).chain(figures));
        }
        table
    }
}

/// The columns that are drawn.
pub const PANELS: [(&str, &str); 3] = [
    ("moved", "lines moved for each hand-over"),
    ("invalidations", "copies invalidated for each hand-over"),
    ("latency", "hand-over latency in model cycles"),
];

/// Lines moved, invalidations and latency against CPUs.
pub fn chart(rounds: &Sheet, kind: Kind, commit: &str) -> Chart {
    let Kind { sockets, line_bytes, seed } = kind;
    let panel = |(column, title): (&str, &str)| {
        let line = |(name, ours): (&str, bool)| {
            let points = rounds.points(name, column).into_iter().filter(|&(_, value)| value > 0.0).collect();
            Line { name: name.to_string(), ours, points }
        };
        let lines: Vec<_> = rounds.contenders().into_iter().map(line).collect();
        let values = lines.iter().flat_map(|line| line.points.iter().map(|&(_, value)| value));
        let scale = Scale::new(rounds.cpus(), values);
        Panel {
            title: title.to_string(),
            across: "virtual CPUs, one thread each".to_string(),
            mark: None,
            scale,
            lines,
        }
    };
    Chart {
        title: "What the caches do for each hand-over, against CPUs (lower is better)".to_string(),
        notes: [
            "A model that counts, running the crate's own code: no claim of nanoseconds. See sim/README.md."
                .to_string(),
            format!(
                "{sockets} socket(s), {line_bytes} bytes move at a time, seed {seed}; layby at {commit}; ours in bold"
            ),
        ],
        panels: PANELS.map(panel).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHEET: &str = "contender,ours,cpus,moved\ntwa,true,2,1.5\nmcs,false,2,5\ntwa,true,4,2.5\nmcs,false,4,5\n";

    #[test]
    fn a_sheet_is_read_and_written_alike() {
        let sheet = Sheet::parse(SHEET).unwrap();
        assert_eq!(sheet.csv(), SHEET);
        assert_eq!(sheet.cpus(), [2, 4]);
        assert_eq!(sheet.contenders(), [("twa", true), ("mcs", false)]);
        assert_eq!(sheet.points("twa", "moved"), [(2, 1.5), (4, 2.5)]);
        assert!(Sheet::parse("a,b\n1\n").is_err());
    }
}
