//! Shared by comma-separated formats: columns, plain decimal numbers, and the check of the first lines.

use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine};

/// The number of lines by which formats are told apart.
const LINES_JUDGED: usize = 16;

/// Exactly `N` comma-separated columns; `None`: there are more or fewer.
pub(crate) fn columns<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut rest = line.split(|&byte| byte == b',');
    let mut columns = [&line[..0]; N];
    for column in &mut columns {
        *column = rest.next()?;
    }
    rest.next().is_none().then_some(columns)
}

/// A number of decimal digits only; `None` if it is not, or exceeds `u64`.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Seconds with up to nine decimals, exactly, in nanoseconds; `None` if it is no such number, or exceeds `u64`.
pub(crate) fn seconds(text: &[u8]) -> Option<u64> {
    let (whole, decimals) = match text.iter().position(|&byte| byte == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b"0"[..]),
    };
    if decimals.len() > 9 {
        return None;
    }
    let fraction = number(decimals)? * 10u64.pow(9 - decimals.len() as u32);
    number(whole)?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Whether the first [`LINES_JUDGED`] lines of `head` are records of `format` or lines that it ignores, at least one a
/// record.
///
/// The last line counts only if it is whole, or the only one. A format with a longer header, or one that holds records
/// back, needs its own `looks_like`.
pub(crate) fn are_records(mut format: impl TextFormat, head: &[u8]) -> bool {
    let whole = head.iter().rposition(|&byte| byte == b'\n').map_or(head, |at| &head[..at]);
    let mut devices = Devices::default();
    let mut records = 0;
    for line in whole.split(|&byte| byte == b'\n').take(LINES_JUDGED) {
        match format.line(line.strip_suffix(b"\r").unwrap_or(line), &mut devices) {
            TextLine::Record(_) => records += 1,
            TextLine::Ignored => {}
            TextLine::Malformed(_) => return false,
        }
    }
    records > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted() {
        assert_eq!(columns::<3>(b"a,,c"), Some([&b"a"[..], b"", b"c"]));
        assert_eq!(columns::<3>(b"a,b"), None);
        assert_eq!(columns::<3>(b"a,b,c,"), None);
        assert_eq!(columns::<1>(b""), Some([&b""[..]]));
    }

    #[test]
    fn numbers_are_digits_and_fit() {
        assert_eq!(number(b"0018446744073709551615"), Some(u64::MAX));
        for wrong in [&b"18446744073709551616"[..], b"", b"+1", b"-1", b" 1", b"1 ", b"0x1", b"1.0"] {
            assert_eq!(number(wrong), None, "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn seconds_are_exact() {
        assert_eq!(seconds(b"1456099199.123456789"), Some(1_456_099_199_123_456_789));
        assert_eq!(seconds(b"0.000385"), Some(385_000));
        assert_eq!(seconds(b"7"), Some(7_000_000_000));
        assert_eq!(seconds(b"18446744073.709551615"), Some(u64::MAX));
        for wrong in [&b"18446744073.709551616"[..], b"1.", b".5", b"1.0000000001", b"1e-5", b"-1.0", b"1.2.3", b"nan"]
        {
            assert_eq!(seconds(wrong), None, "{}", wrong.escape_ascii());
        }
    }
}
