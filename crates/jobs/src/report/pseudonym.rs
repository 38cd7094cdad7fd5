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
            self.known.iter().filter(|(secret, _)| is_to_be_looked_for(secret)).collect();
        known.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
        known.into_iter().fold(text.to_owned(), |text, (secret, pseudonym)| replaced(&text, secret, pseudonym))
    }
}

/// A letter alone, or the number of a bay, would be found in dates and counts.
fn is_to_be_looked_for(secret: &str) -> bool {
    const FIGURES_MIN: usize = 6;
    let count = secret.chars().count();
    count > 1 && (count >= FIGURES_MIN || !secret.chars().all(|c| c.is_ascii_digit()))
}

/// Replaces a secret, which is in lower case, wherever it stands in whatever case.
fn replaced(text: &str, secret: &str, pseudonym: &str) -> String {
    if !text.to_lowercase().contains(secret) {
        return text.to_owned();
    }
    let is_short = secret.chars().count() < SHORTEST;
    let (mut result, mut rest, mut before) = (String::with_capacity(text.len()), text, None);
    while let Some(first) = rest.chars().next() {
        let end = end_of(rest, secret).filter(|&end| {
            let is_in_word =
                before.is_some_and(char::is_alphanumeric) || rest[end..].starts_with(char::is_alphanumeric);
            !(is_short && is_in_word)
        });
        let taken = end.unwrap_or(first.len_utf8());
        result.push_str(if end.is_some() { pseudonym } else { &rest[..taken] });
        before = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
    result
}

/// Where the secret ends, if the text begins with it in whatever case.
fn end_of(text: &str, secret: &str) -> Option<usize> {
    let mut wanted = secret.chars();
    let mut next = wanted.next();
    for (at, letter) in text.char_indices() {
        if next.is_none() {
            return Some(at);
        }
        for lower in letter.to_lowercase() {
            if next != Some(lower) {
                return None;
            }
            next = wanted.next();
        }
    }
    next.is_none().then_some(text.len())
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
    fn letters_of_all_languages_have_cases_and_figures_stay() {
        let mut names = Pseudonyms::new([1; 32]);
        for name in ["Jürgen", "Özlem", "Анна", "STRASSE"] {
            names.note(SecretKind::Name, name);
        }
        names.note(SecretKind::Name, "12");
        let text = names.replace_known("JÜRGEN, özlem, анна und Straße: 12 sectors on 2026-03-12");
        assert!(!["rgen", "zlem", "нна"].iter().any(|left| text.to_lowercase().contains(left)), "{text}");
        assert!(text.ends_with(": 12 sectors on 2026-03-12"), "{text}");
    }

    #[test]
    fn short_names_are_replaced_where_they_stand_alone_only() {
        let mut names = Pseudonyms::new([1; 32]);
        let db = names.of(SecretKind::Name, "db");
        assert_eq!(names.replace_known("feedback of db."), format!("feedback of {db}."));
    }
}
