//! The arguments of all verbs that read traces.

use super::named;
use clap::{Args, ValueEnum, ValueHint};
use scrubjay_core::quantity;
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_research::workload;
use scrubjay_trace::ServiceChoice;
use std::path::PathBuf;

/// Which traces, and what of them.
#[derive(Debug, Args)]
pub struct Traces {
    /// Trace files, compressed or not (see `scrubjay trace formats`); `-` is standard input
    #[arg(required = true, value_name = "TRACE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Format [default: detected]
    #[arg(long, value_name = "NAME", value_parser = named::format(), help_heading = "Trace")]
    pub format: Option<String>,
    /// Unit of its times, for formats that have several (mqsim, disksim, tencent): s, ms, us, 100ns, ns
    #[arg(long, value_name = "UNIT", value_parser = quantity::time_unit, help_heading = "Trace")]
    pub time_unit: Option<Nanos>,
    /// Unit of its offsets and sizes, likewise: 1 (bytes), 4KiB
    #[arg(long, value_name = "SIZE", value_parser = quantity::block, help_heading = "Trace")]
    pub block: Option<Bytes>,
    /// Only this device; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Trace")]
    pub device: Vec<String>,
}

/// How long requests took.
#[derive(Debug, Args)]
pub struct DiskModelArgs {
    /// Source of the foreground's service times
    #[arg(long, value_enum, default_value_t = ServiceArg::Auto, help_heading = "Disk")]
    pub service: ServiceArg,
    /// Disk model: a name, or the time for positioning and the time per MiB
    #[arg(long, value_name = "MODEL|TIME,TIME", default_value = workload::DISK, value_parser = named::disk_model(), hide_possible_values = true, help_heading = "Disk")]
    pub disk: ServiceModel,
}

/// Sources of service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServiceArg {
    /// Recorded, if the trace begins with response times, else the model
    Auto,
    /// The trace's response times, where it has them
    Recorded,
    /// The model of the disk
    Model,
}

impl ServiceArg {
    /// What the argument asks for.
    pub const fn choice(self) -> ServiceChoice {
        match self {
            ServiceArg::Auto => ServiceChoice::Auto,
            ServiceArg::Recorded => ServiceChoice::Recorded,
            ServiceArg::Model => ServiceChoice::Model,
        }
    }
}
