//! `scrubjay generate`: man pages and completions, from the same table as the help.

use crate::args::{Cli, Generate, Generated};
use crate::exit::Exit;
use anyhow::{Context, Result};
use clap::CommandFactory;
use std::{fs, io};

/// Writes what is asked for.
pub fn run(args: &Generate) -> Result<Exit> {
    let mut command = Cli::command();
    match &args.what {
        Generated::Completions { shell } => {
            clap_complete::generate(*shell, &mut command, "scrubjay", &mut io::stdout());
        }
        Generated::Man { folder } => {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            clap_mangen::generate_to(command, folder)
                .with_context(|| format!("cannot write to {}", folder.display()))?;
        }
    }
    Ok(Exit::Clean)
}
