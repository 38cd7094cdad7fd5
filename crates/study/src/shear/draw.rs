//! Draws scans as exhibits.

use scrubjay_chart::{Axis, Exhibit, Figure, Maps, Panel, Series, Style};
use scrubjay_core::probe::paper::ScanPoint;
use scrubjay_core::probe::paper::layout::Matrix;

/// The points of a scan, in KiB and seconds.
pub fn points(samples: &[ScanPoint]) -> Vec<(f64, f64)> {
    samples.iter().map(|sample| (sample.bytes as f64 / 1024.0, sample.seconds)).collect()
}

/// A line through a scan.
pub fn line(name: impl Into<String>, samples: &[ScanPoint]) -> Series {
    Series::new(name, Style::Line, points(samples))
}

/// A dashed line through a scan, for comparison.
pub fn dashed(name: impl Into<String>, samples: &[ScanPoint]) -> Series {
    Series::new(name, Style::Dashed, points(samples))
}

/// A figure of step 1.
pub fn patterns(name: &str, title: String, caption: String, series: Vec<Series>) -> Exhibit {
    curves(name, title, caption, "assumed pattern (KiB)", series)
}

/// A figure of step 2.
pub fn boundaries(name: &str, title: String, caption: String, series: Vec<Series>) -> Exhibit {
    curves(name, title, caption, "assumed boundary in the pattern (KiB)", series)
}

fn curves(name: &str, title: String, caption: String, x: &str, series: Vec<Series>) -> Exhibit {
    let y = Axis::from_zero("mean time of a trial (s)");
    Exhibit::Figure(Figure { name: name.into(), title, caption, x: Axis::linear(x), y, series })
}

/// A figure of step 3.
pub fn maps(name: &str, title: String, caption: String, panels: Vec<(String, Matrix)>) -> Exhibit {
    let panel = |(title, matrix): (String, Matrix)| Panel { title, rows: matrix.rows };
    Exhibit::Maps(Maps {
        name: name.into(),
        title,
        caption,
        axis: "chunk of the pattern, from 0".into(),
        value: "mean time of a trial (s), so light pairs lie on one disk".into(),
        panels: panels.into_iter().map(panel).collect(),
    })
}

/// The mean of some seconds; `NaN` if there are none.
pub fn mean(seconds: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = seconds.fold((0.0, 0), |(sum, count), one| (sum + one, count + 1));
    sum / f64::from(count)
}

/// The time at `kib` in a scan, in seconds.
///
/// # Panics
/// If the scan has no such place.
pub fn at(samples: &[ScanPoint], kib: u64) -> f64 {
    samples.iter().find(|sample| sample.bytes == kib * 1024).expect("the scan has it").seconds
}
