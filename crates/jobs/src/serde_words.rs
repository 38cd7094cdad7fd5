//! Settings as a file writes them: strings and numbers, read as on the command line.

use crate::named::{NamedRow, named};
use crate::quantity;
use scrubjay_core::units::{Bytes, Nanos};
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

/// `"100us"`, `"1ms"`, `"0.5ms"`, `"2s"`.
pub fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Nanos>, D::Error> {
    from.deserialize_any(StringOrNumber { what: "a time such as \"1ms\"", parse: quantity::time }).map(Some)
}

/// A time that is more than nothing.
pub fn time_not_zero<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Nanos>, D::Error> {
    from.deserialize_any(StringOrNumber { what: "a time such as \"1ms\"", parse: quantity::time_not_zero }).map(Some)
}

/// `"64KiB"`, `"1MiB"`, `65536`.
pub fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    from.deserialize_any(StringOrNumber { what: "a size such as \"64KiB\"", parse: quantity::bytes }).map(Some)
}

/// The name of one of a few things.
pub fn name<'de, D: Deserializer<'de>, T: NamedRow>(from: D) -> Result<Option<T>, D::Error> {
    from.deserialize_any(StringOrNumber { what: "a name", parse: one }).map(Some)
}

fn one<T: NamedRow>(text: &str) -> Result<T, String> {
    named(text).ok_or_else(|| {
        let known: Vec<&str> = T::all().into_iter().map(T::name).collect();
        format!("`{text}` is not one of {}", known.join(", "))
    })
}

/// Takes a string, or a number as if it were one.
struct StringOrNumber<F> {
    what: &'static str,
    parse: F,
}

impl<T, F: Fn(&str) -> Result<T, String>> Visitor<'_> for StringOrNumber<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}
