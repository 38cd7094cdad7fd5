//! Everything in Scrubjay that touches real hardware or the kernel.
//!
//! **Never:** policy. `scrubjay-core` decides when to read, how much and in which order; this crate obeys.
//! This crate and `code` are the only ones with `unsafe`; each block has its `SAFETY:` line.
//!
//! Example: an image file is opened as every target is, read-only, and identified by what it is, not by its path alone.
//!
//! ```
//! use scrubjay_device::target::Target;
//!
//! let path = std::env::temp_dir().join(format!("scrubjay-example-{}", std::process::id()));
//! std::fs::write(&path, [0; 8192])?;
//! let target = Target::open(&path).expect("it can be scrubbed");
//! assert_eq!((target.sectors, target.is_block_device), (16, false));
//! assert_eq!(target.id, Target::open(&path).expect("once more").id);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod above;
pub mod bench;
pub mod btrfs;
pub mod buffer;
pub mod capture;
pub mod claim;
pub mod clock;
pub mod completion;
pub mod control;
pub mod decorate;
pub mod detector;
mod disk_subject;
pub mod inventory;
pub mod ioprio;
pub mod kmsg;
pub mod links;
pub mod md;
pub mod member;
pub mod observed;
pub mod output;
pub mod owner;
pub mod pace;
pub mod plausible;
pub mod probing;
pub mod pump;
mod run_recorder;
mod saver;
pub mod session;
pub mod sg;
pub mod speed;
mod standstill;
pub mod store;
pub mod subject;
pub mod sysfs;
pub mod target;
pub mod tool;
pub mod ublk;
pub mod udev;
pub mod verify;
