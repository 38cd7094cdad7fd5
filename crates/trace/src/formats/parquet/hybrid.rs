//! Decodes Parquet's hybrid of runs and packed bits, used for dictionary indices and for which values are null.
//!
//! Specification: Apache Parquet, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".

use bytes::Bytes;

/// A sequence of small numbers of the same width in bits.
pub(super) struct Hybrid {
    data: Bytes,
    /// The offset of the next run.
    at: usize,
    width: u32,
    run: HybridRun,
}

/// A run of numbers.
enum HybridRun {
    /// The same number, `left` times.
    Same { value: u32, left: usize },
    /// Numbers packed from the lowest bit of byte `start` on: `next` of them were taken, `left` are left.
    Packed { start: usize, next: usize, left: usize },
}

impl Hybrid {
    /// The numbers of `width` bits in `data`; `None`: `width` exceeds 32.
    pub(super) fn new(data: Bytes, width: u8) -> Option<Hybrid> {
        let run = HybridRun::Same { value: 0, left: 0 };
        (width <= 32).then_some(Hybrid { data, at: 0, width: width.into(), run })
    }

    /// Appends the next `count` numbers to `out`; `None`: there are fewer.
    pub(super) fn read(&mut self, count: usize, out: &mut Vec<u32>) -> Option<()> {
        let mut wanted = count;
        while wanted > 0 {
            match &mut self.run {
                HybridRun::Same { left: 0, .. } | HybridRun::Packed { left: 0, .. } => self.run = self.run_next()?,
                HybridRun::Same { value, left } => {
                    let taken = wanted.min(*left);
                    out.resize(out.len() + taken, *value);
                    *left -= taken;
                    wanted -= taken;
                }
                HybridRun::Packed { start, next, left } => {
                    let taken = wanted.min(*left);
                    unpack(self.data.get(*start..)?, self.width as usize, *next..*next + taken, out)?;
                    *next += taken;
                    *left -= taken;
                    wanted -= taken;
                }
            }
        }
        Some(())
    }

    /// The run that begins at `at`.
    fn run_next(&mut self) -> Option<HybridRun> {
        let header = self.header()?;
        let count = usize::try_from(header >> 1).ok()?;
        if header & 1 == 0 {
            let bytes = self.width.div_ceil(8) as usize;
            let mut value = [0; 4];
            value[..bytes].copy_from_slice(self.data.get(self.at..self.at + bytes)?);
            self.at += bytes;
            return Some(HybridRun::Same { value: u32::from_le_bytes(value), left: count });
        }
        // Groups of eight numbers take `width` bytes.
        let (start, bytes) = (self.at, count.checked_mul(self.width as usize)?);
        self.at = self.at.checked_add(bytes)?;
        Some(HybridRun::Packed { start, next: 0, left: count.checked_mul(8)? })
    }

    /// An unsigned LEB128 number.
    fn header(&mut self) -> Option<u64> {
        let mut header = 0;
        for shift in (0..35).step_by(7) {
            let &byte = self.data.get(self.at)?;
            self.at += 1;
            header |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(header);
            }
        }
        None
    }
}

/// Appends the packed numbers of a range to `out`.
fn unpack(data: &[u8], width: usize, range: std::ops::Range<usize>, out: &mut Vec<u32>) -> Option<()> {
    if data.len() < (range.end.checked_mul(width)?).div_ceil(8) {
        return None;
    }
    let mask = (1u64 << width) - 1;
    let number = |word: [u8; 8], bit: usize| (u64::from_le_bytes(word) >> (bit % 8) & mask) as u32;
    // As long as eight bytes can be loaded at once, they contain the number, whatever its first bit.
    let whole = (data.len().saturating_sub(7) * 8).checked_div(width).unwrap_or(0).clamp(range.start, range.end);
    out.extend((range.start..whole).map(|index| {
        let bit = index * width;
        number(data[bit / 8..bit / 8 + 8].try_into().expect("eight bytes"), bit)
    }));
    out.extend((whole..range.end).map(|index| {
        let bit = index * width;
        let rest = &data[(bit / 8).min(data.len())..];
        let mut word = [0; 8];
        let bytes = rest.len().min(8);
        word[..bytes].copy_from_slice(&rest[..bytes]);
        number(word, bit)
    }));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[u8], width: u8, counts: &[usize]) -> Option<Vec<u32>> {
        let mut hybrid = Hybrid::new(Bytes::copy_from_slice(data), width)?;
        let mut out = Vec::new();
        for &count in counts {
            hybrid.read(count, &mut out)?;
        }
        Some(out)
    }

    #[test]
    fn the_example_of_the_specification() {
        // Encodings.md: 0 to 7 in three bits each, as one group.
        let data = [0x03, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(read(&data, 3, &[8]), Some((0..8).collect()));
        assert_eq!(read(&data, 3, &[1, 4, 3]), Some((0..8).collect()));
        assert_eq!(read(&data, 3, &[9]), None);
        assert_eq!(read(&data[..3], 3, &[5]), Some((0..5).collect()));
        assert_eq!(read(&data[..3], 3, &[6]), None);
    }

    #[test]
    fn runs_and_groups_follow_each_other() {
        // 300 in nine bits, 200 times, then a group of eight.
        let mut data = vec![0x90, 0x03, 0x2c, 0x01, 0x03];
        let packed = (0..8u128).fold(0, |bits, number| bits | (number * 60) << (9 * number));
        data.extend(&packed.to_le_bytes()[..9]);
        let expected: Vec<u32> = std::iter::repeat_n(300, 200).chain((0..8).map(|number| number * 60)).collect();
        assert_eq!(read(&data, 9, &[150, 58]), Some(expected));
    }

    #[test]
    fn no_bits_are_zeros() {
        assert_eq!(read(&[0x14], 0, &[10]), Some(vec![0; 10]));
        assert_eq!(read(&[0x05], 0, &[16]), Some(vec![0; 16]));
        assert_eq!(read(&[0x14], 33, &[1]), None);
        assert_eq!(read(&[0xff; 9], 1, &[1]), None);
    }
}
