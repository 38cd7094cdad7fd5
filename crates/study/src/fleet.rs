//! A fleet as a page: what the goal costs on how many of its devices, and the names of the extreme ones.

use super::say::{count, duration, percent};
use scrubjay_chart::{Axis, Exhibit, Figure, Page, Series, Style, Table};

/// The number of devices named at each end.
const NAMED: usize = 20;
/// The days within which a pass is to be done: 35, the watch's default.
const PASS_DAYS: f64 = 35.0;

/// One device of a fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetRow {
    /// The name of the file, and of the device if there are several.
    pub name: String,
    /// The goal for the mean slowdown, in seconds.
    pub goal_seconds: Option<f64>,
    /// The bytes per second that a scrub reads within the goal; `None`: there is no answer.
    pub reads: Option<f64>,
    /// The bytes per second that the disk reads without foreground.
    pub idle_disk_rate: Option<f64>,
    /// The mean slowdown of requests, in seconds.
    pub slowdown_seconds: Option<f64>,
    /// The number of requests in the trace.
    pub requests: u64,
    /// Why there is no answer, if so.
    pub error: Option<String>,
}

/// The page of all rows.
pub fn page(rows: &[FleetRow]) -> Page {
    let mut tuned: Vec<&FleetRow> = rows.iter().filter(|row| row.reads.is_some()).collect();
    tuned.sort_by(|a, b| a.reads.unwrap_or(0.0).total_cmp(&b.reads.unwrap_or(0.0)).then_with(|| a.name.cmp(&b.name)));
    let without: Vec<&FleetRow> = rows.iter().filter(|row| row.reads.is_none()).collect();
    let mut goals: Vec<f64> = tuned.iter().filter_map(|row| row.goal_seconds).collect();
    goals.sort_by(f64::total_cmp);
    goals.dedup();
    let mut exhibits = Vec::new();
    if !tuned.is_empty() {
        exhibits.push(Exhibit::Figure(reads(&tuned, &goals)));
        exhibits.push(Exhibit::Table(costs(&tuned, &goals)));
        exhibits.push(Exhibit::Table(named("slowest", "Where a scrub reads least", tuned.iter().take(NAMED).copied())));
        let fastest = tuned.iter().rev().take(NAMED).copied();
        exhibits.push(Exhibit::Table(named("fastest", "Where a scrub reads most", fastest)));
    }
    if !without.is_empty() {
        exhibits.push(Exhibit::Table(refused(&without)));
    }
    let requests: u64 = rows.iter().map(|row| row.requests).sum();
    let summary = format!(
        "{} devices tuned, from {} requests; {} without an answer",
        count(tuned.len() as f64),
        count(requests as f64),
        count(without.len() as f64)
    );
    Page { title: "A fleet's scrubs".into(), paragraphs: vec![summary], exhibits }
}

/// The distribution of what devices read within each goal.
fn reads(tuned: &[&FleetRow], goals: &[f64]) -> Figure {
    let series = goals.iter().map(|goal| {
        let of_goal: Vec<f64> =
            tuned.iter().filter(|row| row.goal_seconds == Some(*goal)).filter_map(|row| row.reads).collect();
        let points =
            of_goal.iter().enumerate().map(|(index, reads)| (reads / 1e6, (index + 1) as f64 / of_goal.len() as f64));
        Series::new(format!("goal {}", duration(*goal)), Style::Line, points)
    });
    Figure {
        name: "fleet-reads".into(),
        title: "What a scrub reads inside the goal".into(),
        caption: format!("half of the devices read {} or more", rate(quantile(tuned, 0.5))),
        x: Axis::log("read by a scrub (MB/s)"),
        y: Axis::from_zero("share of the devices that read at most that"),
        series: series.collect(),
    }
}

/// The cost and the yield of each goal.
fn costs(tuned: &[&FleetRow], goals: &[f64]) -> Table {
    let rows = goals.iter().map(|goal| {
        let of_goal: Vec<&FleetRow> = tuned.iter().filter(|row| row.goal_seconds == Some(*goal)).copied().collect();
        let shares: Vec<f64> = of_goal.iter().filter_map(|row| Some(row.reads? / row.idle_disk_rate?)).collect();
        let slowdowns: Vec<f64> = of_goal.iter().filter_map(|row| row.slowdown_seconds).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        vec![
            duration(*goal),
            count(of_goal.len() as f64),
            rate(quantile(&of_goal, 0.05)),
            rate(quantile(&of_goal, 0.5)),
            rate(quantile(&of_goal, 0.95)),
            percent(mean(&shares)),
            duration(mean(&slowdowns)),
            terabytes(quantile(&of_goal, 0.05)),
        ]
    });
    Table {
        name: "fleet-goals".into(),
        title: "What the goal costs".into(),
        caption: "Read by a scrub at the 5th, 50th and 95th percentile of the devices; how large a disk the slowest twentieth still \
                  reads within 35 days."
            .into(),
        head: ["goal", "devices", "5 %", "median", "95 %", "of the disk alone", "mean slowdown", "disk in 35 d at 5 %"]
            .map(str::to_owned)
            .into(),
        rows: rows.collect(),
    }
}

fn named<'a>(name: &str, title: &str, rows: impl Iterator<Item = &'a FleetRow>) -> Table {
    let cells = rows.map(|row| {
        let share = row.reads.zip(row.idle_disk_rate).map_or(String::new(), |(reads, rate)| percent(reads / rate));
        vec![
            row.name.clone(),
            count(row.requests as f64),
            rate(row.reads.unwrap_or(0.0)),
            share,
            row.slowdown_seconds.map_or(String::new(), duration),
        ]
    });
    Table {
        name: format!("fleet-{name}"),
        title: title.into(),
        caption: "By name.".into(),
        head: ["device", "requests", "reads", "of the disk alone", "mean slowdown"].map(str::to_owned).into(),
        rows: cells.collect(),
    }
}

fn refused(rows: &[&FleetRow]) -> Table {
    let cells = rows.iter().take(10 * NAMED).map(|row| vec![row.name.clone(), row.error.clone().unwrap_or_default()]);
    let more = rows.len().saturating_sub(10 * NAMED);
    let caption = if more > 0 { format!("And {} more.", count(more as f64)) } else { "All of them.".to_owned() };
    Table {
        name: "fleet-errors".into(),
        title: "Without an answer".into(),
        caption,
        head: vec!["device".into(), "why".into()],
        rows: cells.collect(),
    }
}

/// The quantile of bytes per second read; `rows` are sorted by it.
fn quantile(rows: &[&FleetRow], share: f64) -> f64 {
    let at = ((rows.len() as f64 - 1.0) * share).round().max(0.0) as usize;
    rows.get(at).and_then(|row| row.reads).unwrap_or(0.0)
}

fn rate(bytes_per_second: f64) -> String {
    format!("{:.2} MB/s", bytes_per_second / 1e6)
}

fn terabytes(bytes_per_second: f64) -> String {
    format!("{:.2} TB", bytes_per_second * PASS_DAYS * 86_400.0 / 1e12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_outliers_and_those_without_an_answer() {
        let row = |index: u32| FleetRow {
            name: format!("w{index:02}"),
            goal_seconds: Some(0.001),
            reads: Some(f64::from(index) * 1e6),
            idle_disk_rate: Some(1e8),
            slowdown_seconds: Some(0.0009),
            requests: 1000,
            error: None,
        };
        let mut rows: Vec<FleetRow> = (1..=60).map(row).collect();
        rows.push(FleetRow { name: "bad".into(), error: Some("is empty".into()), ..FleetRow::default() });
        let page = page(&rows);
        let files = scrubjay_chart::files(&page, &[]).unwrap();
        let text = |name: &str| files.iter().find(|file| file.name == name).map(|file| file.text.clone()).unwrap();
        assert!(text("fleet-slowest.csv").contains("w01") && !text("fleet-slowest.csv").contains("w60"));
        assert!(text("fleet-fastest.csv").contains("w60") && text("fleet-errors.csv").contains("is empty"));
        assert!(text("fleet-goals.csv").contains("31.00 MB/s"), "{}", text("fleet-goals.csv"));
        assert!(page.paragraphs[0].starts_with("60 devices"));
    }
}
