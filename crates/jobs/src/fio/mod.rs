//! fio as the engine of a benchmark, and its file formats, in which fio-plot and others can draw Scrubjay's results.

mod logs;
mod run;

pub use logs::{FioFile, files};
pub use run::{FioError, measure, version};
