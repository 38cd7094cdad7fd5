//! Enumerations in documents: each is its one word (`scrubjay_watch::worded`), and another word is an error that names it.

use scrubjay_watch::worded::Worded;
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use std::fmt;
use std::marker::PhantomData;

/// The word of a document that has no value.
const NONE: &str = "none";

struct WordOf<T>(PhantomData<T>);

impl<T: Worded> Visitor<'_> for WordOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = T::VALUES.iter().map(|value| value.as_word()).collect();
        write!(f, "one of {}", words.join(", "))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        T::of_word(word).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))
    }
}

/// Writes the word.
pub fn serialize<T: Worded, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(value.as_word())
}

/// Reads the word.
pub fn deserialize<'de, T: Worded, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_str(WordOf(PhantomData))
}

/// The same where there may be no value: `none`.
pub mod or_none {
    use super::{NONE, Worded};
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    /// Writes the word, or `none`.
    pub fn serialize<T: Worded, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value.map_or(NONE, T::as_word))
    }

    /// Reads the word, or `none`.
    pub fn deserialize<'de, T: Worded, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        let word = String::deserialize(deserializer)?;
        match word.as_str() {
            NONE => Ok(None),
            word => T::of_word(word).map(Some).ok_or_else(|| D::Error::custom(format!("unknown word `{word}`"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use scrubjay_watch::health::HealthState;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Pair {
        #[serde(with = "super")]
        sure: HealthState,
        #[serde(with = "super::or_none")]
        perhaps: Option<HealthState>,
    }

    #[test]
    fn a_value_is_its_word_and_another_word_is_named() {
        for (pair, text) in [
            (Pair { sure: HealthState::Ok, perhaps: None }, r#"{"sure":"ok","perhaps":"none"}"#),
            (
                Pair { sure: HealthState::Replace, perhaps: Some(HealthState::Hot) },
                r#"{"sure":"replace","perhaps":"hot"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&pair).unwrap(), text);
            assert_eq!(serde_json::from_str::<Pair>(text).unwrap(), pair);
        }
        let said = |text: &str| serde_json::from_str::<Pair>(text).unwrap_err().to_string();
        assert!(said(r#"{"sure":"fine","perhaps":"none"}"#).contains(r#""fine", expected one of ok, asleep, "#));
        assert!(said(r#"{"sure":"ok","perhaps":"fine"}"#).contains("unknown word `fine`"));
    }
}
