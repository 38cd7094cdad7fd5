//! Decodes ZFS's lists of names and values (nvlist) in XDR (RFC 4506), as they lie in the labels of disks. The bytes may be anything:
//! depth, counts and lengths are bounded, and what makes no sense is an error.
//!
//! ```text
//! header  encoding 1 (XDR), byte order, 0, 0
//! list    version 0, flags, pairs, 8 bytes of zeros
//! pair    its size, its size in memory, name, type, number of elements, value     all big-endian, in units of 4 bytes
//! ```
//! Source: OpenZFS, `nvpair.h` and `nvpair.c` (the comment on the XDR encoding).

use std::collections::BTreeMap;

/// Lists inside lists, at most.
const DEPTH_MAX: usize = 16;
/// Pairs in all, at most: a label of 112 KiB has no room for more.
const PAIRS_MAX: usize = 8192;

/// A list of names and values.
pub type NvList = BTreeMap<String, NvValue>;

/// A value. Those of other types are skipped: no label's meaning depends on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NvValue {
    /// Nothing but its name.
    Flag,
    /// A number.
    Number(u64),
    /// A text; what is not UTF-8 is replaced.
    Text(String),
    /// Several numbers.
    Numbers(Vec<u64>),
    /// A list.
    List(NvList),
    /// Several lists.
    Lists(Vec<NvList>),
}

impl NvValue {
    /// The number in it.
    pub fn number(&self) -> Option<u64> {
        if let NvValue::Number(number) = self { Some(*number) } else { None }
    }

    /// The text in it.
    pub fn text(&self) -> Option<&str> {
        if let NvValue::Text(text) = self { Some(text) } else { None }
    }
}

/// Decodes a list with its header.
///
/// # Errors
/// In words: what makes no sense.
pub fn decode(bytes: &[u8]) -> Result<NvList, &'static str> {
    let header = bytes.get(..4).ok_or("it is too short")?;
    if header[0] != 1 {
        return Err("it is not encoded in XDR");
    }
    let mut reader = XdrReader { bytes: &bytes[4..], pairs: 0 };
    reader.list(0)
}

struct XdrReader<'a> {
    bytes: &'a [u8],
    pairs: usize,
}

impl<'a> XdrReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or("it ends too early")?;
        self.bytes = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, &'static str> {
        Ok(self.take(4)?.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    fn long(&mut self) -> Result<u64, &'static str> {
        Ok(u64::from(self.word()?) << 32 | u64::from(self.word()?))
    }

    fn text(&mut self) -> Result<String, &'static str> {
        let length = self.word()? as usize;
        let padded = length.checked_next_multiple_of(4).ok_or("a text is too long")?;
        let bytes = self.take(padded)?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    fn list(&mut self, depth: usize) -> Result<NvList, &'static str> {
        if depth > DEPTH_MAX {
            return Err("too many lists inside one another");
        }
        if self.word()? != 0 {
            return Err("it has an unknown version");
        }
        self.word()?; // whether names are unique
        let mut list = NvList::new();
        loop {
            let before = self.bytes.len();
            let (size, in_memory) = (self.word()? as usize, self.word()?);
            if (size, in_memory) == (0, 0) {
                return Ok(list);
            }
            self.pairs += 1;
            if self.pairs > PAIRS_MAX {
                return Err("too many pairs");
            }
            let name = self.text()?;
            let value = self.value(depth)?;
            let read = before - self.bytes.len();
            // What was skipped ends where its pair does.
            let rest = size.checked_sub(read).ok_or("a pair is longer than it says")?;
            match value {
                Some(value) if rest == 0 => {
                    list.insert(name, value);
                }
                Some(_) => return Err("a pair is shorter than it says"),
                None => {
                    self.take(rest)?;
                }
            }
        }
    }

    /// A value; `None`: its type is of no use here, and it was not read.
    fn value(&mut self, depth: usize) -> Result<Option<NvValue>, &'static str> {
        let (kind, count) = (self.word()?, self.word()? as usize);
        Ok(Some(match (kind, count) {
            (1, _) => NvValue::Flag,
            (8, 1) => NvValue::Number(self.long()?),
            (9, 1) => NvValue::Text(self.text()?),
            (16, _) if count <= self.bytes.len() / 8 => {
                NvValue::Numbers((0..count).map(|_| self.long()).collect::<Result<_, _>>()?)
            }
            (19, 1) => NvValue::List(self.list(depth + 1)?),
            (20, _) if count <= PAIRS_MAX => {
                NvValue::Lists((0..count).map(|_| self.list(depth + 1)).collect::<Result<_, _>>()?)
            }
            _ => return Ok(None),
        }))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Encodes a list without its header, as ZFS does.
    pub(crate) fn encoded(list: &NvList) -> Vec<u8> {
        let text = |text: &str| {
            let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
            bytes.extend(text.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let mut bytes = vec![0, 0, 0, 0, 0, 0, 0, 1];
        for (name, value) in list {
            let (kind, count, value): (u32, usize, Vec<u8>) = match value {
                NvValue::Flag => (1, 0, Vec::new()),
                NvValue::Number(number) => (8, 1, number.to_be_bytes().to_vec()),
                NvValue::Text(value) => (9, 1, text(value)),
                NvValue::Numbers(all) => (16, all.len(), all.iter().flat_map(|number| number.to_be_bytes()).collect()),
                NvValue::List(list) => (19, 1, encoded(list)),
                NvValue::Lists(lists) => (20, lists.len(), lists.iter().flat_map(encoded).collect()),
            };
            let mut pair = text(name);
            pair.extend(kind.to_be_bytes());
            pair.extend((count as u32).to_be_bytes());
            pair.extend(value);
            let size = (pair.len() + 8) as u32;
            bytes.extend(size.to_be_bytes());
            bytes.extend((size + 16).to_be_bytes());
            bytes.extend(pair);
        }
        bytes.extend([0; 8]);
        bytes
    }

    fn with_header(list: &NvList) -> Vec<u8> {
        [vec![1, 1, 0, 0], encoded(list)].concat()
    }

    fn sample() -> NvList {
        let leaf = NvList::from([
            ("guid".into(), NvValue::Number(u64::MAX)),
            ("path".into(), NvValue::Text("/dev/sda1".into())),
        ]);
        NvList::from([
            ("name".into(), NvValue::Text("tank".into())),
            ("txg".into(), NvValue::Number(1 << 40)),
            ("holes".into(), NvValue::Numbers(vec![1, 2, 3])),
            ("flag".into(), NvValue::Flag),
            (
                "tree".into(),
                NvValue::List(NvList::from([("children".into(), NvValue::Lists(vec![leaf.clone(), leaf]))])),
            ),
        ])
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        assert_eq!(decode(&with_header(&sample())), Ok(sample()));
    }

    #[test]
    fn other_types_are_skipped_by_their_size() {
        let mut bytes = vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        // A boolean value (type 21) called `b`.
        let pair: Vec<u8> = [28_u32, 32, 1].iter().flat_map(|word| word.to_be_bytes()).chain(*b"b\0\0\0").collect();
        bytes.extend(pair);
        bytes.extend([21_u32, 1, 1].iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend(&encoded(&sample())[8..]);
        assert_eq!(decode(&bytes), Ok(sample()));
    }

    #[test]
    fn no_cut_and_no_changed_byte_makes_it_panic_or_read_on() {
        let bytes = with_header(&sample());
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = decode(&changed);
            }
        }
        // Lists without end.
        let deep: Vec<u8> =
            [vec![1, 1, 0, 0], [0_u32, 1, 100, 100, 1].iter().flat_map(|word| word.to_be_bytes()).collect()].concat();
        assert!(decode(&deep).is_err());
        let mut nested = sample();
        for _ in 0..DEPTH_MAX + 2 {
            nested = NvList::from([("l".into(), NvValue::List(nested))]);
        }
        assert_eq!(decode(&with_header(&nested)), Err("too many lists inside one another"));
    }
}
