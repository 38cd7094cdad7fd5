//! The results that `bench disk` kept of a disk, each compared with earlier ones.

use maud::{Markup, html};
use scrubjay_control::past::{BenchEntry, BenchPast};
use scrubjay_control::wording::moment;
use scrubjay_core::quantity::show_count;

/// Draws the table.
pub fn past(bench: &BenchPast) -> Markup {
    html! {
        @if bench.results.is_empty() { p { "It was not measured yet, or nothing of that was kept." } } @else {
            table.cards.narrow-table aria-label="Results of benchmarks" {
                thead { tr { th { "Measured" } th.number { "IOPS" } th.number { "Mean latency" } th { "Compared with before" } } }
                tbody { @for result in &bench.results { (row(result)) } }
            }
            p.soft { "Random reads of 4 KiB, one at a time (depth 1); only measurements that nothing disturbed." }
        }
        @if let Some(trouble) = &bench.trouble { p.stale { "Not all results can be read: " (trouble) } }
    }
}

fn row(result: &BenchEntry) -> Markup {
    html! {
        tr {
            td data-h="Measured" { (moment(result.at)) }
            td.number data-h="IOPS" { (iops(result.iops)) }
            td.number data-h="Mean latency" { (seconds(result.mean_seconds)) }
            td data-h="Compared with before" {
                @match (&result.warnings[..], result.past_median_seconds) {
                    ([], None) => "the first",
                    ([], Some(median)) => { "as before: " (seconds(median)) " (median of " (result.past) ")" }
                    (warnings, _) => { span.act { "slower" } ": " (warnings.join("; ")) }
                }
            }
        }
    }
}

fn iops(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1}") } else { show_count(rate.round() as u64) }
}

fn seconds(seconds: f64) -> String {
    let millis = seconds * 1e3;
    if millis < 1.0 { format!("{:.0} us", seconds * 1e6) } else { format!("{millis:.1} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_compared_with_earlier_ones_and_damage_hides_nothing() {
        let result = |mean_seconds, past_median_seconds, warnings: &[&str]| BenchEntry {
            at: 1_773_320_400,
            iops: 1.0 / mean_seconds,
            mean_seconds,
            past: 2,
            past_median_seconds,
            warnings: warnings.iter().map(|words| (*words).to_owned()).collect(),
        };
        let results = vec![
            result(0.025, Some(0.0125), &["it took 12.5 ms at depth 1 before <b>"]),
            result(0.0125, Some(0.0126), &[]),
            result(0.0125, None, &[]),
        ];
        let shown = past(&BenchPast { results, trouble: Some("f: 1 line".into()) }).into_string();
        for words in ["25.0 ms", ">80<", "slower", "before &lt;b&gt;", "median of 2", "the first", "f: 1 line"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert_eq!([seconds(0.0125), seconds(0.000_085)], ["12.5 ms", "85 us"]);
        assert!(past(&BenchPast::default()).into_string().contains("not measured yet"));
    }
}
