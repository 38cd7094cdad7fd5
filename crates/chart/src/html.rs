//! The page: one self-contained HTML file for screens, phones and paper. It has no scripts, and links only to the files
//! beside it.

use crate::figure::{Exhibit, Figure, Maps, Page, Table};
use crate::map;
use crate::sheet::Sheet;
use crate::style;
use crate::svg;
use crate::text::{escape, tied, width};
use std::fmt::Write as _;

/// The mark of a page written by this program.
const MARK: &str = "<meta name=\"generator\" content=\"scrubjay\">";

/// The number of exhibits from which on the page has a list of them.
const CONTENTS_MIN: usize = 4;

/// With more exhibits than this the list is folded, so that the results come first.
const CONTENTS_MAX: usize = 12;

/// The style sheet of the page around the figures.
const STYLE: &str = "\
:root{color-scheme:light dark}
*{box-sizing:border-box}
body{margin:0 auto;max-width:784px;padding:40px 32px 64px;background:#fff;color:#1c2024;\
font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;overflow-wrap:break-word}
h1{font-size:30px;line-height:1.2;letter-spacing:-.015em;margin:0 0 16px}
h2{font-size:18px;line-height:1.35;margin:0 0 6px}
h2 span{color:#59626b;font-weight:400;margin-right:.45em}
p{margin:0 0 12px}
a{color:#00588a;text-underline-offset:2px}
nav ol{margin:20px 0 0;padding:14px 0 0;border-top:1px solid #e3e6e9;list-style:none}
nav summary{cursor:pointer;margin:20px 0 0;padding:14px 0 0;border-top:1px solid #e3e6e9}nav summary+ol{margin:0;border:0}
nav li{display:flex;margin:2px 0}nav span{flex:none;min-width:5.6em;color:#59626b}
figure{margin:44px 0 0}
figcaption{margin:0 0 14px;max-width:68ch}
.each{margin:0 0 12px;padding:0;list-style:none}.each li{margin:3px 0;padding-left:1.2em;text-indent:-1.2em}figcaption .each{margin:0}
.plot{display:block;max-width:100%;height:auto;overflow:visible}
.plot.narrow{display:none}
.files,.hidden,.sideways{margin:8px 0 0;font-size:13px;color:#59626b}
.sideways{display:none;margin:0 0 6px}
.files a{margin-right:14px}
.scroll{--paper:#fff;--shade:rgba(0,0,0,.4);overflow-x:auto;width:fit-content;max-width:100%;\
background:linear-gradient(to right,var(--paper) 40%,transparent) left/44px 100% no-repeat local,\
linear-gradient(to left,var(--paper) 40%,transparent) right/44px 100% no-repeat local,\
radial-gradient(farthest-side at 0 50%,var(--shade),transparent) left/16px 100% no-repeat scroll,\
radial-gradient(farthest-side at 100% 50%,var(--shade),transparent) right/16px 100% no-repeat scroll}
table{border-collapse:collapse;font-size:14px;line-height:1.4;font-variant-numeric:tabular-nums;\
border-top:1.5px solid #1c2024;border-bottom:1.5px solid #1c2024}
th{font-weight:600;text-align:left;vertical-align:bottom;border-bottom:1px solid #767f88}
th,td{padding:5px 20px 5px 0}
th:last-child,td:last-child{padding-right:4px}
td{white-space:nowrap;vertical-align:top;border-bottom:1px solid #e3e6e9}
tr:last-child td{border-bottom:0}
.number{text-align:right}
.method{margin:56px 0 0;padding:18px 20px;background:#f6f7f8;border-radius:6px;font-size:14px}
.method h2{font-size:15px}
.method dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 18px;margin:0}
.method dt{color:#59626b}.method dd{margin:0;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;white-space:pre-wrap}
@media screen and (min-width:785px){
.scroll{min-width:100%;max-width:calc(100vw - 80px);margin-left:50%;transform:translateX(-50%)}
}
@media screen and (max-width:1240px){.sideways.at1240{display:block}}
@media screen and (max-width:820px){.sideways.at820{display:block}}
@media screen and (max-width:460px){.sideways.at460{display:block}}
@media screen and (max-width:640px){
body{padding:24px 16px 40px}h1{font-size:25px}
.scroll th,.scroll td{padding-right:12px}.plot.wide{display:none}.plot.narrow{display:block;width:100%}
.method dl{display:block}.method dd{margin:0 0 8px}
}
@media screen and (prefers-color-scheme:dark){
body{background:#15181b;color:#e4e7ea}a{color:#6cb5e3}
h2 span,nav span,.files,.hidden,.sideways,.method dt{color:#a3abb3}
nav ol,nav summary{border-color:#2b3035}.scroll{--paper:#15181b;--shade:rgba(255,255,255,.42)}.method{background:#1d2125}
table{border-color:#c9ced3}th{border-color:#7b848c}td{border-color:#2b3035}
}
@media print{
@page{margin:18mm 16mm}
body{padding:0;max-width:none;font-size:10.5pt}a{color:inherit;text-decoration:none}
figure,.method{break-inside:avoid}.tall{break-inside:auto}h2{break-after:avoid}tr{break-inside:avoid}thead{display:table-header-group}
.scroll{overflow:visible;max-width:none;background:none}.sideways{display:none}td{white-space:normal}table{font-size:8.5pt}th,td{padding:3px 14px 3px 0}.plot{max-width:600px}figure{margin-top:28px}
nav,.files{display:none}.method{background:none;border:1px solid #767f88}
}
";

/// Whether the text of an [`INDEX`](crate::INDEX) was written by this program, which may then overwrite it.
pub fn is_written_by_scrubjay(text: &str) -> bool {
    text.contains(MARK)
}

/// Writes the page; `facts` state how it was made.
pub fn page(page: &Page, facts: &[(&str, String)]) -> String {
    let title = escape(&page.title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{MARK}\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n",
        style::FIGURE
    );
    for paragraph in &page.paragraphs {
        html.push_str(&prose(paragraph));
        html.push('\n');
    }
    let exhibits = numbered(&page.exhibits);
    contents(&mut html, &exhibits);
    for (number, exhibit) in &exhibits {
        match exhibit {
            Exhibit::Figure(exhibit) => figure(&mut html, number, exhibit),
            Exhibit::Maps(exhibit) => maps(&mut html, number, exhibit),
            Exhibit::Table(exhibit) => table(&mut html, number, exhibit),
        }
    }
    method(&mut html, facts);
    html.push_str("</body>\n</html>\n");
    html
}

/// Each exhibit with its number; figures and tables are numbered separately.
fn numbered(exhibits: &[Exhibit]) -> Vec<(String, &Exhibit)> {
    let (mut figures, mut tables) = (0, 0);
    let mut numbered = Vec::new();
    for exhibit in exhibits {
        let (kind, count) = match exhibit {
            Exhibit::Figure(_) | Exhibit::Maps(_) => ("Figure", &mut figures),
            Exhibit::Table(_) => ("Table", &mut tables),
        };
        *count += 1;
        numbered.push((format!("{kind}\u{a0}{count}"), exhibit));
    }
    numbered
}

fn contents(html: &mut String, exhibits: &[(String, &Exhibit)]) {
    if exhibits.len() < CONTENTS_MIN {
        return;
    }
    let is_long = exhibits.len() > CONTENTS_MAX;
    html.push_str("<nav>");
    if is_long {
        let _ = write!(html, "<details><summary>All {} figures and tables</summary>", exhibits.len());
    }
    html.push_str("<ol>\n");
    for (number, exhibit) in exhibits {
        let (name, title) = (escape(exhibit.name()), escape(&tied(exhibit.title())));
        let _ = writeln!(html, "<li><span>{number}</span> <a href=\"#{name}\">{title}</a></li>");
    }
    html.push_str(if is_long { "</ol></details></nav>\n" } else { "</ol></nav>\n" });
}

fn figure(html: &mut String, number: &str, figure: &Figure) {
    begin(html, "", &figure.name, number, &figure.title, &figure.caption);
    let wide = svg::draw(figure, Sheet::Wide);
    html.push_str(&wide.svg);
    html.push_str(&svg::draw(figure, Sheet::Narrow).svg);
    if wide.hidden > 0 {
        let (count, points) = (wide.hidden, if wide.hidden == 1 { "point" } else { "points" });
        let why = "not a number, or zero or below on a logarithmic axis";
        let _ = writeln!(html, "<p class=\"hidden\">{count} {points} cannot be shown ({why}); the CSV has all.</p>");
    }
    for (line, other) in &wide.covered {
        let _ = writeln!(html, "<p class=\"hidden\">{} and {} coincide.</p>", escape(line), escape(other));
    }
    files(html, &figure.name);
}

fn maps(html: &mut String, number: &str, maps: &Maps) {
    begin(html, "", &maps.name, number, &maps.title, &maps.caption);
    html.push_str(&map::draw(maps, Sheet::Wide));
    html.push_str(&map::draw(maps, Sheet::Narrow));
    files(html, &maps.name);
}

/// Closes a figure, with links to its files.
fn files(html: &mut String, name: &str) {
    let name = escape(name);
    let _ = writeln!(
        html,
        "<p class=\"files\"><a href=\"{name}.svg\">{name}.svg</a> <a href=\"{name}.csv\">{name}.csv</a></p>"
    );
    html.push_str("</figure>\n");
}

/// A table with more columns than this omits its first column if all rows agree in it.
const COLUMNS_ACROSS: usize = 5;
/// A table of one row with more columns than this is written as a list.
const COLUMNS_OF_ONE_ROW: usize = 3;

fn table(html: &mut String, number: &str, table: &Table) {
    // A long table may be split between printed pages; a figure may not.
    begin(
        html,
        if table.rows.len() > 12 { " class=\"tall\"" } else { "" },
        &table.name,
        number,
        &table.title,
        &table.caption,
    );
    // One row of many columns is easier to read downwards.
    if table.rows.len() == 1 && table.head.len() > COLUMNS_OF_ONE_ROW {
        return list(html, table);
    }
    // The value that all rows of a wide table share, such as the trace, is in the CSV.
    let first = table.rows.first().and_then(|row| row.first());
    let is_common = table.rows.len() > 1 && table.rows.iter().all(|row| row.first() == first);
    let from = usize::from(is_common && table.head.len() > COLUMNS_ACROSS);
    let numeric: Vec<bool> = (0..table.head.len()).map(|column| is_numeric(table, column)).collect();
    let class = |column: usize| if numeric.get(column) == Some(&true) { " class=\"number\"" } else { "" };
    if let Some(widest) = hint(table, from) {
        let _ = writeln!(
            html,
            "<p class=\"sideways at{widest}\">Scroll sideways for all {} columns →</p>",
            table.head.len() - from
        );
    }
    html.push_str("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
    for (column, cell) in table.head.iter().enumerate().skip(from) {
        let _ = write!(html, "<th{} scope=\"col\">{}</th>", class(column), escape(&tied(cell)));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (above, row) in std::iter::once(None).chain(table.rows.iter().map(Some)).zip(&table.rows) {
        html.push_str("<tr>");
        for (column, cell) in row.iter().enumerate().skip(from) {
            // The value that a group of rows shares, such as the trace, stands only in the first of them.
            let is_same = column == 0 && !numeric[0] && above.and_then(|above| above.first()) == Some(cell);
            let _ = write!(html, "<td{}>{}</td>", class(column), escape(if is_same { "" } else { cell }));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    end(html, table);
}

/// The windows, in pixels of width, of which the style sheet can tell that a table does not fit.
const WINDOWS: [u32; 3] = [1240, 820, 460];

/// The widest of [`WINDOWS`] in which this table, from a column on, has to be scrolled sideways; `None`: it fits all.
fn hint(table: &Table, from: usize) -> Option<u32> {
    /// The font size, the padding of a cell, and what surrounds the table in a window.
    const SET: (f64, f64, f64) = (14.0, 20.0, 32.0);
    /// Widths of text are upper estimates, by about this factor.
    const NARROWER: f64 = 0.85;
    let (size, padding, around) = SET;
    let text = |text: &str| width(text, size) * NARROWER;
    let column = |column: usize| {
        // Heads are broken at spaces, cells are not.
        let head = table.head[column].split(' ').map(text).fold(0.0, f64::max);
        let cells = table.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| text(cell)).fold(head, f64::max) + padding
    };
    let room = (from..table.head.len()).map(column).sum::<f64>() + around;
    WINDOWS.into_iter().find(|&window| room > f64::from(window))
}

/// Writes a table of one row as a list, one line per column.
fn list(html: &mut String, table: &Table) {
    html.push_str("<div class=\"scroll\" tabindex=\"0\"><table>\n<tbody>\n");
    for (head, cell) in table.head.iter().zip(&table.rows[0]) {
        let _ = writeln!(html, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(&tied(head)), escape(cell));
    }
    html.push_str("</tbody></table></div>\n");
    end(html, table);
}

/// Closes the exhibit of a table, with a link to its file.
fn end(html: &mut String, table: &Table) {
    let name = escape(&table.name);
    let _ = writeln!(html, "<p class=\"files\"><a href=\"{name}.csv\">{name}.csv</a></p>\n</figure>");
}

/// Opens an exhibit with its heading and its caption.
fn begin(html: &mut String, class: &str, name: &str, number: &str, title: &str, caption: &str) {
    let (name, title) = (escape(name), escape(&tied(title)));
    let _ = writeln!(html, "<figure{class} id=\"{name}\">\n<h2><span>{number}</span>{title}</h2>");
    if !caption.is_empty() {
        let text = if caption.contains('\n') { prose(caption) } else { escape(&tied(caption)) };
        let _ = writeln!(html, "<figcaption>{text}</figcaption>");
    }
}

/// A paragraph, or, if there are several lines, a list of them.
fn prose(text: &str) -> String {
    if !text.contains('\n') {
        return format!("<p>{}</p>", escape(&tied(text)));
    }
    let items: String = text.lines().map(|line| format!("<li>{}</li>", escape(&tied(line)))).collect();
    format!("<ul class=\"each\">{items}</ul>")
}

/// Whether all cells of a column are numbers, with or without units, or dashes for missing ones.
fn is_numeric(table: &Table, column: usize) -> bool {
    let cells = table.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.trim());
    let mut cells = cells.filter(|cell| !matches!(*cell, "" | "-" | "–" | "—")).peekable();
    let number = |cell: &str| {
        let digits = cell.trim_start_matches(['-', '−', '+', '<', '>', '≤', '≥', '~', '.', ' ']);
        digits.starts_with(|char: char| char.is_ascii_digit()) || matches!(digits, "NaN" | "inf" | "∞")
    };
    cells.peek().is_some() && cells.all(number)
}

fn method(html: &mut String, facts: &[(&str, String)]) {
    if facts.is_empty() {
        return;
    }
    html.push_str("<section class=\"method\">\n<h2>How this was made</h2>\n<dl>\n");
    for (name, value) in facts {
        let _ = writeln!(html, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    html.push_str("</dl>\n</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_in_which_windows_it_is_scrolled() {
        let table = |columns: usize| Table {
            name: String::new(),
            title: String::new(),
            caption: String::new(),
            head: vec!["share of all".to_owned(); columns],
            rows: vec![vec!["12.5 MiB".to_owned(); columns]; 2],
        };
        let hints = [2, 6, 12, 20].map(|columns| hint(&table(columns), 0));
        assert_eq!(hints, [None, Some(460), Some(820), Some(1240)]);
        assert_eq!(hint(&table(6), 5), None, "a column that is left out takes no room");
    }

    #[test]
    fn several_lines_are_a_list() {
        assert_eq!(prose("a < b"), "<p>a &lt; b</p>");
        assert_eq!(prose("x: 1 s.\ny: 2 s."), "<ul class=\"each\"><li>x: 1\u{a0}s.</li><li>y: 2\u{a0}s.</li></ul>");
    }

    #[test]
    fn a_column_is_numeric_if_all_its_cells_are_numbers() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let rows =
            vec![row(["sda", "12", "−0.5 ms", "-"]), row(["1st", "-", "≤ 64KiB", ""]), row(["x", "", "1e9", "-"])];
        let head = row(["disk", "reads", "time", "none"]);
        let (name, title, caption) = (String::new(), String::new(), String::new());
        let table = Table { name, title, caption, head, rows };
        assert_eq!([0, 1, 2, 3].map(|column| is_numeric(&table, column)), [false, true, true, false]);
    }
}
