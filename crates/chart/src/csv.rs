//! The data of figures and tables as CSV (RFC 4180, lines ended by a line feed, a header line first).

use crate::figure::{Figure, Maps, Table};

/// All points of a figure in long form: `series,x,y,label`. Numbers read back as the same floating-point values.
pub fn figure(figure: &Figure) -> String {
    let mut csv = String::from("series,x,y,label\n");
    for series in &figure.series {
        for point in &series.points {
            row(&mut csv, &[&series.name, &number(point.x), &number(point.y), &point.label]);
        }
    }
    csv
}

/// All values of maps in long form: `panel,row,column,value`; rows and columns from 0.
pub fn maps(maps: &Maps) -> String {
    let mut csv = String::from("panel,row,column,value\n");
    for panel in &maps.panels {
        for (down, values) in panel.rows.iter().enumerate() {
            for (across, &value) in values.iter().enumerate() {
                row(&mut csv, &[&panel.title, &down.to_string(), &across.to_string(), &number(value)]);
            }
        }
    }
    csv
}

/// The head and the rows of a table; whole numbers without the commas that readers need.
pub fn table(table: &Table) -> String {
    let mut csv = String::new();
    row(&mut csv, &table.head);
    for cells in &table.rows {
        let plain: Vec<String> = cells.iter().map(|cell| ungrouped(cell)).collect();
        row(&mut csv, &plain);
    }
    csv
}

/// A whole number such as `30,578` without its commas; any other text as it is.
fn ungrouped(cell: &str) -> String {
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = cell.split(',');
    let is_first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && is_digits(first));
    if is_first && groups.all(|group| group.len() == 3 && is_digits(group)) {
        return cell.replace(',', "");
    }
    cell.to_owned()
}

fn row(csv: &mut String, cells: &[impl AsRef<str>]) {
    for (n, cell) in cells.iter().enumerate() {
        if n > 0 {
            csv.push(',');
        }
        quote(csv, cell.as_ref());
    }
    csv.push('\n');
}

fn quote(csv: &mut String, cell: &str) {
    if !cell.contains([',', '"', '\n', '\r']) {
        csv.push_str(cell);
        return;
    }
    csv.push('"');
    csv.push_str(&cell.replace('"', "\"\""));
    csv.push('"');
}

/// The shortest text that reads back as the same number, without long runs of zeros.
fn number(value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs());
    if plain { format!("{value}") } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, CurvePoint, Series, Style};

    #[test]
    fn points_are_written_in_full() {
        let mut series = Series::new("a, \"b\"", Style::Line, [(0.1 + 0.2, 1e-300), (1e20, f64::NAN)]);
        series.points.push(CurvePoint { x: -4.0, y: 0.0, label: "64 ms\nand more".to_owned() });
        let (x, y) = (Axis::log("x"), Axis::log("y"));
        let (name, title, caption) = (String::new(), String::new(), String::new());
        let csv = figure(&Figure { name, title, caption, x, y, series: vec![series] });
        let rows = "\"a, \"\"b\"\"\",0.30000000000000004,1e-300,\n\
                    \"a, \"\"b\"\"\",1e20,NaN,\n\
                    \"a, \"\"b\"\"\",-4,0,\"64 ms\nand more\"\n";
        assert_eq!(csv, format!("series,x,y,label\n{rows}"));
    }

    #[test]
    fn whole_numbers_of_tables_have_no_commas() {
        let plain = ["30,578", "1,234,567 ", "1,2", "1,234.5", ",123", "12", "a,bcd", ""].map(ungrouped);
        assert_eq!(plain, ["30578", "1,234,567 ", "1,2", "1,234.5", ",123", "12", "a,bcd", ""]);
    }

    #[test]
    fn numbers_read_back_as_they_were() {
        for value in [0.1, 1.0 / 3.0, 1e-5, 9.999e-6, f64::MAX, f64::MIN_POSITIVE, -2.5e17] {
            assert_eq!(number(value).parse::<f64>().unwrap(), value);
            assert!(number(value).len() <= 24, "{}", number(value));
        }
    }
}
