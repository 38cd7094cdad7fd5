//! Figures as text for people.

use crate::units::Nanos;

/// A latency: `85 us`, `1.24 ms`, `12.7 ms`, `340 ms`, `2.1 s`.
pub fn latency(seconds: f64) -> String {
    match seconds {
        _ if seconds < 0.000_999_5 => format!("{:.0} us", seconds * 1e6),
        _ if seconds < 0.009_995 => format!("{:.2} ms", seconds * 1e3),
        _ if seconds < 0.099_95 => format!("{:.1} ms", seconds * 1e3),
        _ if seconds < 0.999_5 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

/// A limit, without trailing zeroes: `20 ms`, `2.5 ms`, `150 us`.
pub fn limit(time: Nanos) -> String {
    let text = latency(time.as_secs_f64());
    let (number, unit) = text.split_once(' ').expect("a number and its unit");
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}")
}

/// A rate per second: `3.4`, `118`, `12,345`.
pub fn rate(per_second: f64) -> String {
    if per_second < 9.95 {
        return format!("{per_second:.1}");
    }
    let digits = format!("{per_second:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

/// A throughput in powers of ten, as on a disk's label: `152 MB/s`, `3.42 GB/s`.
pub fn throughput(bytes_per_second: f64) -> String {
    match bytes_per_second / 1e6 {
        mega if mega < 9.95 => format!("{mega:.1} MB/s"),
        mega if mega < 999.5 => format!("{mega:.0} MB/s"),
        mega => format!("{:.2} GB/s", mega / 1e3),
    }
}

/// A share (0..=1) in percent: `12 %`, `0.4 %`.
pub fn share(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.05 => "<0.1 %".to_owned(),
        percent if percent < 0.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_two_or_three_digits() {
        assert_eq!(
            [85e-6, 0.00124, 0.01271, 0.34, 2.1].map(latency),
            ["85 us", "1.24 ms", "12.7 ms", "340 ms", "2.1 s"]
        );
        assert_eq!([3.42, 118.2, 12_345.4, 1e6].map(rate), ["3.4", "118", "12,345", "1,000,000"]);
        assert_eq!([4.2e6, 152e6, 3.421e9].map(throughput), ["4.2 MB/s", "152 MB/s", "3.42 GB/s"]);
        assert_eq!([0.004, 0.12, 0.0, 1e-5].map(share), ["0.4 %", "12 %", "0 %", "<0.1 %"]);
        let limits = [20_000_000, 2_500_000, 150_000, 100_000_000].map(|nanos| limit(Nanos(nanos)));
        assert_eq!(limits, ["20 ms", "2.5 ms", "150 us", "100 ms"]);
    }
}
