//! Parses options, which Python passes as texts, with the parsers of the command line.

pub use crate::failure::refused;
use pyo3::prelude::*;
use scrubjay_core::named::{NamedRow, named};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Parameter, ParameterValue};
use scrubjay_jobs::parameter::{self, PolicyChoice};
use scrubjay_research::workload;
use scrubjay_sim::play::Playable;
use scrubjay_trace::ServiceChoice;

/// The result of `parse` for an option's text.
///
/// # Errors
/// `OptionError` with the name of the option.
pub fn parsed<T>(py: Python<'_>, option: &str, text: &str, parse: impl Fn(&str) -> Result<T, String>) -> PyResult<T> {
    parse(text).map_err(|complaint| refused(py, option, &complaint))
}

/// The error for a source that is not a single file where one is needed.
pub fn refused_source(py: Python<'_>) -> PyErr {
    refused(py, "path", "a trace in parts is one file, by its path")
}

/// Parses the modelled disk.
pub fn disk(py: Python<'_>, text: &str) -> PyResult<ServiceModel> {
    parsed(py, "disk", text, workload::disk_model)
}

/// Where service times are to be taken from.
pub fn service(py: Python<'_>, text: &str) -> PyResult<ServiceChoice> {
    match text {
        "auto" => Ok(ServiceChoice::Auto),
        "recorded" => Ok(ServiceChoice::Recorded),
        "model" => Ok(ServiceChoice::Model),
        _ => Err(refused(py, "service", &format!("`{text}` is not one of auto, recorded, model"))),
    }
}

/// The policy with this name.
pub fn policy(py: Python<'_>, name: &str) -> PyResult<Playable> {
    parsed(py, "policy", name, named)
}

/// Parses parameters, named with `_` where the command has `-`.
pub fn parameters(py: Python<'_>, given: &[(String, String)]) -> PyResult<Vec<(Parameter, ParameterValue)>> {
    let mut values: Vec<(Parameter, ParameterValue)> = Vec::with_capacity(given.len());
    let known = || choice().parameters().map(|parameter| parameter.name().replace('-', "_")).collect::<Vec<_>>();
    for (name, text) in given {
        let Some(parameter) = choice().parameters().find(|parameter| parameter.name().replace('-', "_") == *name)
        else {
            return Err(refused(py, name, &format!("no parameter; there are {}", known().join(", "))));
        };
        if let Some((_, other)) =
            values.iter().map(|(other, _)| (parameter, *other)).find(|&(one, other)| excludes(one, other))
        {
            let other = other.name().replace('-', "_");
            return Err(refused(py, name, &format!("cannot be given together with {other}")));
        }
        values.push((parameter, parsed(py, name, text, |text| parameter::parse(parameter, text))?));
    }
    Ok(values)
}

/// Whether two parameters exclude each other, because they set the same thing.
fn excludes(one: Parameter, other: Parameter) -> bool {
    one.row().instead_of == Some(other) || other.row().instead_of == Some(one)
}

fn choice() -> PolicyChoice {
    PolicyChoice::of(Playable::all().map(|playable| (playable.name(), playable.uses())))
}

/// A policy for Python: its name, its description, and its parameters, each with a line of help.
type PolicyForPython = (&'static str, &'static str, Vec<(String, String)>);

/// All policies that can be simulated.
pub fn policies() -> Vec<PolicyForPython> {
    let help = |parameter: &Parameter| (parameter.name().replace('-', "_"), choice().help(*parameter));
    Playable::choices()
        .into_iter()
        .map(|policy| (policy.name(), policy.about(), policy.uses().iter().map(help).collect()))
        .collect()
}
