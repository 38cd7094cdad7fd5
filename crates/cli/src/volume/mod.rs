//! `scrubjay volume`: volumes made, looked at, served and repaired.

mod check;
mod create;
mod document;
mod inspect;
mod refused;
pub mod rendezvous;
mod serve;
pub mod steer;

use crate::args::volume::{VolumeArgs, VolumeVerb};
use crate::exit::Exit;
use crate::say::say;
use anyhow::Result;

/// Does what is asked for.
pub fn run(args: &VolumeArgs) -> Result<Exit> {
    let done = match &args.what {
        VolumeVerb::Create(args) => create::run(args),
        VolumeVerb::Inspect(args) => inspect::run(args),
        VolumeVerb::Serve(args) => serve::run(args),
        VolumeVerb::Status(args) => steer::status(args),
        VolumeVerb::Findings(args) => steer::findings(args),
        VolumeVerb::Check(args) => check::run(args),
        VolumeVerb::Fail(args) => steer::fail(args),
        VolumeVerb::Replace(args) => steer::replace(args),
        VolumeVerb::Readd(args) => steer::readd(args),
        VolumeVerb::Stop(args) => steer::stop(args),
    };
    done.or_else(|error| match error.downcast::<refused::Refused>() {
        Ok(refused) => {
            say(format_args!("scrubjay: {refused}"));
            Ok(refused.exit)
        }
        Err(error) => Err(error),
    })
}
