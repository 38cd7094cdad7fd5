//! Shared by comma-separated formats: columns, and times in seconds.

use crate::fields::number;

/// Exactly `N` comma-separated columns; `None`: there are more or fewer.
pub(crate) fn columns<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut rest = line.split(|&byte| byte == b',');
    let mut columns = [&line[..0]; N];
    for column in &mut columns {
        *column = rest.next()?;
    }
    rest.next().is_none().then_some(columns)
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
