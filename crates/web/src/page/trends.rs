//! Counters and temperatures over time, drawn by the project's own charts.

use maud::{Markup, PreEscaped, html};
use scrubjay_chart::{Axis, Figure, Series, Style, in_page};
use scrubjay_control::past::{CounterTrend, DiskDetail};

/// Draws the data that there are.
pub fn of(detail: &DiskDetail, now: u64) -> Markup {
    let days = |at: u64| (at as f64 - now as f64) / 86_400.0;
    let temperatures: Vec<(f64, f64)> =
        detail.temperatures.iter().map(|&(at, celsius)| (days(at), f64::from(celsius))).collect();
    let has_moved = |trend: &&CounterTrend| trend.points.iter().any(|(_, value)| *value != trend.points[0].1);
    let moved: Vec<&CounterTrend> = detail.counters.iter().filter(has_moved).collect();
    let series = |trend: &CounterTrend| {
        let mut steps = Vec::new();
        // A counter keeps its value until the next reading.
        for (number, &(at, value)) in trend.points.iter().enumerate() {
            if let Some(&(_, before)) = number.checked_sub(1).and_then(|before| trend.points.get(before))
                && before != value
            {
                steps.push((days(at), before as f64));
            }
            steps.push((days(at), value as f64));
        }
        Series::new(trend.name.clone(), Style::Line, steps)
    };
    html! {
        @if !moved.is_empty() {
            (figure("counters", "Counters of the drive that have changed", "value", moved.iter().map(|trend| series(trend)).collect(), true))
        }
        @if temperatures.len() > 1 {
            (figure("heat", "Temperature, the highest of each day", "degrees Celsius", vec![Series::new("", Style::Line, temperatures.clone())], false))
        }
        @if moved.is_empty() && temperatures.len() < 2 {
            p { "Nothing that could be drawn: no counter of this drive has changed, and its temperature is not known." }
        }
    }
}

fn figure(name: &str, title: &str, label: &str, series: Vec<Series>, is_from_zero: bool) -> Markup {
    let y = if is_from_zero { Axis::from_zero(label) } else { Axis::linear(label) };
    let figure = Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        caption: String::new(),
        x: Axis::linear("days from now"),
        y,
        series,
    };
    let [wide, narrow] = in_page(&figure);
    html! { figure { figcaption { (title) } (PreEscaped(wide)) (PreEscaped(narrow)) } }
}
