//! Block traces: the requests that a disk really received, read from the field's formats, one record at a time.
//!
//! **Never:** files, clocks or threads of its own. Sources and destinations are `Read` and `Write` values; readers and
//! writers need the same memory for traces of any length; a whole trace in memory (`Periods`) takes 12 bytes per busy
//! period.
//!
//! ```text
//! bytes -> compressed -> formats::* (a Reader) -> RecordSink -> sorted, joined (trace::open) -> records -> statistics
//! ```
//!
//! The idle times between three requests (format MSR Cambridge, times in 100 ns), if each takes 4 ms:
//!
//! ```
//! use scrubjay_core::scrub::disk_server::ServiceModel;
//! use scrubjay_core::units::Nanos;
//! use scrubjay_trace::{Input, OpenOptions, Periods, ServiceQueue, ServiceSource, TraceSource, open};
//!
//! let rows = "128166372000000000,usr,0,Read,4096,512,0\n128166372000100000,usr,0,Read,8192,512,0\n\
//!             128166372001000000,usr,0,Write,0,512,0\n";
//! let source = TraceSource::File(Box::new(std::io::Cursor::new(rows)));
//! let mut trace = open(vec![Input { name: "usr.csv".to_owned(), source }], OpenOptions::default()).expect("a trace");
//!
//! let disk = ServiceModel { positioning: Nanos::from_millis(4), per_mib: Nanos::ZERO };
//! let (mut queue, mut periods) = (ServiceQueue::new(ServiceSource::Model(disk)), Periods::default());
//! while trace.next_batch().expect("it can be read").is_some() {
//!     trace.records().iter().for_each(|record| periods.add(queue.serve(record)));
//! }
//! assert_eq!(periods.requests_total(), 3);
//! assert_eq!(periods.intervals(), [Nanos::from_millis(6), Nanos::from_millis(86)]);
//! ```

mod binary;
mod columns;
mod compressed;
pub mod cut;
mod error;
mod fields;
pub mod formats;
pub mod generate;
mod guess;
pub mod idleness;
mod lifecycle;
mod open;
mod pairing;
mod part;
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
mod writing;

pub use compressed::{Compression, decompressed};
pub use error::{SourcePlace, TraceError};
pub use open::{Input, InputError, OpenOptions, Trace, TraceSource, open};
pub use pairing::Pairing;
pub use part::{PartCollector, PartError, PartPeriods};
pub use periods::{Period, Periods};
pub use reader::{OutputStream, Reader, SeekRead, Seekable, Stream, Writer};
pub use record::{DeviceId, Record, RequestKind};
pub use record_sink::{ArrivalSource, Devices, Example, Malformed, RecordSink};
pub use service::{ServiceChoice, ServiceQueue, ServiceSource};
