//! What happens in a world, line by line, for whoever looks for the cause of a failure.

use scrubjay_core::units::Nanos;
use std::fmt;
use std::rc::Rc;

/// Takes a line.
type Sink = dyn Fn(&str);

/// Where the lines go, if anywhere.
#[derive(Clone, Default)]
pub struct StormLog(Option<Rc<Sink>>);

impl StormLog {
    /// To this.
    pub fn to(sink: impl Fn(&str) + 'static) -> StormLog {
        StormLog(Some(Rc::new(sink)))
    }

    /// Says a line, if anybody listens.
    pub fn say(&self, now: Nanos, line: impl FnOnce() -> String) {
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
