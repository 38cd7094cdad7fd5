//! Settings in a file: strings and numbers, parsed as on the command line.

use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};
use std::fmt;

/// Deserializes a string, or a number taken as a string, and parses it into a value.
pub struct Word<F>(pub F);

impl<'de, T, F: Fn(&str) -> Result<T, String>> DeserializeSeed<'de> for Word<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_any(self)
    }
}

impl<T, F: Fn(&str) -> Result<T, String>> Visitor<'_> for Word<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string such as \"1ms\", or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}
