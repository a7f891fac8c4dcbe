//! The figure: throughput against threads, a panel for each class; those of an idle machine first, then those beside others.

use super::record::Record;
use crate::chart::{Chart, Line, Panel, Scale};
use crate::contender::registry::Class;

/// The record as an SVG.
pub fn svg(record: &Record) -> String {
    let machine = &record.machine;
    let date = crate::machine::date(machine.time);
    // The same for both panels, so that they can be compared by eye.
    let parts: Vec<_> = record.numbers_beside().into_iter().map(|number| (number, record.beside(number))).collect();
    let all_of = |part: &Record| -> Vec<_> {
        Class::ALL.iter().flat_map(|&class| part.contenders(class)).flat_map(|name| points(part, name)).collect()
    };
    let all = parts.iter().flat_map(|(_, part)| all_of(part));
    let scale = Scale::new(record.threads(), all.map(|(_, throughput)| throughput));
    let panels = parts.iter().flat_map(|part| Class::ALL.map(|class| (part, class)));
    let panels = panels.filter(|((_, part), class)| !part.contenders(*class).is_empty());
    let section = record.section_if_unusual().map_or_else(String::new, |section| format!("; {section}"));
    let chart = Chart {
        title: "semabench: operations a second against threads (higher is better)".to_string(),
        notes: [
            format!("{} x {}, {}, {}", machine.cpus, machine.cpu, machine.kernel, machine.rustc),
            format!("layby {} at {}, {date}; median of the runs{section}", machine.layby, machine.commit),
        ],
        panels: panels.map(|((number, part), class)| panel(part, *number, class, scale.clone())).collect(),
    };
    chart.svg()
}

fn panel(record: &Record, beside: usize, class: Class, scale: Scale) -> Panel {
    let title = match (class, beside) {
        (Class::Fifo, 0) => "FIFO: first come, first served".to_string(),
        (Class::Barging, 0) => "barging: late arrivals may overtake".to_string(),
        _ => format!("{}, {}", class.title(), record.place(beside)),
    };
    let line = |name: &str| Line { name: name.to_string(), ours: record.is_ours(name), points: points(record, name) };
    Panel {
        title,
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
