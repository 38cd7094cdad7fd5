//! fio: run in our place, and its formats for our results, so that fio-plot and other readers of them can draw these.

mod logs;
mod run;

pub use logs::{FioFile, files};
pub use run::{FioError, measure, version};
