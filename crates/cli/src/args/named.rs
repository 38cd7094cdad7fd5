//! Rows of the libraries' tables as values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, Error};
use scrubjay_core::named::{NamedRow, named};
use std::ffi::OsStr;

/// A parser of one of the names, which lists them.
pub fn parser<T: NamedRow>() -> impl TypedValueParser<Value = T> {
    let values = T::choices().into_iter().map(|row| PossibleValue::new(row.name()).help(row.about()));
    PossibleValuesParser::new(values).map(|name| named(&name).expect("it is one of the possible values"))
}

/// A parser of values some of which have names, which shells complete; what it does not know is refused in one line.
#[derive(Clone)]
pub struct Offering<T> {
    /// Parses a value; the error is one line.
    pub parse: fn(&str) -> Result<T, String>,
    /// The values that have names.
    pub known: fn() -> Vec<PossibleValue>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Offering<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.known)().into_iter()))
    }
}
