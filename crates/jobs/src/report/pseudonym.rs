//! Pseudonyms: `disk-3f9a2c` for a serial number, always the same on one machine, and not to be turned back without its key.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeMap;
use std::io;

/// What a pseudonym stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretKind {
    /// A machine's name.
    Host,
    /// A serial number, a WWN, a UUID.
    Id,
    /// The name of an array, a pool, a volume, or a label.
    Name,
    /// A place in a file system.
    Path,
    /// A mail address, a number of the network, or what stands in a URL.
    Address,
}

impl SecretKind {
    const fn word(self) -> &'static str {
        match self {
            SecretKind::Host => "host",
            SecretKind::Id => "id",
            SecretKind::Name => "name",
            SecretKind::Path => "path",
            SecretKind::Address => "address",
        }
    }
}

/// Characters that a secret has at least, to be looked for inside of words; shorter ones are looked for as words.
const SHORTEST: usize = 4;

/// A new key.
///
/// # Errors
/// When the kernel gives no random bytes.
pub fn new_key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    SystemRandom::new().fill(&mut key).map_err(|_| io::Error::other("the kernel gave no random bytes"))?;
    Ok(key)
}

/// Gives pseudonyms, and remembers what they stand for.
#[derive(Debug)]
pub struct Pseudonyms {
    key: hmac::Key,
    /// Texts in lower case, to what stands for them.
    known: BTreeMap<String, String>,
}

impl Pseudonyms {
    /// Those of the machine with this key.
    pub fn new(key: [u8; 32]) -> Pseudonyms {
        Pseudonyms { key: hmac::Key::new(hmac::HMAC_SHA256, &key), known: BTreeMap::new() }
    }

    /// What stands for this text.
    pub fn of(&mut self, kind: SecretKind, text: &str) -> String {
        let text = text.trim();
        if text.is_empty() || self.is_pseudonym(text) {
            return text.to_owned();
        }
        // Case is not kept, so that a name written in capitals is the same thing.
        let lower = text.to_lowercase();
        if let Some(known) = self.known.get(&lower) {
            return known.clone();
        }
        let tag = hmac::sign(&self.key, lower.as_bytes());
        let digits: String = tag.as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let pseudonym = format!("{}-{digits}", kind.word());
        self.known.insert(lower, pseudonym.clone());
        pseudonym
    }

    /// Remembers a secret, so that it is replaced wherever it stands.
    pub fn note(&mut self, kind: SecretKind, text: &str) {
        self.of(kind, text);
    }

    /// How many things have a pseudonym.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    fn is_pseudonym(&self, text: &str) -> bool {
        self.known.values().any(|known| known == text)
    }

    /// The text with all known secrets replaced, the longest first; in whatever case they are written.
    pub(super) fn replace_known(&self, text: &str) -> String {
        let mut known: Vec<(&String, &String)> =
            self.known.iter().filter(|(secret, _)| secret.chars().count() > 1).collect();
        known.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
        // (Only ASCII letters: a text must keep its length for places in it to be the same.)
        known.into_iter().fold(text.to_owned(), |text, (secret, pseudonym)| replaced(&text, secret, pseudonym))
    }
}

fn replaced(text: &str, secret: &str, pseudonym: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let is_short = secret.chars().count() < SHORTEST;
    let (mut result, mut from) = (String::new(), 0);
    while let Some(at) = lower[from..].find(&secret.to_ascii_lowercase()).map(|at| from + at) {
        let end = at + secret.len();
        let is_in_word = text[..at].ends_with(char::is_alphanumeric) || text[end..].starts_with(char::is_alphanumeric);
        result.push_str(&text[from..at]);
        result.push_str(if is_short && is_in_word { &text[at..end] } else { pseudonym });
        from = end;
    }
    result.push_str(&text[from..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_secret_is_replaced_in_whatever_case() {
        let mut names = Pseudonyms::new([1; 32]);
        let nas = names.of(SecretKind::Host, "Nas-1");
        assert_eq!(names.replace_known("NAS-1 and nas-1, not nas"), format!("{nas} and {nas}, not nas"));
        assert!(nas.starts_with("host-") && nas.len() == 13, "{nas}");
        assert_eq!(names.of(SecretKind::Id, &nas), nas, "a pseudonym has none");
    }

    #[test]
    fn short_names_are_replaced_where_they_stand_alone_only() {
        let mut names = Pseudonyms::new([1; 32]);
        let db = names.of(SecretKind::Name, "db");
        assert_eq!(names.replace_known("feedback of db."), format!("feedback of {db}."));
    }
}
