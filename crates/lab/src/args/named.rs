//! Rows of the tables of traces and models as values of options.

use clap::builder::PossibleValue;
use scrubjay_cli::args::named::Offering;
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_research::workload;
use scrubjay_trace::formats::FORMATS;
use scrubjay_trace::generate::BUILTINS;

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
