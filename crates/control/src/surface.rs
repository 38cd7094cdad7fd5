//! How fast the places of a disk answer, for people: `explain` and the page say it alike.

use super::past::{SlowEntry, SurfaceSpeed};
use scrubjay_core::units::SectorRange;
use scrubjay_words::{Count, SpeedWords};

/// The speed in words, line by line; `disk` is what to type, `date` shows a date.
pub fn in_words(speed: &SurfaceSpeed, disk: &str, date: impl Fn(u64) -> String) -> Vec<String> {
    /// Places that are described.
    const DESCRIBED: usize = 5;
    let mut lines = Vec::new();
    let ends = || {
        let mut known = speed.parts.iter().map(|part| part.typical).filter(|typical| *typical > 0);
        let first = known.next()?;
        Some((show(first), show(known.next_back().unwrap_or(first))))
    };
    let Some((begin, end)) = ends() else { return vec![SpeedWords::Unmeasured.to_string()] };
    lines.push(match speed.ended {
        Some(_) => SpeedWords::Curve { begin, end, date: date(speed.begun) }.to_string(),
        None => SpeedWords::CurveSoFar { begin, end, date: date(speed.begun) }.to_string(),
    });
    if let Some(percent) = change_percent(speed) {
        let date = date(speed.before_begun);
        lines.push(match percent {
            -4..=4 => SpeedWords::Unchanged { date }.to_string(),
            5.. => SpeedWords::Changed { percent: format!("{percent} % slower"), date }.to_string(),
            _ => SpeedWords::Changed { percent: format!("{} % faster", -percent), date }.to_string(),
        });
    }
    for place in speed.slow.iter().take(DESCRIBED) {
        lines.push(format!("{}, {}", place_in_words(place), since_in_words(place)));
    }
    let more = speed.slow_places.saturating_sub(DESCRIBED as u64);
    if more > 0 {
        lines.push(SpeedWords::MorePlaces { places: Count(more, "more place") }.to_string());
    }
    match speed.slow.first() {
        Some(first) => lines.push(SpeedWords::WhatLiesThere { disk: disk.to_owned(), sector: first.start }.to_string()),
        None => lines.push(SpeedWords::NoneSlow.to_string()),
    }
    lines
}

/// A slow place, in words.
pub fn place_in_words(place: &SlowEntry) -> String {
    let range = SectorRange::at(place.start, place.count);
    let place_words = format!("sectors {} to {}", range.start.0, range.end.0 - 1);
    if place.ratio >= 1.1 {
        return SpeedWords::Slower { place: place_words, ratio: format!("{:.1}", place.ratio) }.to_string();
    }
    SpeedWords::Stalls { place: place_words, visits: Count(u64::from(place.stalled), "visit") }.to_string()
}

/// Whether it lasts, in words.
pub fn since_in_words(place: &SlowEntry) -> String {
    if place.lasts { SpeedWords::Lasts.to_string() } else { SpeedWords::Once.to_string() }
}

/// By how many percent reading takes longer than in the pass before (the median over the parts of both); `None`: there was none.
fn change_percent(speed: &SurfaceSpeed) -> Option<i64> {
    let both = speed.parts.iter().zip(&speed.before).filter(|(part, before)| part.typical > 0 && **before > 0);
    let mut ratios: Vec<f64> = both.map(|(part, before)| *before as f64 / part.typical as f64).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).map(|ratio| ((ratio - 1.0) * 100.0).round() as i64)
}

fn show(bytes_per_second: u64) -> String {
    format!("{:.0} MB/s", bytes_per_second as f64 / 1e6)
}

/// The parts as a line of blocks, the fastest full, `columns` wide at most; a part that was not measured is a dot.
pub fn drawn(speed: &SurfaceSpeed, columns: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = speed.parts.iter().map(|part| part.typical).max().unwrap_or_default().max(1);
    let count = columns.min(speed.parts.len());
    let block = |column: usize| {
        let of = &speed.parts[column * speed.parts.len() / count..(column + 1) * speed.parts.len() / count];
        // The slowest part: a weak place must not be averaged away.
        match of.iter().map(|part| part.slowest).filter(|slowest| *slowest > 0).min() {
            Some(slowest) => BLOCKS[(slowest * 8 / most).saturating_sub(u64::from(slowest == most)).min(7) as usize],
            None => '·',
        }
    };
    (0..count).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::past::SpeedPart;

    #[test]
    fn a_disk_in_words_and_blocks() {
        let part = |typical: u64| SpeedPart { typical, slowest: typical, around: typical, p99_nanos: 9 };
        let parts = vec![part(200_000_000), part(150_000_000), SpeedPart::default(), part(100_000_000)];
        let slow = vec![SlowEntry { start: 2048, count: 100, ratio: 1.52, stalled: 0, lasts: true }];
        let speed = SurfaceSpeed {
            begun: 5,
            ended: Some(9),
            parts,
            before_begun: 3,
            before: vec![220_000_000, 165_000_000, 1, 110_000_000],
            slow,
            slow_places: 7,
            passes: 2,
        };
        assert_eq!(
            in_words(&speed, "sdc", |date| format!("day {date}")),
            [
                "200 MB/s at the beginning, 100 MB/s at the end (pass of day 5)",
                "10 % slower than in the pass of day 3",
                "sectors 2048 to 2147: requests take 1.5 times as long as around them, as in earlier passes",
                "and 2 more places",
                "what lies there: sudo scrubjay explain sdc 2048",
            ]
        );
        assert_eq!(drawn(&speed, 60), "█▇·▅");
        assert_eq!(drawn(&speed, 2), "▇▅");
        let stalls = SlowEntry { ratio: 1.0, stalled: 5, ..speed.slow[0] };
        assert!(place_in_words(&stalls).contains("stalled in 5 visits"));
        let nothing = SurfaceSpeed::default();
        assert!(in_words(&nothing, "sdc", |_| String::new())[0].starts_with("not measured yet"));
        assert_eq!(drawn(&nothing, 60), "");
    }
}
