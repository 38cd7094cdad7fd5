//! Escapes text from other parties: names of files and programs reach terminals, which obey control characters.

use std::borrow::Cow;
use std::path::Path;

/// The text with an escape (`\n`, `\e`, `\x07`, `\u{202e}`) for each control character and each character that changes the
/// direction of the line, so that it stays on one line and readable.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(needs_escaping) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            '\u{1b}' => shown.push_str("\\e"),
            '\0'..='\u{ff}' if needs_escaping(char) => shown.push_str(&format!("\\x{:02x}", u32::from(char))),
            _ if needs_escaping(char) => shown.extend(char.escape_unicode()),
            _ => shown.push(char),
        }
    }
    shown.into()
}

/// A path, escaped for display.
pub fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy()).into_owned()
}

/// Whether a terminal does something else with this character than show it.
pub fn needs_escaping(char: char) -> bool {
    let is_bidi =
        matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || is_bidi || matches!(char, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_escaped_and_all_other_text_stays() {
        assert_eq!(shown("e\u{1b}]0;PWN\u{7}a\nb\u{9b}31m\u{7f}.img"), "e\\e]0;PWN\\x07a\\nb\\x9b31m\\x7f.img");
        assert_eq!(shown("gpj\u{202e}exe \u{2067}x\u{200f}"), "gpj\\u{202e}exe \\u{2067}x\\u{200f}");
        let plain = "/dev/disk/by-id/naïve 日本語 🦜";
        assert!(matches!(shown(plain), Cow::Borrowed(same) if same == plain));
    }
}
