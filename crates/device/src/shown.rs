//! Text that others chose, as it may be shown: names of files and programs reach terminals, which obey control characters.

use std::borrow::Cow;
use std::path::Path;

/// The text with U+FFFD for each control character and each that turns the direction of the line. So it stays what it
/// is, one piece of one line.
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.contains(is_foul) { text.replace(is_foul, "\u{fffd}").into() } else { text.into() }
}

/// A path, as it may be shown.
pub fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy()).into_owned()
}

/// Does a terminal do something else with it than show it?
pub fn is_foul(char: char) -> bool {
    let is_bidi =
        matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || is_bidi || matches!(char, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_taken_out_and_all_else_stays() {
        assert_eq!(
            shown("e\u{1b}]0;PWN\u{7}a\nb\u{9b}31m\u{7f}.img"),
            "e\u{fffd}]0;PWN\u{fffd}a\u{fffd}b\u{fffd}31m\u{fffd}.img"
        );
        assert_eq!(shown("gpj\u{202e}exe \u{2067}x\u{200f}"), "gpj\u{fffd}exe \u{fffd}x\u{fffd}");
        let plain = "/dev/disk/by-id/naïve 日本語 🦜";
        assert!(matches!(shown(plain), Cow::Borrowed(same) if same == plain));
    }
}
