//! Sizes, times and ranges as people write them: parsed and formatted.

use crate::units::{Bytes, Nanos};
use std::ops::Range;

/// Parses a size: `512`, `64KiB`, `64K`, `1.5GiB`, `4TB`. Binary unless it ends in a decimal unit (`kB`, `MB`, `GB`, `TB`).
///
/// # Errors
/// It is no size; the text shows what one looks like.
pub fn bytes(text: &str) -> Result<Bytes, String> {
    const UNITS: [(&str, f64); 15] = [
        ("", 1.0),
        ("b", 1.0),
        ("k", 1024.0),
        ("kib", 1024.0),
        ("kb", 1e3),
        ("m", 1048576.0),
        ("mib", 1048576.0),
        ("mb", 1e6),
        ("g", 1073741824.0),
        ("gib", 1073741824.0),
        ("gb", 1e9),
        ("t", 1099511627776.0),
        ("tib", 1099511627776.0),
        ("tb", 1e12),
        ("s", 512.0),
    ];
    let error = || format!("`{text}` is no size: write 64KiB, 1MiB, 4TB, or a number of bytes");
    let (number, unit) = split(text).ok_or_else(error)?;
    let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(error)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit.1 as u64).map(Bytes).ok_or_else(|| format!("`{text}` is too large"));
    }
    let value = number.parse::<f64>().map_err(|_| error())? * unit.1;
    if value.fract() == 0.0 && value < 1e19 { Ok(Bytes(value as u64)) } else { Err(error()) }
}

/// Parses a time: `100us`, `1ms`, `0.5ms`, `2s`, `10min` or `10m`, `1h`.
///
/// # Errors
/// It is no time; the text shows what one looks like.
pub fn time(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, f64); 8] =
        [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10), ("min", 6e10), ("h", 3.6e12)];
    let is_bare =
        !text.is_empty() && split(text).is_some_and(|(number, unit)| unit.is_empty() && number.parse::<f64>().is_ok());
    let error = || match text.strip_prefix('-') {
        Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("`{text}`: a time cannot be negative")
        }
        _ if is_bare => format!("`{text}`: a time needs a unit, such as {text}ms, {text}s or {text}min"),
        _ => format!("`{text}` is not a time: write 500us, 1ms, 2s, 10min or 1h"),
    };
    let (number, unit) = split(text).ok_or_else(error)?;
    let unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
    let value = number.parse::<f64>().map_err(|_| error())? * unit.1;
    if value < 1e19 { Ok(Nanos(value.round() as u64)) } else { Err(error()) }
}

/// Parses a span on the calendar into whole seconds: `35d`, `4h`, `30m`.
///
/// # Errors
/// It is no span; the text shows what one looks like, in one line.
pub fn span(text: &str) -> Result<u64, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.trim_end().parse::<u32>().ok());
    let seconds = days.map(|days| u64::from(days) * 86_400);
    let seconds = seconds.or_else(|| time(text).ok().map(|time| time.0 / 1_000_000_000));
    seconds.ok_or_else(|| format!("`{text}` is no span of time: write 35d, 4h or 30m"))
}

/// Parses a time above zero: a goal for the slowdown.
///
/// # Errors
/// It is no such time; the text shows what one looks like.
pub fn time_not_zero(text: &str) -> Result<Nanos, String> {
    match time(text)? {
        Nanos::ZERO => Err(format!("`{text}` lets nothing be read: write 100us, 1ms or more")),
        time => Ok(time),
    }
}

/// Parses a unit of time, or a multiple of one, above zero: `s`, `ms`, `us`, `ns`, `100ns`.
///
/// # Errors
/// It is no unit of time; the text shows what one looks like.
pub fn time_unit(text: &str) -> Result<Nanos, String> {
    let parsed = if text.starts_with(|c: char| c.is_ascii_digit()) { time(text) } else { time(&format!("1{text}")) };
    parsed
        .ok()
        .filter(|&unit| unit > Nanos::ZERO)
        .ok_or_else(|| format!("`{text}` is no unit of time: write us, ms or 100ns"))
}

/// Parses the size of a block, above zero.
///
/// # Errors
/// It is no such size; the text shows what one looks like.
pub fn block(text: &str) -> Result<Bytes, String> {
    bytes(text).and_then(|size| if size.0 > 0 { Ok(size) } else { Err("a block has at least one byte".to_owned()) })
}

/// Parses a range of bytes: `A..B`, `A..`, `..B`, from A up to, but not including, B.
///
/// # Errors
/// It is no range; the text shows what one looks like.
pub fn range(text: &str) -> Result<Range<Option<u64>>, String> {
    let error = || format!("`{text}` is no range: write 1GiB..2GiB, 1GiB.. or ..2GiB");
    let (start, end) = text.split_once("..").ok_or_else(error)?;
    let bound = |text: &str| if text.is_empty() { Ok(None) } else { bytes(text).map(|bytes| Some(bytes.0)) };
    Ok(bound(start)?..bound(end)?)
}

/// Splits a text into its number and its unit.
fn split(text: &str) -> Option<(&str, &str)> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    (!number.is_empty()).then_some((number, unit.trim_start()))
}

/// An exact size in the largest unit that divides it: `1280 KiB`, `12 KiB`, `512 B`.
pub fn show_exact(bytes: u64) -> String {
    let unit = [(30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(bits, _)| bytes.trailing_zeros() >= *bits);
    match unit.filter(|_| bytes > 0) {
        Some((bits, name)) => format!("{} {name}", bytes >> bits),
        None => format!("{bytes} B"),
    }
}

/// A time for people, rounded: `340 us`, `8.2 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
pub fn show_time(time: Nanos) -> String {
    let seconds = time.as_secs_f64();
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 0.000_999_5 => format!("{:.0} us", seconds * 1e6),
        _ if seconds < 0.009_995 => format!("{:.2} ms", seconds * 1e3),
        _ if seconds < 0.999_5 => format!("{:.0} ms", seconds * 1e3),
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

/// A time as [`time`] reads it, exact to the nanosecond: `205ms`, `1s`, `30.602s`, `361.75872ms`.
pub fn write_time(time: Nanos) -> String {
    const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    // No unit above a second: `90s` is easier to read than `1.5m`.
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| time.0 >= *unit).unwrap_or((1_000_000, "ms"));
    let (whole, rest) = (time.0 / unit, time.0 % unit);
    let digits = unit.ilog10() as usize;
    let text = format!("{whole}.{rest:0digits$}");
    format!("{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A remaining time, rounded up to whole seconds.
pub fn show_rest(time: Nanos) -> String {
    show_time(Nanos::from_secs(time.as_secs_f64().ceil() as u64)).replace(".0 s", " s")
}

/// A count with separators: `1,234,567`.
pub fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).expect("digits")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_times_are_read_back_to_the_nanosecond() {
        for (nanos, text) in [
            (0, "0ms"),
            (1, "1ns"),
            (10_000, "10us"),
            (500_000, "500us"),
            (1_000_000, "1ms"),
            (361_758_720, "361.75872ms"),
            (1_000_000_000, "1s"),
            (90_000_000_001, "90.000000001s"),
        ] {
            assert_eq!((write_time(Nanos(nanos)).as_str(), time(text)), (text, Ok(Nanos(nanos))));
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, expected) in [
            ("512", 512),
            ("64KiB", 65536),
            ("64k", 65536),
            ("1.5GiB", 3 << 29),
            ("4TB", 4_000_000_000_000),
            ("1 MiB", 1 << 20),
            ("2048s", 1 << 20),
        ] {
            assert_eq!(bytes(text), Ok(Bytes(expected)), "{text}");
        }
        for text in ["", "KiB", "1.0000001KiB", "12parsecs", "-1", "99999999999TiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read_and_shown() {
        assert_eq!(time("0.5ms"), Ok(Nanos(500_000)));
        assert_eq!(time("2h"), Ok(Nanos::from_secs(7200)));
        assert_eq!((time("10min"), time("10m")), (Ok(Nanos::from_secs(600)), Ok(Nanos::from_secs(600))));
        assert_eq!(time("5").unwrap_err(), "`5`: a time needs a unit, such as 5ms, 5s or 5min");
        assert_eq!(time("-1ms").unwrap_err(), "`-1ms`: a time cannot be negative");
        assert!(time("soon").unwrap_err().contains("`soon` is not a time: write"));
        assert!(time("1MS").is_err());
        for (nanos, shown) in [
            (340_000, "340 us"),
            (999_900, "1.00 ms"),
            (8_200_000, "8.20 ms"),
            (250_000_000, "250 ms"),
            (1_500_000_000, "1.5 s"),
            (59_700_000_000, "1 min 0 s"),
            (7_500_000_000_000, "2 h 5 min"),
            (274_000_000_000_000, "3 d 4 h"),
        ] {
            assert_eq!(show_time(Nanos(nanos)), shown);
        }
    }

    #[test]
    fn exact_sizes_are_not_rounded() {
        let shown = [0, 512, 1000, 1280 << 10, 12 << 10, 3 << 20, (1 << 30) + 512].map(show_exact);
        assert_eq!(shown, ["0 B", "512 B", "1000 B", "1280 KiB", "12 KiB", "3 MiB", "1073742336 B"]);
    }

    #[test]
    fn a_remaining_time_is_shown_in_whole_seconds() {
        assert_eq!(show_rest(Nanos::from_millis(1)), "1 s");
        assert_eq!(show_rest(Nanos::from_millis(59_100)), "1 min 0 s");
    }

    #[test]
    fn ranges_may_be_open() {
        assert_eq!(range("1MiB..2MiB"), Ok(Some(1 << 20)..Some(2 << 20)));
        assert_eq!(range("..4096"), Ok(None..Some(4096)));
        assert!(range("1MiB").is_err());
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(show_count(7), "7");
        assert_eq!(show_count(1234567), "1,234,567");
    }

    #[test]
    fn spans_are_days_or_times() {
        for (text, seconds) in [("35d", 3_024_000), (" 1 d", 86_400), ("4h", 14_400), ("90s", 90), ("999ms", 0)] {
            assert_eq!(span(text), Ok(seconds), "{text}");
        }
        for text in ["", "d", "35", "-1d", "1.5d", "5000000000d"] {
            assert!(span(text).unwrap_err().contains("write 35d"), "{text}");
        }
    }
}
