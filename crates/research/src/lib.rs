//! The researcher's jobs: traces to loads and figures, policies tuned and simulated on them. For the command and the Python package.
//!
//! **Never:** real disks, standard output, exit codes, command-line options. What runs beside disks (the daemon, the page) is not linked
//! to it, and so to no format of traces.
//!
//! ```text
//! traces -> workload -> loads -> tune, simulation -> documents        parallel: pieces of work on all cores
//!        -> trace_info, trace_output, losses, cut (parts of a file for the fleet)
//! ```

pub mod costs;
pub mod cut;
mod error;
pub mod job_control;
pub mod losses;
pub mod parallel;
pub mod simulation;
pub mod trace_document;
pub mod trace_hash;
pub mod trace_info;
pub mod trace_output;
pub mod tune;
pub mod tune_document;
pub mod workload;

pub use error::ResearchError;
