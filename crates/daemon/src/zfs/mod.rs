//! Pools of ZFS: their members, their redundancy, what they have lost, their scrubs.
//!
//! ```text
//! zpool status, JSON (2.3 and newer) or text --> status_json, status_text --+
//! each disk's label: nvlist --> label --> labelled -------------------------+--> Zpool --> facts --> ArrayFacts
//! /proc/spl/kstat/zfs: which pools are imported, and their states ----------+
//! ```
//!
//! `zpool` knows everything; it needs `/dev/zfs`. Labels know members and redundancy, without any program of ZFS; nobody but `zpool`
//! knows whether data were lost. No program of ZFS is linked. `scrub` tells `zpool` to begin, hold and go on with a scrub, where a person asked for that; nothing else changes anything.

pub mod ask;
pub mod facts;
pub mod label;
pub mod labelled;
pub mod nvlist;
pub mod pool;
pub mod scrub;
pub mod status_json;
pub mod status_text;

pub use ask::PoolAnswer;
pub use pool::Zpool;
