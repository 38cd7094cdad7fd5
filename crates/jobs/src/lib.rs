//! What a program needs to run Scrubjay: for the command, the daemon and bindings.
//!
//! **Never:** standard output, exit codes, command-line options. Errors and notes name settings and things; the program decides
//! how they are shown.
//!
//! ```text
//! a name  -> target   -> a device, a file or a running volume (sockets) --+
//! a file  -> config   -> settings ------------------------------------------> device::session -> outcome -> json
//! ```
//!
//! Settings from a file, and the policy that they give:
//!
//! ```
//! use scrubjay_core::units::{Bytes, Nanos};
//! use scrubjay_jobs::config;
//!
//! let settings = config::parse("[scrub]\nslowdown = \"0.5ms\"\n").expect("it is a config");
//! let policy = settings.policy(Bytes(512));
//! assert_eq!(policy.kind().name, "budget");
//! assert_eq!(policy.parameters().goal.mean, Nanos(500_000));
//!
//! let error = config::parse("[scrub]\nwait = \"soon\"\n").unwrap_err();
//! assert!(error.starts_with(":2: wait: `soon` is not a time"));
//! ```

pub mod bench;
pub mod bench_log;
pub mod config;
mod error;
pub mod fio;
pub mod json;
pub mod outcome;
pub mod pace;
pub mod parameter;
pub mod pool;
pub mod report;
pub mod sector;
mod serde_words;
pub mod settings;
pub mod sockets;
pub mod subject_state;
pub mod surface;
pub mod target;
pub mod verify_bench;
pub mod zfs_pool;

pub use error::JobError;
