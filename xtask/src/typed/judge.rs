//! Compares what a document shows with what a command printed; numbers are masked.

/// The first line shown that was not printed in its turn; `None`: all were. A line `...` lets any number of lines pass, and so do lines that
/// are printed before the first line and after the last line shown, or between them.
pub fn missing<'a>(shown: &'a [String], printed: &str) -> Option<&'a str> {
    let printed: Vec<String> = printed.lines().map(masked).collect();
    let mut from = 0;
    for line in shown.iter().filter(|line| !line.trim().is_empty() && line.trim() != "...") {
        let wanted = masked(line);
        match printed[from..].iter().position(|line| *line == wanted) {
            Some(index) => from += index + 1,
            None => return Some(line),
        }
    }
    None
}

/// A line without what differs from run to run: numbers, and with them dates, sizes and names of devices; and the width of blanks.
fn masked(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let word = without_device(word);
        let mut masked = String::new();
        let is_hexadecimal = |text: &str| text.len() >= 16 && text.chars().all(|char| char.is_ascii_hexdigit());
        for part in word.split_inclusive(|char: char| !char.is_ascii_alphanumeric()) {
            let (text, end) = match part.char_indices().last() {
                Some((at, char)) if !char.is_ascii_alphanumeric() => part.split_at(at),
                _ => (part, ""),
            };
            if is_hexadecimal(text) {
                masked.push('N');
            } else {
                mask_digits(text, &mut masked);
            }
            masked.push_str(end);
        }
        // 1.7 and 3, 2,014 and 7 are alike.
        masked.replace("N.N", "N").replace("N,N", "N")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Each run of digits as one `N`.
fn mask_digits(text: &str, masked: &mut String) {
    for char in text.chars() {
        if !char.is_ascii_digit() {
            masked.push(char);
        } else if !masked.ends_with('N') {
            masked.push('N');
        }
    }
}

/// A word in which every name of a disk is `/dev/sda`.
fn without_device(word: &str) -> String {
    let Some(at) = word.find("/dev/") else { return word.to_owned() };
    let name = &word[at + 5..];
    let end = name.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(name.len());
    format!("{}/dev/sda{}", &word[..at], &name[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn numbers_and_devices_differ_and_words_do_not() {
        let shown = lines("/dev/sda: 6 UNREADABLE sectors in 3 places\n...\n  at 488.3 MiB: EIO");
        let printed = "before\n/dev/loop12: 14 UNREADABLE sectors in 10 places\n  between\n  at 2,017 MiB: EIO\n";
        assert_eq!(missing(&shown, printed), None);
        let other = printed.replace("UNREADABLE", "unreadable");
        assert_eq!(missing(&shown, &other), Some("/dev/sda: 6 UNREADABLE sectors in 3 places"));
    }

    #[test]
    fn lines_must_come_in_their_order() {
        let shown = lines("one\ntwo");
        assert_eq!(missing(&shown, "one\ntwo\n"), None);
        assert_eq!(missing(&shown, "two\none\n"), Some("two"));
        assert_eq!(missing(&lines("mark=9c2e55aa0f9b7e24"), "mark=00aa11bb22cc33dd\n"), None);
    }
}
