//! Checks structures in Thrift's compact protocol before the `parquet` crate decodes them.
//!
//! The crate trusts the length of a list, and would iterate over two thousand million elements that take no bytes, or
//! that the file does not have.
//!
//! Specification: Apache Thrift, doc/specs/thrift-compact-protocol.md.

/// The greatest depth of structures; those of Parquet are less than half as deep.
const DEPTH_MAX: u32 = 16;

/// The type of a field, as far as the encoding shows it.
#[derive(Clone, Copy)]
pub(super) enum ThriftKind {
    /// A boolean.
    Truth,
    /// A number of eight bits.
    Byte,
    /// A whole number of more than eight bits, or of an enumeration.
    Number,
    /// A floating-point number.
    Double,
    /// A text or other bytes.
    Bytes,
    /// A structure; a union is encoded as one, too.
    Struct(Fields),
    /// A list.
    List(&'static ThriftKind),
}

/// The known fields of a structure, by number.
pub(super) type Fields = &'static [(i16, ThriftKind)];

/// The number of bytes of the structure at the beginning of `data`. `None`: it is incomplete; a field of `known` has
/// another type, which the crate would not notice; or it has a list of booleans, the only elements without bytes, which
/// neither footers nor page headers have.
pub(super) fn struct_bytes(data: &[u8], known: Fields) -> Option<usize> {
    let mut walk = ThriftWalk { rest: data };
    walk.fields(known, DEPTH_MAX)?;
    Some(data.len() - walk.rest.len())
}

struct ThriftWalk<'a> {
    rest: &'a [u8],
}

impl ThriftWalk<'_> {
    /// Skips the fields of a structure, and its end.
    fn fields(&mut self, known: Fields, depth: u32) -> Option<()> {
        let mut id = 0i16;
        loop {
            let head = self.byte()?;
            if head & 0x0f == 0 {
                return Some(());
            }
            // The distance from the previous field's number, or the number itself, in zigzag.
            id = match head >> 4 {
                0 => i16::try_from(self.number()?).ok().map(|coded| coded >> 1 ^ -(coded & 1))?,
                distance => id.checked_add(distance.into())?,
            };
            let kind = known.iter().find(|(known, _)| *known == id).map(|(_, kind)| *kind);
            match (head & 0x0f, kind) {
                // The type of a boolean is its value.
                (1 | 2, None | Some(ThriftKind::Truth)) => {}
                (1 | 2, Some(_)) | (_, Some(ThriftKind::Truth)) => return None,
                (written, kind) => self.value(written, kind, depth)?,
            }
        }
    }

    /// Skips a value that takes at least a byte, and checks its type if `kind` is known.
    fn value(&mut self, written: u8, kind: Option<ThriftKind>, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match (written, kind) {
            (3, None | Some(ThriftKind::Byte)) => self.skip(1),
            (4..=6, None | Some(ThriftKind::Number)) => self.number().map(drop),
            (7, None | Some(ThriftKind::Double)) => self.skip(8),
            (8, None | Some(ThriftKind::Bytes)) => {
                let length = self.number()?;
                self.skip(usize::try_from(length).ok()?)
            }
            (9 | 10, None) => self.list(None, depth),
            (9, Some(ThriftKind::List(kind))) => self.list(Some(*kind), depth),
            (11, None) => {
                let length = self.number()?;
                let kinds = if length > 0 { self.byte()? } else { 0 };
                (0..length).try_for_each(|_| {
                    self.value(kinds >> 4, None, depth)?;
                    self.value(kinds & 0x0f, None, depth)
                })
            }
            (12, None) => self.fields(&[], depth),
            (12, Some(ThriftKind::Struct(known))) => self.fields(known, depth),
            (13, None) => self.skip(16),
            _ => None,
        }
    }

    /// Skips a list, and checks the type of its elements if `kind` is known.
    fn list(&mut self, kind: Option<ThriftKind>, depth: u32) -> Option<()> {
        let head = self.byte()?;
        let length = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        (0..length).try_for_each(|_| self.value(head & 0x0f, kind, depth))
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
        let known: Fields = &[
            (1, ThriftKind::Truth),
            (2, ThriftKind::Byte),
            (3, ThriftKind::Number),
            (4, ThriftKind::Double),
            (5, ThriftKind::Bytes),
            (6, ThriftKind::List(&ThriftKind::Number)),
            (8, ThriftKind::Struct(&[(1, ThriftKind::Truth)])),
        ];
        assert_eq!(struct_bytes(&[&whole[..], b"what follows"].concat(), known), Some(whole.len()));
        assert_eq!(struct_bytes(&whole, &[]), Some(whole.len()), "of fields that are not known");
        for end in 0..whole.len() {
            assert_eq!(struct_bytes(&whole[..end], known), None, "cut off at {end}");
        }
    }

    #[test]
    fn known_fields_are_written_as_what_they_are() {
        let known: Fields = &[
            (1, ThriftKind::Number),
            (2, ThriftKind::Struct(&[(1, ThriftKind::List(&ThriftKind::Bytes))])),
            (3, ThriftKind::Truth),
        ];
        let sound = [0x15, 0x02, 0x1c, 0x19, 0x18, 0x00, 0x00, 0x11, 0x00];
        assert_eq!(struct_bytes(&sound, known), Some(9));
        for (at, other) in [(0, 0x13), (0, 0x11), (2, 0x15), (3, 0x1a), (4, 0x15), (7, 0x15)] {
            let mut wrong = sound;
            wrong[at] = other;
            assert_eq!(struct_bytes(&wrong, known), None, "{other:#x} at {at}");
        }
        // The same field numbers, not as distances: 1 and 2 in zigzag.
        assert_eq!(struct_bytes(&[0x05, 0x02, 0x02, 0x0c, 0x04, 0x00, 0x00], known), Some(7));
        assert_eq!(struct_bytes(&[0x05, 0x04, 0x02, 0x00], known), None);
    }

    #[test]
    fn lists_are_as_long_as_their_elements() {
        let many = [0xff, 0xff, 0xff, 0xff, 0x07];
        for kind in 0..16 {
            let list = [&[0x19, 0xf0 | kind][..], &many, &[0; 100]].concat();
            assert_eq!(struct_bytes(&list, &[]), None, "list of {kind}");
            let map = [&[0x1b][..], &many, &[kind << 4 | kind], &[0; 100]].concat();
            assert_eq!(struct_bytes(&map, &[]), None, "map of {kind}");
        }
        assert_eq!(struct_bytes(&[0x1c; 1000], &[]), None, "too deep");
        assert_eq!(struct_bytes(&[0x19, 0x00, 0x1b, 0x00, 0x00], &[]), Some(5), "nothing in them");
    }
}
