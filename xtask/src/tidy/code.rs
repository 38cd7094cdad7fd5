//! Just enough of Rust's grammar to distinguish code from prose (comments, strings and characters).

/// `text` with comments, strings and character literals replaced by spaces. Lines and byte offsets stay.
pub fn without_prose(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = prose_end(bytes, at);
        for byte in &mut out[at..end.max(at)] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(out).expect("prose is blanked by whole characters")
}

/// `code` (the output of [`without_prose`]) with every item under `#[cfg(test)]` replaced by spaces, too.
pub fn without_tests(code: &str) -> String {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut out = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = code[from..].find(ATTRIBUTE) {
        let start = from + found;
        let end = item_end(code.as_bytes(), start + ATTRIBUTE.len());
        out[start..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        from = end;
    }
    String::from_utf8(out).expect("items are blanked by whole characters")
}

/// Whether `byte` can be part of a name.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The end of the prose that starts at `at`; `at` itself if none starts there.
fn prose_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    match rest[0] {
        b'/' if rest.starts_with(b"//") => at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
        b'/' if rest.starts_with(b"/*") => at + block_comment_len(rest),
        b'"' => at + string_len(rest),
        b'\'' => at + char_len(rest),
        b'r' if at == 0 || !is_word(bytes[at - 1]) || is_string_prefix(bytes, at - 1) => at + raw_string_len(rest),
        _ => at,
    }
}

/// Whether the `b` or `c` at `at` may stand before a raw string.
fn is_string_prefix(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[at], b'b' | b'c') && (at == 0 || !is_word(bytes[at - 1]))
}

fn block_comment_len(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..rest.len().min(at + 2)] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string_len(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of the raw string at the start of `rest`; 0 for a raw identifier, or any other word that begins with `r`.
fn raw_string_len(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&b| b == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let body = 2 + hashes;
    let len = rest[body..].windows(close.len()).position(|window| window == close);
    len.map_or(rest.len(), |len| body + len + close.len())
}

/// Length of the character literal at the start of `rest`; 0 for a lifetime.
fn char_len(rest: &[u8]) -> usize {
    match rest.get(1) {
        Some(b'\\') => {
            let close = rest.iter().skip(3).position(|&b| b == b'\'');
            close.map_or(rest.len(), |close| close + 4)
        }
        Some(&first) => {
            // The width of the UTF-8 character that `first` begins.
            let width = if first < 0x80 { 1 } else { first.leading_ones() as usize };
            if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 0 }
        }
        None => 0,
    }
}

/// The end of the item (or statement) that starts behind `at`: its `;`, or the `}` that closes its first `{`.
fn item_end(code: &[u8], at: usize) -> usize {
    let (mut braces, mut brackets) = (0, 0);
    for (offset, &byte) in code[at..].iter().enumerate() {
        match byte {
            b'{' => braces += 1,
            b'}' => braces -= 1,
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets -= 1,
            _ => {}
        }
        if braces == 0 && brackets == 0 && matches!(byte, b'}' | b';') {
            return at + offset + 1;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_blanked_and_code_is_kept() {
        for (text, code) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x \" y", z)"#, "f(        , z)"),
            (r##"f(r#"x " y"#, br"z")"##, "f(          , b    )"),
            ("r#type::x", "r#type::x"),
            ("for x in y", "for x in y"),
            (r"m('\'', 'a', '\u{e9}', 'é')", "m(    ,    ,         ,     )"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("\"open", "     "),
        ] {
            let blanked: String = without_prose(text);
            assert_eq!(blanked.trim_end(), code.trim_end(), "{text}");
            assert_eq!(blanked.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn test_items_are_blanked() {
        let code = "use a;\n#[cfg(test)]\nuse b;\n#[cfg(test)]\nmod tests {\n fn f([x; 2]) { g(); }\n}\nuse c;\n";
        assert_eq!(without_tests(code).split_whitespace().collect::<Vec<_>>(), ["use", "a;", "use", "c;"]);
        assert_eq!(without_tests(code).lines().count(), code.lines().count());
    }
}
