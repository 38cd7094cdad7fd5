//! The page of a fleet: rows as JSON in, the files of the page out.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scrubjay_study::fleet::{self, FleetRow};
use serde::Deserialize;

/// The fields of a result row that the page needs; others are ignored.
#[derive(Deserialize)]
struct PageRow {
    trace: String,
    goal_mean_seconds: Option<f64>,
    scrub_bytes_per_second: Option<f64>,
    disk_bytes_per_second: Option<f64>,
    mean_slowdown_seconds: Option<f64>,
    requests: Option<u64>,
    error: Option<String>,
}

/// The files of the page, each its name and its text, `index.html` first. `facts` say how it was made.
#[pyfunction]
pub fn fleet_page(rows: &str, facts: Vec<(String, String)>) -> PyResult<Vec<(String, String)>> {
    let rows: Vec<PageRow> = serde_json::from_str(rows).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let rows: Vec<FleetRow> = rows
        .into_iter()
        .map(|row| FleetRow {
            name: row.trace,
            goal_seconds: row.goal_mean_seconds,
            reads: row.scrub_bytes_per_second,
            idle_disk_rate: row.disk_bytes_per_second,
            slowdown_seconds: row.mean_slowdown_seconds,
            requests: row.requests.unwrap_or(0),
            error: row.error,
        })
        .collect();
    let facts: Vec<(&str, String)> = facts.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let files = scrubjay_chart::files(&fleet::page(&rows), &facts);
    let files = files.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(files.into_iter().map(|file| (file.name, file.text)).collect())
}
