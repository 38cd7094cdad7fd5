//! The provenance of a page, for readers years later.

use super::date;
use scrubjay_control::version;
use std::ffi::OsString;
use std::time::SystemTime;

/// How a page was made.
pub struct StudyProvenance(Vec<(&'static str, String)>);

impl StudyProvenance {
    /// The facts of every page: the command line, the version, the date.
    pub fn of_this_run() -> StudyProvenance {
        let words: Vec<String> = std::env::args_os().skip(1).map(quoted).collect();
        StudyProvenance(vec![
            ("command", format!("scrubjay {}", words.join(" "))),
            ("version", format!("scrubjay {}", version::version())),
            ("date", date::utc(SystemTime::now())),
        ])
    }

    /// Adds a fact.
    pub fn add(&mut self, name: &'static str, value: String) {
        self.0.push((name, value));
    }

    /// All facts, in the order in which they were added.
    pub fn all(&self) -> &[(&'static str, String)] {
        &self.0
    }
}

/// A word quoted for a shell.
fn quoted(word: OsString) -> String {
    let word = word.to_string_lossy();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./,:=%+@".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let quoted_words = ["study", "--out", "a b", "it's", "", "x=1,2"].map(|word| quoted(word.into()));
        assert_eq!(quoted_words, ["study", "--out", "'a b'", r"'it'\''s'", "''", "x=1,2"]);
    }
}
