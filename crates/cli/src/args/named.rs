//! Rows of the libraries' tables as values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, Error};
use scrubjay_core::named::{NamedRow, named};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_research::workload;
use scrubjay_trace::formats::FORMATS;
use scrubjay_trace::generate::BUILTINS;
use std::ffi::OsStr;

/// A parser of one of the names, which lists them.
pub fn parser<T: NamedRow>() -> impl TypedValueParser<Value = T> {
    let values = T::choices().into_iter().map(|row| PossibleValue::new(row.name()).help(row.about()));
    PossibleValuesParser::new(values).map(|name| named(&name).expect("it is one of the possible values"))
}

/// A parser of values some of which have names, which shells complete; what it does not know is refused in one line.
#[derive(Clone)]
pub struct Offering<T> {
    parse: fn(&str) -> Result<T, String>,
    known: fn() -> Vec<PossibleValue>,
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

/// A parser for the name of a format: it accepts any, which is looked up where the trace is opened.
pub fn format() -> Offering<String> {
    let known = || FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about)).collect();
    Offering { parse: |name| Ok(name.to_owned()), known }
}

/// A parser for the name of a built-in model, which is looked up where a trace is made.
pub fn model() -> Offering<String> {
    let known = || BUILTINS.iter().map(|model| PossibleValue::new(model.name).help(model.about)).collect();
    Offering { parse: |name| Ok(name.to_owned()), known }
}

/// A parser for a model of a disk.
pub fn disk_model() -> Offering<ServiceModel> {
    Offering { parse: workload::disk_model, known: || vec![PossibleValue::new(workload::DISK)] }
}
