//! Fields of text formats: times, numbers, ranges, and devices named by number.

use crate::record::DeviceId;
use crate::record_sink::Devices;
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES};

/// A second is ten to this power nanoseconds.
pub(crate) const SECONDS: u32 = 9;
/// A millisecond is ten to this power nanoseconds.
pub(crate) const MILLISECONDS: u32 = 6;
/// A microsecond is ten to this power nanoseconds.
pub(crate) const MICROSECONDS: u32 = 3;

/// A time with or without decimals, exactly; `None` if it is none, or exceeds `u64` nanoseconds. `unit` is the unit as
/// a power of ten in nanoseconds, such as [`MILLISECONDS`]. Digits below a nanosecond are cut off;
/// [`strict_seconds`] refuses them.
pub(crate) fn time(text: &[u8], unit: u32) -> Option<Nanos> {
    let mut parts = text.splitn(2, |&byte| byte == b'.');
    let whole = number(parts.next()?)?.checked_mul(10u64.pow(unit))?;
    let decimals = parts.next().unwrap_or(b"0");
    let kept = &decimals[..decimals.len().min(unit as usize)];
    if decimals.is_empty() || !decimals.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fraction = if kept.is_empty() { 0 } else { number(kept)? * 10u64.pow(unit - kept.len() as u32) };
    whole.checked_add(fraction).map(Nanos)
}

/// A time in seconds with at most nine decimals, exactly; `None` if it is none, or exceeds `u64` nanoseconds. Unlike
/// [`time`] it takes no unit, and refuses more decimals, which [`time`] cuts off: it is for formats that never have
/// more (Systor'17), where a longer one says that the line is another format's.
pub(crate) fn strict_seconds(text: &[u8]) -> Option<Nanos> {
    let (whole, decimals) = match text.iter().position(|&byte| byte == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b"0"[..]),
    };
    if decimals.len() > 9 {
        return None;
    }
    let fraction = number(decimals)? * 10u64.pow(9 - decimals.len() as u32);
    number(whole)?.checked_mul(1_000_000_000)?.checked_add(fraction).map(Nanos)
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

/// A hexadecimal number, with or without `0x`; `None` if it is none, or exceeds `u64`.
pub(crate) fn hex(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let digit = char::from(byte).to_digit(16)?;
        (value >> 60 == 0).then_some((value << 4) | u64::from(digit))
    })
}

/// The range of `length` bytes from `offset` on; `None` if its end exceeds `u64`.
pub(crate) fn range(offset: u64, length: u64) -> Option<(Bytes, Bytes)> {
    offset.checked_add(length)?;
    Some((Bytes(offset), Bytes(length)))
}

/// The range of `count` sectors of 512 bytes from `sector` on; `None` if its end exceeds `u64` bytes.
pub(crate) fn sectors(sector: u64, count: u64) -> Option<(Bytes, Bytes)> {
    range(sector.checked_mul(SECTOR_BYTES)?, count.checked_mul(SECTOR_BYTES)?)
}

/// The fields of a line that are separated by white space.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The devices of a trace that refers to them by number.
pub(crate) struct Numbered {
    /// The beginning of their names.
    prefix: &'static str,
    /// The last one used: successive requests often go to the same device.
    last: Option<(u64, DeviceId)>,
}

impl Numbered {
    /// Names devices by `prefix` and their number.
    pub(crate) fn new(prefix: &'static str) -> Numbered {
        Numbered { prefix, last: None }
    }

    /// The id of a device number; `None`: there are too many devices.
    pub(crate) fn id(&mut self, number: u64, devices: &mut Devices) -> Option<DeviceId> {
        if let Some((last, id)) = self.last
            && last == number
        {
            return Some(id);
        }
        let id = devices.id(format!("{}{number}", self.prefix).as_bytes())?;
        self.last = Some((number, id));
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(time(b"0.000001", 9), Some(Nanos(1_000)));
        assert_eq!(time(b"12", 9), Some(Nanos::from_secs(12)));
        assert_eq!(time(b"18446744073.709551615", 9), Some(Nanos(u64::MAX)));
        assert_eq!(time(b"18446744073.709551616", 9), None);
        assert_eq!(time(b"1.0000000019", 9), Some(Nanos(1_000_000_001)));
        assert_eq!(time(b"0.1", 6), Some(Nanos(100_000)));
        assert_eq!(time(b"7.9", 0), Some(Nanos(7)));
        for wrong in [&b""[..], b".", b"1.", b".5", b"-1", b"1e3", b"1.2.3", b"1.x", b"1.0000000000x"] {
            assert_eq!(time(wrong, 9), None, "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn strict_seconds_are_exact() {
        assert_eq!(strict_seconds(b"1456099199.123456789"), Some(Nanos(1_456_099_199_123_456_789)));
        assert_eq!(strict_seconds(b"0.000385"), Some(Nanos(385_000)));
        assert_eq!(strict_seconds(b"7"), Some(Nanos::from_secs(7)));
        assert_eq!(strict_seconds(b"18446744073.709551615"), Some(Nanos(u64::MAX)));
        for wrong in [&b"18446744073.709551616"[..], b"1.", b".5", b"1.0000000001", b"1e-5", b"-1.0", b"1.2.3", b"nan"]
        {
            assert_eq!(strict_seconds(wrong), None, "{}", wrong.escape_ascii());
        }
        assert_eq!(time(b"1.0000000001", 9), Some(Nanos::from_secs(1)), "the other way cuts off");
    }

    #[test]
    fn numbers_are_digits_and_fit() {
        assert_eq!(number(b"0018446744073709551615"), Some(u64::MAX));
        for wrong in [&b"18446744073709551616"[..], b"", b"+1", b"-1", b" 1", b"1 ", b"0x1", b"1.0"] {
            assert_eq!(number(wrong), None, "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn hexadecimal_numbers_fit() {
        assert_eq!(hex(b"0xfFfF"), Some(0xffff));
        assert_eq!(hex(b"ffffffffffffffff"), Some(u64::MAX));
        for wrong in [&b""[..], b"0x", b"10000000000000000", b"g", b"-1", b"\xff"] {
            assert_eq!(hex(wrong), None, "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn ranges_end_within_64_bits() {
        assert_eq!(sectors(2, 3), Some((Bytes(1024), Bytes(1536))));
        assert_eq!(sectors(1 << 55, 1), None);
        assert_eq!(sectors((1 << 55) - 1, 1), None);
        assert_eq!(range(u64::MAX, 1), None);
    }

    #[test]
    fn numbered_devices_keep_their_ids() {
        let (mut numbered, mut devices) = (Numbered::new("asu"), Devices::default());
        let ids = [1, 1, 0, 1].map(|number| numbered.id(number, &mut devices).unwrap().0);
        assert_eq!(ids, [0, 0, 1, 0]);
        assert_eq!(devices.names(), ["asu1", "asu0"]);
    }
}
