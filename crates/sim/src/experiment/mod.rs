//! The papers' experiments, one file per table or figure.

pub mod idleness;
pub mod integrity;
pub mod mlet;
mod say;
pub mod scrub;
pub mod shear;
