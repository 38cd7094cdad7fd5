//! The names of columns, kinds and metadata keys in a file.

/// The columns' names, in the order in which they are written.
pub(super) const COLUMNS: [&str; 6] = ["arrival_ns", "device", "kind", "offset", "length", "response_ns"];
/// The kinds' names, in the order of [`crate::RequestKind`].
pub(super) const KINDS: [&str; 4] = ["read", "write", "discard", "flush"];
/// The metadata key of the schema's version.
pub(super) const SCHEMA_KEY: &str = "scrubjay.schema";
/// The version written, and the highest version read.
pub(super) const SCHEMA_VERSION: u32 = 1;
/// The metadata key of the clock.
pub(super) const CLOCK_KEY: &str = "scrubjay.clock";
