//! UUIDs of arrays and members: 16 random bytes.

use std::fmt;

/// A universally unique identifier (RFC 9562, version 4).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// A UUID of 16 random bytes, six bits of which are replaced by the marks of version 4.
    pub fn of_random(mut bytes: [u8; 16]) -> Uuid {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Uuid(bytes)
    }

    /// Its first eight bytes as a little-endian number: the name of an array in pages and appendices.
    pub fn id(&self) -> u64 {
        let (first, _) = self.0.split_at(8);
        u64::from_le_bytes(first.try_into().expect("eight bytes"))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_prints_in_the_usual_form() {
        assert_eq!(Uuid::of_random([0xff; 16]).to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(Uuid::of_random([0; 16]).to_string(), "00000000-0000-4000-8000-000000000000");
        let counted = Uuid(std::array::from_fn(|index| index as u8));
        assert_eq!(counted.to_string(), "00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert_eq!(counted.id(), 0x0706_0504_0302_0100);
    }
}
