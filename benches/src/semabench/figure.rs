//! The figure: throughput against threads, a panel for each class.

use super::record::Record;
use crate::chart::{Chart, Line, Panel, Scale};
use crate::contender::registry::Class;

/// The record as an SVG.
pub fn svg(record: &Record) -> String {
    let machine = &record.machine;
    let date = crate::machine::date(machine.time);
    // The same for both panels, so that they can be compared by eye.
    let all = Class::ALL.iter().flat_map(|&class| record.contenders(class)).flat_map(|name| points(record, name));
    let scale = Scale::new(record.threads(), all.map(|(_, throughput)| throughput));
    let panels = Class::ALL.into_iter().filter(|&class| !record.contenders(class).is_empty());
    let chart = Chart {
        title: "semabench: operations a second against threads (higher is better)".to_string(),
        notes: [
            format!("{} x {}, {}, {}", machine.cpus, machine.cpu, machine.kernel, machine.rustc),
            format!("layby {} at {}, {date}; median of the runs", machine.layby, machine.commit),
        ],
        panels: panels.map(|class| panel(record, class, scale.clone())).collect(),
    };
    chart.svg()
}

fn panel(record: &Record, class: Class, scale: Scale) -> Panel {
    let title = match class {
        Class::Fifo => "FIFO: first come, first served",
        Class::Barging => "barging: late arrivals may overtake",
    };
    let line = |name: &str| Line { name: name.to_string(), ours: record.is_ours(name), points: points(record, name) };
    Panel {
        title: title.to_string(),
        across: "threads".to_string(),
        mark: Some((record.machine.cpus, "CPUs")),
        scale,
        lines: record.contenders(class).into_iter().map(line).collect(),
    }
}

/// Threads and throughput of one contender. A log scale has no place for one that did nothing.
fn points(record: &Record, name: &str) -> Vec<(usize, f64)> {
    let point = |t| Some((t, record.cell(name, t)?.throughput()));
    record.threads().into_iter().filter_map(point).filter(|&(_, throughput)| throughput > 0.0).collect()
}
