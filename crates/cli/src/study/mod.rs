//! `scrubjay study`: the papers' experiments on anybody's traces, as a page in a folder.

mod busy;
mod date;
mod facts;
mod idle;
mod integrity;
mod mlet;
mod outlet;
mod scrub;
mod shear;
mod source;

pub use facts::StudyProvenance;
pub use outlet::check_folder;

use crate::args::{Studied, StudyArgs};
use crate::exit::Exit;
use anyhow::Result;

/// Studies.
pub fn run(args: &StudyArgs) -> Result<Exit> {
    match &args.what {
        Studied::Idle(args) => idle::run(args),
        Studied::Scrub(args) => scrub::run(args),
        Studied::Mlet(args) => mlet::run(args),
        Studied::Integrity(args) => integrity::run(args),
        Studied::Shear(args) => shear::run(args),
    }
}
