//! Real disks: everything of Scrubjay that touches hardware or the kernel.
//!
//! **Never:** policy. When to read, how much and in which order is decided in `scrubjay-core`; this crate obeys.
//! With `code` it is the only crate with `unsafe`, each block with its `SAFETY:` line.

pub mod buffer;
pub mod capture;
pub mod claim;
pub mod clock;
pub mod completion;
pub mod decorate;
pub mod detector;
pub mod inventory;
pub mod ioprio;
pub mod member;
pub mod output;
pub mod owner;
pub mod probing;
pub mod pump;
mod saver;
pub mod session;
pub mod sg;
pub mod shown;
pub mod store;
pub mod subject;
pub mod sysfs;
pub mod target;
pub mod verify;
