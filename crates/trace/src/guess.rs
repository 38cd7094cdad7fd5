//! Describes data in no known format in a few words, for the error message.

/// The number of lines examined.
const LINES: usize = 16;
/// Files that are no traces but are sometimes given as such: the magic bytes, their offset, and what to do.
const OTHER_FILES: &[(&[u8], usize, &str)] = &[
    (b"ustar", 257, "a tar archive: unpack it first"),
    (b"PK\x03\x04", 0, "a zip archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", 0, "a 7z archive: unpack it first"),
    (b"\x89HDF\r\n\x1a\n", 0, "an HDF5 file: write it as Parquet or CSV first"),
    (b"SQLite format 3\0", 0, "an SQLite database"),
    (b"%PDF-", 0, "a PDF"),
    (b"\x7fELF", 0, "a program"),
    (b"<!DOCTYPE", 0, "a web page: was it downloaded as it should be?"),
    (b"<html", 0, "a web page: was it downloaded as it should be?"),
];
/// Column separators and their names.
const SEPARATORS: [(u8, &str); 4] = [(b'\t', "tabs"), (b',', "commas"), (b';', "semicolons"), (b'|', "bars")];

/// What `head`, the beginning of a file, looks like.
pub(crate) fn describe(head: &[u8]) -> String {
    let has_magic =
        |&&(magic, at, _): &&(&[u8], usize, &str)| head.get(at..).is_some_and(|rest| rest.starts_with(magic));
    if let Some((.., description)) = OTHER_FILES.iter().find(has_magic) {
        return (*description).to_owned();
    }
    let is_text = !head.contains(&0) && String::from_utf8_lossy(head).chars().filter(|&c| c == '\u{fffd}').count() <= 1;
    if !is_text {
        return "binary data of an unknown kind".to_owned();
    }
    if matches!(head.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return "JSON".to_owned();
    }
    let lines = head.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(LINES);
    let lines: Vec<&[u8]> = lines.collect();
    // The maximum over lines, because the first ones may be comments.
    let columns = |count: &dyn Fn(&[u8]) -> usize| lines.iter().map(|line| count(line)).max().unwrap_or(0);
    for (separator, name) in SEPARATORS {
        let count = columns(&|line| line.split(|&byte| byte == separator).count());
        if count > 1 {
            return format!("text of {count} columns separated by {name}");
        }
    }
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    match columns(&|line| line.split(is_space).filter(|word| !word.is_empty()).count()) {
        0 | 1 => "text without columns".to_owned(),
        count => format!("text of {count} columns separated by spaces"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_no_known_format_are_described() {
        let mut tar = vec![b'a'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (head, expected) in [
            (&b"a\tb\tc\td\n1\t2\t3\t4\n"[..], "text of 4 columns separated by tabs"),
            (b"# made by x\n1,2,3\n", "text of 3 columns separated by commas"),
            (b"1 2  3 4 5 6\n", "text of 6 columns separated by spaces"),
            (b"hello\n", "text without columns"),
            (b"\n \n", "text without columns"),
            (b" {\"a\": 1}", "JSON"),
            (b"PK\x03\x04...", "a zip archive: unpack it first"),
            (&tar, "a tar archive: unpack it first"),
            (b"\x00\x01\x02", "binary data of an unknown kind"),
            ("caf\u{e9} 1".as_bytes(), "text of 2 columns separated by spaces"),
        ] {
            assert_eq!(describe(head), expected, "{}", head.escape_ascii());
        }
    }
}
