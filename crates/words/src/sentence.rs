//! How sentences are made: each is a row of a table with its text and an example, and nothing else can become one.

use scrubjay_core::quantity::show_count;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What Scrubjay says: made of a sentence of this crate's tables, or read from a document that has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Said(String);

impl Said {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for Said {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// For tests of those who show what was said: a text that nobody said.
#[cfg(feature = "quoted")]
impl From<&str> for Said {
    fn from(text: &str) -> Said {
        Said(text.to_owned())
    }
}

impl PartialEq<str> for Said {
    fn eq(&self, text: &str) -> bool {
        self.0 == text
    }
}

impl PartialEq<&str> for Said {
    fn eq(&self, text: &&str) -> bool {
        self.0 == *text
    }
}

impl From<Said> for String {
    fn from(said: Said) -> String {
        said.0
    }
}

/// A table of sentences. Only this crate makes one.
pub trait Sentences: fmt::Display + Sized + 'static {
    /// What the table is of.
    const ABOUT: &'static str;

    /// The text of each row, and an example of it.
    fn rows() -> Vec<(&'static str, Self)>;

    /// What it says.
    fn said(&self) -> Said {
        Said(self.to_string())
    }
}

impl<S: Sentences> From<S> for Said {
    fn from(sentence: S) -> Said {
        sentence.said()
    }
}

/// Several, as one: `array md0 is degraded, array md1 is degraded`.
pub(crate) fn joined(parts: impl IntoIterator<Item = Said>, between: &str) -> Said {
    let parts: Vec<String> = parts.into_iter().map(String::from).collect();
    Said(parts.join(between))
}

/// Makes a table: an enumeration whose values are sentences, with what stands in them, each an example beside it. A sentence without
/// an example does not compile.
macro_rules! sentences {
    (
        $(#[$doc:meta])*
        $vis:vis $name:ident: $about:literal {
            $($(#[$row:meta])* $variant:ident $({ $($field:ident: $type:ty = $example:expr),+ $(,)? })? => $text:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {
            $($(#[$row])* #[doc = concat!("Says: ", $text)] $variant $({ $(#[doc = stringify!($field)] $field: $type),+ })?,)+
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($name::$variant $({ $($field),+ })? => write!(f, $text),)+
                }
            }
        }

        impl $crate::sentence::Sentences for $name {
            const ABOUT: &'static str = $about;

            fn rows() -> Vec<(&'static str, $name)> {
                vec![$(($text, $name::$variant $({ $($field: $example.into()),+ })?),)+]
            }
        }
    };
}
pub(crate) use sentences;

/// A count with its noun: `1 message`, `2 messages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count(pub u64, pub &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count(count, noun) = self;
        f.write_str(&counted(*count, noun))
    }
}

/// A name quoted as a word of a shell's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed(pub String);

impl From<&str> for Typed {
    fn from(name: &str) -> Typed {
        Typed(name.to_owned())
    }
}

impl From<&String> for Typed {
    fn from(name: &String) -> Typed {
        Typed(name.clone())
    }
}

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&typed(&self.0))
    }
}

/// A count with its noun: `1 message`, `2,048 messages`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", show_count(count), if count == 1 { "" } else { "s" })
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
