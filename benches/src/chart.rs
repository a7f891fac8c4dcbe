//! Line charts in panels, both axes logarithmic, as SVG and, with the feature `png`, PNG.
//!
//! Made to be read without colour: every line has its own marker and dashes, and its name stands at its end, moved so that no
//! two overlap. That is most of this file. plotters would draw the axes; names that make room for each other, and lines with
//! dashes and markers of their own, would have to be written on top of it all the same.

use crate::table::short;
use std::fmt::Write as _;

const PANEL_WIDTH: f64 = 780.0;
const PANEL_HEIGHT: f64 = 640.0;
/// More would be too small to read on a page.
const PANELS_IN_A_ROW: usize = 2;
const HEADER: f64 = 92.0;
/// The plot inside its panel; to the right of it stand the names.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 500.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 560.0;
/// Between the names of two lines.
const NAME_SPACING: f64 = 24.0;
/// How many times larger the PNG is.
#[cfg(feature = "png")]
const PNG_SCALE: f32 = 2.0;

/// Okabe and Ito's colours, which the colour-blind can tell apart too.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#444444"];
const DASHES: [&str; 5] = ["", "9 4", "3 3", "12 4 3 4", "1 4"];

/// Panels, two side by side in each row, under a title and two lines of notes.
pub struct Chart {
    pub title: String,
    pub notes: [String; 2],
    pub panels: Vec<Panel>,
}

pub struct Panel {
    pub title: String,
    /// What stands below the horizontal axis.
    pub across: String,
    /// A place on the horizontal axis with its name.
    pub mark: Option<(usize, &'static str)>,
    pub scale: Scale,
    pub lines: Vec<Line>,
}

pub struct Line {
    pub name: String,
    pub ours: bool,
    /// A logarithmic scale has no place for what is not positive: leave it out.
    pub points: Vec<(usize, f64)>,
}

impl Chart {
    pub fn svg(&self) -> String {
        let (columns, rows) =
            (self.panels.len().clamp(1, PANELS_IN_A_ROW), self.panels.len().div_ceil(PANELS_IN_A_ROW));
        let (width, height) = (PANEL_WIDTH * columns as f64 + 20.0, HEADER + PANEL_HEIGHT * rows.max(1) as f64);
        let mut svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="Ubuntu, 'DejaVu Sans', Helvetica, Arial, sans-serif" font-size="15" fill="#111">
<rect width="100%" height="100%" fill="white"/>
"##
        );
        text(&mut svg, 24.0, 36.0, "start", 24, &self.title);
        for (note, y) in self.notes.iter().zip([60.0, 78.0]) {
            text(&mut svg, 24.0, y, "start", 13, note);
        }
        for (index, panel) in self.panels.iter().enumerate() {
            let (row, column) = (index / PANELS_IN_A_ROW, index % PANELS_IN_A_ROW);
            let (x, y) = (PANEL_WIDTH * column as f64, HEADER + PANEL_HEIGHT * row as f64);
            writeln!(svg, r#"<g transform="translate({x} {y})">"#).expect("to a string");
            panel.draw(&mut svg);
            svg.push_str("</g>\n");
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// A figure as the files to write: `name.svg`, and with the feature `png` also `name.png`.
pub fn files(name: &str, svg: String) -> Result<Vec<(String, Vec<u8>)>, String> {
    Ok(vec![
        #[cfg(feature = "png")]
        (format!("{name}.png"), png(&svg)?),
        (format!("{name}.svg"), svg.into_bytes()),
    ])
}

/// An SVG as a PNG, with a font brought along, since a machine may have none.
#[cfg(feature = "png")]
fn png(svg: &str) -> Result<Vec<u8>, String> {
    use resvg::{tiny_skia, usvg};
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(PNG_SCALE).ok_or("an empty figure")?;
    let mut pixmap = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("an empty figure")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(PNG_SCALE, PNG_SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| error.to_string())
}

/// From values to places in a panel.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Where the horizontal axis has its ticks.
    ticks: Vec<usize>,
    across: (f64, f64),
    up: (f64, f64),
}

impl Scale {
    /// With room for all `values`, and a tick for each of `ticks`, which are in order.
    pub fn new(ticks: Vec<usize>, values: impl IntoIterator<Item = f64>) -> Self {
        let ends = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (low, high) = values.into_iter().fold((f64::INFINITY, 0.0), ends);
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 10.0) };
        let (first, last) = (ticks.first().copied().unwrap_or(1) as f64, ticks.last().copied().unwrap_or(1) as f64);
        let up = (10_f64.powf((low * 0.9).log10().floor()), 10_f64.powf((high * 1.1).log10().ceil()));
        Self { ticks, across: (first, last.max(first * 2.0)), up }
    }

    fn x(&self, value: usize) -> f64 {
        LEFT + (RIGHT - LEFT) * part(value as f64, self.across)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * part(value, self.up)
    }
}

/// How far a value is from low to high, on a logarithmic scale.
fn part(value: f64, (low, high): (f64, f64)) -> f64 {
    (value / low).ln() / (high / low).ln()
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, size: u32, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}">{content}</text>"#)
        .expect("to a string");
}

fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str) {
    writeln!(svg, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" {style}/>"#).expect("to a string");
}

impl Panel {
    fn draw(&self, svg: &mut String) {
        self.axes(svg);
        let scale = &self.scale;
        let lines: Vec<_> = self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.points.is_empty())
            .map(|(index, line)| (Style::of(index, line.ours), &line.name, &line.points))
            .collect();
        let ends: Vec<f64> = lines.iter().map(|(_, _, points)| scale.y(points[points.len() - 1].1)).collect();
        let places = spread_out(&ends, TOP, BOTTOM);
        for ((style, name, points), place) in lines.iter().zip(places) {
            let path: Vec<_> = points.iter().map(|&(t, v)| format!("{:.1},{:.1}", scale.x(t), scale.y(v))).collect();
            writeln!(svg, r#"<polyline points="{}" fill="none" {}/>"#, path.join(" "), style.stroke())
                .expect("to a string");
            for &(x, value) in points.iter() {
                style.marker(svg, scale.x(x), scale.y(value));
            }
            let &(x, value) = &points[points.len() - 1];
            if scale.x(x) >= RIGHT - 1.0 {
                let leader = r##"stroke="#aaa" stroke-width="0.8""##;
                line(svg, (RIGHT + 8.0, scale.y(value)), (RIGHT + 42.0, place), leader);
            }
            line(svg, (RIGHT + 46.0, place), (RIGHT + 90.0, place), &style.stroke());
            style.marker(svg, RIGHT + 68.0, place);
            let weight = if style.ours { r#"font-weight="bold""# } else { "" };
            let (x, y) = (RIGHT + 98.0, place + 5.0);
            writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" {weight}>{name}</text>"#).expect("to a string");
        }
    }

    fn axes(&self, svg: &mut String) {
        let scale = &self.scale;
        text(svg, LEFT, TOP - 16.0, "start", 18, &self.title);
        let (low, high) = scale.up;
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
        for &tick in &scale.ticks {
            let x = scale.x(tick);
            line(svg, (x, TOP), (x, BOTTOM), r##"stroke="#e4e4e4""##);
            text(svg, x, BOTTOM + 22.0, "middle", 14, &tick.to_string());
        }
        if let Some((place, name)) =
            self.mark.filter(|(place, _)| (scale.across.0..=scale.across.1).contains(&(*place as f64)))
        {
            let x = scale.x(place);
            line(svg, (x, TOP), (x, BOTTOM), r##"stroke="#888" stroke-dasharray="2 4""##);
            text(svg, x + 4.0, BOTTOM - 6.0, "start", 12, name);
        }
        line(svg, (LEFT, BOTTOM), (RIGHT, BOTTOM), r##"stroke="#333""##);
        line(svg, (LEFT, TOP), (LEFT, BOTTOM), r##"stroke="#333""##);
        text(svg, (LEFT + RIGHT) / 2.0, BOTTOM + 48.0, "middle", 15, &self.across);
    }
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
