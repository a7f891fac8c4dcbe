//! Text tables, in Markdown that is also aligned for the eye.

/// A table with a header; the first column is left-aligned, the others right-aligned.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![header.into_iter().map(Into::into).collect()] }
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    fn widths(&self) -> Vec<usize> {
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        (0..self.rows[0].len()).map(|column| width(column).unwrap_or(0).max(3)).collect()
    }

    fn line(row: &[String], widths: &[usize]) -> String {
        let cell = |(column, &width): (usize, &usize)| {
            let text = row.get(column).map_or("", String::as_str);
            if column == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") }
        };
        format!("| {} |", widths.iter().enumerate().map(cell).collect::<Vec<_>>().join(" | "))
    }
}

impl Table {
    /// Without the spaces that align it: half the size if a column has one long cell.
    pub fn compact(&self) -> String {
        let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
        let columns = self.rows[0].len();
        let rule = format!("{}|\n", "|---".repeat(columns));
        self.rows.iter().enumerate().map(|(index, row)| line(row) + if index == 0 { &rule } else { "" }).collect()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let widths = self.widths();
        for (index, row) in self.rows.iter().enumerate() {
            writeln!(f, "{}", Self::line(row, &widths))?;
            if index == 0 {
                let rule = |(column, &width): (usize, &usize)| {
                    if column == 0 { "-".repeat(width + 2) } else { format!("{}:", "-".repeat(width + 1)) }
                };
                writeln!(f, "|{}|", widths.iter().enumerate().map(rule).collect::<Vec<_>>().join("|"))?;
            }
        }
        Ok(())
    }
}

/// A number with four significant digits and the prefix that keeps it short: 12.34 M.
pub fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = if scaled.abs() >= 100.0 { 1 } else { 2 };
    format!("{scaled:.digits$}{unit}")
}

/// Nanoseconds as people read them, with three digits: the histogram keeps two.
pub fn nanoseconds(ns: f64) -> String {
    let (scaled, unit) = match ns {
        v if v >= 1e9 => (ns / 1e9, "s"),
        v if v >= 1e6 => (ns / 1e6, "ms"),
        v if v >= 1e3 => (ns / 1e3, "us"),
        _ => return format!("{ns:.0} ns"),
    };
    let digits = match scaled {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$} {unit}")
}

/// The value in the middle of them, and at other places.
pub fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => {
            let place = at * (n - 1) as f64;
            let (low, high) = (place.floor() as usize, place.ceil() as usize);
            sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64)
        }
    }
}

pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn times_have_three_digits() {
        let times = [47.0, 1_224.0, 18_560.0, 346_111.0, 122_190_000.0].map(nanoseconds);
        assert_eq!(times, ["47 ns", "1.22 us", "18.6 us", "346 us", "122 ms"]);
    }

    #[test]
    fn a_table_is_aligned_markdown() {
        let mut table = Table::new(["who", "ops"]);
        table.row(["a", "12.0k"]);
        assert_eq!(table.to_string(), "| who |   ops |\n|-----|------:|\n| a   | 12.0k |\n");
        assert_eq!(table.compact(), "| who | ops |\n|---|---|\n| a | 12.0k |\n");
    }
}
