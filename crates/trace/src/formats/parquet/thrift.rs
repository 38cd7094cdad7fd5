//! A look through Thrift's compact protocol before the `parquet` crate decodes it. The crate takes a list's word for its
//! length, and goes through two thousand million elements that take no bytes, or that a file has not got.
//!
//! Specification: Apache Thrift, doc/specs/thrift-compact-protocol.md.

/// The structures of Parquet are not half as deep.
const DEPTH_MAX: u32 = 16;

/// How many bytes the struct takes that `data` begins with; `None`: it is no struct, not whole, or has lists of truth
/// values, which are the ones that take no bytes and which neither footers nor headers of pages have.
pub(super) fn struct_bytes(data: &[u8]) -> Option<usize> {
    let mut walk = Walk { rest: data };
    walk.fields(DEPTH_MAX)?;
    Some(data.len() - walk.rest.len())
}

struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    /// Passes the fields of a struct, and its end.
    fn fields(&mut self, depth: u32) -> Option<()> {
        loop {
            let head = self.byte()?;
            if head & 0x0f == 0 {
                return Some(());
            }
            // The field's number, where it is not told by its distance from the one before.
            if head >> 4 == 0 {
                self.number()?;
            }
            // A truth value is told by its type.
            if !matches!(head & 0x0f, 1 | 2) {
                self.value(head & 0x0f, depth)?;
            }
        }
    }

    /// Passes a value that takes at least a byte.
    fn value(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            3 => self.skip(1),
            4..=6 => self.number().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(usize::try_from(length).ok()?)
            }
            9 | 10 => {
                let head = self.byte()?;
                let length = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                (0..length).try_for_each(|_| self.value(head & 0x0f, depth))
            }
            11 => {
                let length = self.number()?;
                let kinds = if length > 0 { self.byte()? } else { 0 };
                (0..length).try_for_each(|_| {
                    self.value(kinds >> 4, depth)?;
                    self.value(kinds & 0x0f, depth)
                })
            }
            12 => self.fields(depth),
            13 => self.skip(16),
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// An unsigned LEB128 number.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_of_all_types_are_measured() {
        // Fields 1 to 9: true, a byte, a number, a double, a text, a list of two numbers, a map, a struct, and 20: a UUID.
        let all: [&[u8]; 10] = [
            &[0x11],
            &[0x13, 0x7f],
            &[0x15, 0x80, 0x01],
            &[0x17, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x18, 0x02, b'h', b'i'],
            &[0x19, 0x25, 0x02, 0x04],
            &[0x1b, 0x01, 0x85, 0x01, b'k', 0x06],
            &[0x1c, 0x12, 0x00],
            &[0x0d, 0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x00],
        ];
        let whole = all.concat();
        assert_eq!(struct_bytes(&[&whole[..], b"what follows"].concat()), Some(whole.len()));
        for end in 0..whole.len() {
            assert_eq!(struct_bytes(&whole[..end]), None, "cut off at {end}");
        }
    }

    #[test]
    fn lists_are_as_long_as_their_elements() {
        let many = [0xff, 0xff, 0xff, 0xff, 0x07];
        for kind in 0..16 {
            let list = [&[0x19, 0xf0 | kind][..], &many, &[0; 100]].concat();
            assert_eq!(struct_bytes(&list), None, "list of {kind}");
            let map = [&[0x1b][..], &many, &[kind << 4 | kind], &[0; 100]].concat();
            assert_eq!(struct_bytes(&map), None, "map of {kind}");
        }
        assert_eq!(struct_bytes(&[0x1c; 1000]), None, "too deep");
        assert_eq!(struct_bytes(&[0x19, 0x00, 0x1b, 0x00, 0x00]), Some(5), "nothing in them");
    }
}
