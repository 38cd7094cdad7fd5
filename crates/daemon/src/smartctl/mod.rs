//! SMART by `smartctl --json` (smartmontools 7.0 or later): [`run`] runs it, [`parse`] parses it, [`obstacle`] has errors.
//!
//! A sleeping disk is not woken (`-n standby`), and values that smartctl leaves out do not count as zero.

mod document;
pub mod exit;
pub mod obstacle;
pub mod parse;
pub mod run;
