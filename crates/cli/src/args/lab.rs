//! The verbs of `scrubjay-lab`, as far as `scrubjay` knows them: their names, and what they are for. Their options are the other
//! program's.

use clap::{Args, Subcommand};
use std::ffi::OsString;

/// Its verbs, each with its line of help.
const VERBS: [(&str, &str); 4] = [
    ("trace", "Inspect, convert, capture and generate I/O traces (scrubjay-lab)"),
    ("tune", "Find the best wait and request size for a traced disk (scrubjay-lab)"),
    ("simulate", "Simulate scrubs, integrity schemes and probes (scrubjay-lab)"),
    ("study", "Study a trace or a model: a page of figures and tables (scrubjay-lab)"),
];

/// What `scrubjay-lab` does.
#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Traces.
    #[command(about = about("trace"))]
    Trace(Rest),
    /// The tuner.
    #[command(about = about("tune"))]
    Tune(Rest),
    /// Simulations.
    #[command(about = about("simulate"))]
    Simulate(Rest),
    /// Studies.
    #[command(about = about("study"))]
    Study(Rest),
}

/// What follows the verb, whatever it is.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Rest {
    /// For the other program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub rest: Vec<OsString>,
}

/// Is this a verb of `scrubjay-lab`?
pub fn is_of_lab(verb: &str) -> bool {
    VERBS.iter().any(|(name, _)| *name == verb)
}

/// The line of help of a verb of `scrubjay-lab`.
///
/// # Panics
/// If it is none.
pub fn about(verb: &str) -> &'static str {
    VERBS.iter().find(|(name, _)| *name == verb).expect("it is a verb of scrubjay-lab").1
}
