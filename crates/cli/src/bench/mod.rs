//! `scrubjay bench`: the speed of disks and of code on this machine.

mod code;
pub mod disk;
mod figure7;
pub mod machine;
mod processor;
mod rounds;
mod sealer;
mod speed;
mod verify;

pub use figure7::sweep;
pub use machine::HostMachine;
pub use rounds::BenchSetting;
pub use speed::figures;

use crate::args::{BenchArgs, Benched};
use crate::exit::Exit;
use anyhow::Result;

/// Runs the measurement that was asked for.
pub fn run(args: &BenchArgs) -> Result<Exit> {
    match &args.what {
        Benched::Disk(args) => disk::run(args),
        Benched::Verify(args) => verify::run(args),
        Benched::Code(args) if args.figure7 => figure7::run(args),
        Benched::Code(args) => code::run(args),
    }
}
