//! Small words of messages: counts, names quoted for a shell.

/// A count with its noun: `1 message`, `2 messages`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// In one line: what is so, and what to type, if anything.
pub fn with_command(words: &str, command: Option<&str>) -> String {
    command.map_or_else(|| words.to_owned(), |command| format!("{words}: {command}"))
}

/// A name quoted as a word of a shell's command line.
pub fn typed(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._-:/+@".contains(char);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_one_word_of_a_shell() {
        assert_eq!(typed("5000c500a1b2c3d4"), "5000c500a1b2c3d4");
        assert_eq!(typed("at loop on /a"), "'at loop on /a'");
        assert_eq!(typed("it's; reboot"), r"'it'\''s; reboot'");
        assert_eq!(with_command("it waits", Some("sudo scrubjay resume")), "it waits: sudo scrubjay resume");
        assert_eq!(with_command("it waits", None), "it waits");
        assert_eq!((counted(1, "day"), counted(0, "day")), ("1 day".to_owned(), "0 days".to_owned()));
    }
}
