//! Block traces: what a disk was really asked for, read from the field's formats, one record at a time.
//!
//! **Never:** files, clocks or threads of its own. Sources and destinations are `Read` and `Write` values; memory is
//! constant whatever the length of the trace.
//!
//! ```text
//! bytes -> compressed -> formats::* (a Reader) -> RecordSink -> sorted, joined (trace::open) -> records -> statistics
//! ```

mod binary;
mod columns;
mod compressed;
mod error;
mod fields;
pub mod formats;
pub mod generate;
mod guess;
pub mod idleness;
mod open;
mod pairing;
mod periods;
mod reader;
mod record;
mod record_sink;
mod service;
mod sorted;
pub mod summary;
#[cfg(test)]
mod test_support;
mod text;

pub use compressed::{Compression, decompressed};
pub use error::{SourcePlace, TraceError};
pub use open::{Input, InputError, OpenOptions, Trace, TraceSource, open};
pub use pairing::Pairing;
pub use periods::{Period, Periods};
pub use reader::{Reader, SeekRead, Seekable, Sink, Stream, Writer};
pub use record::{DeviceId, Record, RequestKind};
pub use record_sink::{Devices, Example, Malformed, RecordSink};
pub use service::{ServiceQueue, ServiceSource};
