//! The papers' experiments, run on the machines that ship: each returns figures and tables as values.
//!
//! **Never:** a file, a thread, a clock. The caller reads the traces, runs the steps in parallel and writes the page.
//!
//! ```
//! use scrubjay_study::shear::{Effort, PIECES};
//!
//! // The figures of Denehy et al. 2004 come in pieces that need nothing of each other. This one is Figure 3.
//! let exhibits = PIECES[10].work(Effort { requests: 40, repeats: 2, seed: 1 });
//! assert_eq!(exhibits[0].name(), "shear-fig03");
//! ```

pub mod fleet;
pub mod idleness;
pub mod integrity;
pub mod mlet;
mod say;
pub mod scrub;
pub mod shear;
