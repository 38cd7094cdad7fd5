//! The arguments of all verbs that read traces.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum, ValueHint};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_jobs::{quantity, workload};
use scrubjay_trace::formats::FORMATS;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Which traces, and what of them.
#[derive(Debug, Args)]
pub struct Traces {
    /// Trace files, compressed or not (see `scrubjay trace formats`); `-` is standard input
    #[arg(required = true, value_name = "TRACE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Format [default: detected]
    #[arg(long, value_name = "NAME", value_parser = FormatName, help_heading = "Trace")]
    pub format: Option<String>,
    /// Unit of its times, for formats that have several (mqsim, disksim): us, 100ns
    #[arg(long, value_name = "UNIT", value_parser = quantity::time_unit, help_heading = "Trace")]
    pub time_unit: Option<Nanos>,
    /// Unit of its offsets and sizes, likewise: 1 (bytes), 4KiB
    #[arg(long, value_name = "SIZE", value_parser = quantity::block, help_heading = "Trace")]
    pub block: Option<Bytes>,
    /// Only this device; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Trace")]
    pub device: Vec<String>,
}

/// A parser for the name of a format: it accepts any name, which is refused in one line where it is looked up; shells
/// complete the known names.
#[derive(Clone)]
struct FormatName;

impl TypedValueParser for FormatName {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about))))
    }
}

/// How long requests took.
#[derive(Debug, Args)]
pub struct DiskModelArgs {
    /// Source of the foreground's service times
    #[arg(long, value_enum, default_value_t = ServiceArg::Model, help_heading = "Disk")]
    pub service: ServiceArg,
    /// Disk model: a name, or the time for positioning and the time per MiB
    #[arg(long, value_name = "MODEL|TIME,TIME", default_value = workload::DISK, value_parser = workload::disk_model, help_heading = "Disk")]
    pub disk: ServiceModel,
}

/// Sources of service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServiceArg {
    /// The model of the disk
    Model,
    /// The trace's response times, where it has them
    Recorded,
}
