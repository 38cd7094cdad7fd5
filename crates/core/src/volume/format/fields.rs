//! Writes and reads consecutive little-endian fields.

/// Writes fields into a block from its start on; what is not written stays as it was.
pub struct FieldWriter<'a> {
    rest: &'a mut [u8],
}

/// Reads the fields of a block from its start on.
pub struct FieldReader<'a> {
    rest: &'a [u8],
}

impl<'a> FieldWriter<'a> {
    /// A writer at the start of this block.
    pub fn new(block: &'a mut [u8]) -> FieldWriter<'a> {
        FieldWriter { rest: block }
    }

    /// Writes these bytes.
    ///
    /// # Panics
    /// When the block has no room for them.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let (place, rest) = std::mem::take(&mut self.rest).split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        self.rest = rest;
    }

    /// Writes a text at the start of a field of `len` bytes; the rest of the field stays as it was.
    ///
    /// # Panics
    /// When the text is longer than the field, or the block has no room for the field.
    pub fn text(&mut self, text: &str, len: usize) {
        self.bytes(text.as_bytes());
        self.skip(len - text.len());
    }

    /// Writes one byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    /// Writes four bytes.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Writes eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Skips `len` bytes.
    pub fn skip(&mut self, len: usize) {
        self.rest = &mut std::mem::take(&mut self.rest)[len..];
    }
}

impl<'a> FieldReader<'a> {
    /// A reader at the start of this block.
    pub fn new(block: &'a [u8]) -> FieldReader<'a> {
        FieldReader { rest: block }
    }

    /// Reads the next `len` bytes.
    ///
    /// # Panics
    /// When the block ends before.
    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.rest.split_at(len);
        self.rest = rest;
        bytes
    }

    /// Reads the next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().expect("so many were taken")
    }

    /// Reads a text from a field of `len` bytes; `None` unless it is UTF-8 with only zeros behind it.
    pub fn text(&mut self, len: usize) -> Option<&'a str> {
        let bytes = self.bytes(len);
        let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        std::str::from_utf8(&bytes[..end]).ok().filter(|text| !text.contains('\0'))
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    /// Reads four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Reads eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_back_as_they_were_written() {
        let mut block = [0; 32];
        let mut writer = FieldWriter::new(&mut block);
        writer.u8(1);
        writer.u32(0x0203_0405);
        writer.text("né", 6);
        writer.skip(2);
        writer.u64(9);
        assert_eq!(&block[..5], [1, 5, 4, 3, 2]);
        let mut reader = FieldReader::new(&block);
        assert_eq!((reader.u8(), reader.u32(), reader.text(6)), (1, 0x0203_0405, Some("né")));
        assert_eq!(reader.array(), [0, 0]);
        assert_eq!(reader.u64(), 9);
        assert_eq!(reader.bytes(11), [0; 11]);
    }

    #[test]
    fn a_text_with_a_zero_inside_or_invalid_utf8_is_refused() {
        assert_eq!(FieldReader::new(b"a\0b\0").text(4), None);
        assert_eq!(FieldReader::new(b"\xff\0\0\0").text(4), None);
        assert_eq!(FieldReader::new(b"\0\0\0\0").text(4), Some(""));
    }
}
