//! Runs a program inside the budget: it is held while others use the disk, and goes on when they do not.
//!
//! ```text
//! detector::work (and disks, if they are named) -> core::scrub::work::Work -> GoOn, Hold -> freezer (cgroup, or signals to its tree)
//!                                                                              guardian: lets it go if this process dies
//! ```
//!
//! The program keeps this process's terminal, pipes, environment and process group. **Invariant:** whatever ends this process, or the
//! guardian, the program runs on: what is frozen is known to the guardian before it is frozen.

mod disks;
mod freezer;
mod guardian;
mod keeps;
mod run;
mod signals;
mod tree;

pub use disks::{DisksError, named_disks};
pub use freezer::FreezerKind;
pub use keeps::Keeps;
pub use run::{PaceError, PaceOptions, Paced, PacedEnd, PacedNews, die_of, run};
