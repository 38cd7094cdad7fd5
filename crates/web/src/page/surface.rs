//! The surface of a disk: when each part was read, and what was found.

use super::view::PageView;
use maud::{Markup, PreEscaped, html};
use scrubjay_chart::small::{self, ChartCell};
use scrubjay_control::DiskEntry;
use scrubjay_control::past::SurfacePart;
use scrubjay_control::wording::ago;

/// Columns of the map, at least: otherwise the squares of a small disk, which has few parts, would fill the page.
const COLUMNS: usize = 32;
const COLUMNS_MIN: usize = 16;

/// Classes by age in days, with their words in the legend.
const AGES: [(u64, &str, &str); 4] = [
    (8, "age0", "within a week"),
    (16, "age1", "two weeks"),
    (36, "age2", "35 days"),
    (u64::MAX, "age3", "longer ago"),
];

fn class(age_days: u64) -> &'static str {
    AGES.iter().find(|(days, ..)| age_days < *days).map_or("age3", |(_, class, _)| class)
}

fn cell(part: &SurfacePart, now: u64, place: &str) -> ChartCell {
    let words = |text: String| format!("{place}: {text}");
    match (part.unreadable, part.read) {
        (0, 0) => ChartCell { class: "never", words: words("not all of it was read yet".to_owned()) },
        (0, read) => ChartCell {
            class: class(now.saturating_sub(read) / 86_400),
            words: words(format!("read {}", ago(now, Some(read)))),
        },
        (1, _) => ChartCell { class: "bad", words: words("1 unreadable sector".to_owned()) },
        (count, _) => ChartCell { class: "bad", words: words(format!("{count} unreadable sectors")) },
    }
}

fn place(number: usize, count: usize) -> String {
    let percent = |number: usize| number as f64 * 100.0 / count.max(1) as f64;
    format!("{:.0} to {:.0} % of the disk", percent(number), percent(number + 1))
}

fn cells(parts: &[SurfacePart], now: u64) -> Vec<ChartCell> {
    parts.iter().enumerate().map(|(number, part)| cell(part, now, &place(number, parts.len()))).collect()
}

/// The cells of the ring of a machine's only disk. Without a map all of it is as old as its oldest sector.
pub fn ring_cells(view: &PageView<'_>, disk: &DiskEntry) -> Vec<ChartCell> {
    let now = view.status.time;
    let detail = view.past_from(&disk.key).and_then(|past| past.detail.as_ref());
    match detail.map(|detail| detail.surface.as_slice()) {
        Some(parts) if !parts.is_empty() => cells(parts, now),
        _ => {
            let whole = SurfacePart { read: disk.reading.oldest_read.unwrap_or(0), unreadable: 0 };
            vec![cell(&whole, now, "all of the disk")]
        }
    }
}

/// The map on a disk's page.
pub fn map(parts: &[SurfacePart], now: u64) -> Markup {
    let unread = parts.iter().filter(|part| part.read == 0).count();
    let bad: u64 = parts.iter().map(|part| part.unreadable).sum();
    let oldest = parts.iter().map(|part| part.read).min().filter(|read| *read > 0);
    let label = match oldest {
        Some(read) => format!(
            "Surface in {} parts, the oldest read {}; {bad} unreadable sectors",
            parts.len(),
            ago(now, Some(read))
        ),
        None => {
            format!("Surface in {} parts, {unread} of them not read whole yet; {bad} unreadable sectors", parts.len())
        }
    };
    html! {
        div.drawn {
            (PreEscaped(small::cells(&cells(parts, now), parts.len().clamp(COLUMNS_MIN, COLUMNS), &label)))
            (legend())
        }
        p.soft {
            @match parts.len() {
                1 => "All of it is one square, as old as its oldest sector.",
                many => { "From the first sector to the last; each square is 1/" (many) " of the disk, as old as its oldest sector." }
            }
        }
    }
}

/// The legend of the colours.
pub fn legend() -> Markup {
    html! {
        ul.legend aria-hidden="true" {
            @for (_, class, words) in AGES { li { span class={ "swatch " (class) } {} (words) } }
            li { span.swatch.never {} "not yet" }
            li { span.swatch.bad {} "unreadable" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_were_never_read_are_not_shown_as_read() {
        let now = 1_773_320_400;
        let part = |read, unreadable| cell(&SurfacePart { read, unreadable }, now, "x").class;
        assert_eq!(part(0, 0), "never");
        assert_eq!(part(0, 3), "bad");
        let days = |days: u64| part(now - days * 86_400, 0);
        assert_eq!([days(0), days(7), days(8), days(35), days(36)], ["age0", "age0", "age1", "age2", "age3"]);
    }
}
