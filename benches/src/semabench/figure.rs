//! The figure: throughput against threads, a panel for each class, both axes logarithmic.
//!
//! Made to be read without colour: every line has its own marker and dashes, and its name stands at its end.

use super::record::Record;
use crate::contender::registry::Class;
use crate::table::short;
use resvg::{tiny_skia, usvg};
use std::fmt::Write as _;

const PANEL_WIDTH: f64 = 780.0;
const PANEL_HEIGHT: f64 = 640.0;
const HEADER: f64 = 92.0;
/// The plot inside its panel; to the right of it stand the names.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 500.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 560.0;
/// Between the names of two lines.
const NAME_SPACING: f64 = 24.0;
/// How many times larger the PNG is.
const PNG_SCALE: f32 = 2.0;

/// Okabe and Ito's colours, which the colour-blind can tell apart too.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#444444"];
const DASHES: [&str; 5] = ["", "9 4", "3 3", "12 4 3 4", "1 4"];

/// The record as an SVG.
pub fn svg(record: &Record) -> String {
    let classes: Vec<_> = Class::ALL.into_iter().filter(|&class| !record.contenders(class).is_empty()).collect();
    let (width, height) = (PANEL_WIDTH * classes.len().max(1) as f64 + 20.0, HEADER + PANEL_HEIGHT);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="Ubuntu, 'DejaVu Sans', Helvetica, Arial, sans-serif" font-size="15" fill="#111">
<rect width="100%" height="100%" fill="white"/>
"##
    );
    let machine = &record.machine;
    let date = crate::machine::date(machine.time);
    text(&mut svg, 24.0, 36.0, "start", 24, "semabench: operations a second against threads (higher is better)");
    let place = format!("{} x {}, {}, {}", machine.cpus, machine.cpu, machine.kernel, machine.rustc);
    text(&mut svg, 24.0, 60.0, "start", 13, &place);
    let made = format!("layby {} at {}, {date}; median of the runs", machine.layby, machine.commit);
    text(&mut svg, 24.0, 78.0, "start", 13, &made);
    let scale = Scale::of(record);
    for (index, &class) in classes.iter().enumerate() {
        writeln!(svg, r#"<g transform="translate({} {HEADER})">"#, PANEL_WIDTH * index as f64).expect("to a string");
        panel(&mut svg, record, class, &scale);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// An SVG as a PNG, with a font brought along, since a machine may have none.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(PNG_SCALE).ok_or("an empty figure")?;
    let mut pixmap = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("an empty figure")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(PNG_SCALE, PNG_SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| error.to_string())
}

/// From threads and throughput to places in a panel; the same for both, so that they can be compared by eye.
struct Scale {
    threads: (f64, f64),
    throughput: (f64, f64),
}

impl Scale {
    fn of(record: &Record) -> Self {
        let threads = record.threads();
        let ends = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            (low, values.iter().copied().fold(0.0, f64::max))
        };
        let throughputs: Vec<f64> = Class::ALL
            .iter()
            .flat_map(|&class| record.contenders(class))
            .flat_map(|name| points(record, name))
            .map(|(_, throughput)| throughput)
            .collect();
        let (low, high) = if throughputs.is_empty() { (1.0, 10.0) } else { ends(&throughputs) };
        let (first, last) = (threads.first().copied().unwrap_or(1), threads.last().copied().unwrap_or(1));
        let throughput = (10_f64.powf((low * 0.9).log10().floor()), 10_f64.powf((high * 1.1).log10().ceil()));
        Self { threads: (first as f64, (last as f64).max(first as f64 * 2.0)), throughput }
    }

    fn x(&self, threads: usize) -> f64 {
        LEFT + (RIGHT - LEFT) * part(threads as f64, self.threads)
    }

    fn y(&self, throughput: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * part(throughput, self.throughput)
    }
}

/// How far a value is from low to high, on a logarithmic scale.
fn part(value: f64, (low, high): (f64, f64)) -> f64 {
    (value / low).ln() / (high / low).ln()
}

/// Threads and throughput of one contender. A log scale has no place for one that did nothing.
fn points(record: &Record, name: &str) -> Vec<(usize, f64)> {
    let point = |t| Some((t, record.cell(name, t)?.throughput()));
    record.threads().into_iter().filter_map(point).filter(|&(_, throughput)| throughput > 0.0).collect()
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, size: u32, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}">{content}</text>"#)
        .expect("to a string");
}

fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str) {
    writeln!(svg, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" {style}/>"#).expect("to a string");
}

fn panel(svg: &mut String, record: &Record, class: Class, scale: &Scale) {
    axes(svg, record, class, scale);
    let names = record.contenders(class);
    let lines: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(index, &name)| (Style::of(index, record.is_ours(name)), name, points(record, name)))
        .filter(|(_, _, points)| !points.is_empty())
        .collect();
    let ends: Vec<f64> = lines.iter().map(|(_, _, points)| scale.y(points[points.len() - 1].1)).collect();
    let places = spread_out(&ends, TOP, BOTTOM);
    for ((style, name, points), place) in lines.iter().zip(places) {
        let path: Vec<_> = points.iter().map(|&(t, v)| format!("{:.1},{:.1}", scale.x(t), scale.y(v))).collect();
        writeln!(svg, r#"<polyline points="{}" fill="none" {}/>"#, path.join(" "), style.stroke())
            .expect("to a string");
        for &(threads, throughput) in points {
            style.marker(svg, scale.x(threads), scale.y(throughput));
        }
        let &(threads, throughput) = &points[points.len() - 1];
        if scale.x(threads) >= RIGHT - 1.0 {
            let leader = r##"stroke="#aaa" stroke-width="0.8""##;
            line(svg, (RIGHT + 8.0, scale.y(throughput)), (RIGHT + 42.0, place), leader);
        }
        line(svg, (RIGHT + 46.0, place), (RIGHT + 90.0, place), &style.stroke());
        style.marker(svg, RIGHT + 68.0, place);
        let weight = if style.ours { r#"font-weight="bold""# } else { "" };
        let (x, y) = (RIGHT + 98.0, place + 5.0);
        writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" {weight}>{name}</text>"#).expect("to a string");
    }
}

fn axes(svg: &mut String, record: &Record, class: Class, scale: &Scale) {
    let title = match class {
        Class::Fifo => "FIFO: first come, first served",
        Class::Barging => "barging: late arrivals may overtake",
    };
    text(svg, LEFT, TOP - 16.0, "start", 18, title);
    let (low, high) = scale.throughput;
    let mut decade = low;
    while decade < high * 1.01 {
        for step in 1..10 {
            let value = decade * f64::from(step);
            if value > high * 1.01 {
                break;
            }
            let y = scale.y(value);
            let shade = if step == 1 { r##"stroke="#ccc""## } else { r##"stroke="#f0f0f0""## };
            line(svg, (LEFT, y), (RIGHT, y), shade);
            if step == 1 {
                let label = short(value).replace(".00", "").replace(".0", "");
                text(svg, LEFT - 8.0, y + 5.0, "end", 14, &label);
            }
        }
        decade *= 10.0;
    }
    for threads in record.threads() {
        let x = scale.x(threads);
        line(svg, (x, TOP), (x, BOTTOM), r##"stroke="#e4e4e4""##);
        text(svg, x, BOTTOM + 22.0, "middle", 14, &threads.to_string());
    }
    if (scale.threads.0..=scale.threads.1).contains(&(record.machine.cpus as f64)) {
        let x = scale.x(record.machine.cpus);
        line(svg, (x, TOP), (x, BOTTOM), r##"stroke="#888" stroke-dasharray="2 4""##);
        text(svg, x + 4.0, BOTTOM - 6.0, "start", 12, "CPUs");
    }
    line(svg, (LEFT, BOTTOM), (RIGHT, BOTTOM), r##"stroke="#333""##);
    line(svg, (LEFT, TOP), (LEFT, BOTTOM), r##"stroke="#333""##);
    text(svg, (LEFT + RIGHT) / 2.0, BOTTOM + 48.0, "middle", 15, "threads");
}

/// Moves places apart so that names do not overlap, keeping their order and staying between the ends if there is room.
fn spread_out(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut places = wanted.to_vec();
    let mut least = top;
    for &index in &order {
        places[index] = places[index].max(least);
        least = places[index] + NAME_SPACING;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - NAME_SPACING;
    }
    places
}

/// How one contender is drawn. Ours have filled markers, peers hollow ones; the first of ours is thick and black.
struct Style {
    index: usize,
    ours: bool,
}

impl Style {
    fn of(index: usize, ours: bool) -> Self {
        Self { index, ours }
    }

    fn colour(&self) -> &'static str {
        if self.ours && self.index == 0 { "#000000" } else { COLOURS[self.index % COLOURS.len()] }
    }

    fn stroke(&self) -> String {
        let width = match (self.ours, self.index) {
            (true, 0) => 3.8,
            (true, _) => 2.2,
            _ => 1.6,
        };
        let dashes = DASHES[self.index % DASHES.len()];
        format!(r#"stroke="{}" stroke-width="{width}" stroke-dasharray="{dashes}""#, self.colour())
            .replace(r#" stroke-dasharray="""#, "")
    }

    fn marker(&self, svg: &mut String, x: f64, y: f64) {
        let (fill, r) = (if self.ours { self.colour() } else { "white" }, if self.ours { 5.5 } else { 4.5 });
        let paint = format!(r#"fill="{fill}" stroke="{}" stroke-width="1.6""#, self.colour());
        let polygon = |corners: &[(f64, f64)]| {
            let corners: Vec<_> =
                corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + r * dx, y + r * dy)).collect();
            format!(r#"<polygon points="{}" {paint}/>"#, corners.join(" "))
        };
        let cross = |(ax, ay): (f64, f64), (bx, by): (f64, f64)| {
            format!(
                r#"<path d="M{:.1} {:.1}L{:.1} {:.1}M{:.1} {:.1}L{:.1} {:.1}" stroke="{}" stroke-width="2.2"/>"#,
                x - r * ax,
                y - r * ay,
                x + r * ax,
                y + r * ay,
                x - r * bx,
                y - r * by,
                x + r * bx,
                y + r * by,
                self.colour()
            )
        };
        let shape = match self.index % 8 {
            0 => format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{r}" {paint}/>"#),
            1 => polygon(&[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
            2 => polygon(&[(0.0, -1.2), (1.2, 1.0), (-1.2, 1.0)]),
            3 => polygon(&[(0.0, -1.4), (1.2, 0.0), (0.0, 1.4), (-1.2, 0.0)]),
            4 => polygon(&[(0.0, 1.2), (1.2, -1.0), (-1.2, -1.0)]),
            5 => cross((1.0, 1.0), (1.0, -1.0)),
            6 => cross((1.2, 0.0), (0.0, 1.2)),
            _ => polygon(&[(-0.6, -1.2), (0.6, -1.2), (1.3, 0.0), (0.6, 1.2), (-0.6, 1.2), (-1.3, 0.0)]),
        };
        writeln!(svg, "{shape}").expect("to a string");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_overlap_and_keep_their_order() {
        let places = spread_out(&[300.0, 301.0, 559.0, 560.0, 45.0], 44.0, 560.0);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= NAME_SPACING - 1e-9), "{sorted:?}");
        assert!(places[0] < places[1] && places[2] < places[3] && sorted[4] <= 560.0);
    }

    #[test]
    fn styles_are_told_apart_without_colour() {
        let shape = |index| {
            let mut svg = Style::of(index, false).stroke();
            Style::of(index, false).marker(&mut svg, 0.0, 0.0);
            COLOURS.iter().fold(svg, |svg, colour| svg.replace(colour, ""))
        };
        let mut shapes: Vec<_> = (0..40).map(shape).collect();
        shapes.sort();
        shapes.dedup();
        assert_eq!(shapes.len(), 40);
    }
}
