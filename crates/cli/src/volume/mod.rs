//! `scrubjay volume`: creates, inspects, serves and repairs volumes.

pub mod admin;
mod check;
mod create;
mod document;
mod inspect;
mod refused;
mod serve;

use crate::args::volume::{VolumeArgs, VolumeVerb};
use crate::exit::Exit;
use crate::say::say;
use anyhow::Result;

/// Runs the verb that was asked for.
pub fn run(args: &VolumeArgs) -> Result<Exit> {
    let done = match &args.what {
        VolumeVerb::Create(args) => create::run(args),
        VolumeVerb::Inspect(args) => inspect::run(args),
        VolumeVerb::Serve(args) => serve::run(args),
        VolumeVerb::Status(args) => admin::status(args),
        VolumeVerb::Findings(args) => admin::findings(args),
        VolumeVerb::Events(args) => admin::events(args),
        VolumeVerb::Check(args) => check::run(args),
        VolumeVerb::Fail(args) => admin::fail(args),
        VolumeVerb::Replace(args) => admin::replace(args),
        VolumeVerb::Readd(args) => admin::readd(args),
        VolumeVerb::Stop(args) => admin::stop(args),
    };
    done.or_else(|error| match error.downcast::<refused::Refused>() {
        Ok(refused) => {
            say(format_args!("scrubjay: {refused}"));
            Ok(refused.exit)
        }
        Err(error) => Err(error),
    })
}
