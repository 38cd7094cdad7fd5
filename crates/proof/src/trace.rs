//! The log of a run, line by line, for finding the cause of a failure.

use scrubjay_core::units::Nanos;
use std::fmt;
use std::rc::Rc;

/// Receives the lines of a log.
type Sink = dyn Fn(&str);

/// A log that writes to a sink, or discards all lines (the default).
#[derive(Clone, Default)]
pub struct StormLog(Option<Rc<Sink>>);

impl StormLog {
    /// A log that writes to `sink`.
    pub fn to(sink: impl Fn(&str) + 'static) -> StormLog {
        StormLog(Some(Rc::new(sink)))
    }

    /// Writes a line, stamped with the virtual time; `line` is called only if there is a sink.
    pub fn log(&self, now: Nanos, line: impl FnOnce() -> String) {
        if let Some(sink) = &self.0 {
            sink(&format!("{:>9} us  {}", now.0 / 1000, line()));
        }
    }
}

impl fmt::Debug for StormLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Trace(on)" } else { "Trace(off)" })
    }
}
