//! `scrubjay study`: the papers' experiments on a user's traces, as a page in a folder.

mod idle;
mod integrity;
mod mlet;
mod output_folder;
mod scrub;
mod shear;
mod source;
mod spinner;

use crate::args::{Studied, StudyArgs};
use anyhow::Result;
use scrubjay_cli::exit::Exit;

/// Makes the study that was asked for.
pub fn run(args: &StudyArgs) -> Result<Exit> {
    match &args.what {
        Studied::Idle(args) => idle::run(args),
        Studied::Scrub(args) => scrub::run(args),
        Studied::Mlet(args) => mlet::run(args),
        Studied::Integrity(args) => integrity::run(args),
        Studied::Shear(args) => shear::run(args),
    }
}
