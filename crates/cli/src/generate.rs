//! `scrubjay generate`: man pages and completions, from the same table as the help.

use crate::args::{self, GenerateArgs, Generated};
use crate::exit::Exit;
use crate::unwritable::unwritable;
use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use scrubjay_device::output::{self, Existing};
use std::io::Write;
use std::path::Path;
use std::{fs, io};

/// Writes what is asked for.
pub fn run(args: &GenerateArgs) -> Result<Exit> {
    let mut command = args::table();
    match &args.what {
        Generated::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut command, "scrubjay", &mut text);
            io::stdout().write_all(&text).context("cannot write to standard output")?;
        }
        Generated::Man { folder } => {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            let mut command = command.disable_help_subcommand(true);
            command.build();
            pages(command, folder)?;
        }
    }
    Ok(Exit::Clean)
}

/// A page of the manual for the command, and one for each below it.
fn pages(command: Command, folder: &Path) -> Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()).cloned() {
        pages(below, folder)?;
    }
    let page = Man::new(command);
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).with_context(|| format!("cannot make {}", path.display()))?;
    output::write(&path, Existing::Replaced, &text).map_err(unwritable)
}
