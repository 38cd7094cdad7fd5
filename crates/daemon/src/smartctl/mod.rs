//! SMART by `smartctl --json` (smartmontools 7.0 or later): [`run`] asks, [`parse`] understands, [`obstacle`] says why not.
//!
//! No sleeping disk is woken (`-n standby`), and nothing that smartctl leaves out is taken for zero.

pub mod exit;
pub mod obstacle;
pub mod parse;
pub mod run;
