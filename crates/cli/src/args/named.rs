//! Rows of the libraries' tables as values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use scrubjay_jobs::named::{NamedRow, named};

/// A parser of one of the names, which lists them.
pub fn parser<T: NamedRow>() -> impl TypedValueParser<Value = T> {
    let values = T::all().into_iter().map(|row| PossibleValue::new(row.name()).help(row.about()));
    PossibleValuesParser::new(values).map(|name| named(&name).expect("it is one of the possible values"))
}
