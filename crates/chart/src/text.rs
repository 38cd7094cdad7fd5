//! Text in drawings: escaped, measured and broken into lines.

/// Escapes text for XML and HTML, in an element or in a quoted attribute.
///
/// Names of devices and series come from files of unknown origin, so control characters, which XML forbids even
/// escaped, and characters that change the direction of the line become U+FFFD, as on a terminal.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(char),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            char if is_hidden(char) => safe.push('\u{fffd}'),
            char => safe.push(char),
        }
    }
    safe
}

/// Whether it is a control character, a line separator, or a character that changes the direction of the line.
fn is_hidden(char: char) -> bool {
    let is_bidi =
        matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || is_bidi || matches!(char, '\u{2028}' | '\u{2029}')
}

/// The text with no-break spaces between numbers and their units or nouns.
pub fn tied(text: &str) -> String {
    const UNITS: [&str; 19] = [
        "%", "us", "ms", "s", "min", "h", "d", "B", "KiB", "MiB", "GiB", "TiB", "MB/s", "kB", "MB", "GB", "TB", "PB",
        "EB",
    ];
    let mut tied = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        tied.push_str(word);
        if let Some(next) = words.peek() {
            let unit = next.trim_end_matches(|char: char| ".,:;)".contains(char));
            let is_unit = word.ends_with(|char: char| char.is_ascii_digit()) && UNITS.contains(&unit);
            let is_number = word == "Figure" && next.starts_with(|char: char| char.is_ascii_digit());
            let belongs = is_unit || is_number;
            tied.push(if belongs { '\u{a0}' } else { ' ' });
        }
    }
    tied
}

/// The approximate width of the text in pixels, set in a sans-serif of `size` pixels.
///
/// The browser picks the typeface, so this is an upper estimate: rounded widths in em, by classes of letters, of DejaVu
/// Sans, the widest face in common use, and 1 em for characters beyond Latin, Greek and Cyrillic.
pub fn width(text: &str, size: f64) -> f64 {
    let em = |char: char| match char {
        'i' | 'j' | 'l' | 'I' | '\'' | '|' | '.' | ',' | ':' | ';' | '\u{2009}' => 0.32,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '!' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.97,
        '+' | '<' | '>' | '=' | '×' | '−' | '&' | '~' => 0.84,
        'A'..='Z' => 0.72,
        '\0'..='\u{2fff}' => 0.63,
        _ => 1.0,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// The text in lines of at most `room` pixels, broken at spaces; a word wider than that has a line of its own.
pub fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text, cut and ended by an ellipsis if it is wider than `room` pixels.
pub fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for char in text.chars() {
        short.push(char);
        if width(&short, size) + width("…", size) > room {
            short.pop();
            break;
        }
    }
    short + "…"
}

/// A coordinate for SVG, in tenths of a pixel, which is finer than any screen.
pub fn coordinate(pixels: f64) -> String {
    let tenths = (pixels * 10.0).round() / 10.0;
    // Adding zero turns -0 into 0.
    format!("{}", tenths + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_defused() {
        assert_eq!(escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
        assert_eq!(escape("a\0b\x1b[31m\u{202e}c"), "a\u{fffd}b\u{fffd}[31m\u{fffd}c");
        assert_eq!(escape("Grüße µs ≤ 5"), "Grüße µs ≤ 5");
    }

    #[test]
    fn lines_are_broken_at_spaces_only() {
        assert_eq!(wrap("one two three", 10.0, 45.0), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 10.0, 5.0), ["unbreakable"]);
        assert!(wrap("", 10.0, 5.0).is_empty());
    }

    #[test]
    fn numbers_stay_with_their_units() {
        assert_eq!(tied("10.4 % longer than 1 s, or 3 disks"), "10.4\u{a0}% longer than 1\u{a0}s, or 3 disks");
        assert_eq!(tied("it is (its Figure 9)"), "it is (its Figure\u{a0}9)");
        assert_eq!(tied(" of 5  ms\n"), " of 5  ms\n", "white space stays as it is");
    }

    #[test]
    fn cut_text_fits_its_room() {
        assert_eq!(cut("short", 10.0, 100.0), "short");
        let short = cut("a very long name of a series", 10.0, 60.0);
        assert!(short.ends_with('…') && width(&short, 10.0) <= 60.0, "{short}");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(coordinate(12.0), "12");
        assert_eq!(coordinate(12.3456), "12.3");
        assert_eq!(coordinate(-0.01), "0");
    }
}
