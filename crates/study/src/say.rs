//! Formats numbers and lists for captions.

/// The number of traces that a text describes, at most; curves and tables show all.
const SHOWN_MAX: usize = 4;

/// A sentence for each of the first traces, given its name and the statement: one line a trace, or, of a single one,
/// without its name.
pub fn by_trace<'a>(statements: impl ExactSizeIterator<Item = (&'a str, String)>) -> String {
    let count = statements.len();
    let sentence = |(name, text): (&str, String)| {
        if count > 1 {
            return format!("{name}: {text}.");
        }
        let mut letters = text.chars();
        letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
    };
    let mut sentences: Vec<String> = statements.take(SHOWN_MAX).map(sentence).collect();
    if count > SHOWN_MAX {
        sentences.push(format!("({} more are shown.)", count - SHOWN_MAX));
    }
    sentences.join("\n")
}

/// Three significant digits: `0.00212`, `23.6`, `1490`.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // Rounded once, by scientific notation, so that 9.999 becomes 10.0 and not 10.00.
    let rounded: f64 = format!("{value:.2e}").parse().expect("what was printed can be read");
    let digits = 2 - rounded.abs().log10().floor() as i32;
    format!("{rounded:.*}", digits.clamp(0, 12) as usize)
}

/// A whole number, with commas between thousands.
pub fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let from_right = |(index, digit): (usize, char)| {
        let is_start = index > 0 && (digits.len() - index).is_multiple_of(3);
        is_start.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(from_right).collect()
}

/// A share as a percentage with one decimal; with more where it would be rounded to 0 or 100.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let to_edge = percent.min(100.0 - percent);
    let decimals = match to_edge {
        edge if edge <= 0.0 => 0,
        edge if edge >= 1.0 => 1,
        edge if edge >= 0.01 => 2,
        _ => 4,
    };
    format!("{percent:.decimals$} %")
}

/// Seconds in a suitable unit: `226 us`, `3.54 ms`, `23.6 s`, `29.5 min`, `168 h`.
pub fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s <= 0.0 => (0.0, "s"),
        s if s < 0.999_5e-3 => (s * 1e6, "us"),
        s if s < 0.999_5 => (s * 1e3, "ms"),
        s if s < 599.5 => (s, "s"),
        s if s < 7200.0 => (s / 60.0, "min"),
        s => (s / 3600.0, "h"),
    };
    let text = significant(value);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trace_has_a_line() {
        let said = |count: u32| {
            let names: Vec<String> = (0..count).map(|number| format!("disk {number}")).collect();
            by_trace(names.iter().map(|name| (name.as_str(), "it is idle".to_owned())))
        };
        assert_eq!(said(1), "It is idle.");
        assert_eq!(said(2), "disk 0: it is idle.\ndisk 1: it is idle.");
        assert!(said(6).ends_with("disk 3: it is idle.\n(2 more are shown.)"), "{}", said(6));
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.002_120_8, 0.999_9, 9.999, 23.626, 1489.6, -0.5].map(significant);
        assert_eq!(shown, ["0", "0.00212", "1.00", "10.0", "23.6", "1490", "-0.500"]);
        let shown = [0.0, 0.000_226, 0.003_541, 0.1, 23.626, 60.0, 1769.9, 86_400.0].map(duration);
        assert_eq!(shown, ["0 s", "226 us", "3.54 ms", "100 ms", "23.6 s", "60 s", "29.5 min", "24 h"]);
        let shown = [0.0, 0.000_04, 0.5, 0.9994, 0.999_999, 1.0].map(percent);
        assert_eq!(shown, ["0 %", "0.0040 %", "50.0 %", "99.94 %", "99.9999 %", "100 %"]);
    }
}
