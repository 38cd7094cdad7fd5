//! The compiled half of the Python package `scrubjay`: passes what Python asks for to `jobs`, and the results back.
//!
//! **Never:** policy, defaults or figures of its own. Those are in `jobs`, from which the command line takes them, too.

mod failure;
mod file_object;
mod fleet_page;
mod notes;
mod parts;
mod records;
mod running;
mod settings;
mod trace_handle;

use pyo3::prelude::*;
use scrubjay_research::{tune, workload};
use scrubjay_trace::formats::FORMATS;

/// The module `scrubjay._core`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<trace_handle::TraceHandle>()?;
    module.add_function(wrap_pyfunction!(parts::tune_parts, module)?)?;
    module.add_function(wrap_pyfunction!(fleet_page::fleet_page, module)?)?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("DISK", workload::DISK)?;
    module.add("SLOWDOWN", tune::SLOWDOWN)?;
    module.add("MAX_SLOWDOWN", tune::SLOWDOWN_MAX)?;
    module.add("GOAL", tune::GOAL_FORM)?;
    module.add("SIZES", tune::SIZES)?;
    module.add("MIN_REQUESTS", tune::REQUESTS_MIN)?;
    module.add("POLICIES", settings::policies())?;
    let formats = FORMATS.iter().map(|format| (format.name, format.about, format.writer.is_some()));
    module.add("FORMATS", formats.collect::<Vec<_>>())?;
    Ok(())
}
