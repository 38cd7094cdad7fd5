//! `scrubjay volume`: volumes made, looked at, served and repaired.

mod check;
mod create;
mod document;
mod inspect;
mod refused;
pub mod rendezvous;
mod serve;
pub mod steer;

use crate::args::volume::{Volume, What};
use crate::exit::Exit;
use crate::say::say;
use anyhow::Result;

/// Does what is asked for.
pub fn run(args: &Volume) -> Result<Exit> {
    let done = match &args.what {
        What::Create(args) => create::run(args),
        What::Inspect(args) => inspect::run(args),
        What::Serve(args) => serve::run(args),
        What::Status(args) => steer::status(args),
        What::Findings(args) => steer::findings(args),
        What::Check(args) => check::run(args),
        What::Fail(args) => steer::fail(args),
        What::Replace(args) => steer::replace(args),
        What::Readd(args) => steer::readd(args),
        What::Stop(args) => steer::stop(args),
    };
    done.or_else(|error| match error.downcast::<refused::Refused>() {
        Ok(refused) => {
            say(format_args!("scrubjay: {refused}"));
            Ok(refused.exit)
        }
        Err(error) => Err(error),
    })
}
